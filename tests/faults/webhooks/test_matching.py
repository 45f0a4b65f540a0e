"""Which events and attempts a fault matches; every effect when it fires, and when it does not."""

from __future__ import annotations

from itertools import cycle
from typing import Any, get_args

import pytest
from drive import DEPOSITS, HOUR, Business, deposit_body
from hooked import LIFE, hooked
from receivers import ok, status
from servers import Client
from webhook_faults import EFFECTS, label

from paydouble.api.values import Reply
from paydouble.core.errors import UsageError
from paydouble.faults.model import WEBHOOK_EFFECTS, parse_fault
from paydouble.faults.webhook_effects import EventEffect
from paydouble.webhooks.deliveries import Attempt

# Each of these keeps a fault from firing for a pay-in that plays the happy path.
REASONS: list[dict[str, Any]] = [
    {"match": {"event_type": "refund.*"}},
    {"match": {"object_id": "payin_other"}},
    {"match": {"external_identifier": "order-2"}},
    {"match": {"scenario": "abandoned"}},
    {"skip": 4},
    {"enabled": False},
    {"probability": 0},
]


@pytest.mark.parametrize(
    ("effect", "reason"), list(zip(EFFECTS, cycle(REASONS), strict=False)), ids=[label(each) for each in EFFECTS]
)
async def test_an_effect_that_does_not_fire_changes_nothing(
    client: Client, effect: dict[str, Any], reason: dict[str, Any]
) -> None:
    """Four events arrive in order with their own bytes and right signatures, and name no fault."""
    async with hooked(client) as business:
        fault = business.fault(effect, **reason)
        await business.live()

        assert fault.fired == 0
        assert business.types == LIFE
        assert [request.body for request in business.requests] == [each.event.body for each in business.deliveries]
        assert all(business.verifies(request) for request in business.requests)
        assert all(request.header("Content-Length") == str(len(request.body)) for request in business.requests)
        assert [(each.status, each.faults, each.attempts[0].faults) for each in business.deliveries] == [
            ("delivered", (), ())
        ] * 4
        assert len({document["created_at"] for document in business.documents}) == 4


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
async def test_a_delivery_or_its_attempt_names_the_fault(client: Client, effect: dict[str, Any]) -> None:
    """Whatever an effect does, the record of what it changed names the fault."""
    async with hooked(client, status(500), ok) as business:
        fault = business.fault(effect, id="culprit", times=4)
        await business.live()
        await business.box.advance(by="2h")

        named = {name for each in business.deliveries for name in each.faults}
        named |= {name for each in business.deliveries for attempt in each.attempts for name in attempt.faults}
        assert named == {"culprit"}
        assert fault.fired > 0
        assert {each.status for each in business.deliveries} <= {"delivered", "dropped", "held", "exhausted"}


def _what_is_seen(effect: dict[str, Any], *, armed: bool) -> object:
    """Return all that the merchant can see of a payment whose deliveries fail once each, with or without a fault."""
    failed = set()

    def receiver(attempt: Attempt) -> int:
        first = attempt.body not in failed
        failed.add(attempt.body)
        return 500 if first else 200

    # The fault sets another value than the sandbox has.
    livemode = effect["type"] == "livemode" and not effect.get("value", True)
    business = Business(receiver=receiver, livemode=livemode)
    if armed:
        fault = parse_fault({"on": "webhooks", "effect": effect})
        business.sandbox.faults.add(fault, business.sandbox.now)
    reply = business.begin(DEPOSITS, deposit_body(external_identifier="order/1"))
    assert isinstance(reply, Reply)
    business.advance(2 * HOUR)
    return (
        [lead for _, lead in reply.overtaken],
        [(each.due_at, each.headers, each.body, each.transport) for each in business.received],
        [each.status for each in business.sandbox.outbox.deliveries.values()],
    )


# Events are compact already, so `compact` only undoes what another fault has done.
@pytest.mark.parametrize("effect", [each for each in EFFECTS if each.get("mode") != "compact"], ids=label)
def test_an_effect_that_fires_is_seen(effect: dict[str, Any]) -> None:
    """A merchant sees other bytes, other times or another order: what a plan notes is carried out."""
    assert _what_is_seen(effect, armed=True) != _what_is_seen(effect, armed=False)


def test_every_effect_and_mode_is_tried() -> None:
    """The list for the tests here contains every effect and every mode."""
    tried = {(each["type"], each.get("mode") or each.get("strategy")) for each in EFFECTS}

    assert {name for name, _ in tried} == set(WEBHOOK_EFFECTS)
    for name, effect in WEBHOOK_EFFECTS.items():
        for member in {"mode", "strategy"} & set(effect.model_fields):
            modes = get_args(effect.model_fields[member].annotation)
            assert {mode for each, mode in tried if each == name} >= set(modes)
        # Whatever differs from its default somewhere in the list has been tried.
        members = {member for each in EFFECTS if each["type"] == name for member in each}
        assert members == set(effect.model_fields)
        assert effect.exposes


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({"event_type": "pay-in.succeeded"}, [LIFE[3]]),
        ({"event_type": "pay-in.p*"}, LIFE[1:3]),
        ({"event_type": "*.*ed"}, [LIFE[0], LIFE[3]]),
        ({"external_identifier": "order-1"}, LIFE),
        ({"external_identifier": "order-*", "event_type": "*.pending"}, [LIFE[1]]),
        ({"scenario": "happy-path"}, LIFE),
        ({"object_id": "payin_*"}, LIFE),
        ({"object_id": "refund_*"}, []),
    ],
    ids=str,
)
async def test_all_that_is_given_must_hold(client: Client, match: dict[str, Any], expected: list[str]) -> None:
    """Members of `match` select events by exact value or with `*`."""
    async with hooked(client) as business:
        business.fault({"type": "drop"}, match=match)
        await business.live()

        assert [each.event.type for each in business.deliveries if each.status == "dropped"] == expected
        assert business.types == [kind for kind in LIFE if kind not in expected]


async def test_a_refund_is_matched_by_its_pay_in(client: Client) -> None:
    """The order number and the scenario of the pay-in match the events of its refunds too."""
    async with hooked(client) as business:
        pay_in_id = await business.live()
        for match in ({"external_identifier": "order-1"}, {"scenario": "happy-path"}):
            business.fault({"type": "drop"}, match={"event_type": "refund.created", **match}, times=1)
            await business.box.api("POST", "/refund/refund-creation", {"payin_id": pay_in_id, "amount": 1})

        states = [each.status for each in business.deliveries if each.event.type == "refund.created"]
        assert states == ["dropped", "dropped"]


async def test_an_attempt_is_matched_by_its_number(client: Client) -> None:
    """`attempt: 2` changes only the first retry."""
    async with hooked(client, status(500), scenario="abandoned") as business:
        fault = business.fault({"type": "tamper"}, match={"attempt": 2})
        await business.live(expires_in=2_592_000)
        await business.box.advance(by="6m")

        (delivery,) = business.deliveries
        assert [each.faults for each in delivery.attempts] == [(), (fault.id,), ()]
        assert [business.verifies(each) for each in business.requests] == [True, False, True]


@pytest.mark.parametrize("effect", EFFECTS, ids=label)
def test_only_what_acts_on_attempts_can_be_matched_by_attempt(effect: dict[str, Any]) -> None:
    """An effect on an event acts once, so an attempt to match by is refused, at its place."""
    fault = {"on": "webhooks", "match": {"attempt": 1}, "effect": effect}

    if issubclass(WEBHOOK_EFFECTS[effect["type"]], EventEffect):
        with pytest.raises(UsageError, match="match no attempt"):
            parse_fault(fault)
    else:
        assert parse_fault(fault).match.model_dump(exclude_none=True) == {"attempt": 1}


async def test_the_same_seed_sends_the_same_bytes_in_the_same_order(client: Client) -> None:
    """Two sandboxes with one seed and the same faults send the same bodies in the same order."""
    runs = []
    for _ in range(2):
        clock = {"mode": "manual", "start": "2026-01-01T00:00:00.000Z"}
        async with hooked(client, seed=3, clock=clock) as business:
            business.fault({"type": "delay", "uniform": ["0s", "10s"]}, id="a", probability=0.5, compose=True)
            business.fault({"type": "duplicate", "new_id": True}, id="b", probability=0.5, compose=True)
            business.fault({"type": "payload", "mode": "big_number"}, id="c", probability=0.5, compose=True)
            for _ in range(5):
                await business.live()
            await business.box.advance(by="1m")
            runs.append([request.body for request in business.requests])

    assert len(runs[0]) > 20
    assert runs[0] == runs[1]
