"""What the machines of a test run have tried, told at its end: one text for each, and one for all parts of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from paydouble.stateful.coverage import Coverage
from paydouble.stateful.processors import processors


class Ran(NamedTuple):
    """A machine that has run, or a part of one. A worker of pytest-xdist passes it to its controller."""

    name: str
    coverage: Coverage
    findings: int = 0
    interrupted: bool = False
    module: str = ""
    """Where the machine's class is: two files may have machines of one name."""
    reports: tuple[str, ...] = ()
    """The reports of an interrupted run, which no test shows."""

    def text(self) -> str:
        """Return what it has tried, what it has not, and how more can be tried in the same time."""
        found = f", with {_findings(self.findings)}" if self.findings and not self.interrupted else ""
        name = f"{self.name}{', interrupted' if self.interrupted else ''}{found}"
        told = "\n\n".join((f"{name}: {self.coverage.summary()}", *self.reports))
        return told if self.findings or self.interrupted else f"{told}{self._advice()}"

    def _advice(self) -> str:
        """Return how all processors are used, as a line; empty where they are, or nothing was left out for time."""
        number = processors()
        if number == 1 or self.coverage.of_parts > 1 or not self.coverage.was_cut():
            return ""
        return f"\nThis computer has {number} processors: parts = {number} and pytest -n {number} use all of them."


def texts(ran: Iterable[Ran]) -> Iterator[str]:
    """Yield the text of each machine; the parts of one catalogue have one."""
    by_catalogue = sorted(ran, key=_catalogue_of)
    for (*_, parts), of_one in groupby(by_catalogue, key=_catalogue_of):
        if parts == 1:
            yield from (each.text() for each in of_one)
        else:
            yield _joined(list(of_one)).text()


def _catalogue_of(ran: Ran) -> tuple[str, str, int]:
    return ran.module, ran.name, ran.coverage.of_parts


def _joined(parts: Sequence[Ran]) -> Ran:
    return Ran(
        parts[0].name,
        Coverage.joined([each.coverage for each in parts]),
        sum(each.findings for each in parts),
        any(each.interrupted for each in parts),
        parts[0].module,
        tuple(report for each in parts for report in each.reports),
    )


def _findings(number: int) -> str:
    return "its finding" if number == 1 else f"{number} findings"
