"""Labels for what faults have done: right in each phase, and there for every effect."""

from __future__ import annotations

from typing import Any

import pytest

from paydouble.faults import labels
from paydouble.faults.api_effects import DistortionEffect, OperationEffect
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS, document, parse_fault
from paydouble.faults.webhook_effects import AttemptEffect

NEEDED: dict[str, dict[str, Any]] = {
    "error": {"status": 503},
    "latency": {"fixed": "1s"},
    "redirect": {"to": "http://127.0.0.1/"},
    "amount_drift": {"by": "0.10"},
    "currency_drift": {"to": "USD"},
    "signature": {"mode": "stale"},
    "payload": {"mode": "huge"},
    "formatting": {"mode": "pretty"},
}


def declared(effect: str, **members: Any) -> labels.Declaration:  # noqa: ANN401 - those of a fault
    """Return a fault as the control API shows it."""
    return document(parse_fault({"effect": {"type": effect, **NEEDED.get(effect, {})}, **members}))


@pytest.mark.parametrize(
    ("effect", "phase", "said"),
    [
        ("connection_reset", "after_commit", "reply lost"),
        ("no_response", "after_commit", "reply lost"),
        ("empty_response", "before_commit", "nothing done"),
        ("connection_reset", None, "nothing done"),
        ("error", None, "nothing done"),
        ("html_error", "after_commit", "reply replaced"),
        ("garbage", "before_commit", "nothing done, garbage sent"),
        ("garbage", "after_commit", "reply garbled"),
        ("truncate", None, "reply cut short"),
        ("truncate", "before_commit", "nothing done, reply cut short"),
        ("slow_body", "after_commit", "reply in drips"),
        ("latency", "after_commit", "delayed"),
        ("lost_record", None, "lost_record"),
    ],
)
def test_a_request_is_said_to_be_done_or_not(effect: str, phase: str | None, said: str) -> None:
    """The same broken connection means a payment in one phase and none in the other."""
    members = {} if phase is None else {"phase": phase}

    assert labels.to_request(declared(effect, **members)) == said


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ("connection_reset", "reply lost"),
        ("no_response", "reply lost"),
        ("garbage", "reply garbled"),
        ("truncate", "reply cut short"),
        ("latency", ""),
        ("error", ""),
        ("lost_record", ""),
    ],
)
def test_a_reply_that_no_client_got_whole_is_told_apart(effect: str, said: str) -> None:
    """Whatever the phase is: only what the client saw counts."""
    for phase in ("before_commit", "after_commit"):
        assert labels.broken_reply({"effect": {"type": effect}, "phase": phase}) == said
    assert not labels.broken_reply({"effect": {"type": "teleport"}})


def test_what_breaks_a_reply_says_more_than_its_name() -> None:
    """Effects on the operation itself are labelled with their names; all others with what they did to the reply."""
    said = {kind: labels.to_request(declared(kind)) for kind in API_EFFECTS}

    assert {kind for kind in said if said[kind] == kind} == _of_kind(OperationEffect)
    assert all(said[kind].startswith("reply ") for kind in _of_kind(DistortionEffect))


def _of_kind(base: type[object]) -> set[str]:
    return {kind for kind, effect in API_EFFECTS.items() if issubclass(effect, base)}


def test_an_effect_of_another_version_is_labelled_with_its_name() -> None:
    """The handle may be used with a newer server."""
    newer = {"effect": {"type": "teleport"}}

    assert [labels.to_request(newer), labels.to_event(newer), labels.to_attempt(newer)] == ["teleport"] * 3


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ("connection_reset", "broken off half-way"),
        ("tamper", "tampered with"),
        ("signature", "signature stale"),
        ("payload", "payload huge"),
        ("chunked", "chunked"),
    ],
)
def test_an_attempt_has_the_label_of_its_effect(effect: str, said: str) -> None:
    """With the mode, where an effect has several."""
    assert labels.to_attempt(declared(effect, on="webhooks")) == said


def test_every_effect_on_attempts_has_a_label() -> None:
    """Its label is one to three words."""
    kinds = [name for name, kind in WEBHOOK_EFFECTS.items() if issubclass(kind, AttemptEffect)]

    assert all(0 < len(labels.to_attempt(declared(kind, on="webhooks")).split()) <= 3 for kind in kinds)


def test_a_removed_fault_is_labelled_with_its_id() -> None:
    """Several faults are listed in their order."""
    known = {"a": declared("latency"), "b": declared("truncate")}

    assert labels.describe(["a", "gone", "b"], known.get, labels.to_request) == (
        ", delayed (a), fired: gone, reply cut short (b)"
    )
    assert not labels.describe([], known.get, labels.to_request)


@pytest.mark.parametrize(
    ("delivery", "said"), [("dlv_7Q4m", ""), ("dlv_7Q4m.1", " (copy 1)"), ("dlv_x.12", " (copy 12)")]
)
def test_a_copy_has_its_number_in_its_id(delivery: str, said: str) -> None:
    """The event's own delivery has none."""
    assert labels.copy(delivery) == said
