"""Every header of a fault `signature`, checked by our own verifier and by the stripe SDK."""

from __future__ import annotations

import time
from typing import Any

import pytest
import stripe
from hooked import SIGNATURE, hooked
from receivers import Received, status
from servers import Client

import paydouble
from paydouble.signatures import SignatureError

# mode and age: what a right receiver makes of it, and what it should answer when it refuses.
VERDICTS: list[tuple[dict[str, Any], type[SignatureError] | None]] = [
    ({"mode": "missing"}, paydouble.SignatureHeaderMissing),
    ({"mode": "empty"}, paydouble.SignatureHeaderMissing),
    ({"mode": "malformed"}, paydouble.SignatureHeaderMalformed),
    ({"mode": "non_ascii"}, paydouble.SignatureMismatch),
    ({"mode": "wrong_secret"}, paydouble.SignatureMismatch),
    ({"mode": "stale"}, paydouble.SignatureTimestampOutOfTolerance),
    ({"mode": "stale", "age": "310s"}, paydouble.SignatureTimestampOutOfTolerance),
    ({"mode": "stale", "age": "290s"}, None),
    ({"mode": "future"}, paydouble.SignatureTimestampOutOfTolerance),
    ({"mode": "future", "age": "290s"}, None),
    ({"mode": "v0_only"}, paydouble.SignatureHeaderMalformed),
    ({"mode": "two_v1"}, None),
    ({"mode": "uppercase"}, paydouble.SignatureMismatch),
    ({"mode": "reordered"}, None),
]


def _refusal(request: Received, secret: str) -> type[SignatureError] | None:
    try:
        paydouble.verify(request.body, dict(request.headers).get(SIGNATURE), secret)
    except SignatureError as error:
        return type(error)
    return None


def _stripe_accepts(request: Received, secret: str) -> bool:
    header = dict(request.headers).get(SIGNATURE, "")
    try:
        return bool(stripe.WebhookSignature.verify_header(request.body, header, secret, 300))
    except (stripe.SignatureVerificationError, TypeError):  # the latter is what the SDK makes of a v1 beyond ASCII
        return False


@pytest.mark.parametrize(("how", "expected"), VERDICTS, ids=str)
async def test_a_header_is_refused_or_accepted_for_its_own_reason(
    client: Client, how: dict[str, Any], expected: type[SignatureError] | None
) -> None:
    """The receiver gets the configured header with the unchanged body, and the next event is signed right."""
    async with hooked(client, scenario="abandoned") as business:
        fault = business.fault({"type": "signature", **how}, times=1)
        await business.live()
        await business.live()

        odd, plain = business.requests
        secret = business.sandbox.secrets.current
        assert (_refusal(odd, secret), _refusal(plain, secret)) == (expected, None)
        assert odd.body == business.deliveries[0].event.body
        assert [each.attempts[0].faults for each in business.deliveries] == [(fault.id,), ()]


@pytest.mark.parametrize(("how", "expected"), VERDICTS, ids=str)
async def test_the_official_sdk_agrees(
    client: Client, how: dict[str, Any], expected: type[SignatureError] | None
) -> None:
    """The stripe SDK accepts and refuses the same headers, except that it accepts one far in the future."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "signature", **how})
        await business.live()

        (request,) = business.requests
        accepts = expected is None or how["mode"] == "future"
        assert _stripe_accepts(request, business.sandbox.secrets.current) == accepts


async def test_a_missing_header_is_not_there_and_an_empty_one_is(client: Client) -> None:
    """`missing` sends no header at all, `empty` one without a value, `non_ascii` one with bytes beyond ASCII."""
    async with hooked(client, scenario="abandoned") as business:
        for mode in ("missing", "empty", "non_ascii"):
            business.fault({"type": "signature", "mode": mode}, times=1)
            await business.live()

        missing, empty, beyond = [dict(request.headers).get(SIGNATURE) for request in business.requests]
        assert (missing, empty) == (None, "")
        assert beyond is not None
        assert not beyond.isascii()


async def test_two_v1_puts_the_right_one_last(client: Client) -> None:
    """A receiver that reads only the first `v1` refuses what it should accept."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "signature", "mode": "two_v1"})
        await business.live()

        (request,) = business.requests
        time_part, first, second = dict(request.headers)[SIGNATURE].split(",")
        secret = business.sandbox.secrets.current
        right = paydouble.sign(request.body, secret, int(time_part.removeprefix("t=")))
        assert f"{time_part},{second}" == right
        assert first != second


async def test_ages_count_from_now(client: Client) -> None:
    """`stale` is 310 seconds old and `future` an hour ahead unless an age is given."""
    async with hooked(client, scenario="abandoned") as business:
        for mode in ("stale", "future"):
            business.fault({"type": "signature", "mode": mode}, times=1)
            await business.live()

        now = time.time()
        stale, future = [now - each.attempts[0].signed_at for each in business.deliveries]
        assert 310 <= stale < 340
        assert -3600 <= future < -3570


async def test_a_fault_on_the_first_attempt_lets_the_second_pass(client: Client) -> None:
    """With `attempt: 1` a receiver that refuses the bad header gets a good one a minute later."""
    async with hooked(client, status(401), status(200), scenario="abandoned") as business:
        business.fault({"type": "signature", "mode": "wrong_secret"}, match={"attempt": 1})
        await business.live()
        await business.box.advance(by="1m")

        assert [business.verifies(request) for request in business.requests] == [False, True]
        assert business.deliveries[0].status == "delivered"
