"""Scenarios rehearsed without sockets: what comes, what the merchant hears, and that it is always the same."""

from __future__ import annotations

from typing import Any

import pytest
from rehearsals import PAID, PAID_EVENTS, REFUND_EVENTS, fault, scenario

from paydouble import verify
from paydouble.api.values import Reply
from paydouble.core.errors import UsageError
from paydouble.faults.wire import Wire
from paydouble.rehearsal import Rehearsal, rehearse
from paydouble.rehearsal.rehearsing import response_of
from paydouble.scenarios.model import Scenario


def kinds(rehearsal: Rehearsal) -> list[str]:
    """Return the types of what arrived."""
    return [arrival.type for arrival in rehearsal.arrivals]


def statuses(rehearsal: Rehearsal) -> list[int | str]:
    """Return what the merchant's calls got."""
    return [answer.status for answer in rehearsal.answers]


def test_a_life_is_played_to_its_end() -> None:
    """Every event arrives at its time, signed, and nothing is left to happen."""
    rehearsal = rehearse(scenario())

    assert [(each.type, each.at - rehearsal.began) for each in rehearsal.arrivals] == list(
        zip(PAID_EVENTS, [0, 2_000, 3_000, 6_000], strict=True)
    )
    assert (rehearsal.idle, rehearsal.ended - rehearsal.began) == (True, 6_000)
    for arrival in rehearsal.arrivals:
        signature = dict(arrival.headers)["X-Service-Signature"]
        verify(arrival.body, signature, "whsec_sandbox", now=arrival.at // 1000)


def test_the_merchants_actions_are_calls_of_the_api() -> None:
    """A refund and evidence change the life, and their events come with the others."""
    rehearsal = rehearse(
        scenario(
            [*PAID, {"after": "1d", "dispute": {}}],
            merchant=[{"after": "1h", "refund": {"amount": 5}}, {"after": "30h", "evidence": {"a": "b"}}],
        )
    )

    assert statuses(rehearsal) == [200, 200, 200]
    disputed = ["dispute.created", "dispute.updated", "dispute.closed"]
    assert kinds(rehearsal) == [*PAID_EVENTS, *REFUND_EVENTS, *disputed]


def test_a_dispute_of_another_pay_in_is_left_alone() -> None:
    """Evidence goes to the latest dispute of the merchant's own pay-in."""
    life = scenario(
        [*PAID, {"after": "1d", "dispute": {}}],
        merchant=[{"after": "2d", "deposit": {}}, {"after": "1h", "evidence": {"a": "b"}}],
    )

    rehearsal = rehearse(life)

    assert ("merchant",) in [moment.who for moment in rehearsal.timeline]
    assert statuses(rehearsal) == [200, 200]


@pytest.mark.parametrize(
    "life",
    [
        scenario(faults=[fault("latency", uniform=["1s", "9s"]), fault("duplicate", on="webhooks", copies=2)]),
        scenario(faults=[fault("reorder", on="webhooks", strategy="shuffle", window=3)]),
        scenario(faults=[fault("connection_reset", times=3)], merchant=[{"after": "1h", "refund": {}}]),
    ],
)
def test_two_rehearsals_are_the_same_to_the_byte(life: Scenario) -> None:
    """Webhooks, headers, answers and times depend on the seed alone."""
    first, second, other = rehearse(life, seed=7), rehearse(life, seed=7), rehearse(life, seed=8)

    assert first.record() == second.record()
    assert first.record() != other.record()
    assert [answer.call.key for answer in first.answers] != [answer.call.key for answer in other.answers]


def test_keys_are_of_the_documented_form() -> None:
    """The service takes them, and each operation has its own."""
    rehearsal = rehearse(scenario(merchant=[{"after": "1h", "refund": {}}]))

    keys = [answer.call.key for answer in rehearsal.answers]
    assert statuses(rehearsal) == [200, 200]
    assert len(set(keys)) == 2


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
def test_a_lost_reply_is_tried_again_and_pays_once(phase: str) -> None:
    """Whether the deposit was made or not, in the end there is one."""
    rehearsal = rehearse(scenario(faults=[fault("connection_reset", times=2, phase=phase)]))

    assert statuses(rehearsal) == ["lost", "lost", 200]
    assert kinds(rehearsal) == PAID_EVENTS


def test_what_a_fault_keeps_back_is_in_the_timeline() -> None:
    """An attempt that fails, a webhook that is dropped, and one that comes again."""
    rehearsal = rehearse(
        scenario(
            faults=[
                fault("drop", on="webhooks", match={"event_type": "pay-in.pending"}),
                fault("connection_reset", on="webhooks", match={"event_type": "pay-in.created"}, times=1),
            ]
        )
    )

    rows = [row for row in rehearsal.timeline if row.who[0] == "service"]
    assert [(row.what, row.result, row.attempt, row.good) for row in rows] == [
        ("pay-in.created 49.90 EUR", "reset", 1, False),
        ("pay-in.pending 49.90 EUR", "", 0, False),
        ("pay-in.processing 49.90 EUR", "200", 1, True),
        ("pay-in.succeeded 49.90 EUR", "200", 1, True),
        ("pay-in.created 49.90 EUR", "200", 2, True),
    ]
    assert [row.faults for row in rows if row.faults] == [
        ", broken off half-way (tried-1.2)",
        ", dropped (tried-1.1)",
    ]


def test_a_webhook_that_overtakes_the_reply_is_told_before_it() -> None:
    """The timeline has the order in which the merchant meets things."""
    rehearsal = rehearse(scenario(faults=[fault("before_response", on="webhooks", lead="50ms")]))

    assert [moment.what for moment in rehearsal.timeline][:2] == [
        "pay-in.created 49.90 EUR",
        "deposit-creation 49.90 EUR",
    ]


def test_settings_of_the_scenario_hold() -> None:
    """A sandbox that needs whole seconds has them."""
    rehearsal = rehearse(scenario(settings={"timestamps": "seconds"}))

    assert b'"created_at":"2026-01-01T00:00:00Z"' in rehearsal.arrivals[0].body


def test_settings_of_the_scenario_hold_from_the_first_call_on() -> None:
    """A business that may not make deposits is refused its very first."""
    assert statuses(rehearse(scenario(settings={"permissions": ["refund-*"]}))) == [403]


def test_a_time_that_no_clock_reaches_is_refused() -> None:
    """A century too many is a sentence, not a traceback."""
    late = [{"after": "36500d", "retrieve": True}] * 81

    with pytest.raises(UsageError, match="after the year 9998"):
        rehearse(scenario(merchant=late))


def test_a_life_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a great many timers it is not idle, and that is told."""
    monkeypatch.setattr("paydouble.rehearsal.rehearsing.MOST_TIMERS", 2)

    assert not rehearse(scenario()).idle


@pytest.mark.parametrize(
    ("wire", "status", "body"),
    [
        (None, 200, b"0123456789"),
        (Wire("drip", seconds=1, chunks=2), 200, b"0123456789"),
        (Wire("length", by=-4), 200, b"012345"),
        (Wire("length", by=-99), 200, b""),
        (Wire("length", by=4), None, b""),
        (Wire("cut", fraction=0.5), None, b""),
        (Wire("reset"), None, b""),
        (Wire("empty"), None, b""),
        (Wire("silence"), None, b""),
        (Wire("garbage", data=b"x"), None, b""),
    ],
)
def test_what_reaches_a_client_of_an_answer(wire: Wire | None, status: int | None, body: bytes) -> None:
    """What comes whole is read, what is announced too short is cut, and anything else is lost."""
    got = response_of(Reply(200, b"0123456789", "req_1", wire=wire))

    assert (got.status, got.body) == (status, body)


def test_each_rehearsal_has_a_sandbox_of_its_own() -> None:
    """The second has the ids of the first."""
    first: dict[str, Any] = rehearse(scenario()).answers[0].data or {}
    second: dict[str, Any] = rehearse(scenario()).answers[0].data or {}

    assert first["id"] == second["id"]


def test_a_payer_who_comes_too_late_is_shown_with_the_reason() -> None:
    """What the payer does is in the timeline, also when it is refused."""
    late = [{"after": "1m", "payer": {"action": "pay"}}, {"after": "1m", "payer": {"action": "abandon"}}]

    rehearsal = rehearse(scenario([PAID[0], {"await": "payer"}], merchant=late))

    shown = [(row.what, row.good) for row in rehearsal.timeline if row.who == ("payer",)]
    assert shown == [("pays", None), ("gives up", False)]
    assert "so the payer can do nothing any more" in rehearsal.timeline[-1].result
    assert kinds(rehearsal) == PAID_EVENTS
