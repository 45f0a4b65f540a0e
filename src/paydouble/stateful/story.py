"""The report of a play: its steps in plain words, as a test to paste, as a scenario file and as faults to arm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recorded import recorded_steps
from paydouble.stateful.acknowledged import Shows, ShowsEach


@dataclass(slots=True)
class Story:
    """The steps of a play so far."""

    dialect: str
    seed: int
    sentences: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    shows: Shows | ShowsEach = ""
    """When the merchant shows what a webhook told, where the verdict depends on it."""

    def add(self, sentence: str, call: str, faults: Sequence[dict[str, Any]] = ()) -> None:
        """Add a step: a sentence, the call of `Play` that does it, and the faults that it armed."""
        self.sentences.append(sentence)
        self.calls.append(call)
        self.faults.extend(faults)

    def report(self, verdict: str, others: Sequence[str], merchant: str, box: Sandbox) -> str:
        """Return the report of a verdict; `others` are rules broken besides, `merchant` is the adapter's name."""
        parts = [
            f"{verdict}.",
            *(["Also:\n" + "\n".join(f"  - {text}." for text in others)] if others else ()),
            "What happened:\n" + "\n".join(f"{n:>3}. {text}." for n, text in enumerate(self.sentences, 1)),
            "As a test to paste:\n\n" + indent(self._test(merchant), "    "),
            "As a scenario file:\n\n" + indent(self._scenario(verdict, box), "    "),
        ]
        if self.faults:
            lines = "\n".join(json.dumps(fault) for fault in self.faults)
            parts.append("Faults for POST /_paydouble/sandboxes/{s}/faults, in order:\n\n" + indent(lines, "    "))
        return "\n\n".join(parts)

    def _test(self, merchant: str) -> str:
        options = f", dialect={self.dialect!r}" if self.dialect != "plain" else ""
        options += f", seed={self.seed}" if self.seed else ""
        times = {self.shows} if isinstance(self.shows, str) else set(self.shows.values())
        if times != {""}:
            shows = times.pop() if len(times) == 1 else self.shows
            options += f", shows={shows!r}"
        lines = [
            "from paydouble.stateful import Play",
            "",
            "",
            "def test_story() -> None:",
            f"    with Play({merchant}{options}) as play:",
            *(f"        {call}" for call in self.calls),
        ]
        return "\n".join(lines)

    def _scenario(self, verdict: str, box: Sandbox) -> str:
        # The transitions of the play's last deposit.
        lines = ["name: machine-story", f"summary: {json.dumps(verdict[:280])}", "lifecycle:"]
        pay_in = next(iter(box.ledger.newest_first(PayIn)), None)
        steps = _steps(box, pay_in) if pay_in is not None else []
        lines += ["  pay_in:", *steps] if steps else ["  pay_in: []"]
        return "\n".join(lines)


def _steps(box: Sandbox, pay_in: PayIn) -> list[str]:
    lines = []
    for step in recorded_steps(box, pay_in):
        forced = ", force: true" if "force" in step else ""
        lines.append(f"    - {{after: {step['after']}, to: {step['to']}{forced}}}")
    return lines
