"""A signature taken apart: its time, each `v1` and whose it is, what it should be, and whether it verifies."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from paydouble.core.instants import LATEST_MS
from paydouble.webhooks.diagnosis import Diagnosis, diagnose
from paydouble.webhooks.signing import (
    DEFAULT_HEADER_NAME,
    SignatureError,
    mac,
    parse_header,
    to_bytes,
)

# A header may have any number.
_LAST_SECOND: Final = LATEST_MS // 1000


class Digest(NamedTuple):
    """One `v1` of a header, and the secret with which it was made; empty if none of the known ones fits."""

    text: str
    secret: str


@dataclass(frozen=True, slots=True)
class SignatureView:
    """Everything that a page shows of a signature."""

    header: str
    problem: str
    """Why the header cannot be taken apart; empty if it can."""
    timestamp: str
    signed_at: int | None
    """`timestamp` in milliseconds, if it is a time that can be shown."""
    digests: tuple[Digest, ...]
    expected: str
    """What the `v1` must be for these bytes, this time and the first secret."""
    diagnosis: Diagnosis
    """Whether it verifies with the first secret, and why not."""


def taken_apart(
    body: bytes,
    header: str | None,
    secrets: Sequence[tuple[str, str]],
    at: int,
    *,
    name: str = DEFAULT_HEADER_NAME,
) -> SignatureView:
    """Take a signature apart.

    `header` is the value, or the whole line, or None. `secrets` are labels and secrets, the one to verify with first;
    `at` is the time of receipt in Unix seconds.
    """
    diagnosis = diagnose(body, header, secrets[0][1], now=at, header_name=name)
    try:
        timestamp, digests = parse_header(value_of(header))
    except SignatureError as error:
        return SignatureView(header or "", str(error), "", None, (), "", diagnosis)
    made = [(label, mac(body, to_bytes(secret), timestamp).hex()) for label, secret in secrets if secret.strip()]
    whose = tuple(
        Digest(each, next((label for label, digest in made if hmac.compare_digest(digest, _ascii(each))), ""))
        for each in digests
    )
    seconds = int(timestamp)
    shown = seconds * 1000 if seconds <= _LAST_SECOND else None
    return SignatureView(header or "", "", timestamp, shown, whose, made[0][1] if made else "", diagnosis)


def value_of(header: str | None) -> str:
    """Return the value of a header that was given as such or as a whole line."""
    return (header or "").rpartition(":")[2].strip()


def fits(body: bytes, timestamp: str, digests: Sequence[str], secret: str) -> bool:
    """Return whether one of a header's `v1` was made with a secret, for these bytes and this time."""
    made = mac(body, to_bytes(secret), timestamp).hex()
    return any(hmac.compare_digest(made, _ascii(each)) for each in digests)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
