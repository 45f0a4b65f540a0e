"""Sign and verify webhooks, by the machine's time unless another is given (contract section 5)."""

from __future__ import annotations

import time

from paydouble.webhooks import signing
from paydouble.webhooks.signing import (
    DEFAULT_TOLERANCE_SECONDS,
    SignatureError,
    SignatureHeaderMalformed,
    SignatureHeaderMissing,
    SignatureMismatch,
    SignatureTimestampOutOfTolerance,
)

__all__ = [
    "SignatureError",
    "SignatureHeaderMalformed",
    "SignatureHeaderMissing",
    "SignatureMismatch",
    "SignatureTimestampOutOfTolerance",
    "sign",
    "verify",
]


def sign(body: bytes | str, secret: str, at: int | None = None) -> str:
    """Return the `X-Service-Signature` header for a body, signed `at` Unix seconds, or now.

    `ValueError` for a blank secret or a negative time.
    """
    return signing.sign(body, secret, int(time.time()) if at is None else at)


def verify(
    body: bytes | str,
    header: str | None,
    secret: str,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    now: int | None = None,
) -> int:
    """Return the Unix time (seconds) at which a body was signed, or raise a `SignatureError` that names what is wrong.

    `tolerance` is in seconds, in both directions from `now` (contract section 5.5).
    """
    return signing.verify(body, header, secret, tolerance, now=int(time.time()) if now is None else now)
