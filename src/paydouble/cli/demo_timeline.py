"""The demo's timeline: who did what when, one row each, readable at a glance."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from paydouble.cli.terminal import Terminal
from paydouble.config import WebhookSettings
from paydouble.core.durations import UNITS_MS, format_duration
from paydouble.core.instants import parse_instant

WIDTH: Final = 100
LADDER: Final = WebhookSettings().offsets
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
        what = f"{fresh[0][0]['event_type']} {terminal.dots} {fresh[-1][0]['event_type']}"
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
        return _row(first, delivery["event_type"], f"attempt {first['number']} of {len(LADDER)} ({reason})", good=False)
    numbers = f"{first['number']}{terminal.dash}{last['number']}"
    began = parse_instant(delivery["attempts"][0]["due_at"])
    ladder = " ".join(offset(parse_instant(attempt["due_at"]) - began) for attempt in failed)
    result = f"attempts {numbers} of {len(LADDER)} ({reason})"
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
    """Print a row, its time counted from when the act began."""
    who = f" {terminal.arrow} ".join(row.who)
    head = f"  {offset(row.at - began):<10} {who:<19}  {row.what:<36}"
    if row.good is None:
        terminal.say(f"{head}{row.result}".rstrip())
    elif row.good:
        terminal.say(head + terminal.green(f"{terminal.good} {row.result}"))
    else:
        terminal.say(head + terminal.red(f"{terminal.bad} {row.result}"))
    if row.note:
        terminal.say(terminal.dim(f"{'':34}{row.note}"))


def print_verdict(good: str, problems: Sequence[str], terminal: Terminal) -> None:
    """Print what came out of an act: one line when all is right, else every problem."""
    if not problems:
        terminal.say(terminal.green(f"  {terminal.good} {good}"))
    for problem in problems:
        first = f"  {terminal.bad} "
        for each in textwrap.wrap(
            problem, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        ):
            terminal.say(terminal.red(each))
