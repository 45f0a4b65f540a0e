"""Why a signature does not verify: undoes the usual mistakes, at most one each in body, secret and header.

When the HMAC of a combination fits, that proves its mistakes: the body and the secret are then the ones that were used
to sign. When none fits, the likeliest reason is another secret.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeVar

from paydouble.webhooks.signing import (
    DEFAULT_HEADER_NAME,
    DEFAULT_TOLERANCE_SECONDS,
    ParsedHeader,
    SignatureError,
    mac,
    parse_header,
    to_bytes,
)
from paydouble.webhooks.trials import BODY_TRIALS, HEADER_SHAPES, HEADER_TRIALS, SECRET_TRIALS, Mistake, Trial

Thing = TypeVar("Thing", str, bytes)

_NAME_AND_VALUE = re.compile(r"\s*([A-Za-z0-9_-]+)\s*:\s*(.*)", re.DOTALL)
# As seconds this is the year 5138; as milliseconds, 1973.
_MILLISECONDS_FROM = 10**11

BLANK_SECRET = Mistake(
    "blank-secret",
    "the webhook secret is blank",
    "Give the secret that the sandbox or the dashboard shows; check for an unset environment variable",
)
MISSING_HEADER = Mistake(
    "missing-header",
    "the request carries no signature header",
    "Check for a proxy that drops it, and read it under the name that it is sent with",
)
NAME_INCLUDED = Mistake(
    "header-name-included",
    "the header was given with its name before the value; the value was taken",
    "A receiver must pass the value only",
)
MILLISECONDS = Mistake("milliseconds", "t is in milliseconds", "Write t in Unix seconds")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict on one signature.

    `cause` is a slug that stays the same between versions (`verified` when nothing is wrong), `message` says what was
    found, and `remedy` how to fix it. With several mistakes, `cause` is the first of them.
    """

    verified: bool
    cause: str
    message: str
    remedy: str


class _Unexplained(NamedTuple):
    mistake: Mistake
    applies: Callable[[bytes, ParsedHeader], bool]


# Used when no trial fits: the first that applies; the last one always does.
_UNEXPLAINED = (
    _Unexplained(
        Mistake(
            "digest-not-sha256",
            "v1 is not 64 hexadecimal digits: it was cut off, or made with another algorithm than HMAC-SHA256",
            "Pass the header's whole value, and sign with HMAC-SHA256 in hexadecimal digits",
        ),
        lambda _, parsed: not any(re.fullmatch(r"[0-9a-fA-F]{64}", digest) for digest in parsed.digests),
    ),
    _Unexplained(
        Mistake(
            "empty-body",
            "the body is empty, but the signed one was not: it was read before",
            "Keep the raw bytes of the request before a parser or middleware reads them",
        ),
        lambda body, _: not body,
    ),
    _Unexplained(
        Mistake(
            "wrong-secret",
            "no usual mistake with the body explains it, so the secret is likely another endpoint's, or an old one; "
            "otherwise the body's content or the time was changed after signing",
            "Copy the webhook secret of this endpoint again; if it is the same, compare the body with what was sent",
        ),
        lambda _body, _parsed: True,
    ),
)


def diagnose(  # noqa: PLR0913 - the arguments of `verify`, and the header's name, which is a setting
    body: bytes,
    header: Mapping[str, str] | str | None,
    secret: str,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    *,
    now: int,
    header_name: str = DEFAULT_HEADER_NAME,
) -> Diagnosis:
    """Say whether a signature verifies, and if not, the likeliest cause and its remedy.

    `header` is the signature header's value, or all headers of the request. `tolerance` is in seconds, `now` in Unix
    seconds. Raises nothing, whatever the body, the header and the secret are.
    """
    if not secret.strip():
        return _diagnosis([BLANK_SECRET], "")
    value, naming = _value_of(header, header_name)
    if value is None:
        return _diagnosis([MISSING_HEADER], "")
    signing, parsed = _signing_mistakes(body, value, to_bytes(secret))
    if parsed is None:
        return _diagnosis([*naming, *signing], "")
    signed_at = int(parsed.timestamp)
    return _diagnosis([*naming, *signing, *_time_mistakes(signed_at, tolerance, now)], _distance(signed_at, now))


def _value_of(header: Mapping[str, str] | str | None, header_name: str) -> tuple[str | None, list[Mistake]]:
    """Return the signature's value, and a mistake if it is under another name."""
    if header is None:
        return None, []
    if isinstance(header, str):
        named = _NAME_AND_VALUE.fullmatch(header)
        if named is None:
            return header, []
        right = named[1].lower() == header_name.lower()
        return named[2], [NAME_INCLUDED if right else _other_header(named[1], header_name)]
    by_name = {name.lower(): (name, value) for name, value in header.items()}
    if header_name.lower() in by_name:
        return by_name[header_name.lower()][1], []
    for lowered, (name, value) in by_name.items():
        if "signature" in lowered:
            return value, [_other_header(name, header_name)]
    return None, []


def _other_header(name: str, header_name: str) -> Mistake:
    return Mistake(
        "other-header",
        f"the signature is in the header {name[:80]!a} and not in {header_name}",
        f"Read the {header_name} header",
    )


def _signing_mistakes(body: bytes, value: str, key: bytes) -> tuple[list[Mistake], ParsedHeader | None]:
    """Return the smallest set of mistakes with which the HMAC fits; otherwise a guess from how the header looks."""
    headers = _guesses(value, HEADER_TRIALS)
    read = {text: parsed for text in headers if (parsed := _parsed(text)) is not None}
    bodies = _guesses(body, BODY_TRIALS)
    keys = _guesses(key, SECRET_TRIALS)
    for text, candidate, secret in sorted(
        product(read, bodies, keys), key=lambda guess: len(headers[guess[0]] + bodies[guess[1]] + keys[guess[2]])
    ):
        if mac(candidate, secret, read[text].timestamp).hex() in read[text].digests:
            return [*headers[text], *bodies[candidate], *keys[secret]], read[text]
    parsed = read.get(value)
    if parsed is None:
        return [next(shape for shape in HEADER_SHAPES if shape.pattern.fullmatch(value))], None
    return [next(mistake for mistake, applies in _UNEXPLAINED if applies(body, parsed))], parsed


def _guesses(thing: Thing, trials: Iterable[Trial[Thing]]) -> dict[Thing, tuple[Mistake, ...]]:
    """Map each possible original of a thing to the mistakes that made the thing of it: none, or one."""
    guesses: dict[Thing, tuple[Mistake, ...]] = {thing: ()}
    for trial in trials:
        for guess in trial.undo(thing):
            guesses.setdefault(guess, (trial,))
    return guesses


def _parsed(header: str) -> ParsedHeader | None:
    try:
        return parse_header(header)
    except SignatureError:
        return None


def _time_mistakes(signed_at: int, tolerance: int, now: int) -> list[Mistake]:
    if signed_at >= _MILLISECONDS_FROM:
        return [MILLISECONDS, *_time_mistakes(signed_at // 1000, tolerance, now)]
    if abs(now - signed_at) <= tolerance:
        return []
    message = f"it was signed {_distance(signed_at, now)}, and the tolerance is {tolerance} s"
    if signed_at < now:
        return [Mistake("stale", message, "Verify on receipt; for a recorded webhook give the time of its receipt")]
    return [
        Mistake("future", message, "Correct the clock of the receiver or of the signer; both must follow real time")
    ]


def _distance(signed_at: int, now: int) -> str:
    return f"{now - signed_at} s ago" if signed_at <= now else f"{signed_at - now} s in the future"


def _diagnosis(mistakes: list[Mistake], signed: str) -> Diagnosis:
    """Combine the mistakes. A name before the value is accepted, since people paste whole lines, and comes last."""
    mistakes = sorted(mistakes, key=lambda mistake: mistake is NAME_INCLUDED)
    verified = all(mistake is NAME_INCLUDED for mistake in mistakes)
    facts = [f"the signature verifies; it was signed {signed}"] if verified else []
    return Diagnosis(
        verified=verified,
        cause=mistakes[0].cause if mistakes else "verified",
        message="; also, ".join(facts + [mistake.message for mistake in mistakes]),
        remedy=". ".join(mistake.remedy for mistake in mistakes),
    )
