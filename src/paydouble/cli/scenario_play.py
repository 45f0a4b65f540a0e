"""`scenario check --play`: each scenario and each of its cases is played twice, and compared with its file.

Apart from `scenario_check`, which does not load what plays a scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from paydouble.cli.differences import print_difference
from paydouble.cli.terminal import Terminal, count
from paydouble.core.durations import format_duration
from paydouble.core.errors import UsageError
from paydouble.core.exit_status import ExitStatus
from paydouble.rehearsal import Difference, Rehearsal, compare, rehearse
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Case
from paydouble.timeline import Renderer


def play_files(files: Iterable[tuple[Path, Scenario]], terminal: Terminal | None = None, *, seed: int = 0) -> int:
    """Play scenarios, print a line for each and what differs; returns 0 when all came out right, else 1."""
    out = terminal or Terminal()
    wrong = played = cases = 0
    for path, scenario in files:
        played += 1
        cases += len(scenario.cases)
        wrong += not _play(path, scenario, out, seed)
    what = f"{count(played, 'scenario')} and {count(cases, 'case')} played twice"
    if wrong:
        out.say(out.red(f"{out.bad} {what}: {wrong} wrong."))
        return ExitStatus.NEGATIVE
    out.say(out.green(f"{out.good} {what}: all came out as their files say."))
    return ExitStatus.DONE


def _play(path: Path, scenario: Scenario, out: Terminal, seed: int) -> bool:
    """Play a scenario and its cases; returns whether all of it was right."""
    first: Rehearsal | None = None
    for case in (None, *scenario.cases):
        try:
            rehearsal, again = (rehearse(scenario, seed=seed, case=case) for _ in range(2))
        except UsageError as error:
            out.say(out.red(f"{out.bad} {path}: {_place(case)}cannot be played: {error}"))
            return False
        differences = [*compare(scenario, rehearsal, case), *_compare_runs(rehearsal, again, case)]
        if differences:
            _report(path, differences, rehearsal, out)
            return False
        first = first or rehearsal
    assert first is not None  # noqa: S101 - the first of the loop is the scenario itself
    made = f"{count(len(first.arrivals), 'event')}, {count(len(first.answers), 'call')}"
    lasted = format_duration(first.ended - first.began)
    more = f"; {count(len(scenario.cases), 'case')}" if scenario.cases else ""
    out.say(f"{out.green(out.good)} {path}: {made}, {lasted}{more}")
    return True


def _compare_runs(one: Rehearsal, other: Rehearsal, case: Case | None) -> Iterator[Difference]:
    """Yield where two plays with one seed are not the same to the byte."""
    if one.record() == other.record():
        return
    for number, (left, right) in enumerate(zip(one.arrivals, other.arrivals, strict=False), start=1):
        if left != right:
            message = f"two plays with one seed differ: webhook {number}, {left.type}, has other bytes or another time"
            yield Difference(_place(case).rstrip("."), message)
            return
    yield Difference(_place(case).rstrip("."), "two plays with one seed differ in their answers or their end")


def _report(path: Path, differences: Iterable[Difference], rehearsal: Rehearsal, out: Terminal) -> None:
    for each in differences:
        print_difference(each, f"{path}: ", out)
    out.say(out.dim("    what happened:"))
    renderer = Renderer(out, began=rehearsal.began)
    for row in rehearsal.timeline:
        for line in renderer.lines(row):
            out.say(line)


def _place(case: Case | None) -> str:
    return f"cases.{case.name}: " if case else ""
