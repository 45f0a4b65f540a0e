"""Declarations of effects on webhooks: what is refused, and what they write into a plan."""

from __future__ import annotations

from typing import Any

import pytest
from webhook_faults import EFFECTS, label

from paydouble.core.errors import UsageError
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.model import WEBHOOK_EFFECTS, document, parse_fault
from paydouble.faults.plans import AttemptPlan, EventPlan
from paydouble.faults.seeded_values import SeededValues
from paydouble.faults.webhook_effects import AttemptEffect, EventEffect

ROLL = SeededValues(SeededRandom(1), "fault-1", 1)


@pytest.mark.parametrize(
    ("effect", "member", "message"),
    [
        ({"type": "delay"}, "effect", "exactly one of"),
        ({"type": "delay", "fixed": "1"}, "effect.fixed", "not a duration"),
        ({"type": "delay", "fixed": "1s", "uniform": ["1s", "2s"]}, "effect", "exactly one of"),
        ({"type": "duplicate", "copies": 0}, "effect.copies", "send at least 1"),
        ({"type": "duplicate", "copies": 1001}, "effect.copies", "send at most 1000"),
        ({"type": "reorder", "strategy": "sort"}, "effect.strategy", "'reverse', 'swap'"),
        ({"type": "reorder", "window": 1}, "effect.window", "send at least 2"),
        ({"type": "reorder", "order": [2, 1]}, "effect", "only with it"),
        ({"type": "reorder", "strategy": "permutation"}, "effect", "only with it"),
        ({"type": "reorder", "strategy": "permutation", "window": 3, "order": [1, 2]}, "effect", "from 1 to 3"),
        ({"type": "reorder", "strategy": "permutation", "order": [1, 1]}, "effect", "from 1 to 2"),
        ({"type": "signature"}, "effect.mode", "is missing"),
        ({"type": "signature", "mode": "stolen"}, "effect.mode", "is 'stolen'; "),
        ({"type": "signature", "mode": "missing", "age": "1s"}, "effect", "stale and future"),
        ({"type": "tamper", "path": "a..b"}, "effect.path", "dotted path"),
        ({"type": "tamper", "value": "\ud800"}, "effect.value", "is not JSON"),
        ({"type": "payload", "mode": "odd"}, "effect.mode", "'invalid_json'"),
        ({"type": "schedule", "attempts": 3, "delays": ["1s"]}, "effect", "need 2 delays"),
        ({"type": "slow_body", "chunks": 1}, "effect.chunks", "send at least 2"),
        ({"type": "drop", "when": "now"}, "effect.when", "not known"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_at_its_place(effect: dict[str, Any], member: str, message: str) -> None:
    """The error names the member and says what is allowed."""
    with pytest.raises(UsageError, match=message) as refused:
        parse_fault({"on": "webhooks", "effect": effect})

    assert refused.value.member is not None
    assert refused.value.member.startswith(member.split(".", maxsplit=1)[0])
    assert "." not in member or refused.value.member == member


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
def test_a_declaration_can_be_written_and_read_again(effect: dict[str, Any]) -> None:
    """The document of a fault declares the same fault."""
    fault = parse_fault({"on": "webhooks", "effect": effect})

    assert parse_fault(document(fault)) == fault
    assert set(effect) <= set(document(fault)["effect"])


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
def test_every_effect_notes_something(effect: dict[str, Any]) -> None:
    """Every effect changes its plan."""
    declared = parse_fault({"on": "webhooks", "effect": effect}).effect

    if isinstance(declared, EventEffect):
        event_plan = EventPlan()
        declared.apply(event_plan, ROLL)
        assert event_plan != EventPlan()
    else:
        assert isinstance(declared, AttemptEffect)
        attempt_plan = AttemptPlan()
        declared.apply(attempt_plan, ROLL)
        assert attempt_plan != AttemptPlan()


def test_delays_add_up() -> None:
    """Two combined delays take the time of both."""
    plan = EventPlan()
    for fixed in ("2s", "3s"):
        effect = parse_fault({"on": "webhooks", "effect": {"type": "delay", "fixed": fixed}}).effect
        assert isinstance(effect, EventEffect)
        effect.apply(plan, ROLL)

    assert plan.delay_ms == 5_000


def test_every_effect_says_which_bug_it_exposes() -> None:
    """In a sentence of its own, which the reference page prints."""
    sentences = [effect.exposes for effect in WEBHOOK_EFFECTS.values()]

    assert all(len(sentence) > 20 for sentence in sentences)
    assert len(set(sentences)) == len(sentences)
