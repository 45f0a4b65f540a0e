"""Strategies for valid scenarios, built from the models of the format, like their scripts (`generated_steps`)."""

from __future__ import annotations

from typing import Any

from generated_steps import (
    AMOUNT,
    DISPUTE,
    DISPUTE_SCRIPT,
    DURATION,
    EVENT,
    FLAG,
    JSON,
    LIFECYCLE,
    PAID,
    PAY_IN_SCRIPT,
    REFUND,
    REFUND_SCRIPT,
    TEXT,
    TEXTS,
    WORD,
    Data,
    Keys,
    one,
    shape,
)
from hypothesis import strategies as st

from paydouble.faults.api_effects import OperationEffect
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.scenarios import matching, play
from paydouble.scenarios.model import Scenario

# Match and play

NUMBER_MATCH = st.one_of(
    AMOUNT,
    one(
        matching.NumberChoice,
        {
            "one_of": st.lists(AMOUNT, min_size=1, max_size=3),
            "between": st.lists(AMOUNT, min_size=2, max_size=2).map(sorted),
        },
    ),
)
TEXT_MATCH = st.one_of(TEXT, shape(matching.TextChoice, {"one_of": st.lists(TEXT, min_size=1, max_size=3)}))
MATCH = shape(
    matching.Match,
    {},
    {
        "amount": NUMBER_MATCH,
        "currency": TEXT_MATCH,
        "country": TEXT_MATCH,
        "external_identifier": TEXT_MATCH,
        "payment_method": shape(matching.MethodMatch, {}, {"type": TEXT_MATCH, "code": TEXT_MATCH}),
        "customer": shape(
            matching.CustomerMatch, {}, {"first_name": TEXT_MATCH, "last_name": TEXT_MATCH, "email": TEXT_MATCH}
        ),
        "metadata": st.dictionaries(TEXT, TEXT_MATCH, min_size=1, max_size=2),
    },
    least=1,
)
DEPOSIT = shape(
    play.Deposit,
    {},
    {
        "amount": AMOUNT,
        "currency": st.sampled_from(["EUR", "JPY", "KWD", "XXX"]),
        "country": st.sampled_from(["DE", "JP"]),
        "external_identifier": WORD,
        "payment_method": shape(
            play.DepositMethod, {}, {"type": st.sampled_from(["CREDIT_CARD", "BANK_TRANSFER", "NONE"]), "code": WORD}
        ),
        "customer": shape(
            play.DepositCustomer, {}, {"first_name": TEXT, "last_name": TEXT, "email": st.just("a@example.test")}
        ),
        "expires_in": st.integers(60, 2_592_000),
        "metadata": TEXTS,
    },
)
PAYER = st.one_of(
    st.fixed_dictionaries({"action": st.sampled_from(["pay", "abandon"])}),
    shape(play.PayerAction, {"action": st.just("decline")}, {"code": WORD}),
)
ACTION = one(
    play.Action,
    {
        "deposit": DEPOSIT,
        "retrieve": st.just(value=True),
        "cancel": st.just(value=True),
        "refund": shape(play.RefundWish, {}, {"amount": AMOUNT, "reason": WORD}),
        "evidence": TEXTS,
        "accept": st.just(value=True),
        "payer": PAYER,
    },
    {"after": DURATION},
)
EXPECTED = st.one_of(
    EVENT,
    shape(play.ExpectedEvent, {"event": EVENT, "object": st.dictionaries(TEXT, JSON, min_size=1, max_size=2)}),
)
MERCHANT = st.lists(ACTION, max_size=4)
ANSWERS = st.lists(st.one_of(st.integers(100, 599), st.just("lost")), max_size=4)
CASE = shape(
    play.Case,
    {"name": TEXT, "expect": st.lists(EXPECTED, max_size=3)},
    {"deposit": DEPOSIT, "merchant": MERCHANT, "answers": ANSWERS},
)

# Faults and settings: any effect, with what it needs

_NEEDS: dict[str, dict[str, Any]] = {
    "error": {"status": 503},
    "latency": {"fixed": "30ms"},
    "no_response": {"hold": "1s"},
    "redirect": {"to": "http://other.test/"},
    "amount_drift": {"by": "-0.10"},
    "currency_drift": {"to": "JPY"},
    "delay": {"fixed": "2h"},
    "duplicate": {"copies": 2, "spacing": "1d", "new_id": True},
    "reorder": {"strategy": "permutation", "window": 3, "order": [2, 3, 1]},
    "signature": {"mode": "stale", "age": "310s"},
    "payload": {"mode": "huge"},
    "formatting": {"mode": "pretty"},
    "schedule": {"attempts": 2, "delays": ["1h"]},
}


def _fault(side: str, kind: str) -> Data:
    optional: Keys = {
        "name": TEXT,
        "enabled": FLAG,
        "skip": st.integers(0, 3),
        "times": st.integers(1, 3),
        "probability": st.sampled_from([0, 1, 0.5]),
        "ttl": DURATION.filter(lambda text: text != "0s"),
        "compose": FLAG,
        "match": st.fixed_dictionaries({}, optional={"external_identifier": WORD, "scenario": WORD}),
    }
    if side == "api" and not issubclass(API_EFFECTS[kind], OperationEffect):
        optional["phase"] = st.sampled_from(["before_commit", "after_commit"])
    effect = {"type": kind, **_NEEDS.get(kind, {})}
    return st.fixed_dictionaries({"on": st.just(side), "effect": st.just(effect)}, optional=optional)


FAULT = st.one_of(
    [
        *(_fault("api", kind) for kind in API_EFFECTS),
        *(_fault("webhooks", kind) for kind in WEBHOOK_EFFECTS),
    ]
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "envelope": st.sampled_from(["A", "B", "alternate"]),
        "timestamps": st.just("seconds"),
        "livemode": FLAG,
        "rate_limit": st.fixed_dictionaries({"limit": st.integers(0, 3)}, optional={"window": st.just("10s")}),
        "disputes": st.fixed_dictionaries({}, optional={"response_window": st.just("1h"), "decision": st.just("lost")}),
        "webhooks": st.just({"schedule": ["0s", "1m"], "repeat_last": False}),
    },
)

NAME = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)
DATA = shape(
    Scenario,
    {"name": NAME, "summary": TEXT},
    {
        "match": MATCH,
        "settings": SETTINGS,
        "deposit": DEPOSIT,
        "lifecycle": LIFECYCLE,
        "faults": st.lists(FAULT, max_size=3),
        "merchant": MERCHANT,
        "answers": ANSWERS,
        "expect": st.lists(EXPECTED, max_size=4),
        "cases": st.lists(CASE, max_size=2),
    },
)
"""The mapping of a scenario file."""
SCENARIOS = DATA.map(Scenario.model_validate)
"""Scenarios with every key, kind of step and effect."""

# Most random scripts end before anything has happened. These begin with a payment, and continue at random.
_SCRIPTS = st.fixed_dictionaries(
    {
        "pay_in": st.builds(
            lambda opening, rest: [*PAID, *opening, *rest],
            st.lists(st.one_of(DISPUTE, REFUND), max_size=2),
            PAY_IN_SCRIPT,
        ),
        "refund": st.one_of(st.none(), st.builds(lambda rest: [PAID[1], *rest], REFUND_SCRIPT)),
        "dispute": DISPUTE_SCRIPT,
    }
)
LIVELY = st.fixed_dictionaries(
    {"name": NAME, "summary": TEXT, "lifecycle": _SCRIPTS},
    optional={
        "settings": SETTINGS,
        "faults": st.lists(FAULT, max_size=2),
        "merchant": MERCHANT,
        "cases": st.lists(CASE, max_size=1),
    },
).map(Scenario.model_validate)
"""Scenarios with much activity, to be played."""
