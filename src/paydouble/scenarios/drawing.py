"""A scenario drawn as a text timeline, or as a Mermaid flowchart, which Markdown pages show as a picture.

Text: one section for the pay-in, each refund and each dispute; the sides of a branch are indented. Times count from
the creation of the section's object. Where the sides of a branch differ in length, what follows shows the earliest and
the latest time.

Mermaid: one subgraph for each of these. An arrow shows the time that passes; a rhombus is a branch, with one arrow for
yes and one for no, or with one for each thing that the payer can do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

from paydouble.core.durations import format_duration
from paydouble.payments.lifecycle import DISPUTE, PAY_IN, REFUND, UNPAID, finals, first
from paydouble.scenarios import descriptions
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.steps import (
    AwaitPayer,
    Branch,
    BranchStep,
    Leaf,
    OpenDispute,
    OpenRefund,
    Repeat,
    RepeatStep,
    Step,
    TransitionStep,
    inner,
    walk,
)

Style = Literal["text", "mermaid"]
_FIRST: Final = {"pay-in": first(PAY_IN), "each refund": first(REFUND), "each dispute": first(DISPUTE)}
_FINAL: Final = frozenset({*finals(PAY_IN), *finals(REFUND), *finals(DISPUTE)})
_WIDTH: Final = 80
_CODES: Final = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "'"})
_DEFAULT_LIFETIME_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Interval:
    """The earliest and the latest time at which something can happen, in milliseconds; often the same."""

    low: int = 0
    high: float = 0
    """Infinite behind a wait that only the expiry of the pay-in ends."""

    def later(self, by: Interval, times: int = 1) -> Interval:
        """Return the interval moved by `times` times `by`."""
        return Interval(self.low + times * by.low, self.high + times * by.high)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a section; `time` is empty for headings such as `otherwise:`."""

    depth: int
    time: str
    what: str


def draw(scenario: Scenario, style: Style = "text") -> str:
    """Return a scenario's timeline as text or as a Mermaid flowchart; the result ends with a line break."""
    return _draw_text(scenario) if style == "text" else _draw_mermaid(scenario)


def _draw_text(scenario: Scenario) -> str:
    parts = [textwrap.fill(f"{scenario.name}: {scenario.summary}", _WIDTH) + "\n"]
    parts += [_section(title, rows) for title, rows in sections(scenario)]
    return "\n".join(parts)


def sections(scenario: Scenario) -> Iterator[tuple[str, list[Row]]]:
    """Yield the sections of the text timeline, from top to bottom, with their titles."""
    scripts = scenario.lifecycle
    yield "pay-in", _pay_in(scenario)
    if scripts.refund is not None:
        yield "each refund", _script("each refund", scripts.refund)
    elif any(action.kind == "refund" for action in scenario.merchant) or _opens(scripts.pay_in, OpenRefund):
        yield "each refund", [Row(0, "", "default: it succeeds after 3s")]
    if scripts.dispute:
        yield "each dispute", _script("each dispute", scripts.dispute)
    elif _opens(scripts.pay_in, OpenDispute):
        yield "each dispute", [Row(0, "", "default: the merchant's evidence, or its absence, decides")]
    if scenario.settings:
        yield (
            "settings",
            [Row(0, "", f"{name}: {descriptions.plain(value)}") for name, value in scenario.settings.items()],
        )
    if scenario.faults:
        yield "faults", [Row(0, "", descriptions.fault(each)) for each in scenario.faults]
    if scenario.merchant:
        yield "merchant, when it is played", _merchant(scenario)


def _section(title: str, rows: Sequence[Row]) -> str:
    width = max((len(row.time) for row in rows), default=0)
    lines = [f"{'  ' * (row.depth + 1)}{f'{row.time:<{width}}  ' if width else ''}{row.what}" for row in rows]
    return "\n".join([title, *lines]) + "\n"


def _pay_in(scenario: Scenario) -> list[Row]:
    expires = _expires(scenario)
    rows, now, waiting = [Row(0, _plus(0), _FIRST["pay-in"])], Interval(), True
    expiry = Row(0, _plus(expires), "cancelled, because it was not paid in time")
    for step in scenario.lifecycle.pay_in:
        due = now.low + step.after
        if waiting and due >= expires:  # at the same instant, the expiry comes first
            rows.append(expiry)
            waiting = False
        rows += _rows((step,), now, 0)
        now = now.later(_length(step))
        waiting = waiting and not _leaves_waiting((step,))
    return [*rows, expiry] if waiting else rows


def _script(section: str, steps: Sequence[Step]) -> list[Row]:
    return [Row(0, _plus(0), _FIRST[section]), *_rows(steps, Interval(), 0)]


def _rows(steps: Sequence[Step], now: Interval, depth: int) -> list[Row]:
    """Return the rows of a script that begins, or continues, at a time."""
    rows: list[Row] = []
    for step in steps:
        rows += _step_rows(step, now, depth)
        now = now.later(_length(step))
    return rows


def _step_rows(step: Step, now: Interval, depth: int) -> list[Row]:
    at = now.later(Interval(step.after, step.after))
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
        case AwaitPayer():
            rows = [_row(depth, at, descriptions.wait(step))]
            patience = _patience(step)
            for name, side in step.sides.items():
                acts = patience if name != "timeout" or step.within is None else Interval(step.within, step.within)
                rows.append(Row(depth, "", f"if the payer {descriptions.side(step, name)}:"))
                rows += _rows(side, at.later(acts), depth + 1) or [Row(depth + 1, "", "nothing")]
            return rows
        case _:
            return [_row(depth, at, descriptions.leaf(step))]


def _row(depth: int, at: Interval, what: str) -> Row:
    late = "" if at.low == at.high else ", or later" if at.high == inf else f", or as late as {_plus(int(at.high))}"
    return Row(depth, _plus(at.low), what.removesuffix(":") + late + (":" if what.endswith(":") else ""))


def _plus(milliseconds: int) -> str:
    return f"+{format_duration(milliseconds)}"


def _length(step: Step) -> Interval:
    """Return the time from the previous step to the end of this one."""
    sides = [_total(script) for script in inner(step)] or [Interval()]
    longest = Interval(min(side.low for side in sides), max(side.high for side in sides))
    if isinstance(step, AwaitPayer):
        longest = longest.later(_patience(step))
    times = step.repeat if isinstance(step, RepeatStep) else 1
    return Interval(step.after, step.after).later(longest, times)


def _patience(step: AwaitPayer) -> Interval:
    return Interval(0, inf if step.within is None else step.within)


def _total(steps: Sequence[Step]) -> Interval:
    total = Interval()
    for step in steps:
        total = total.later(_length(step))
    return total


def usual_length(scenario: Scenario) -> int:
    """Return the longest time in milliseconds that the pay-in, or the merchant's actions, can take."""
    script = scenario.lifecycle.pay_in
    unpaid = 0 if _leaves_waiting(script) else _expires(scenario)
    longest = _total(script).high
    scripted = _expires(scenario) if longest == inf else int(longest)
    return max(scripted, unpaid, sum(action.after for action in scenario.merchant))


def _expires(scenario: Scenario) -> int:
    seconds = scenario.deposit.expires_in if scenario.deposit else None
    return (seconds or _DEFAULT_LIFETIME_SECONDS) * 1000


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


End = tuple[str, str]
"""A node from which an arrow leaves, and the arrow's label besides the time."""


def _draw_mermaid(scenario: Scenario) -> str:
    scripts = scenario.lifecycle
    chart = _Chart()
    chart.subgraph("p", "pay-in", first(PAY_IN), scripts.pay_in)
    if scripts.refund is not None:
        chart.subgraph("r", "each refund", first(REFUND), scripts.refund)
    if scripts.dispute:
        chart.subgraph("d", "each dispute", first(DISPUTE), scripts.dispute)
    return "\n".join(["---", f"title: {scenario.name}", "---", "flowchart TD", *chart.lines, *chart.links()]) + "\n"


class _Chart:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._subgraphs: set[str] = set()
        self._openers: list[tuple[str, str]] = []
        self._prefix = ""
        self._count = 0

    def subgraph(self, prefix: str, title: str, first: str, steps: Sequence[Step]) -> None:
        """Draw a script as a subgraph."""
        self._prefix, self._count = prefix, 0
        self._subgraphs.add(prefix)
        self.lines.append(f"    subgraph {prefix} [{_quoted(title)}]")
        node = self._node(first, "(", ")")
        self._steps(steps, [(node, "")])
        self.lines.append("    end")

    def links(self) -> list[str]:
        """Return the arrows from steps that open a refund or a dispute to its subgraph."""
        return [f"    {node} -.-> {prefix}1" for node, prefix in self._openers if prefix in self._subgraphs]

    def _steps(self, steps: Sequence[Step], ends: list[End]) -> list[End]:
        for step in steps:
            ends = self._step(step, ends)
        return ends

    def _step(self, step: Step, ends: list[End]) -> list[End]:
        match step:
            case RepeatStep():
                return self._repeat(step, ends)
            case BranchStep():
                return self._branch(step, ends)
            case AwaitPayer():
                return self._wait(step, ends)
            case _:
                return self._leaf(step, ends)

    def _leaf(self, step: Leaf, ends: list[End]) -> list[End]:
        left, right = "(", ")"
        if isinstance(step, OpenDispute | OpenRefund):
            left, right = "[/", "/]"
        elif getattr(step, "to", "") in _FINAL:
            left, right = "([", "])"
        node = self._node(descriptions.leaf(step), left, right)
        if isinstance(step, OpenDispute | OpenRefund):
            self._openers.append((node, "d" if isinstance(step, OpenDispute) else "r"))
        self._arrows(ends, node, step.after)
        return [(node, "")]

    def _branch(self, step: Branch, ends: list[End]) -> list[End]:
        node = self._node(f"{descriptions.condition(step.when)}?", "{", "}")
        self._arrows(ends, node, step.after)
        return self._steps(step.then, [(node, "yes")]) + self._steps(step.otherwise, [(node, "no")])

    def _wait(self, step: AwaitPayer, ends: list[End]) -> list[End]:
        node = self._node(descriptions.wait(step), "{", "}")
        self._arrows(ends, node, step.after)
        begins = {name: [(node, descriptions.side(step, name))] for name in step.sides}
        return [end for name, side in step.sides.items() for end in self._steps(side, begins[name])]

    def _repeat(self, step: Repeat, ends: list[End]) -> list[End]:
        first = self._count + 1
        ends = self._steps(step.steps, ends)
        if step.repeat > 1:
            for node, text in ends:
                label = ", ".join(filter(None, (text, f"{step.repeat} times in all")))
                self.lines.append(f"        {node} -->|{_quoted(label)}| {self._prefix}{first}")
        return ends

    def _node(self, label: str, left: str, right: str) -> str:
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self.lines.append(f"        {name}{left}{_quoted(label)}{right}")
        return name

    def _arrows(self, ends: list[End], to: str, after: int) -> None:
        for node, text in ends:
            label = ", ".join(filter(None, (text, format_duration(after) if after else "")))
            self.lines.append(f"        {node} -->|{_quoted(label)}| {to}" if label else f"        {node} --> {to}")


def _quoted(label: str) -> str:
    """Return a label in quotes, with Mermaid's special characters escaped."""
    return f'"{" ".join(label.split()).translate(_CODES)}"'
