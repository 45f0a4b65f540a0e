"""What is different in a request that came under the Idempotency-Key of an earlier one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from paydouble.core.printable import printable
from paydouble.journal import RequestEntry

_MOST: Final = 3
_SHOWN: Final = 60
_ABSENT: Final = object()


def changes(earlier: RequestEntry, later: RequestEntry) -> str:
    """Return what has changed, for a sentence: the operation, or the members that differ, at most three by name."""
    if (earlier.method, earlier.target) != (later.method, later.target):
        return f"the earlier one was {earlier.method} {earlier.target}"
    before, after = (dict(_members(each.body)) for each in (earlier, later))
    changed = [
        f"{name} was {_shown(before.get(name, _ABSENT))} and is {_shown(after.get(name, _ABSENT))}"
        for name in dict.fromkeys([*before, *after])
        if before.get(name, _ABSENT) != after.get(name, _ABSENT)
    ]
    if not changed:
        return "it says the same in other bytes"
    more = f", and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
    return ", ".join(changed[:_MOST]) + more


def _members(body: bytes) -> Iterator[tuple[str, object]]:
    try:
        yield from _leaves("", json.loads(body, parse_float=Decimal, parse_int=Decimal))
    except (ValueError, RecursionError):
        yield "the body", printable(body.decode("utf-8", "replace"))


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, each)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(f"{path}[{number}]", each)
    else:
        yield path or "the body", value


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "absent"
    text = str(value) if isinstance(value, Decimal) else json.dumps(value)
    return printable(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
