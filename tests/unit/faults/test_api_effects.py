"""What each effect writes into a plan, and how its random values are derived."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core import json_text
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.api_effects import (
    DistortionEffect,
    Latency,
    OperationEffect,
    Phase,
    PhasedEffect,
)
from paydouble.faults.model import API_EFFECTS, ApiFault, parse_fault
from paydouble.faults.plans import Plan
from paydouble.faults.seeded_values import SeededValues
from paydouble.faults.wire import Wire


def _roll(number: int = 1, seed: int = 1) -> SeededValues:
    return SeededValues(SeededRandom(seed), "f", number)


def _latency(**shape: Any) -> Latency:  # noqa: ANN401 - JSON is any
    effect = parse_fault({"effect": {"type": "latency", **shape}}).effect
    assert isinstance(effect, Latency)
    return effect


def _plan(number: int = 1, **effect: Any) -> Plan:  # noqa: ANN401 - JSON is any
    fault = parse_fault({"on": "api", "effect": effect})
    assert isinstance(fault, ApiFault)
    plan = Plan()
    fault.effect.apply(plan, _roll(number))
    return plan


@pytest.mark.parametrize(
    ("effect", "member", "value"),
    [
        ({"type": "latency", "fixed": "2s"}, "delay_ms", 2000),
        ({"type": "no_response"}, "wire", Wire("silence")),
        ({"type": "no_response", "hold": "2s"}, "wire", Wire("silence", seconds=2)),
        ({"type": "connection_reset"}, "wire", Wire("reset")),
        ({"type": "empty_response"}, "wire", Wire("empty")),
        ({"type": "truncate"}, "wire", Wire("cut", fraction=0.5)),
        ({"type": "wrong_content_length"}, "wire", Wire("length", by=10)),
        ({"type": "slow_body"}, "wire", Wire("drip", chunks=10, seconds=5)),
        ({"type": "garbage", "bytes": "AAE="}, "wire", Wire("garbage", data=b"\x00\x01")),
        ({"type": "sticky_5xx"}, "store_answer", True),
        ({"type": "lost_record"}, "forget", True),
        ({"type": "stale_read"}, "stale_for_ms", 0),
        ({"type": "stale_read", "for": "2s"}, "stale_for_ms", 2000),
        ({"type": "not_found_yet"}, "not_found_for_ms", 0),
        ({"type": "not_found_yet", "for": "2s"}, "not_found_for_ms", 2000),
        ({"type": "expire_rate"}, "expire_rate", True),
        ({"type": "remove_method"}, "remove_method", "*"),
        ({"type": "amount_drift", "by": Decimal("-0.10")}, "drift", "-0.10"),
        ({"type": "currency_drift", "to": "USD"}, "settled_in", "USD"),
    ],
    ids=str,
)
def test_an_effect_writes_its_attribute_into_the_plan(effect: dict[str, Any], member: str, value: object) -> None:
    """It sets one member of the plan to the attribute's value or its default."""
    assert getattr(_plan(**effect), member) == value


@pytest.mark.parametrize(("kind", "sent"), [("cut", True), ("length", True), ("drip", True), ("reset", False)])
def test_some_wires_let_a_status_through(kind: Any, *, sent: bool) -> None:  # noqa: ANN401 - a literal
    """A client of those gets the status."""
    assert Wire(kind).sends_head is sent


def test_a_plan_replaces_the_answer_by_an_answer_or_a_wire_fault() -> None:
    """A delay alone does not replace the answer."""
    plans = [_plan(type="error", status=500), _plan(type="empty_response"), _plan(type="latency", fixed="1s")]

    assert [plan.speaks for plan in plans] == [True, True, False]


def test_garbage_differs_each_time() -> None:
    """Each firing has its own bytes, the same ones for the same seed."""
    drawn = [_plan(number, type="garbage").wire for number in (1, 1, 2)]

    assert drawn[0] == drawn[1] != drawn[2]


def test_garbage_as_a_body() -> None:
    """It becomes an answer."""
    answer = _plan(1, **{"type": "garbage", "as": "body"}).answer

    assert answer is not None
    assert len(base64.b64decode(answer.raw or b"")) == 48


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 500))
def test_uniform_stays_between_its_ends(low: int, more: int, number: int) -> None:
    """A uniform time is between low and high, both included."""
    effect = _latency(uniform=[f"{low}ms", f"{low + more}ms"])

    assert low <= effect.milliseconds(_roll(number)) <= low + more


def test_uniform_reaches_both_ends() -> None:
    """Neither end is left out, nor anything in between."""
    effect = _latency(uniform=["5ms", "8ms"])

    assert {effect.milliseconds(_roll(number)) for number in range(100)} == {5, 6, 7, 8}


def test_lognormal_is_mostly_quick_and_sometimes_slow() -> None:
    """Half of the times are below the median; the longest are cut to `max`."""
    effect = _latency(lognormal={"median": "100ms", "sigma": 1, "max": "1s"})

    times = sorted(effect.milliseconds(_roll(number)) for number in range(1001))

    assert 85 <= times[500] <= 118
    assert times[-1] == 1000
    assert times[-20] > 3 * times[500]
    assert times[0] >= 0


def test_the_same_seeded_values_give_the_same_time() -> None:
    """The time depends on seed, fault and number of the match alone."""
    effect = _latency(uniform=["0s", "1000s"])

    times = [effect.milliseconds(_roll(number, seed)) for number, seed in ((1, 1), (1, 1), (2, 1), (1, 2))]

    assert times[0] == times[1]
    assert len(set(times)) == 3


def test_seeded_values_give_a_reproducible_order() -> None:
    """An order is a permutation, and each purpose has its own."""
    seeded = _roll()

    orders = [seeded.order(purpose, 8) for purpose in ("a", "a", "b")]

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == list(range(8))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (json_text.Number("49.90"), b"49.90"),
        (2**70, str(2**70).encode()),
        ({"a": [json_text.Number("1e3"), -(2**64)]}, b'{"a":[1e3,-18446744073709551616]}'),
        (None, b"null"),
    ],
    ids=str,
)
def test_numbers_of_any_json_keep_their_digits(value: object, written: bytes) -> None:
    """An attribute that takes any JSON is written as it was given, however long its numbers."""
    fault = parse_fault({"effect": {"type": "error", "status": 500, "details": {"x": value}}})
    assert isinstance(fault, ApiFault)

    assert json_text.dumps(fault.effect.details) == b'{"x":%s}' % written  # type: ignore[union-attr]


def test_any_json_can_be_shown() -> None:
    """Its plain form is plain JSON."""
    members = {"x": [json_text.Number("49.90"), {"y": 2**70}, "z"]}
    fault = parse_fault({"effect": {"type": "unknown_members", "members": members}})

    shown = fault.effect.model_dump(mode="json")["members"]

    assert orjson.loads(orjson.dumps(shown)) == {"x": [49.9, {"y": float(2**70)}, "z"]}


def test_unknown_members_leave_a_list_alone() -> None:
    """A body whose data is no object gets them in the envelope only."""
    (rewrite,) = _plan(type="unknown_members", members={"x": 1}).rewrite
    body: dict[str, Any] = {"data": []}

    rewrite(body)

    assert body == {"data": [], "x": 1}


def test_every_effect_says_when_it_acts() -> None:
    """Each derives from exactly one of the three kinds, and has what its kind needs."""
    kinds = (PhasedEffect, DistortionEffect, OperationEffect)

    for name, effect in API_EFFECTS.items():
        assert len([kind for kind in kinds if issubclass(effect, kind)]) == 1, name
        assert not effect.__abstractmethods__, name
        assert all(effect.summary(phase) for phase in (None, *get_args(Phase))), name
