"""How a webhook is signed, and how a receiver verifies it (contract sections 5.4 and 5.5).

The signed text is the time, a dot, and the body's bytes exactly as they are sent; its HMAC-SHA256 under the webhook
secret goes into the header as `t=<seconds>,v1=<64 lowercase hex digits>`. While a secret is being rotated a second
`v1` follows, made with the old secret (assumed), and a receiver accepts either.

The errors of `verify`:

    SignatureError
    ├── SignatureHeaderMissing              400  no header, or an empty one
    ├── SignatureHeaderMalformed            400  no `t`, no `v1`, a `t` that is not a decimal number, or two of them
    ├── SignatureTimestampOutOfTolerance    400  signed too long ago, or too far in the future
    └── SignatureMismatch                   401  no `v1` is the HMAC of this time and this body under this secret

This module reads no clock: all times are arguments, in whole Unix seconds.
"""

import hmac
import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from paydouble.core.errors import PaydoubleError

DEFAULT_HEADER_NAME = "X-Service-Signature"
DEFAULT_TOLERANCE_SECONDS = 300

# ASCII digits alone: `int` would also take "+5", " 5", "1_000" and "٣". Twenty are more than any real time needs, and
# far from the 4300 at which `int` raises.
_DECIMAL = re.compile(r"[0-9]{1,20}")


class SignatureError(PaydoubleError):
    """A webhook's signature does not verify; `recommended_status` is a receiver's answer by contract section 5.5.6."""

    recommended_status: ClassVar[int] = 400


class SignatureHeaderMissing(SignatureError):
    """The request carries no signature header, or an empty one (400)."""


class SignatureHeaderMalformed(SignatureError):
    """The header does not contain one readable time and at least one `v1` (400)."""


class SignatureTimestampOutOfTolerance(SignatureError):
    """`t` differs from now by more than the tolerance, in either direction (400)."""


class SignatureMismatch(SignatureError):
    """No `v1` fits: the body, the time or the secret is not the one used to sign (401)."""

    recommended_status: ClassVar[int] = 401


class ParsedHeader(NamedTuple):
    """The parts of a well-formed header: the time as it was written, and every `v1` in order."""

    timestamp: str
    digests: tuple[str, ...]


def sign(body: bytes | str, secret: str, at: int) -> str:
    """Return the value of the signature header for a body signed at `at`, in Unix seconds (contract section 5.4).

    A body given as text is signed as UTF-8. Raises ValueError for a blank secret or a negative time.
    """
    return signature_header(to_bytes(body), (secret,), at)


def signature_header(body: bytes, secrets: Sequence[str], at: int) -> str:
    """Return the header's value for a body with one `v1` for each secret, the current one first.

    `at` is in Unix seconds. Raises ValueError for no secret, a blank one, or a negative time.
    """
    if not secrets:
        raise ValueError("no webhook secret to sign with: give at least one")
    if at < 0:
        raise ValueError(f"a webhook cannot be signed at {at}: give the time in Unix seconds, 0 or later")
    signed = b"%d." % at + body
    digests = "".join([",v1=" + hmac.digest(_key(secret), signed, "sha256").hex() for secret in secrets])
    return f"t={at}{digests}"


def verify(
    body: bytes | str,
    header: str | None,
    secret: str,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    *,
    now: int,
) -> int:
    """Verify a header against the body as it was received, in the order of contract section 5.5; returns its time.

    `tolerance` is in seconds, in both directions, and inclusive. Parts of unknown schemes are ignored. Any header and
    body raise nothing but a SignatureError; a blank secret is the caller's mistake and raises ValueError.
    """
    key = _key(secret)
    timestamp, digests = parse_header(header)
    signed_at = int(timestamp)
    if abs(now - signed_at) > tolerance:
        direction = "ago" if signed_at < now else "in the future"
        raise SignatureTimestampOutOfTolerance(
            f"the webhook was signed {abs(now - signed_at)} s {direction} and the tolerance is {tolerance} s: "
            "correct the clock, or have it delivered again"
        )
    # Bytes, because `compare_digest` raises TypeError for text beyond ASCII; all of them, so that the time taken does
    # not tell which one fits.
    expected = mac(to_bytes(body), key, timestamp).hex().encode()
    fits = [hmac.compare_digest(expected, to_bytes(digest)) for digest in digests]
    if not any(fits):
        raise SignatureMismatch(
            "no v1 in the signature header fits this body and this secret: "
            "check the body's raw bytes as they were received, and the webhook secret of this endpoint"
        )
    return signed_at


def parse_header(header: str | None) -> ParsedHeader:
    """Return the time and the `v1` digests of a header's value.

    Raises SignatureHeaderMissing or SignatureHeaderMalformed. The parts may have any order, and unknown ones
    are skipped, so that a later scheme can be sent beside this one.
    """
    if header is None or not header.strip():
        raise SignatureHeaderMissing(f"the request carries no signature: send it in the {DEFAULT_HEADER_NAME} header")
    # White space around the value is not part of an HTTP header's value; white space inside is.
    parts = [part.partition("=") for part in header.strip().split(",")]
    times = [value for name, _, value in parts if name == "t"]
    digests = tuple(value for name, _, value in parts if name == "v1" and value)
    if len(times) != 1:
        # With two times it is not clear which one was signed, and receivers differ in which they read.
        raise SignatureHeaderMalformed(
            f"the signature header holds {len(times)} times: it must hold t=<Unix seconds> once"
        )
    if not _DECIMAL.fullmatch(times[0]):
        raise SignatureHeaderMalformed(
            f"the signature header's t is {times[0][:40]!a}: it must be Unix seconds in decimal digits"
        )
    if not digests:
        raise SignatureHeaderMalformed("the signature header holds no v1: it must hold v1=<64 hexadecimal digits>")
    return ParsedHeader(times[0], digests)


def mac(body: bytes, key: bytes, timestamp: str) -> bytes:
    """Return the 32 bytes of the HMAC over `<timestamp>.<body>`, the time as it is written in the header."""
    return hmac.digest(key, timestamp.encode() + b"." + body, "sha256")


def to_bytes(text: bytes | str) -> bytes:
    """Encode text as UTF-8. Lone surrogates are encoded too, so a hostile header never raises UnicodeEncodeError."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _key(secret: str) -> bytes:
    # HMAC takes a blank key, but everyone knows it: it is an unset variable, not a secret.
    if not secret.strip():
        raise ValueError("the webhook secret is blank: give the secret that the sandbox or the dashboard shows")
    return to_bytes(secret)
