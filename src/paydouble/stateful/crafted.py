"""Webhooks that no fault makes: written byte by byte from an earlier one, and handed to the receiver directly."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from paydouble.api.schemas import STAND_IN_CUSTOMER
from paydouble.webhooks.signing import DEFAULT_TOLERANCE_SECONDS, sign


class Crafted(NamedTuple):
    """One such webhook."""

    description: str
    make: Callable[[bytes, str, int], tuple[str, bytes]]
    """Takes an earlier body, the secret and the time in Unix seconds; returns the signature header and the body."""


def _changed(body: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    event: dict[str, Any] = json.loads(body)
    change(event)
    return json.dumps(event, separators=(",", ":")).encode()


def _success(event: dict[str, Any]) -> None:
    # A receiver that accepts this fulfils an order that nobody paid.
    event["type"] = "pay-in.succeeded"
    event["data"]["object"] |= {"status": "succeeded", "updated_at": "2027-01-01T00:00:00.000Z"}


def _forged_success(event: dict[str, Any]) -> None:
    event["id"] = "evt_forged"
    _success(event)


def _half_right(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    forged = _changed(body, _forged_success)
    right = sign(forged, secret, now)
    wrong = "".join(f"{int(digit, 16) ^ 1:x}" for digit in right[-32:])
    return right[:-32] + wrong, forged


def _cut_after(digits: int) -> Callable[[bytes, str, int], tuple[str, bytes]]:
    # A receiver that compares as many digits as the header has accepts it; one digit takes sixteen trials.
    def make(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
        forged = _changed(body, _forged_success)
        head, name, digest = sign(forged, secret, now).partition("v1=")
        return head + name + digest[:digits], forged

    return make


def _empty_digest(body: bytes, _secret: str, now: int) -> tuple[str, bytes]:
    return f"t={now},v1=", _changed(body, _forged_success)


GUESSED_SECRETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "empty secret": "",
        "secret None": "None",
        "secret null": "null",
        "secret undefined": "undefined",
    }
)
"""What a receiver may verify with when a secret of its own, such as the previous one, is not set."""


def _under(guess: str) -> Callable[[bytes, str, int], tuple[str, bytes]]:
    def make(body: bytes, _secret: str, now: int) -> tuple[str, bytes]:
        forged = _changed(body, _forged_success)
        # `sign` refuses an empty secret.
        digest = hmac.new(guess.encode(), b"%d." % now + forged, sha256).hexdigest()
        return f"t={now},v1={digest}", forged

    return make


def _in_v0(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    return sign(body, secret, now).replace("v1=", "v0="), body


def _unsigned_time(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    # The digest of an old webhook under a new time: a receiver that signs the body alone accepts it.
    old = sign(body, secret, now - 2 * DEFAULT_TOLERANCE_SECONDS)
    return f"t={now},{old.partition(',')[2]}", body


def _right_digest_first(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    # While a secret is rotated a header has a digest by each of both, in any order.
    other = sign(body, "whsec_of_the_next_month", now).partition(",")[2]
    return f"{sign(body, secret, now)},{other}", body


def _right_digest_last(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    own = sign(body, secret, now).partition(",")[2]
    return f"{sign(body, 'whsec_of_the_last_month', now)},{own}", body


def _ahead(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    return sign(body, secret, now + DEFAULT_TOLERANCE_SECONDS + 2), body


def _known_id(body: bytes, _secret: str, now: int) -> tuple[str, bytes]:
    forged = _changed(body, _success)
    return sign(forged, "whsec_of_somebody_else", now), forged


def _other(kind: str, resource: Mapping[str, object]) -> Callable[[bytes, str, int], tuple[str, bytes]]:
    # The whole object is another one: members of the earlier event would point to an order of this shop.
    def make(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
        def change(event: dict[str, Any]) -> None:
            at = event["created_at"]
            event |= {"id": f"evt_{kind}", "type": kind}
            event["data"] = {
                "object": {**resource, "created_at": at, "updated_at": at},
                "previous_attributes": {"status": "processing"},
            }

        other = _changed(body, change)
        return sign(other, secret, now), other

    return make


_UNKNOWN_PAY_IN: Final = {
    "id": "payin_elsewhere",
    "object": "payin",
    "reference": "PAY-2345-6789",
    "external_identifier": "order-of-another-system",
    "amount": 49.9,
    "currency": "EUR",
    "status": "succeeded",
    "payment_method": {"type": "CREDIT_CARD", "code": "card", "name": "Credit card"},
    "customer": dict(STAND_IN_CUSTOMER),
}
_UNKNOWN_REFUND: Final = {
    "id": "refund_elsewhere",
    "object": "refund",
    "reference": "REF-2345-6789",
    "payin_id": "payin_elsewhere",
    "external_identifier": "refund-of-another-system",
    "amount": 49.9,
    "currency": "EUR",
    "status": "succeeded",
}


def _other_environment(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    # Of an order with the same number there: its payment has other ids.
    earlier: dict[str, Any] = json.loads(body)
    resource = earlier["data"]["object"]
    same = resource if resource["object"] == "payin" else {}
    other = {**_UNKNOWN_PAY_IN, **same, "id": _UNKNOWN_PAY_IN["id"], "reference": _UNKNOWN_PAY_IN["reference"]}
    at = earlier["created_at"]
    earlier |= {"id": "evt_elsewhere", "type": "pay-in.succeeded", "livemode": not earlier["livemode"]}
    earlier["data"] = {
        "object": {**other, "status": "succeeded", "created_at": at, "updated_at": at},
        "previous_attributes": {"status": "processing"},
    }
    written = json.dumps(earlier, separators=(",", ":")).encode()
    return sign(written, secret, now), written


CRAFTED: Final[Mapping[str, Crafted]] = MappingProxyType(
    {
        "half the digest": Crafted("a success is forged with a v1 that is right in its first half alone", _half_right),
        "empty digest": Crafted("a success is forged with an empty v1", _empty_digest),
        **{
            f"digest cut after {digits}": Crafted(
                f"a success is forged with a v1 that ends after its first {digits} digits", _cut_after(digits)
            )
            for digits in (32, 8, 1)
        },
        **{
            name: Crafted(
                f"a success is forged under {f'the secret {guess!r}' if guess else 'an empty secret'}", _under(guess)
            )
            for name, guess in GUESSED_SECRETS.items()
        },
        "known id": Crafted("a success is forged under the id of an earlier event and a wrong secret", _known_id),
        "digest in v0": Crafted("an earlier webhook comes with its digest in v0 instead of v1", _in_v0),
        "other time": Crafted("an earlier webhook comes with its digest and a new time", _unsigned_time),
        "right digest first": Crafted(
            "an earlier webhook comes with two v1, of which the first is right", _right_digest_first
        ),
        "right digest last": Crafted(
            "an earlier webhook comes with two v1, of which the last is right", _right_digest_last
        ),
        "302 seconds ahead": Crafted("an earlier webhook comes with a time 302 seconds ahead", _ahead),
        "unknown family": Crafted(
            "an event of an unknown family comes",
            _other("mandate.created", {"id": "mandate_1", "object": "mandate", "status": "active"}),
        ),
        "unknown order": Crafted(
            "an event comes for an order that this shop does not have",
            _other("pay-in.succeeded", _UNKNOWN_PAY_IN),
        ),
        "unknown refund": Crafted(
            "an event comes for the refund of a payment that this shop does not have",
            _other("refund.succeeded", _UNKNOWN_REFUND),
        ),
        "other environment": Crafted(
            "a payment succeeds in the other environment, for an order there with the same number", _other_environment
        ),
    }
)


def _wrong_secret(body: bytes, _secret: str, now: int) -> tuple[str, bytes]:
    return sign(body, "whsec_of_somebody_else", now), body


def _too_old(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    return sign(body, secret, now - DEFAULT_TOLERANCE_SECONDS - 10), body


def _no_digest(body: bytes, _secret: str, now: int) -> tuple[str, bytes]:
    return f"t={now}", body


def _half_a_body(body: bytes, secret: str, now: int) -> tuple[str, bytes]:
    half = body[: len(body) // 2]
    return sign(half, secret, now), half


AHEAD: Final[Mapping[str, Crafted]] = MappingProxyType(
    {
        # A receiver that notes an id before it has verified drops the true event as a repetition.
        "wrong secret": Crafted("a copy of it under a wrong secret", _wrong_secret),
        "310 seconds old": Crafted("a copy of it that was signed 310 seconds ago", _too_old),
        "no digest": Crafted("a copy of it without a digest", _no_digest),
        # The id is readable in the first half.
        "half a body": Crafted("its first half, validly signed", _half_a_body),
        "forged success": Crafted("a success that is forged under its id", _known_id),
        "other id": Crafted("a success that is forged under another id", _half_right),
        "unknown order": Crafted("an event for an order that this shop does not have", CRAFTED["unknown order"].make),
    }
)
"""What comes just ahead of a true webhook, which must still have its effect."""
