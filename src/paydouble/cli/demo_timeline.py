"""A timeline: who did what when, one row each, readable at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from paydouble.cli.phrases import took
from paydouble.cli.terminal import WIDTH, Terminal
from paydouble.core.durations import UNITS_MS, format_duration
from paydouble.core.printable import printable

# Of a line under a row: below what happened.
_INDENT: Final = 25
_MOST_HOURS: Final = 99


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened; `at` is on the sandbox's clock, `good` colours and marks the result."""

    at: int
    who: tuple[str, ...]
    what: str
    result: str = ""
    good: bool | None = None
    note: str = ""
    """Printed under it."""
    delivery: str = ""
    """The delivery that an attempt belongs to, by its id."""
    attempt: int = 0
    """The number of an attempt; 0 for what is none."""
    latency_ms: float | None = None


def offset(milliseconds: int) -> str:
    """Return a time since the beginning: `+2s`, `+1m`, `+58h36m`, `+30d6s`.

    Up to 99 hours are not written as days, so that they can be compared with the contract's table of retries.
    """
    hours, rest = divmod(milliseconds, UNITS_MS["h"])
    if hours > _MOST_HOURS:
        return f"+{format_duration(milliseconds)}"
    return "+" + (f"{hours}h" if hours else "") + (format_duration(rest) if rest or not hours else "")


def succeeded(attempt: dict[str, Any]) -> bool:
    """Return whether an attempt got a 2xx."""
    return attempt["status"] is not None and 200 <= attempt["status"] < 300  # noqa: PLR2004 - HTTP


def print_row(row: Row, began: int, terminal: Terminal) -> None:
    """Print a row of 80 columns, its time counted from `began`; a result that does not fit stands on its own line."""
    head = f"  {offset(row.at - began):<9}  {_who(row.who, terminal):<11} {printable(row.what):<28} "
    result = printable(row.result)
    if row.latency_ms is not None:
        result += f" {took(row.latency_ms)}"
    if row.attempt > 1:
        result += f", attempt {row.attempt}"
    if row.good is not None:
        result = f"{terminal.good if row.good else terminal.bad} {result}"
    if len(head) + len(result) > WIDTH:
        terminal.say(head.rstrip())
        head = " " * _INDENT
    if row.good is not None:
        result = terminal.green(result) if row.good else terminal.red(result)
    terminal.say(f"{head}{result}".rstrip())
    if row.note:
        terminal.say_prose(row.note, first=" " * _INDENT, style=terminal.dim)


def _who(who: Sequence[str], terminal: Terminal) -> str:
    """Return who acts; the service is one end of every arrow, so only the other one is named."""
    if len(who) == 1:
        return who[0]
    return f"{terminal.arrow} {who[1]}" if who[0] == "service" else f"{who[0]} {terminal.arrow}"
