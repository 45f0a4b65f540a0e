"""Money, names and times as the timelines of the commands show them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

from paydouble.core.printable import printable

_read = partial(json.loads, parse_float=str)  # the digits as they came
_SECOND_MS: Final = 1000
_NAMES: Final = ("external_identifier", "payin_id", "id")


def resource_of(body: bytes) -> dict[str, Any]:
    """Return the object that an event's body is about, numbers with a fraction as texts; empty when there is none."""
    try:
        resource = _read(body)["data"]["object"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return resource if isinstance(resource, dict) else {}


def answered(body: bytes) -> dict[str, Any]:
    """Return the object that an answer of the API holds; empty when it holds none."""
    try:
        data = _read(body)["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def money(resource: dict[str, Any]) -> str:
    """Return an object's amount, such as `49.90 EUR`; empty when it has none."""
    amount, currency = resource.get("amount"), resource.get("currency")
    if isinstance(amount, bool) or not isinstance(amount, int | str) or not isinstance(currency, str):
        return ""
    return word(f"{amount} {currency}")


def payment(resource: dict[str, Any]) -> str:
    """Return by which name a merchant knows an object: its order, else its pay-in, else its own id; empty without."""
    return next((word(resource[name]) for name in _NAMES if isinstance(resource.get(name), str)), "")


def word(value: object) -> str:
    """Return what came from anybody as a short text that can do nothing to a terminal."""
    return printable(str(value)[:40])


def took(milliseconds: float) -> str:
    """Return a latency: `in 12 ms`, `in 1.2 s`."""
    if milliseconds >= _SECOND_MS:
        return f"in {milliseconds / _SECOND_MS:.1f} s"
    return f"in {milliseconds:.0f} ms" if milliseconds >= 1 else "in <1 ms"
