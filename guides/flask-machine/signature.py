"""Is a webhook really the payment service's? The steps are those of its documentation."""

import hmac
import re
import time

TOLERANCE_SECONDS = 300


def refusal(body: bytes, header: str | None, secret: str) -> int | None:
    """Return the status to refuse a webhook with, or None when its signature holds.

    The body is the bytes as they came; JSON that was parsed and written again has other bytes.
    """
    parts = [part.partition("=") for part in (header or "").split(",")]
    times = [value for name, _, value in parts if name == "t" and re.fullmatch(r"[0-9]{1,12}", value)]
    digests = [value for name, _, value in parts if name == "v1" and value]
    if len(times) != 1 or not digests or abs(time.time() - int(times[0])) > TOLERANCE_SECONDS:
        return 400
    expected = hmac.new(secret.encode(), times[0].encode() + b"." + body, "sha256").hexdigest().encode()
    # While a secret is being changed there is a digest for each.
    fits = [hmac.compare_digest(expected, digest.encode(errors="replace")) for digest in digests]
    return None if any(fits) else 401
