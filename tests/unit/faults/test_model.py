"""A fault as a test declares it: what is accepted, and what each error names."""

from __future__ import annotations

from typing import Any

import pytest

from paydouble.core.errors import UsageError
from paydouble.faults.api_effects import ApiEffect, OperationEffect
from paydouble.faults.base import Effect
from paydouble.faults.model import (
    API_EFFECTS,
    WEBHOOK_EFFECTS,
    ApiFault,
    WebhookFault,
    document,
    parse_fault,
)
from paydouble.faults.webhook_effects import WebhookEffect

ERROR = {"type": "error", "status": 503}


def test_defaults_are_the_plainest_fault() -> None:
    """An effect alone is enough: it fires for everything, always, and alone."""
    fault = parse_fault({"effect": {"type": "connection_reset"}})

    told = (fault.on, fault.enabled, fault.skip, fault.times, fault.probability, fault.ttl, fault.compose, fault.point)
    assert told == ("api", True, 0, None, 1.0, None, False, "before")


@pytest.mark.parametrize(
    ("data", "side"),
    [
        ({"effect": {"type": "drop"}}, WebhookFault),
        ({"effect": {"type": "html_error"}}, ApiFault),
        ({"effect": {"type": "slow_body"}}, ApiFault),
        ({"on": "webhooks", "effect": {"type": "slow_body"}}, WebhookFault),
        ({"on": "webhooks", "effect": {"type": "connection_reset"}}, WebhookFault),
    ],
    ids=str,
)
def test_an_effect_chooses_its_side(data: dict[str, Any], side: type) -> None:
    """Without `on` an effect of one side only selects that side; one of both is on the API."""
    assert type(parse_fault(data)) is side


@pytest.mark.parametrize(
    ("data", "member", "words"),
    [
        ([], "", "an object with an effect"),
        ({}, "effect.type", "is missing"),
        ({"effect": "drop"}, "effect.type", "is missing"),
        ({"effect": {"type": "explode"}}, "effect.type", "'explode' is not known; on api there are: error, rate_limit"),
        ({"effect": {"type": "explode"}}, "effect.type", "; on webhooks there are: delay, drop"),
        ({"effect": {"type": "hodl"}}, "effect.type", "'hodl' is not known; did you mean 'hold'?"),
        ({"on": "webhooks", "effect": {"type": "tampr"}}, "effect.type", "did you mean 'tamper'?"),
        ({"on": "api", "effect": {"type": "hold"}}, "effect.type", "'hold' is an effect on webhooks, not on api"),
        ({"on": "webhooks", "effect": {"type": "zzz"}}, "effect.type", "'zzz' is not known; on webhooks there are:"),
        ({}, "effect.type", "is missing; on api there are: error"),
        ({"effect": {"type": "hold"}, "phase": "after_commit"}, "phase", "this member is not known on webhooks"),
        ({"effect": {"type": "hold"}, "match": {"operation": "x"}}, "match.operation", "not known on webhooks"),
        ({"effect": {"type": "hold"}, "match": {"event_typ": "x"}}, "match.event_typ", "did you mean 'event_type'?"),
        (
            {"effect": {"type": "connection_reset"}, "match": {"event_type": "pay-in.created"}},
            "match.event_type",
            'this member is not known on api; say "on": "webhooks"',
        ),
        ({"effect": {"type": "latency", "lognormal": 5}}, "effect.lognormal", "is the number 5; send an object"),
        ({"effect": {"type": 7}}, "effect.type", "a text"),
        ({"on": "api", "effect": {"type": "drop"}}, "effect.type", "'drop' is an effect on webhooks, not on api"),
        ({"on": "webhooks", "effect": ERROR}, "effect.type", "'error' is an effect on api, not on webhooks"),
        ({"on": "sockets", "effect": ERROR}, "on", "neither api nor webhooks"),
        ({"effect": {"type": "error"}}, "effect.status", "is missing"),
        ({"effect": {"type": "error", "status": 200}}, "effect.status", "send at least 400"),
        ({"effect": {**ERROR, "colour": 1}}, "effect.colour", "this member is not known"),
        ({"effect": {**ERROR, "details": {"a": {1, 2}}}}, "effect.details.a", "is not JSON"),
        ({"effect": ERROR, "matches": {}}, "matches", "this member is not known"),
        ({"effect": ERROR, "match": {"event_type": "x"}}, "match.event_type", "this member is not known"),
        ({"effect": ERROR, "match": {"path": ""}}, "match.path", "at least 1 character"),
        ({"effect": ERROR, "probability": 1.1}, "probability", "send at most 1"),
        ({"effect": ERROR, "probability": float("nan")}, "probability", "is the number nan; send a number"),
        ({"effect": ERROR, "times": 0}, "times", "send at least 1"),
        ({"effect": ERROR, "skip": -1}, "skip", "send at least 0"),
        ({"effect": ERROR, "ttl": "10"}, "ttl", "is not a duration"),
        ({"effect": ERROR, "ttl": "0s"}, "ttl", "send a duration of at least 1ms"),
        ({"effect": ERROR, "id": "no spaces"}, "id", "is 'no spaces'; send 1 to 64 letters"),
        ({"effect": ERROR, "phase": "later"}, "phase", "before_commit"),
        ({"effect": {"type": "lost_record"}, "phase": "after_commit"}, "phase", "leave phase out"),
        ({"effect": {"type": "latency"}}, "effect", "not none"),
        ({"effect": {"type": "latency", "fixed": "1"}}, "effect.fixed", "is not a duration"),
        ({"effect": {"type": "latency", "fixed": "1s", "uniform": ["1s", "2s"]}}, "effect", "not fixed and uniform"),
        ({"effect": {"type": "latency", "uniform": ["2s", "1s"]}}, "effect", "low is above high"),
        ({"effect": {"type": "latency", "uniform": ["1s"]}}, "effect.uniform.1", "is missing"),
        ({"effect": {"type": "latency", "lognormal": {"median": "1s", "sigma": 0, "max": "1s"}}},
         "effect.lognormal.sigma", "send more than 0"),
        ({"effect": {"type": "truncate", "fraction": 1}}, "effect.fraction", "less than 1"),
        ({"effect": {"type": "wrong_content_length", "by": 0}}, "effect.by", "other than 0"),
        ({"effect": {"type": "garbage", "bytes": "§"}}, "effect.bytes", "base64"),
        ({"effect": {"type": "garbage", "bytes": 12345678}}, "effect.bytes", "send a text"),
        ({"effect": {"type": "redirect", "to": "other"}}, "effect.to", "send a URL"),
        ({"effect": {"type": "redirect", "to": "http://x/\r\nA: b"}}, "effect.to", "send a URL"),
        ({"effect": {"type": "redirect", "to": "http://x/", "status": 304}}, "effect.status", "301"),
        ({"effect": {"type": "unknown_members", "members": {}}}, "effect.members", "at least 1"),
        (
            {"effect": ERROR, "phase": "after"},
            "phase",
            "is 'after'; did you mean 'after_commit'?",
        ),
        ({"effect": ERROR, "time": 1}, "time", "not known; did you mean 'times'?"),
        (
            {"effect": {**ERROR, "time": 1}},
            "effect.time",
            "not known; did you mean 'times', outside of effect?",
        ),
        ({"effect": {**ERROR, "opration": "*"}}, "effect.opration", "did you mean 'operation', of match?"),
        ({"effect": {**ERROR, "mesage": "x"}}, "effect.mesage", "not known; did you mean 'message'?"),
        ({"effect": {**ERROR, "xyz": 1}}, "effect.xyz", "not known"),
        ({"effect": ERROR, "match": {"operatoin": "*"}}, "match.operatoin", "did you mean 'operation'?"),
        ({"effect": {"type": "currency_drift"}}, "effect.to", "is missing"),
        ({"effect": {"type": "currency_drift", "to": "eur"}}, "effect.to", "is not a currency code such as NOK"),
        ({"effect": {"type": "amount_drift"}}, "effect.by", "is missing"),
        ({"effect": {"type": "amount_drift", "by": 0}}, "effect.by", "other than 0"),
        ({"effect": {"type": "amount_drift", "by": "NaN"}}, "effect.by", "other than 0"),
        ({"effect": {"type": "amount_drift", "by": "much"}}, "effect.by", "other than 0"),
        ({"effect": {"type": "amount_drift", "by": True}}, "effect.by", "other than 0"),
        ({"effect": {"type": "amount_drift", "by": "1e99"}}, "effect.by", "other than 0"),
        ({"effect": {"type": "drop"}, "match": {"attempt": 2}}, "match", "match no attempt"),
        ({"effect": {"type": "tamper", "path": "a..b"}}, "effect.path", "dotted path"),
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_fault_is_refused(data: object, member: str, words: str) -> None:
    """The error names the member, and says what is wrong with it."""
    with pytest.raises(UsageError) as refused:
        parse_fault(data)

    assert refused.value.member == member
    assert words in refused.value.message


def test_exactly_one_shape_of_a_time() -> None:
    """`latency` and `delay` take exactly one of the three."""
    with pytest.raises(UsageError, match="exactly one of fixed, uniform, lognormal"):
        parse_fault({"effect": {"type": "delay"}})


@pytest.mark.parametrize("kind", [name for name, effect in API_EFFECTS.items() if issubclass(effect, OperationEffect)])
def test_what_changes_the_operation_has_no_phase(kind: str) -> None:
    """These effects act before the operation, and take no phase."""
    needed: dict[str, dict[str, Any]] = {"amount_drift": {"by": 1}, "currency_drift": {"to": "USD"}}
    attributes = needed.get(kind, {})

    assert parse_fault({"effect": {"type": kind, **attributes}}).point == "before"


@pytest.mark.parametrize(
    ("kind", "phase", "point"),
    [
        ("connection_reset", None, "before"),
        ("connection_reset", "before_commit", "before"),
        ("connection_reset", "after_commit", "after"),
        ("truncate", None, "after"),
        ("wrong_content_length", None, "after"),
        ("slow_body", None, "after"),
        ("slow_body", "before_commit", "before"),
    ],
)
def test_the_phase_decides_the_injection_point(kind: str, phase: str | None, point: str) -> None:
    """Without a phase most act before the commit; what distorts a body distorts the true one."""
    declared = {"effect": {"type": kind}} | ({"phase": phase} if phase else {})

    assert parse_fault(declared).point == point


@pytest.mark.parametrize(
    "data",
    [
        {"id": "a", "name": "b", "on": "api", "match": {"operation": "deposit-*", "idempotency_key": "ABC"},
         "skip": 1, "times": 2, "probability": 0.5, "ttl": "10m", "phase": "after_commit", "compose": True,
         "enabled": False, "effect": {"type": "latency", "uniform": ["1s", "1m30s"]}},
        {"on": "api", "effect": {"type": "stale_read", "for": "2s"}},
        {"on": "api", "effect": {"type": "garbage", "as": "body", "bytes": "AAEC"}},
        {"on": "api", "effect": {"type": "amount_drift", "by": "-0.10"}},
        {"on": "webhooks", "match": {"attempt": 2}, "effect": {"type": "slow_body"}},
        {"on": "webhooks", "effect": {"type": "tamper", "path": "data.object", "value": None}},
        {"on": "api", "effect": {"type": "error", "status": 500, "details": {"a": None}}},
    ],
    ids=lambda data: data["effect"]["type"],
)  # fmt: skip
def test_a_fault_is_shown_as_it_could_be_declared(data: dict[str, Any]) -> None:
    """The document contains everything that was declared, and declares the same fault again."""
    shown = document(parse_fault(data))

    def covers(wanted: Any, got: Any) -> bool:  # noqa: ANN401 - JSON is any
        if isinstance(wanted, dict):
            return all(covers(value, got[name]) for name, value in wanted.items())
        return bool(wanted == got or str(wanted).lower() == got)

    assert covers(data, shown)
    assert document(parse_fault(shown)) == shown


def test_the_two_sides_are_known() -> None:
    """Each effect knows its name, its side's effects have different names, and each says what it exposes."""
    for effects in (API_EFFECTS, WEBHOOK_EFFECTS):
        assert all(kind.model_fields["type"].default == name for name, kind in effects.items())
        assert all(len(kind.exposes) > 10 for kind in effects.values())


@pytest.mark.parametrize(("base", "effects"), [(ApiEffect, API_EFFECTS), (WebhookEffect, WEBHOOK_EFFECTS)])
def test_every_effect_that_is_declared_can_be_used(base: type[Effect], effects: dict[str, type[Effect]]) -> None:
    """An effect that is missing in the union of its side would be refused as unknown."""
    declared: set[type[Effect]] = set()
    bases = [base]
    while bases:
        below = [each for each in bases.pop().__subclasses__() if each.__module__.startswith("paydouble.")]
        bases += below
        declared |= {each for each in below if "type" in each.model_fields}

    assert declared == set(effects.values())


def test_operations_are_those_of_the_table() -> None:
    """The table of operations, a layer above the faults, has the same names."""
    from paydouble.api.operations import OPERATIONS as TABLE
    from paydouble.faults.names import OPERATIONS

    assert list(OPERATIONS) == [row.name for row in TABLE]


@pytest.mark.parametrize(
    ("match", "effect", "message"),
    [
        ({"operation": "deposit-creaton"}, "connection_reset", "there is no operation 'deposit-creaton'; did you mean"),
        ({"operation": "pay*out*s"}, "connection_reset", "there is no operation 'pay*out*s'"),
        ({"event_type": "pay-in.success"}, "drop", "there is no event type 'pay-in.success'; did you mean"),
        ({"event_type": "zzz"}, "drop", "there is no event type 'zzz'; there are: pay-in.created"),
        ({"event_type": "payin.*"}, "drop", "there is no event type 'payin.*'; did you mean 'pay-in.*'?"),
    ],
)
def test_a_fault_that_can_never_fire_is_refused(match: dict[str, str], effect: str, message: str) -> None:
    """A misspelt name would never match, and leave a test green that proves nothing."""
    with pytest.raises(UsageError) as caught:
        parse_fault({"match": match, "effect": {"type": effect}})

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"effect": {"type": "drop"}, "": 1}, "The body: a member with an empty name is not known"),
        ({"effect": {"type": "drop", "": 1}}, "effect: a member with an empty name is not known"),
    ],
)
def test_a_member_with_an_empty_name_is_refused_with_its_place(fault: dict[str, object], message: str) -> None:
    """The message says where it is; a path that ends with an empty name would not."""
    with pytest.raises(UsageError) as refused:
        parse_fault(fault)

    assert str(refused.value) == message
