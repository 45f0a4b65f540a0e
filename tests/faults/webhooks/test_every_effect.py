"""Each effect on webhooks changes what a receiver gets, or when."""

from __future__ import annotations

from typing import Any

import pytest
from drive import DAY, DEPOSITS, Business, deposit_body
from webhook_faults import EFFECTS, label

from paydouble.faults.model import WEBHOOK_EFFECTS, parse_fault
from paydouble.webhooks.deliveries import Attempt

USUAL: list[dict[str, Any]] = [{"type": "formatting", "mode": "compact"}, {"type": "livemode", "value": False}]
Seen = list[tuple[object, ...]]


class _Receiver:
    """Answers 500 to the first two attempts, so that there are retries to act on."""

    def __init__(self) -> None:
        self.left = 2

    def __call__(self, _: Attempt) -> int:
        self.left -= 1
        return 200 if self.left < 0 else 500


def _story(effect: dict[str, Any] | None) -> Seen:
    """Return every attempt of two deposits that are paid, and what was to be sent before each answer."""
    business = Business(receiver=_Receiver())
    if effect is not None:
        fault = parse_fault({"on": "webhooks", "effect": effect})
        business.sandbox.faults.add(fault, business.sandbox.now)
    seen: Seen = []
    for order in ("order/1", "order/2"):
        reply = business.post(DEPOSITS, deposit_body(external_identifier=order))
        seen += [(delivery.event.type, lead) for delivery, lead in reply.overtaken]
        business.advance(3 * DAY)
    attempts = [each for delivery in business.sandbox.outbox.deliveries.values() for each in delivery.attempts]
    attempts.sort(key=lambda each: each.sequence)
    return seen + [(each.due_at, each.url, each.headers, each.body, each.transport) for each in attempts]


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
def test_an_effect_changes_what_a_receiver_gets(effect: dict[str, Any]) -> None:
    """Other attempts, or other times, headers or bytes, or another way of sending; two are as usual."""
    assert (_story(effect) == _story(None)) == (effect in USUAL)


def test_every_effect_is_tried() -> None:
    """Every effect is in the list of the tests."""
    assert {effect["type"] for effect in EFFECTS} == set(WEBHOOK_EFFECTS)
