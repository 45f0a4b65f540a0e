"""The signature of a webhook."""

import hashlib
import hmac
import time

TOLERANCE = 300


def refusal(header: str | None, body: bytes, secret: str, bugs: frozenset[str]) -> int | None:
    """Return the status with which a webhook is refused, None when it is genuine."""
    if header is None:
        return 400
    stamp, digests = None, []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t":
            stamp = value
        elif name == "v1":
            digests.append(value)
    if stamp is None or not digests or not (len(stamp) < 13 and stamp.isascii() and stamp.isdigit()):
        return 400
    if "no_tolerance" not in bugs and abs(time.time() - int(stamp)) > TOLERANCE:
        return 400
    expected = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    for digest in digests:
        if hmac.compare_digest(expected.encode(), digest.encode("utf-8", "replace")):
            return None
    return 401
