"""A row of the table: what was measured, what was asked, and whether the one meets the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(slots=True, frozen=True)
class Effort:
    """How much is measured. A quick run shows that everything works; its figures mean nothing and are not judged."""

    rounds: int
    requests: int
    starts: int
    sandboxes: int
    retries: int
    fill: int
    growth: int
    turns: int
    """Rounds where each takes a second or more."""
    tests: int
    """Of a suite."""
    scale: int = 1
    """What the numbers in the names of rows are divided by."""
    judged: bool = True


FULL = Effort(
    rounds=25,
    requests=2_500,
    starts=15,
    sandboxes=400,
    retries=7,
    fill=12_000,
    growth=20_000,
    turns=7,
    tests=200,
)
QUICK = Effort(
    rounds=1,
    requests=200,
    starts=1,
    sandboxes=20,
    retries=1,
    fill=300,
    growth=200,
    turns=1,
    tests=2,
    scale=1_000,
    judged=False,
)


@dataclass(slots=True, frozen=True)
class Target:
    """A bound that must hold, and perhaps one to aim at; either in the row's own unit."""

    bound: float
    at_least: bool
    aim: float | None = None

    def met(self, figure: float, bound: float) -> bool:
        """Return whether a figure is on the right side of a bound."""
        return figure >= bound if self.at_least else figure <= bound

    def text(self, unit: str) -> str:
        """Return the target as the table shows it."""
        sign = "≥" if self.at_least else "≤"
        aim = "" if self.aim is None else f", aim {sign} {write(self.aim, unit)}"
        return f"{sign} {write(self.bound, unit)}{aim}"


@dataclass(slots=True, frozen=True)
class Row:
    """One line: our figure and the bare one as text, and the figure that is judged, once for each round."""

    name: str
    ours: str
    bare: str
    figures: Sequence[float]
    unit: str
    target: Target | None = None

    def verdict(self, *, judged: bool) -> str:
        """Return what became of the target, by the median of the rounds."""
        if self.target is None or not self.figures:
            return "–"
        if not judged:
            return "not judged"
        figure = median(self.figures)
        if not self.target.met(figure, self.target.bound):
            return "**missed**"
        return "met" if self.target.aim is None or self.target.met(figure, self.target.aim) else "met, not the aim"

    def cells(self, *, judged: bool) -> tuple[str, ...]:
        """Return the row's cells in the order of `HEAD`."""
        figure = "not measured on this system"
        if self.figures:
            figure = write(median(self.figures), self.unit)
            if len(self.figures) > 1:
                figure += f" ({write(min(self.figures), '')} to {write(max(self.figures), '')})"
        target = "–" if self.target is None else self.target.text(self.unit)
        return self.name, self.ours, self.bare, figure, target, self.verdict(judged=judged)


@dataclass(slots=True, frozen=True)
class Benchmark:
    """A part of the run, and the names of the rows that it yields, in order."""

    names: Sequence[str]
    measure: Callable[[Effort], Iterator[Row]]
    takes_minutes: bool = False
    """Whether only `--long`, `--write` and `--quick` run it, besides `--only`."""


HEAD = ("What", "paydouble", "bare", "figure (lowest to highest round)", "target", "verdict")


def table(rows: Iterable[Row], *, judged: bool) -> str:
    """Return rows as a Markdown table."""
    lines = [HEAD, ("---",) * len(HEAD), *(row.cells(judged=judged) for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def write(figure: float, unit: str) -> str:
    """Return a figure with as many digits as it deserves."""
    digits = 0 if abs(figure) >= 100 else 1 if abs(figure) >= 10 else 2
    return f"{figure:,.{digits}f}{' ' if unit and unit != '×' else ''}{unit}"


def micros(seconds: Sequence[float]) -> str:
    """Return the median of some seconds in microseconds, or a dash if nothing could be measured."""
    return write(median(seconds) * 1e6, "µs") if seconds else "–"


def ratios(ours: Sequence[float], bare: Sequence[float]) -> list[float]:
    """Return how many times as much each of our figures is as the other one of its round."""
    return [mine / theirs for mine, theirs in zip(ours, bare, strict=True) if theirs]


def percentile(sorted_figures: Sequence[float], share: float) -> float:
    """Return the figure that this share of the sorted figures does not exceed."""
    return sorted_figures[min(len(sorted_figures) - 1, int(len(sorted_figures) * share))]
