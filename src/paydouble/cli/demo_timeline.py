"""The demo's timeline: who did what when, one row each, readable at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from paydouble.cli.terminal import WIDTH, Terminal
from paydouble.config import WebhookSettings
from paydouble.core.durations import UNITS_MS, format_duration
from paydouble.core.instants import parse_instant
from paydouble.core.printable import printable

LADDER: Final = WebhookSettings().offsets
# Of a line under a row: below what happened.
_INDENT: Final = 25
Delivery = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened; `at` is on the sandbox's clock, `good` colours and marks the result."""

    at: int
    who: tuple[str, ...]
    what: str
    result: str = ""
    good: bool | None = None
    note: str = ""


def offset(milliseconds: int) -> str:
    """Return a time since the act began: `+2s`, `+1m`, `+58h36m`; hours are not folded into days."""
    hours, rest = divmod(milliseconds, UNITS_MS["h"])
    return "+" + (f"{hours}h" if hours else "") + (format_duration(rest) if rest or not hours else "")


def succeeded(attempt: dict[str, Any]) -> bool:
    """Return whether an attempt got a 2xx."""
    return attempt["status"] is not None and 200 <= attempt["status"] < 300  # noqa: PLR2004 - HTTP


def rows_of(deliveries: Sequence[Delivery], seen: dict[str, int], terminal: Terminal, *, brief: bool) -> list[Row]:
    """Return rows for the attempts beyond those `seen` (by delivery id), and note them as seen.

    Failed attempts of a delivery share a row. With `brief`, events that all got through at once share one as well.
    """
    fresh = [(each, each["attempts"][seen.get(each["id"], 0) :]) for each in deliveries]
    fresh = [(each, attempts) for each, attempts in fresh if attempts]
    seen.update({each["id"]: len(each["attempts"]) for each in deliveries})
    if brief and len(fresh) > 1 and all(attempts[0]["number"] == 1 and succeeded(attempts[0]) for _, attempts in fresh):
        what = f"{fresh[0][0]['event_type']} {terminal.dots} {fresh[-1][0]['event_type'].partition('.')[2]}"
        return [_row(fresh[0][1][0], what, f"{len(fresh)} events, first attempt", good=True)]
    failures = [_failures(each, attempts, terminal) for each, attempts in fresh if not succeeded(attempts[0])]
    successes = [
        _row(attempts[-1], each["event_type"], f"attempt {attempts[-1]['number']} of {len(LADDER)}", good=True)
        for each, attempts in fresh
        if succeeded(attempts[-1])
    ]
    return sorted([*_ladder_told_once(failures), *successes], key=lambda row: row.at)


def _failures(delivery: Delivery, attempts: Sequence[dict[str, Any]], terminal: Terminal) -> Row:
    failed = [attempt for attempt in attempts if not succeeded(attempt)]
    first, last = failed[0], failed[-1]
    reason = first["error"]["kind"] if first["error"] else str(first["status"])
    if first is last:
        return _row(first, delivery["event_type"], f"{reason}, attempt {first['number']} of {len(LADDER)}", good=False)
    numbers = f"{first['number']}{terminal.dash}{last['number']}"
    began = parse_instant(delivery["attempts"][0]["due_at"])
    ladder = " ".join(offset(parse_instant(attempt["due_at"]) - began) for attempt in failed)
    result = f"{reason}, attempts {numbers}"
    return _row(first, delivery["event_type"], result, good=False, note=f"{ladder} after the event")


def _ladder_told_once(failures: Sequence[Row]) -> list[Row]:
    """Leave a note at the last of the rows that share it."""
    notes = [row.note for row in failures]
    return [
        replace(row, note="") if row.note in notes[place : place + 1] else row
        for place, row in enumerate(failures, start=1)
    ]


def _row(attempt: dict[str, Any], what: str, result: str, *, good: bool, note: str = "") -> Row:
    return Row(parse_instant(attempt["due_at"]), ("service", "merchant"), what, result, good, note)


def print_row(row: Row, began: int, terminal: Terminal) -> None:
    """Print a row of 80 columns, its time counted from `began`; a result that does not fit stands on its own line."""
    head = f"  {offset(row.at - began):<9}  {_who(row.who, terminal):<11} {printable(row.what):<28} "
    result = printable(row.result)
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


def print_verdict(good: str, problems: Sequence[str], terminal: Terminal) -> None:
    """Print what came out of an act: one line when all is right, else every problem."""
    if not problems:
        terminal.say_prose(good, first=f"  {terminal.good} ", style=terminal.green)
    for problem in problems:
        terminal.say_prose(problem, first=f"  {terminal.bad} ", style=terminal.red)
