"""A run: clauses played one after the other against a shop, and what became of each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from paydouble.conformance.calling import CallFailed
from paydouble.conformance.case import Broken, Case, Exchange, Log, NotTested, Problem
from paydouble.conformance.clauses import Clause
from paydouble.conformance.client_clauses import CLIENT
from paydouble.conformance.levels import NEEDS, Level
from paydouble.conformance.stage import Stage
from paydouble.conformance.webhook_clauses import WEBHOOK
from paydouble.stateful.rules.journal import NO_OPERATION
from paydouble.testing.errors import ControlRefused

CLAUSES: Final[Mapping[str, Clause]] = MappingProxyType(
    {clause.id: clause for table in (WEBHOOK, CLIENT) for clause in table}
)
"""Every clause by its id, in the order in which they are played."""
BINDING: Final = (Level.MUST, Level.BOOKS)
"""The levels whose problems fail a run; with `--strict` those of `SHOULD` do too."""
Verdict = Literal["kept", "broken", "not_tested"]
_ORDER: Final = tuple(Level)
_MOST_TIMELINES: Final = 3


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a clause."""

    clause: Clause
    verdict: Verdict
    problems: tuple[Problem, ...]
    """What was not as the clause says, the most binding first."""
    reason: str
    """Why it could not be tested; empty otherwise."""
    notes: tuple[str, ...]
    """What was measured."""
    exchanges: tuple[Exchange, ...]
    """What was sent and received, to the byte, in its order."""
    timelines: tuple[str, ...]
    """Of a broken clause: what happened to its payments, as HTML documents."""
    run: Path | None
    """Of a broken clause: the run file that was written, if a folder was given."""
    seconds: float
    """Real time."""

    @property
    def level(self) -> Level:
        """Return the level of the most binding problem, or the clause's own."""
        return self.problems[0].level if self.problems else self.clause.level

    @property
    def headline(self) -> str:
        """Return what was found: the clause, or what is milder than it, such as an unusual status."""
        return self.clause.title if self.level == self.clause.level else self.problems[0].seen

    @property
    def costs(self) -> str:
        """Return what the problem costs; nothing is known of what is milder than the clause."""
        return self.clause.costs if self.level == self.clause.level else ""

    def fails(self, *, strict: bool) -> bool:
        """Return whether the result fails a run."""
        binding = (*BINDING, Level.SHOULD) if strict else BINDING
        return any(problem.level in binding for problem in self.problems)


class Unreachable(Exception):
    """The shop cannot be tested at all; the text says why."""


def play(stage: Stage, clauses: Sequence[Clause], artifacts: Path | None = None) -> Iterator[Result]:
    """Play clauses in their order and yield each result as soon as it is there.

    What happened to the sandbox of a broken clause is written into the folder `artifacts`, as a run file.
    `Unreachable` when the shop cannot be started or emptied for the first case.
    """
    calibrate(stage, clauses)
    for clause in clauses:
        yield play_one(stage, clause, artifacts)


def calibrate(stage: Stage, clauses: Sequence[Clause]) -> None:
    """Find out how the shop works, when the clause that shows it is not among those that are played."""
    try:
        stage.begin()
    except CallFailed as failed:
        raise Unreachable(str(failed)) from None
    first = CLAUSES["W1.1"]
    if first not in clauses and stage.has("driver"):
        play_one(stage, first)


def play_one(stage: Stage, clause: Clause, artifacts: Path | None = None) -> Result:
    """Play one clause against a shop that is ready, or made ready."""
    lacks = _missing(clause, stage)
    if lacks:
        return _result(clause, Log(), lacks, (), 0.0)
    started = time.monotonic()
    try:
        stage.begin()
    except CallFailed as failed:
        return _result(clause, Log(), f"the shop was not ready: {failed}", (), time.monotonic() - started)
    case = Case(stage, clause.id, clause.level)
    reason = ""
    try:
        clause.play(case)
    except Broken:
        if not case.log.problems:
            raise  # a mistake in the clause: it is broken, and nothing was reported
    except NotTested as not_tested:
        reason = str(not_tested)
    except CallFailed as failed:
        case.problem(f"the shop failed: {failed}", "an answer", Level.MUST)
    except ControlRefused as refused:
        # The story needs a state that this shop did not bring about.
        reason = f"the story could not be played: {refused}"
    unknown = case.unknown_request()
    if unknown is not None:
        case.note(f"The shop sent {unknown}, {NO_OPERATION}")
        reason = reason and f"{reason}; the shop sent {unknown}, for which the service has no operation"
    timelines = _timelines(case) if case.log.problems else ()
    run = _exported(case, clause, artifacts) if case.log.problems and artifacts is not None else None
    return _result(clause, case.log, reason, timelines, time.monotonic() - started, run)


def _exported(case: Case, clause: Clause, folder: Path) -> Path | None:
    """Write the run file of a case; None when its beginning is no longer kept."""
    try:
        return case.sandbox.export(folder / f"{clause.id}.paydouble")
    except ControlRefused as refused:
        case.note(f"There is no run file: {refused}")
        return None


def _missing(clause: Clause, stage: Stage) -> str:
    """Return what the merchant file lacks for a clause, or an empty text."""
    lacks = [NEEDS[need] for need in clause.needs if not stage.has(need)]
    return f"the merchant file lacks {' and '.join(lacks)}" if lacks else ""


def _timelines(case: Case) -> tuple[str, ...]:
    shown = case.sandbox.pay_ins.list()[-_MOST_TIMELINES:]
    return tuple(case.sandbox.pay_ins.timeline_html(each.id) for each in shown)


def _result(  # noqa: PLR0913, PLR0917 - what a result consists of
    clause: Clause, log: Log, reason: str, timelines: tuple[str, ...], seconds: float, run: Path | None = None
) -> Result:
    problems = tuple(sorted(log.problems, key=lambda each: _ORDER.index(each.level)))
    verdict: Verdict = "broken" if problems else "not_tested" if reason else "kept"
    return Result(clause, verdict, problems, reason, tuple(log.notes), tuple(log.exchanges), timelines, run, seconds)


def in_fix_order(results: Sequence[Result]) -> list[Result]:
    """Return the broken clauses in the order in which they should be repaired: the most binding first."""
    broken = [each for each in results if each.verdict == "broken"]
    return sorted(broken, key=lambda each: _ORDER.index(each.level))
