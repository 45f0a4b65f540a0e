"""How faults change the signature and the bytes of an attempt."""

from __future__ import annotations

from typing import get_args

import pytest

from paydouble.faults.plans import AttemptPlan, SignatureMode
from paydouble.webhooks.attempts import PLAIN, Transport, sign_attempt, transport
from paydouble.webhooks.signing import SignatureError, sign, verify

BODY = b'{"amount":49.90}'
AT = 1_700_000_000
ACCEPTED = {"two_v1", "reordered", None}


def test_without_a_plan_an_attempt_is_as_the_contract_has_it() -> None:
    """It has the unchanged body, two headers and the time of signing."""
    body, headers, at = sign_attempt(BODY, ("new", "old"), AT, "X-S", None)

    assert (body, at) == (BODY, AT)
    assert headers[0] == ("Content-Type", "application/json")
    assert headers[1] == ("X-S", sign(BODY, "new", AT) + sign(BODY, "old", AT).removeprefix(f"t={AT}"))


@pytest.mark.parametrize("mode", [None, *get_args(SignatureMode)])
def test_a_mode_makes_a_header_that_is_refused_or_accepted(mode: SignatureMode | None) -> None:
    """The same is true in a rotation's grace, for a receiver with the current secret."""
    plan = AttemptPlan(signature=mode, age_seconds=301)
    body, headers, _ = sign_attempt(BODY, ("new", "old"), AT, "X-S", plan)

    assert body == BODY
    assert _accepted(body, dict(headers).get("X-S")) == (mode in ACCEPTED)


@pytest.mark.parametrize(("mode", "sign_of_age"), [("stale", -1), ("future", 1)])
@pytest.mark.parametrize("age", [0, 1, 300])
def test_an_age_within_the_tolerance_is_accepted(mode: SignatureMode, sign_of_age: int, age: int) -> None:
    """The time in the header differs by exactly the age."""
    plan = AttemptPlan(signature=mode, age_seconds=age)
    body, headers, at = sign_attempt(BODY, ("new",), AT, "X-S", plan)

    assert at == AT + sign_of_age * age
    assert _accepted(body, dict(headers)["X-S"])


def test_nothing_is_signed_before_the_epoch() -> None:
    """An age that reaches before 1970 gives 0."""
    plan = AttemptPlan(signature="stale", age_seconds=AT * 2)

    assert sign_attempt(BODY, ("new",), AT, "X-S", plan)[2] == 0


def test_changes_are_made_before_or_after_signing() -> None:
    """A change before signing is part of the signed bytes, a change after it is not."""
    plan = AttemptPlan(
        before_signing=[lambda body: body + b"1", lambda body: body + b"2"], after_signing=[lambda body: body + b"3"]
    )
    body, headers, _ = sign_attempt(BODY, ("new",), AT, "X-S", plan)

    assert body == BODY + b"123"
    assert _accepted(BODY + b"12", dict(headers)["X-S"])
    assert not _accepted(body, dict(headers)["X-S"])


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (None, PLAIN),
        (AttemptPlan(), PLAIN),
        (AttemptPlan(transport="chunked"), Transport("chunked")),
        (AttemptPlan(transport="drip", drip_chunks=3, drip_seconds=0.5), Transport("drip", 3, 0.5)),
        (AttemptPlan(transport="reset"), Transport("reset")),
    ],
)
def test_a_plan_says_how_an_attempt_is_sent(plan: AttemptPlan | None, expected: Transport) -> None:
    """It is sent plainly unless a fault wants something else."""
    assert transport(plan) == expected


def _accepted(body: bytes, header: str | None) -> bool:
    try:
        verify(body, header, "new", now=AT)
    except SignatureError:
        return False
    return True
