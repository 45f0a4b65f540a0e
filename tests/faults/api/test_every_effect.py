"""Each effect on the API, with each of its attributes, over real sockets: it acts when it fires, and only then."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from drive import DEPOSITS
from servers import Client
from wires import Caller, Seen, caller

from paydouble.faults.api_effects import OperationEffect
from paydouble.faults.model import API_EFFECTS, parse_fault

Fault = dict[str, Any]
# Every effect, with every attribute and every value of those that have a few.
WAYS: list[Fault] = [
    {"type": "error", "status": 503},
    {"type": "error", "status": 418, "code": "TEAPOT", "message": "Short.", "envelope": "A"},
    {"type": "error", "status": 422, "code": "VALIDATION_ERROR", "details": {"a": [1, None]}, "envelope": "B"},
    {"type": "rate_limit"},
    {"type": "rate_limit", "limit": 5, "remaining": 1, "reset": "1m", "reset_unit": "delta_seconds"},
    {"type": "rate_limit", "reset_unit": "epoch_seconds", "headers": "full"},
    {"type": "rate_limit", "reset_unit": "epoch_milliseconds"},
    {"type": "rate_limit", "headers": "missing"},
    {"type": "rate_limit", "headers": "malformed"},
    {"type": "rate_limit", "headers": "past"},
    {"type": "latency", "fixed": "30ms"},
    {"type": "latency", "uniform": ["30ms", "40ms"]},
    {"type": "latency", "lognormal": {"median": "30ms", "sigma": 0.01, "max": "35ms"}},
    {"type": "no_response", "hold": "20ms"},
    {"type": "connection_reset"},
    {"type": "empty_response"},
    {"type": "truncate"},
    {"type": "truncate", "fraction": 0.9},
    {"type": "wrong_content_length"},
    {"type": "wrong_content_length", "by": -5},
    {"type": "slow_body", "chunks": 3, "over": "30ms"},
    {"type": "garbage"},
    {"type": "garbage", "bytes": "AAEC/w==", "as": "response"},
    {"type": "garbage", "bytes": "PDw+", "as": "body"},
    {"type": "html_error"},
    {"type": "html_error", "status": 504},
    *({"type": "redirect", "to": "http://other.test/x", "status": code} for code in (301, 302, 303, 307, 308)),
    {"type": "sticky_5xx"},
    {"type": "sticky_5xx", "status": 503},
    {"type": "lost_record"},
    {"type": "force_conflict"},
    {"type": "stale_read"},
    {"type": "stale_read", "for": "1s"},
    {"type": "not_found_yet"},
    {"type": "not_found_yet", "for": "1s"},
    {"type": "unknown_members"},
    {"type": "unknown_members", "members": {"loyalty": 1.50}},
    {"type": "unknown_status"},
    {"type": "unknown_status", "value": "parked"},
    {"type": "unknown_code"},
    {"type": "unknown_code", "code": "NEW", "status": 409},
    {"type": "expire_rate"},
    {"type": "remove_method"},
    {"type": "remove_method", "method": "CREDIT_CARD"},
    {"type": "amount_drift", "by": "-0.10"},
    {"type": "amount_drift", "by": 1},
    {"type": "currency_drift", "to": "JPY"},
]
# These cost time and change no byte that the session reads.
_SLOW = {"latency", "slow_body"}
# Why a fault that stands there does not fire: what its declaration says, or what has become of it.
REASONS: dict[str, Fault] = {
    "no match": {"match": {"external_identifier": "another-*"}},
    "skip": {"skip": 1000},
    "times used up": {"times": 1},
    "probability 0": {"probability": 0},
    "ttl over": {"ttl": "1ms"},
    "disabled": {"enabled": False},
}


async def _session(shop: Caller) -> list[Seen]:
    """Make a shop's usual calls, with something for each effect to act on."""
    seen = [await shop.deposit()]
    seen.append(await shop.deposit())  # a retry
    seen.append(await shop.ask("POST", f"{DEPOSITS}/exchange-rates", {"source_currency": "EUR"}, n=2))
    methods = {"currency": "EUR", "country": "DE"}
    seen.append(await shop.ask("POST", f"{DEPOSITS}/available-payment-methods", methods, n=3))
    for pay_in in shop.pay_ins:
        shop.pay(pay_in)
        seen.append(await shop.ask("GET", f"/pay-in/{pay_in.id}"))
    return seen


def _told(seen: list[Seen]) -> list[tuple[bytes, str]]:
    return [(each.told, each.end) for each in seen]


def _name(fault: Fault) -> str:
    return "-".join(str(value) for value in fault.values())


@pytest.mark.parametrize("effect", WAYS, ids=_name)
async def test_an_effect_that_fires_is_met(client: Client, effect: Fault) -> None:
    """A caller gets other bytes, another end, or a delay; and the journal names the fault."""
    plain = await _session(await caller(client, "plain"))
    shop = await caller(client)
    armed = shop.arm(effect)

    seen = await _session(shop)

    named = [entry.faults for entry in shop.entries if entry.faults]
    assert named == [(armed.id,)] * armed.fired
    assert armed.fired > 0
    if effect["type"] in _SLOW:
        assert seen[0].seconds >= 0.025
        assert [each.body for each in seen] == [each.body for each in plain]
    else:
        assert _told(seen) != _told(plain)


@pytest.mark.parametrize("effect", WAYS, ids=_name)
async def test_an_effect_that_does_not_fire_is_not_met(client: Client, effect: Fault) -> None:
    """A fault that does not match, is skipped, used up, improbable, expired or disabled changes no byte."""
    plain = _told(await _session(await caller(client, "plain")))
    shops = {}
    for reason, members in REASONS.items():
        shops[reason] = shop = await caller(client, reason.replace(" ", "-"))
        shop.sandbox.tick()
        fault = parse_fault({"on": "api", **members, "effect": effect})
        armed = shop.sandbox.faults.add(fault, shop.sandbox.now - (reason == "ttl over"))
        armed.fired = 1 if reason == "times used up" else 0

    met = {reason: _told(await _session(shop)) for reason, shop in shops.items()}

    assert met == dict.fromkeys(REASONS, plain)
    assert [entry.faults for shop in shops.values() for entry in shop.entries if entry.faults] == []


def test_every_effect_is_tried() -> None:
    """Every effect is in the list above."""
    assert {effect["type"] for effect in WAYS} == set(API_EFFECTS)


@pytest.mark.parametrize("kind", API_EFFECTS)
def test_every_attribute_is_tried(kind: str) -> None:
    """Each attribute of an effect is given somewhere above, and those with few values with each of them."""
    tried = [effect for effect in WAYS if effect["type"] == kind]

    for name, field in API_EFFECTS[kind].model_fields.items():
        given = [effect[field.alias or name] for effect in tried if (field.alias or name) in effect]
        for value in _values(field.annotation):
            assert value in given or value == field.default, (name, value)
        assert given, name


def _values(annotation: object) -> list[object]:
    choices: list[object] = []
    for each in (annotation, *get_args(annotation)):
        choices += [value for value in get_args(each) if isinstance(value, str | int)]
    return choices


_PHASED = [effect for effect in WAYS if not issubclass(API_EFFECTS[effect["type"]], OperationEffect)]
# What goes on to the true answer has no retry that is new, and a stored error is there for the next.
_BEFORE = [effect for effect in _PHASED if effect["type"] not in {"latency", "sticky_5xx"}]


@pytest.mark.parametrize("effect", _BEFORE, ids=_name)
async def test_before_the_commit_nothing_has_happened(client: Client, effect: Fault) -> None:
    """The caller meets the fault, and nothing exists: no pay-in, no key, no event; a retry under its key is new."""
    shop = await caller(client)
    shop.arm(effect, phase="before_commit", times=1)

    await shop.deposit()
    nothing = (shop.pay_ins, len(shop.sandbox.keys), shop.events, [each.verdict for each in shop.entries])
    retry = await shop.deposit()

    assert nothing == ([], 0, [], ["none"])
    assert (retry.status, shop.entries[1].verdict, len(shop.pay_ins)) == (200, "new", 1)


@pytest.mark.parametrize("effect", _PHASED, ids=_name)
async def test_after_the_commit_everything_has_happened(client: Client, effect: Fault) -> None:
    """The caller meets the fault, and state, key and event are there; a retry gets the true answer byte for byte."""
    true = (await (await caller(client, "plain")).deposit()).body
    shop = await caller(client)
    shop.arm(effect, phase="after_commit", times=1)

    first = await shop.deposit()
    kept = (len(shop.pay_ins), len(shop.sandbox.keys), shop.events, shop.entries[0].faults)
    retry = await shop.deposit()

    assert kept == (1, 1, ["pay-in.created"], ("fault-1",))
    assert (len(shop.pay_ins), shop.entries[1].verdict) == (1, "replay")
    assert retry.body == (first.body if effect["type"] == "sticky_5xx" else true)
