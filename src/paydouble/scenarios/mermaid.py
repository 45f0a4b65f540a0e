"""A scenario drawn as a Mermaid flowchart, which Markdown pages show as a picture.

Each lane is a subgraph. An arrow says how long it takes; a rhombus is a branch, and its arrows say yes and no.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from paydouble.core.durations import format_duration
from paydouble.payments.lifecycle import DISPUTE, PAY_IN, REFUND, finals, first
from paydouble.scenarios import descriptions
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.steps import (
    Branch,
    BranchStep,
    OpenDispute,
    OpenRefund,
    Repeat,
    RepeatStep,
    Step,
    TransitionStep,
)

_FINAL = frozenset({*finals(PAY_IN), *finals(REFUND), *finals(DISPUTE)})
_CODES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "'"})
End = tuple[str, str]
"""A node from which the way goes on, and what its arrow says besides the time."""


def draw_mermaid(scenario: Scenario) -> str:
    """Return the flowchart; it ends with a line break."""
    life = scenario.lifecycle
    chart = _Chart()
    chart.lane("p", "pay-in", first(PAY_IN), life.pay_in)
    if life.refund is not None:
        chart.lane("r", "each refund", first(REFUND), life.refund)
    if life.dispute:
        chart.lane("d", "each dispute", first(DISPUTE), life.dispute)
    return "\n".join(["---", f"title: {scenario.name}", "---", "flowchart TD", *chart.lines, *chart.links()]) + "\n"


class _Chart:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._lanes: set[str] = set()
        self._openers: list[tuple[str, str]] = []
        self._prefix = ""
        self._count = 0

    def lane(self, prefix: str, title: str, first: str, steps: Sequence[Step]) -> None:
        """Draw a script as a subgraph."""
        self._prefix, self._count = prefix, 0
        self._lanes.add(prefix)
        self.lines.append(f"    subgraph {prefix} [{_text(title)}]")
        node = self._node(first, "(", ")")
        self._steps(steps, [(node, "")])
        self.lines.append("    end")

    def links(self) -> list[str]:
        """Return the arrows from what begins a refund or a dispute to its lane."""
        return [f"    {node} -.-> {lane}1" for node, lane in self._openers if lane in self._lanes]

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
            case OpenDispute() | OpenRefund():
                node = self._node(descriptions.opening(step), "[/", "/]")
                self._openers.append((node, "d" if isinstance(step, OpenDispute) else "r"))
                return self._after(ends, node, step.after)
            case TransitionStep():
                shape = ("([", "])") if step.to in _FINAL else ("(", ")")
                return self._after(ends, self._node(descriptions.transition(step), *shape), step.after)
            case _:
                assert_never(step)

    def _after(self, ends: list[End], node: str, time: int) -> list[End]:
        self._arrows(ends, node, time)
        return [(node, "")]

    def _branch(self, step: Branch, ends: list[End]) -> list[End]:
        node = self._node(f"{descriptions.condition(step.when)}?", "{", "}")
        self._arrows(ends, node, step.after)
        return self._steps(step.then, [(node, "yes")]) + self._steps(step.otherwise, [(node, "no")])

    def _repeat(self, step: Repeat, ends: list[End]) -> list[End]:
        first = self._count + 1
        ends = self._steps(step.steps, ends)
        if step.repeat > 1:
            for node, said in ends:
                label = ", ".join(filter(None, (said, f"{step.repeat} times in all")))
                self.lines.append(f"        {node} -->|{_text(label)}| {self._prefix}{first}")
        return ends

    def _node(self, label: str, left: str, right: str) -> str:
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self.lines.append(f"        {name}{left}{_text(label)}{right}")
        return name

    def _arrows(self, ends: list[End], to: str, after: int) -> None:
        for node, said in ends:
            label = ", ".join(filter(None, (said, format_duration(after) if after else "")))
            self.lines.append(f"        {node} -->|{_text(label)}| {to}" if label else f"        {node} --> {to}")


def _text(label: str) -> str:
    """Return a label in quotes, with nothing in it that Mermaid would take for its own."""
    return f'"{" ".join(label.split()).translate(_CODES)}"'
