"""Why a signature does not verify: undo the usual mistakes, one or a few at a time, until the HMAC fits.

An HMAC that fits is proof: with the key as it was signed with, and the body as it was signed, what is left between
them and what the receiver has is the mistake. Where nothing fits, the likeliest reason is another secret.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeVar

from paydouble.webhooks.header_trials import HEADER_SHAPES, HEADER_TRIALS
from paydouble.webhooks.signing import (
    DEFAULT_HEADER_NAME,
    DEFAULT_TOLERANCE_SECONDS,
    ParsedHeader,
    SignatureError,
    mac,
    parse_header,
    to_bytes,
)
from paydouble.webhooks.trials import BODY_TRIALS, SECRET_TRIALS, Mistake, Trial

Thing = TypeVar("Thing", str, bytes)

_NAME_AND_VALUE = re.compile(r"\s*([A-Za-z0-9_-]+)\s*:\s*(.*)", re.DOTALL)
# As seconds this is the year 5138; as milliseconds, 1973.
_MILLISECONDS_FROM = 10**11

BLANK_SECRET = Mistake(
    "blank-secret",
    "the webhook secret is blank",
    "Give the secret that the sandbox or the dashboard shows; look for an unset environment variable",
)
MISSING_HEADER = Mistake(
    "missing-header",
    "the request carries no signature header",
    "Look for a proxy that drops it, and read it under the name that it is sent with",
)
NAME_INCLUDED = Mistake(
    "header-name-included",
    "the header was given with its name before the value; the value was taken",
    "A receiver's code must pass the value alone",
)
MILLISECONDS = Mistake("milliseconds", "t is in milliseconds", "Write t in Unix seconds")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict on one signature.

    `cause` is a slug that stays the same between versions (`verified` when nothing is wrong), `message` says in
    words what was found, and `remedy` how to mend it; with several mistakes at once, `cause` is the first of them.
    """

    verified: bool
    cause: str
    message: str
    remedy: str


class _Unexplained(NamedTuple):
    mistake: Mistake
    applies: Callable[[bytes, ParsedHeader], bool]


# What to say when no trial fits; read from top to bottom, so the last takes what is left.
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
            "the body is empty, and what was signed was not: something has read it before",
            "Keep the raw bytes of the request before a parser or middleware takes them",
        ),
        lambda body, _: not body,
    ),
    _Unexplained(
        Mistake(
            "wrong-secret",
            "no usual mistake with the body explains it, so the secret is likely another endpoint's, or an old one; "
            "else the body's content or the time was changed after signing",
            "Copy the webhook secret of this very endpoint anew; if it is the right one, compare the body with what "
            "was sent",
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
    """Find the signature's value, and what is wrong with the name that it stands under."""
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
        f"the signature stands under {name[:80]!a} and not under {header_name}",
        f"Read the {header_name} header",
    )


def _signing_mistakes(body: bytes, value: str, key: bytes) -> tuple[list[Mistake], ParsedHeader | None]:
    """Find the fewest mistakes with which the HMAC fits; else what can be told from the looks of things."""
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
    """Map each thing that may have been meant to the mistakes between it and what there is: none, or one."""
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
    told = f"it was signed {_distance(signed_at, now)}, and the tolerance is {tolerance} s"
    if signed_at < now:
        return [
            Mistake("stale", told, "Verify at once on receipt; for a recorded webhook give the time of its receipt")
        ]
    return [Mistake("future", told, "Set the clock of the receiver, or of the signer; both must follow real time")]


def _distance(signed_at: int, now: int) -> str:
    return f"{now - signed_at} s ago" if signed_at <= now else f"{signed_at - now} s in the future"


def _diagnosis(mistakes: list[Mistake], signed: str) -> Diagnosis:
    """Put the mistakes into words; a name before the value is forgiven, and told last: people paste whole lines."""
    mistakes = sorted(mistakes, key=lambda mistake: mistake is NAME_INCLUDED)
    verified = all(mistake is NAME_INCLUDED for mistake in mistakes)
    facts = [f"the signature verifies; it was signed {signed}"] if verified else []
    return Diagnosis(
        verified=verified,
        cause=mistakes[0].cause if mistakes else "verified",
        message="; also, ".join(facts + [mistake.message for mistake in mistakes]),
        remedy=". ".join(mistake.remedy for mistake in mistakes),
    )
