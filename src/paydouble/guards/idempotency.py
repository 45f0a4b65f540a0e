"""Idempotency of POST (contract, "Idempotency rules"; assumptions, "Idempotency").

A key is absent, in flight or done. `look_up` changes nothing, except that it drops an expired key. `claim` puts a key
in flight. `record` stores the answer for replay. `release` forgets a key whose answer is not stored, so that the next
request with it, or one that joined, starts over.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from paydouble.core import json_text
from paydouble.core.errors import ApiError

# Canonical form, version 4, RFC variant 10xx; letters of either case name the same key.
_HEX: Final = "[0-9A-Fa-f]"
_KEY: Final = re.compile(f"{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89ABab]{_HEX}{{3}}-{_HEX}{{12}}")


LONGEST_KEPT: Final = 16_384
"""Bytes; of a longer body digests are kept with its key, not the body."""


@dataclass(slots=True, eq=False)
class Claim:
    """What is known of one key; `status` is None while the request is in flight."""

    key: str
    method: str
    target: str
    sent: bytes
    """The request's body."""
    parsed: bool
    """Whether bodies are compared by their JSON values rather than their bytes."""
    request_id: str
    created_at: int
    status: int | None = None
    body: bytes = b""
    made: str | None = None
    """The id of the object that the request created."""
    digests: tuple[bytes, bytes] | None = None
    """The digests of a long body: of its bytes, and of its value where values are compared."""

    def same(self, other: Claim) -> bool:
        """Return whether two requests ask for the same: method, path, query, and body as it is parsed.

        Bodies are parsed only when their bytes differ, which is rare in a retry.
        """
        if self.method != other.method or self.target != other.target or self.parsed != other.parsed:
            return False
        if self.same_bytes(other):
            return True
        if self.digests is not None:
            return self.parsed and self.digests[1] == _digest(_value(other.sent))
        return self.parsed and _value(self.sent) == _value(other.sent)

    def same_bytes(self, other: Claim) -> bool:
        """Return whether another request has the same body, byte for byte; `other` must not be shortened."""
        return self.sent == other.sent if self.digests is None else self.digests[0] == _digest(other.sent)

    def shorten(self) -> None:
        """Replace a long body by its digests, since keys are kept for longer than a journal, and without a limit."""
        if len(self.sent) > LONGEST_KEPT:
            self.digests = _digest(self.sent), _digest(_value(self.sent)) if self.parsed else b""
            self.sent = b""


def _digest(data: bytes) -> bytes:
    return sha256(data).digest()


def _value(body: bytes) -> bytes:
    return json_text.canonical(json_text.loads(body)) if body else b"{}"


def parse_key(values: Sequence[str]) -> str:
    """Return the key, lower-cased, of a request's `Idempotency-Key` headers, or raise INVALID_IDEMPOTENCY_KEY."""
    if len(values) == 1 and _KEY.fullmatch(values[0]):
        return values[0].lower()
    code = "INVALID_IDEMPOTENCY_KEY"
    if not values:
        raise ApiError(code, "The Idempotency-Key header is missing; every POST needs one, a UUID version 4.")
    if len(values) > 1:
        raise ApiError(code, "The Idempotency-Key header stands more than once; send exactly one.")
    raise ApiError(code, "The Idempotency-Key is not a UUID version 4 such as 5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d.")


class Keys:
    """The keys of one business."""

    __slots__ = ("_claims", "_order")

    def __init__(self) -> None:
        """Start without keys."""
        self._claims: dict[str, Claim] = {}
        self._order: deque[Claim] = deque()

    def __len__(self) -> int:
        """Count the keys that are kept."""
        return len(self._claims)

    def look_up(self, key: str, now: int, validity: int) -> Claim | None:
        """Return the claim of a key, unless it is `validity` milliseconds old or older."""
        claim = self._claims.get(key)
        if claim is not None and claim.status is not None and now - claim.created_at >= validity:
            del self._claims[key]
            return None
        return claim

    def claim(self, claim: Claim, validity: int) -> None:
        """Put a key in flight; keys that have expired by now are dropped for good."""
        order = self._order
        while order and (order[0].status is not None and claim.created_at - order[0].created_at >= validity):
            expired = order.popleft()
            if self._claims.get(expired.key) is expired:
                del self._claims[expired.key]
        self._claims[claim.key] = claim
        order.append(claim)

    def record(self, claim: Claim, status: int, body: bytes) -> None:
        """Store the answer under the key."""
        claim.status = status
        claim.body = body
        claim.shorten()

    def release(self, claim: Claim) -> None:
        """Forget a key that was in flight."""
        claim.status = 0
        if self._claims.get(claim.key) is claim:
            del self._claims[claim.key]

    def release_in_flight(self) -> None:
        """Forget all keys that are in flight."""
        for claim in [each for each in self._claims.values() if each.status is None]:
            self.release(claim)


def conflict(claim: Claim, key: str, *, running: bool = False) -> ApiError:
    """Return the 409 with the documented details; `key` is as the refused request sent it."""
    message = (
        "A request with this Idempotency-Key is still running."
        if running
        else "This Idempotency-Key was used with a different request."
    )
    return ApiError("IDEMPOTENCY_CONFLICT", message, details={"original_request_id": claim.request_id, "key": key})
