"""Durations: read as `250ms`, `2s`, `5m`, `1h30m`, `3d`, or ISO 8601 `PT1H30M`, `P3D`; written in the first form.

Internally they are whole milliseconds.
"""

from __future__ import annotations

import re
from typing import Final

UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_ISO_UNITS: Final = {
    "W": 7 * UNITS_MS["d"],
    "D": UNITS_MS["d"],
    "H": UNITS_MS["h"],
    "M": UNITS_MS["m"],
    "S": UNITS_MS["s"],
}
_NUMBER: Final = r"[0-9]+(\.[0-9]+)?"
_HOURS: Final = f"({_NUMBER}H({_NUMBER}M)?({_NUMBER}S)?|{_NUMBER}M({_NUMBER}S)?|{_NUMBER}S)"
_ISO: Final = f"P({_NUMBER}W|{_NUMBER}D(T{_HOURS})?|T{_HOURS})"
PATTERN: Final = f"(({_NUMBER}(ms|d|h|m|s))+|{_ISO})"
"""A duration as a regular expression that any dialect understands; spaces around it are allowed too."""
_WHOLE: Final = re.compile(PATTERN)
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[dhmsWDHMS])")
_CALENDAR: Final = re.compile(r"P[^T]*[0-9][YM].*")
# A century: long enough for any scenario, and short enough for sums of them to stay within the calendar.
LONGEST_MS: Final = 100 * 366 * UNITS_MS["d"]


def parse_duration(text: object) -> int:
    """Return the milliseconds of a text such as `1h30m` or `PT1H30M`; `ValueError` says what is wrong."""
    if isinstance(text, bool) or not isinstance(text, str):
        message = f"a duration is a text with a unit, such as '2s' or '1h30m', not {text!r}"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    compact = text.strip()
    if not _WHOLE.fullmatch(compact):
        message = f"{text!r} is not a duration{_hint(compact)}; write it like 250ms, 2s, 5m, 1h30m or 3d"
        raise ValueError(message)
    if len(compact) > 64:  # noqa: PLR2004 - longer than any real duration; bounds the sum below
        message = "a duration is at most 64 characters long"
        raise ValueError(message)
    units = _ISO_UNITS if compact[0] == "P" else UNITS_MS
    total = 0
    for amount, unit in _PART.findall(compact):
        whole, _, fraction = amount.partition(".")
        total += int(whole) * units[unit]
        if fraction:
            total += int(fraction) * units[unit] // 10 ** len(fraction)
    if total > LONGEST_MS:
        message = f"{text!r} is longer than a century, which is the longest duration"
        raise ValueError(message)
    return total


def _hint(text: str) -> str:
    if re.fullmatch(r"[0-9]+", text):
        return f" (did you mean '{text}s'?)"
    if _CALENDAR.fullmatch(text):
        return ", since years and months differ in length"
    return ""


def format_duration(milliseconds: int) -> str:
    """Return milliseconds as a text that `parse_duration` reads: `2h36m`, `0s`."""
    parts = []
    rest = milliseconds
    for unit, size in UNITS_MS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
