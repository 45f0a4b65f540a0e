"""The report of a play: its steps in plain words, as a test to paste, as a scenario file and as faults to arm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile, zip_longest
from textwrap import indent
from types import MappingProxyType
from typing import Any, Final

from paydouble.core.durations import format_duration
from paydouble.payments.resources import PayIn
from paydouble.records import delivery_of, event_of, request_of
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recorded import recorded_steps
from paydouble.stateful.held_to import Shows, When, of_each, while_disputed
from paydouble.stateful.provider import BEYOND_THE_CONTRACT
from paydouble.stateful.rules.journal import NO_OPERATION, unknown_requests
from paydouble.stateful.troubles import DIALECTS
from paydouble.testing.timeline import rows_of
from paydouble.testing.unused_faults import Happened
from paydouble.timeline import CALL, MERCHANT, SERVICE, Plain, Renderer, Row, faults_of

_WHEN: Final[Mapping[When, str]] = MappingProxyType(
    {"at once": "as soon as it has answered", "after jobs": "when its background jobs have run"}
)
WHAT_HAPPENED: Final = "What happened:\n"
"""The title of the steps in a report."""
_FEW: Final = 2
_ORDER: Final = re.compile(r"\border-\d+\b")
_NAMES: Final = re.compile(r"[\w-]+")
_FIRST_ROWS: Final = 8
_LAST_ROWS: Final = 16
# Of those between that tell something.
_TELLING_ROWS: Final = 16
_MOST_POSTS: Final = 10
_HELD_TO: Final = "Without any trouble this shop shows what a webhook says as follows, and is held to it (shows below)"


@dataclass(slots=True)
class Story:
    """The steps of a play so far."""

    dialect: str
    seed: int
    sentences: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    scenario_faults: list[dict[str, Any]] = field(default_factory=list)
    """Those that a scenario can have: the ones that disturb an order's own requests and webhooks."""
    shows: Shows = ""
    """When the merchant shows what a webhook told, where the verdict depends on it."""

    def add(self, sentence: str, call: str, faults: Sequence[dict[str, Any]] = (), *, in_scenario: bool = True) -> None:
        """Add a step: a sentence, the call of `Play` that does it, and the faults that it armed.

        `in_scenario` is whether a scenario can have them: not those that act for a time, or on a webhook that is sent
        by hand.
        """
        self.sentences.append(sentence)
        self.calls.append(call)
        self.faults.extend(faults)
        self.scenario_faults.extend(faults if in_scenario else ())

    def report(self, verdict: str, others: Sequence[str], merchant: str, box: Sandbox, sent: Sequence[str] = ()) -> str:
        """Return the report of a verdict.

        `others` are rules broken besides, `merchant` is the adapter's name, `sent` are the lines of `what_was_sent`.
        """
        parts = [
            f"{verdict}.",
            *(["Also:\n" + "\n".join(f"  - {text}." for text in _alike(others))] if others else ()),
            WHAT_HAPPENED + "\n".join(f"{n:>3}. {text}." for n, text in enumerate(self._told(), 1)),
            *(
                beyond.note
                for act, beyond in BEYOND_THE_CONTRACT.items()
                if any(f"'{act}'" in call for call in self.calls)
            ),
            *(f"The shop sent {each}, {NO_OPERATION}" for each in unknown_requests(box)[:1]),
            *((f"{_HELD_TO}: {held_to}.",) if (held_to := self._held_to()) else ()),
            *(["What was sent:\n" + "\n".join(sent)] if sent else ()),
            "As a test to paste:\n\n" + indent(self._test(merchant), "    "),
            "As a scenario file:\n\n" + indent(self._scenario(verdict, box), "    "),
        ]
        if self.faults:
            lines = "\n".join(json.dumps(fault) for fault in self.faults)
            parts.append("Faults for POST /_paydouble/sandboxes/{s}/faults, in order:\n\n" + indent(lines, "    "))
        return "\n\n".join(parts)

    def _told(self) -> Iterator[str]:
        for sentence, times in _series(self.sentences):
            yield sentence if times == 1 else f"{sentence}; this happens {times} times in a row"

    def _held_to(self) -> str:
        """Return when the merchant shows what a webhook said, in words; empty when it does not matter."""
        each, disputed = of_each(self.shows), ", ".join(while_disputed(self.shows))
        found = {when: [family for family in each if each[family] == when] for when in _WHEN}
        told = [f"{', '.join(of)} {_WHEN[when]}" for when, of in found.items() if of]
        return "; ".join([*told, f"an open dispute: {disputed}"] if disputed else told)

    def _test(self, merchant: str) -> str:
        options = f", dialect={self.dialect!r}" if self.dialect != "plain" else ""
        options += f", seed={self.seed}" if self.seed else ""
        times, disputed = set(of_each(self.shows).values()), while_disputed(self.shows)
        if times != {""} or disputed:
            shows = self.shows if disputed or len(times) > 1 else times.pop()
            options += f", shows={shows!r}"
        lines = [
            "from paydouble.stateful import Play",
            "",
            "",
            "def test_story() -> None:",
            f"    with Play({merchant}{options}) as play:",
            *(line for call, times in _series(self.calls) for line in _repeated(call, times)),
        ]
        return "\n".join(lines)

    def _scenario(self, verdict: str, box: Sandbox) -> str:
        # The transitions of the play's last deposit.
        lines = ["name: machine-story", f"summary: {json.dumps(verdict[:280])}", "lifecycle:"]
        pay_in = next(iter(box.ledger.newest_first(PayIn)), None)
        steps = _steps(box, pay_in) if pay_in is not None else []
        lines += ["  pay_in:", *steps] if steps else ["  pay_in: []"]
        faults = [_of_one_order(each) for each in self.scenario_faults if pay_in is None or _is_about(each, pay_in)]
        if faults:
            lines += ["faults:", *(f"  - {json.dumps(fault)}" for fault in faults)]
        if DIALECTS[self.dialect]:
            lines.append(f"settings: {json.dumps(DIALECTS[self.dialect])}")
        return "\n".join(lines)


def what_was_sent(
    box: Sandbox, acts: Sequence[tuple[int, Row]] = (), others: frozenset[str] = frozenset()
) -> list[str]:
    """Return the requests of the merchant and the webhooks to it, a line or two each, with the answers.

    `acts` are the calls of the merchant, each with the sequence number after which it came. Of many lines those at the
    beginning and at the end, and between them what is no plain read, without those that name one of the `others`:
    orders, and ids of objects.
    """
    journal = box.journal
    seen = Happened(
        [request_of(each) for each in journal.requests.entries],
        [event_of(each) for each in journal.events.entries],
        [delivery_of(each) for each in box.outbox.deliveries.values()],
    )
    # Where a webhook went is the adapter's own address. An event says something only where it was not sent.
    found = rows_of(seen, faults_of(box), names_targets=False, besides=acts)
    sent = [row for row in found if row.who != SERVICE or row.faults]
    rows = [row for row, following in zip_longest(sent, sent[1:]) if not _is_idle(row, following)]
    if not rows:
        return []
    idle = [*takewhile(_is_of_jobs, reversed(sent))][::-1]
    renderer = Renderer(Plain(), began=rows[0].at)
    shown = told_rows(rows, others)
    written: list[str] = []
    for is_shown, group in groupby(enumerate(rows), lambda each: each[0] in shown):
        alike = [row for _, row in group]
        lines = (line for row in alike for line in renderer.lines(row))
        written += lines if is_shown else [f"  … {len(alike)} more"]
    return written + [line for row in _together(idle) for line in renderer.lines(row)]


def names_in(text: str) -> set[str]:
    """Return the words of a text that can be an order or an id."""
    return set(_NAMES.findall(text))


def told_rows(rows: Sequence[Row], others: frozenset[str] = frozenset()) -> set[int]:
    """Return the numbers of the rows that a report shows, counted from 0."""
    numbers = [*range(len(rows))]
    if len(rows) > _FIRST_ROWS + _TELLING_ROWS + _LAST_ROWS:
        numbers = [number for number in numbers if others.isdisjoint(names_in(rows[number].what))]
    between = numbers[_FIRST_ROWS : max(_FIRST_ROWS, len(numbers) - _LAST_ROWS)]
    # Some places are left for the rest: one request that is repeated for an hour must not hide the event that was lost.
    rest = [number for number in between if _tells(rows[number]) and not _is_post(rows[number])]
    most = max(_MOST_POSTS, _TELLING_ROWS - len(rest))
    posts = _ends([number for number in between if _is_post(rows[number])], most)
    told = {*numbers}.difference(between) | posts | _ends(rest, _TELLING_ROWS - len(posts))
    folded = {*range(len(rows))} - told
    # A line that says that one is left out is as long as that one.
    folded -= {each for each in folded if not {each - 1, each + 1} & folded}
    return {*range(len(rows))} - folded


def _alike(texts: Iterable[str]) -> Iterator[str]:
    """Yield sentences; of three or more that differ in their orders alone the first one."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(_ORDER.sub("", text), []).append(text)
    for first, *rest in found.values():
        yield from [f"{first}; the same for {len(rest)} more orders"] if len(rest) >= _FEW else [first, *rest]


def _together(idle: Sequence[Row]) -> list[Row]:
    """Return the runs of jobs that came last, and have sent nothing, as one row."""
    if not idle:
        return []
    first, last = idle[0], idle[-1]
    times = f" {len(idle)} times in {format_duration(last.at - first.at)}" if last is not first else ""
    return [replace(first, what=f"{first.what}{times}, nothing sent")]


def _ends(numbers: Sequence[int], most: int) -> set[int]:
    """Return so many numbers at most: of a request that is repeated for a day the first and the last."""
    last = most // 2
    return {*numbers} if len(numbers) <= most else {*numbers[: most - last], *numbers[len(numbers) - last :]}


def _is_idle(row: Row, following: Row | None) -> bool:
    """Return whether a row is of background jobs that have sent nothing."""
    return _is_of_jobs(row) and (following is None or following.who != CALL)


def _is_of_jobs(row: Row) -> bool:
    return row.who == MERCHANT and row.what == "tick()"


def _is_post(row: Row) -> bool:
    """Return whether a row is a request that changes something, which most findings are about."""
    return row.who == CALL and row.what.startswith("POST ")


def _tells(row: Row) -> bool:
    """Return whether a row is more than jobs, or a read that was answered as it should be."""
    is_read = row.who == CALL and row.what.startswith("GET ")
    return not (is_read or _is_of_jobs(row)) or bool(row.faults) or row.good is False


def _series(steps: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each step, and how often it is taken in a row; twice is told twice."""
    for step, same in groupby(steps):
        times = sum(1 for _ in same)
        yield from [(step, times)] if times > _FEW else [(step, 1)] * times


def _repeated(call: str, times: int) -> list[str]:
    return [f"        {call}"] if times == 1 else [f"        for _ in range({times}):", f"            {call}"]


def _is_about(fault: dict[str, Any], pay_in: PayIn) -> bool:
    return fault.get("match", {}).get("external_identifier") in {None, pay_in.external_identifier}


def _of_one_order(fault: dict[str, Any]) -> dict[str, Any]:
    # Each order that plays a scenario has its own faults.
    match = {key: value for key, value in fault.get("match", {}).items() if key != "external_identifier"}
    others = {key: value for key, value in fault.items() if key != "match"}
    return {**others, "match": match} if match else others


def _steps(box: Sandbox, pay_in: PayIn) -> list[str]:
    lines = []
    for step in recorded_steps(box, pay_in):
        forced = ", force: true" if "force" in step else ""
        lines.append(f"    - {{after: {step['after']}, to: {step['to']}{forced}}}")
    return lines
