"""What a request sent that differs from the earlier one of the same idempotency key or order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paydouble.core import json_text
from paydouble.web.inspector.differences import Difference, differences
from paydouble.web.inspector.rendering import hex_dump

if TYPE_CHECKING:
    from paydouble.journal import RequestEntry

_LENGTH: Final = "content-length"
"""A header that follows from the body, of which the differences are shown themselves."""
_BYTES_BEFORE: Final = 16
_BYTES_SHOWN: Final = 48
_DEEPEST: Final = 100


class ByteDifference(NamedTuple):
    """Where two bodies begin to differ, and the bytes around that place as hex dumps."""

    at: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request beside an earlier one."""

    earlier: RequestEntry
    summary: str
    """What the comparison shows, in a sentence."""
    members: tuple[Difference, ...]
    """The method, the target and the members of the JSON body that differ."""
    headers: tuple[Difference, ...]
    body: ByteDifference | None
    """Where the bytes differ, unless `members` say what differs in the body."""


def series(entries: Iterable[RequestEntry], entry: RequestEntry) -> list[RequestEntry]:
    """Return the requests that try to do the same: those of the same key, or of the same operation and order."""
    order = entry.external_identifier

    def belongs(other: RequestEntry) -> bool:
        if other is entry or (entry.key is not None and other.key == entry.key):
            return True
        alike = (other.method, other.operation) == (entry.method, entry.operation)
        return alike and entry.method != "GET" and order is not None and other.external_identifier == order

    return [other for other in entries if belongs(other)]


def compared(entries: Sequence[RequestEntry], entry: RequestEntry) -> Comparison | None:
    """Return a request beside an earlier one of its series; None for the first.

    The earlier one is the request that has claimed the key; without one, the latest with the same key; else the latest
    of all.
    """
    earlier = [each for each in entries if each.sequence < entry.sequence]
    of_key = [each for each in earlier if entry.key is not None and each.key == entry.key]
    claims = [each for each in of_key if each.verdict == "new"]
    found = next((group[-1] for group in (claims, of_key, earlier) if group), None)
    return None if found is None else compare(found, entry)


def compare(earlier: RequestEntry, entry: RequestEntry) -> Comparison:
    """Return a request beside an earlier one."""
    before, after = _read(earlier.body), _read(entry.body)
    changed: list[Difference] = []
    if isinstance(before, dict) and isinstance(after, dict):
        changed = list(differences(before, after))
    elif before is not None and after is not None:
        changed = list(differences({"the body": before}, {"the body": after}))
    body = None if changed or earlier.body == entry.body else _bytes(earlier.body, entry.body)
    if changed:
        what = "One member of the body differs." if len(changed) == 1 else f"{len(changed)} members of the body differ."
    elif body is None:
        what = "The bodies are the same, byte for byte."
    elif before is not None and after is not None:
        what = "The bodies are the same JSON in other bytes."
    else:
        what = "The bodies differ."
    line = differences(
        {"method": earlier.method, "target": earlier.target}, {"method": entry.method, "target": entry.target}
    )
    return Comparison(
        earlier, f"{_of_key(earlier, entry)} {what}", (*line, *changed), tuple(_headers(earlier, entry)), body
    )


def _of_key(earlier: RequestEntry, entry: RequestEntry) -> str:
    if earlier.key == entry.key:
        return "The idempotency key is the same." if entry.key is not None else "Neither has an idempotency key."
    if entry.key is None:
        return "It has no idempotency key, or was refused before its key was read."
    return "The idempotency key is another one, so the service takes it for a new request."


def _read(body: bytes) -> Any:  # noqa: ANN401 - JSON is any
    try:
        return json_text.loads(body, deepest=_DEEPEST)
    except json_text.JsonTextError:
        return None


def _headers(earlier: RequestEntry, entry: RequestEntry) -> Iterator[Difference]:
    before, after = _by_name(earlier), _by_name(entry)
    for name in dict.fromkeys((*before, *after)):
        if name != _LENGTH and before.get(name) != after.get(name):
            yield Difference(name, before.get(name), after.get(name))


def _by_name(entry: RequestEntry) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in entry.headers:
        values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return {name: ", ".join(each) for name, each in values.items()}


def _bytes(before: bytes, after: bytes) -> ByteDifference:
    """Return where two bodies that are not equal begin to differ."""
    shorter = min(len(before), len(after))
    at = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    first = max(0, at - _BYTES_BEFORE) // 16 * 16
    shown = slice(first, first + _BYTES_SHOWN)
    return ByteDifference(at, hex_dump(before[shown], first), hex_dump(after[shown], first))
