"""Which sandboxes of this server have a webhook secret, and which of them made a signature. No secret is shown."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Final

from paydouble.web.inspector.signatures import fits, value_of
from paydouble.webhooks.signing import SignatureError, parse_header, to_bytes

if TYPE_CHECKING:
    from paydouble.sandbox import Sandbox

_MOST_HASHED_BYTES: Final = 32 * 1024 * 1024
"""Hashed for one look at most: the body is hashed with each secret, and nothing else runs meanwhile."""
_MOST_NAMED: Final = 3


def recognised(boxes: Collection[Sandbox], secret: str, header: str, body: bytes) -> str:
    """Return what the sandboxes tell about a secret that did not verify a signature; empty if nothing."""
    given = to_bytes(secret.strip())
    owners = _named(boxes, lambda each: hmac.compare_digest(to_bytes(each), given))
    signers = ""
    if len(boxes) * len(body) <= _MOST_HASHED_BYTES:
        try:
            timestamp, digests = parse_header(value_of(header))
        except SignatureError:
            pass
        else:
            signers = _named(boxes, lambda each: fits(body, timestamp, digests, each))
    if owners and owners == signers:
        return ""
    if owners and signers:
        return f"The secret is that of {owners}, but the signature was made with that of {signers}."
    if owners:
        return f"The secret is that of {owners}."
    return f"The signature was made with the secret of {signers}, which is another one." if signers else ""


def _named(boxes: Collection[Sandbox], holds: Callable[[str], bool]) -> str:
    """Return the sandboxes of which a secret fits, in words; empty if there is none."""
    found = list(_fitting(boxes, holds))
    more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
    return ", ".join(found[:_MOST_NAMED]) + more


def _fitting(boxes: Collection[Sandbox], holds: Callable[[str], bool]) -> Iterator[str]:
    for box in boxes:
        if holds(box.secrets.current):
            yield f"sandbox {box.identity.id!r}"
        elif box.secrets.previous is not None and holds(box.secrets.previous):
            yield f"sandbox {box.identity.id!r} before its secret was replaced"
