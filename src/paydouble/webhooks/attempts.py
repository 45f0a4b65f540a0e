"""The bytes and headers of one attempt: as the contract has them, or changed by faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from paydouble.faults.plans import AttemptPlan
from paydouble.webhooks.signing import signature_header

Header = tuple[str, str]
# Signs what must not verify. Nobody is given this secret, so no receiver can have it.
WRONG_SECRET: Final = "whsec_that_nobody_was_given"  # noqa: S105 - nobody's


class Transport(NamedTuple):
    """How the shell sends the bytes: `plain`, `chunked`, `drip` (in `chunks` over `seconds`), or cut off by `reset`."""

    kind: str = "plain"
    chunks: int = 1
    seconds: float = 0.0


PLAIN: Final = Transport()


def sign_attempt(
    body: bytes, secrets: Sequence[str], signed_at: int, header_name: str, plan: AttemptPlan | None
) -> tuple[bytes, tuple[Header, ...], int]:
    """Return the bytes to send, the headers, and the signature's `t`; `signed_at` and `t` are Unix seconds."""
    if plan is None:
        return body, _headers(header_name, signature_header(body, secrets, signed_at)), signed_at
    for change in plan.before_signing:
        body = change(body)
    mode = plan.signature
    at = signed_at
    if mode == "stale":
        at -= plan.age_seconds
    elif mode == "future":
        at += plan.age_seconds
    at = max(at, 0)
    value = _SIGNERS.get(mode or "", signature_header)(body, secrets, at)
    headers = _headers(header_name, value)
    for change in plan.after_signing:
        body = change(body)
    return body, headers, at


def transport(plan: AttemptPlan | None) -> Transport:
    """Return how the attempt is sent."""
    if plan is None or plan.transport == "plain":
        return PLAIN
    return Transport(plan.transport, plan.drip_chunks, plan.drip_seconds)


def _headers(name: str, value: str | None) -> tuple[Header, ...]:
    content = ("Content-Type", "application/json")
    return (content,) if value is None else (content, (name, value))


Signer = Callable[[bytes, Sequence[str], int], str | None]


def _digest(body: bytes, secrets: Sequence[str], at: int) -> str:
    return signature_header(body, secrets[:1], at).partition("v1=")[2]


def _wrong(body: bytes, _: Sequence[str], at: int) -> str:
    return signature_header(body, (WRONG_SECRET,), at)


def _two(body: bytes, secrets: Sequence[str], at: int) -> str:
    # The first v1 is of another secret: a receiver that only reads the first refuses what it should accept.
    return signature_header(body, (WRONG_SECRET, *secrets[:1]), at)


_SIGNERS: Final[dict[str, Signer]] = {
    "missing": lambda _body, _secrets, _at: None,
    "empty": lambda _body, _secrets, _at: "",
    "malformed": lambda _body, _secrets, _at: "not a signature",
    "non_ascii": lambda _body, _secrets, at: f"t={at},v1=\u00fc\u4e2d\u00e9",
    "wrong_secret": _wrong,
    "v0_only": lambda body, secrets, at: f"t={at},v0={_digest(body, secrets, at)}",
    "two_v1": _two,
    "uppercase": lambda body, secrets, at: f"t={at},v1={_digest(body, secrets, at).upper()}",
    "reordered": lambda body, secrets, at: f"v1={_digest(body, secrets, at)},t={at}",
}
