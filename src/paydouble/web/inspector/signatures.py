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


class Verdict(NamedTuple):
    """Whether a signature verifies at a time (Unix seconds), and why not."""

    label: str
    at: int
    diagnosis: Diagnosis


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
    verdicts: tuple[Verdict, ...]


def taken_apart(
    body: bytes,
    header: str | None,
    secrets: Sequence[tuple[str, str]],
    times: Sequence[tuple[str, int]],
    *,
    name: str = DEFAULT_HEADER_NAME,
) -> SignatureView:
    """Take a signature apart.

    `header` is the value, or the whole line, or None. `secrets` are labels and secrets, the one to verify with first;
    `times` are labels and times in Unix seconds, for each of which there is a verdict.
    """
    verdicts: list[Verdict] = []
    for label, at in times:
        diagnosis = diagnose(body, header, secrets[0][1], now=at, header_name=name)
        if verdicts and verdicts[-1].diagnosis == diagnosis:
            verdicts[-1] = verdicts[-1]._replace(label=f"{verdicts[-1].label} and {label.lower()}")
        else:
            verdicts.append(Verdict(label, at, diagnosis))
    value = (header or "").rpartition(":")[2].strip()
    try:
        timestamp, digests = parse_header(value)
    except SignatureError as error:
        return SignatureView(header or "", str(error), "", None, (), "", tuple(verdicts))
    made = [(label, mac(body, to_bytes(secret), timestamp).hex()) for label, secret in secrets if secret.strip()]
    whose = tuple(
        Digest(each, next((label for label, digest in made if hmac.compare_digest(digest, _ascii(each))), ""))
        for each in digests
    )
    seconds = int(timestamp)
    shown = seconds * 1000 if seconds <= _LAST_SECOND else None
    return SignatureView(header or "", "", timestamp, shown, whose, made[0][1] if made else "", tuple(verdicts))


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
