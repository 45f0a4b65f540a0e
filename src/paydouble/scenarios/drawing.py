"""A scenario drawn as text: what happens when, lane by lane, with what depends on the merchant set in.

Times count from the creation of the lane's object. Where a branch can take longer on one side than on the other, what
follows has the earliest and the latest time.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from paydouble.core.durations import format_duration
from paydouble.payments.lifecycle import DISPUTE, PAY_IN, REFUND, UNPAID, first
from paydouble.scenarios import descriptions
from paydouble.scenarios.mermaid import draw_mermaid
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.steps import BranchStep, OpenDispute, OpenRefund, RepeatStep, Step, TransitionStep, inner, walk

Style = Literal["text", "mermaid"]
FIRST: Final = {"pay-in": first(PAY_IN), "each refund": first(REFUND), "each dispute": first(DISPUTE)}
_WIDTH: Final = 80
_USUAL_LIFETIME_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Span:
    """A time that is known (`low == high`), or between two; milliseconds."""

    low: int = 0
    high: int = 0

    def later(self, by: Span, times: int = 1) -> Span:
        """Return the time so much later."""
        return Span(self.low + times * by.low, self.high + times * by.high)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a lane; `time` is empty where the line only divides."""

    depth: int
    time: str
    what: str


def draw(scenario: Scenario, style: Style = "text") -> str:
    """Return a scenario's timeline, as text or as a Mermaid flowchart; it ends with a line break."""
    return draw_text(scenario) if style == "text" else draw_mermaid(scenario)


def draw_text(scenario: Scenario) -> str:
    """Return the timeline as text."""
    parts = [textwrap.fill(f"{scenario.name}: {scenario.summary}", _WIDTH) + "\n"]
    parts += [_lane(title, rows) for title, rows in lanes(scenario)]
    return "\n".join(parts)


def lanes(scenario: Scenario) -> Iterator[tuple[str, list[Row]]]:
    """Yield what is drawn below each other, with its title."""
    life = scenario.lifecycle
    yield "pay-in", _pay_in(scenario)
    if life.refund is not None:
        yield "each refund", _script("each refund", life.refund)
    elif any(action.kind == "refund" for action in scenario.merchant) or _opens(life.pay_in, OpenRefund):
        yield "each refund", [Row(0, "", "as usual: it succeeds after 3s")]
    if life.dispute:
        yield "each dispute", _script("each dispute", life.dispute)
    elif _opens(life.pay_in, OpenDispute):
        yield "each dispute", [Row(0, "", "as usual: the merchant's evidence, or its absence, decides")]
    if scenario.settings:
        yield (
            "settings",
            [Row(0, "", f"{name}: {descriptions.plain(value)}") for name, value in scenario.settings.items()],
        )
    if scenario.faults:
        yield "faults", [Row(0, "", descriptions.fault(each)) for each in scenario.faults]
    if scenario.merchant:
        yield "merchant, while it is tried out", _merchant(scenario)


def _lane(title: str, rows: Sequence[Row]) -> str:
    width = max((len(row.time) for row in rows), default=0)
    lines = [f"{'  ' * (row.depth + 1)}{f'{row.time:<{width}}  ' if width else ''}{row.what}" for row in rows]
    return "\n".join([title, *lines]) + "\n"


def _pay_in(scenario: Scenario) -> list[Row]:
    expires = _expires(scenario)
    rows, now, waiting = [Row(0, _plus(0), FIRST["pay-in"])], Span(), True
    expiry = Row(0, _plus(expires), "cancelled, as nobody has paid in time")
    for step in scenario.lifecycle.pay_in:
        due = now.low + step.after
        if waiting and due >= expires:  # of one instant, the expiry is first
            rows.append(expiry)
            waiting = False
        rows += _rows((step,), now, 0)
        now = now.later(_length(step))
        waiting = waiting and not _leaves_waiting((step,))
    return [*rows, expiry] if waiting else rows


def _script(lane: str, steps: Sequence[Step]) -> list[Row]:
    return [Row(0, _plus(0), FIRST[lane]), *_rows(steps, Span(), 0)]


def _rows(steps: Sequence[Step], now: Span, depth: int) -> list[Row]:
    """Return the rows of a script that goes on at a time."""
    rows: list[Row] = []
    for step in steps:
        rows += _of_step(step, now, depth)
        now = now.later(_length(step))
    return rows


def _of_step(step: Step, now: Span, depth: int) -> list[Row]:
    at = now.later(Span(step.after, step.after))
    match step:
        case RepeatStep():
            each = _total(step.steps)
            apart = f", every {format_duration(each.low)}" if each.low == each.high and each.low else ""
            return [Row(depth, "", f"{step.repeat} times{apart}:"), *_rows(step.steps, now, depth + 1)]
        case BranchStep():
            rows = [_row(depth, at, f"if {descriptions.condition(step.when)}:")]
            rows += _rows(step.then, at, depth + 1) or [Row(depth + 1, "", "nothing")]
            if step.otherwise:
                rows += [Row(depth, "", "otherwise:"), *_rows(step.otherwise, at, depth + 1)]
            return rows
        case OpenDispute() | OpenRefund():
            return [_row(depth, at, descriptions.opening(step))]
        case TransitionStep():
            return [_row(depth, at, descriptions.transition(step))]
        case _:
            assert_never(step)


def _row(depth: int, at: Span, what: str) -> Row:
    late = "" if at.low == at.high else f", or as late as {_plus(at.high)}"
    return Row(depth, _plus(at.low), what.removesuffix(":") + late + (":" if what.endswith(":") else ""))


def _plus(milliseconds: int) -> str:
    return f"+{format_duration(milliseconds)}"


def _length(step: Step) -> Span:
    """Return how long a step takes, from the one before it to its end."""
    sides = [_total(script) for script in inner(step)] or [Span()]
    longest = Span(min(side.low for side in sides), max(side.high for side in sides))
    times = step.repeat if isinstance(step, RepeatStep) else 1
    return Span(step.after, step.after).later(longest, times)


def _total(steps: Sequence[Step]) -> Span:
    total = Span()
    for step in steps:
        total = total.later(_length(step))
    return total


def usual_length(scenario: Scenario) -> int:
    """Return how many milliseconds the pay-in takes at most, or what the merchant does if that takes longer."""
    script = scenario.lifecycle.pay_in
    unpaid = 0 if _leaves_waiting(script) else _expires(scenario)
    return max(_total(script).high, unpaid, sum(action.after for action in scenario.merchant))


def _expires(scenario: Scenario) -> int:
    seconds = scenario.deposit.expires_in if scenario.deposit else None
    return (seconds or _USUAL_LIFETIME_SECONDS) * 1000


def _merchant(scenario: Scenario) -> list[Row]:
    special = descriptions.deposit(scenario.deposit) if scenario.deposit else ""
    rows, now = [Row(0, _plus(0), f"makes the deposit ({special})" if special else "makes the deposit")], 0
    for action in scenario.merchant:
        now += action.after
        rows.append(Row(0, _plus(now), descriptions.action(action)))
    return rows


def _opens(steps: Sequence[Step], kind: type[OpenDispute | OpenRefund]) -> bool:
    return any(isinstance(step, kind) for step in walk(steps))


def _leaves_waiting(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, TransitionStep) and step.to not in UNPAID for step in walk(steps))
