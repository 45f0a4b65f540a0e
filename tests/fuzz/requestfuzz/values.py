"""Unusual values, and changes to documents and bytes."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

TEXTS: Final = (
    *("", " ", "\x00", "null", "é", "\u202eabc", "💶", "\ud800", "a" * 129, "a" * 600, "../..", "%2e%2e%2f", "{id}"),
    *("<b>&amp;", "' OR 1=1 --", "EUR", "DE", "XXX", "49.90", "-1", "NaN", "true", "CREDIT_CARD", "payin_0"),
    *(
        "http://127.0.0.1:9/",
        "ftp://a",
        "http://[::1",
        "http://a:99999/",
        "//a",
        "ada@example.test",
        "@",
        "1s",
        "9999d",
    ),
    *("2026-01-01T00:00:00Z", "*", "happy-path", "card-declined@scenario.test", "manual"),
)
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2, 100, 0.1, 49.9, 0.001, 1e308, 1e-7, 2**31, 2**63, 2**64, 10**40, -(10**40)),
    *([], {}, [[]], [None], {"": ""}, {"a": {"a": {"a": 1}}}),
)
TOKENS: Final = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"\\u0000",
        b"\\ud800",
        b"\x00",
        b"\xff",
        b"\xc3\x28",
        b"1e999",
        b"NaN",
    ),
    *(b"-", b"00", b"null", b"\r\n", b" ", b"/*", b"\xef\xbb\xbf", b'"a":1,', b"[" * 300, b"9" * 400),
)
# How far a document is followed; what is deeper was put there as it is.
_DEEPEST: Final = 6


def odd(random: Random) -> Any:  # noqa: ANN401 - JSON is any
    """Return an unusual value."""
    return random.choice(TEXTS) if random.random() < 0.5 else random.choice(VALUES)


def changed(random: Random, value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON is any
    """Return a copy of a JSON value that differs in one place."""
    if isinstance(value, dict) and value and depth < _DEEPEST:
        members = dict(value)
        name = random.choice(list(members))
        match random.randrange(5):
            case 0:
                del members[name]
            case 1:
                members[random.choice((*TEXTS, "amount", "status", "metadata"))] = odd(random)
            case 2:
                members[name] = odd(random)
            case _:
                members[name] = changed(random, members[name], depth + 1)
        return members
    if isinstance(value, list) and value and random.random() < 0.7 and depth < _DEEPEST:
        place = random.randrange(len(value))
        return [*value[:place], changed(random, value[place], depth + 1), *value[place + random.randrange(2) :]]
    return odd(random)


def damaged(random: Random, data: bytes, tokens: tuple[bytes, ...] = TOKENS) -> bytes:
    """Return bytes with some removed, replaced, repeated or put in between."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 1, 2, 8, 40)))
        match random.randrange(5):
            case 0:
                data = data[:start] + data[end:]
            case 1:
                data = data[:start] + random.choice(tokens) + data[start:]
            case 2:
                data = data[:start] + bytes([random.randrange(256)]) + data[start + 1 :]
            case 3:
                data = data[:end] + data[start:end] * random.choice((1, 2, 30)) + data[end:]
            case _:
                data = data[:start]
    return data


def encoded(value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return a value as JSON text; a lone surrogate is escaped."""
    return json.dumps(value).encode()


def encodable(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a value in which every text can be encoded, for callers that do not pass JSON text."""
    if isinstance(value, dict):
        return {encodable(name): encodable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [encodable(member) for member in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and abs(value) >= 2**63:
        return float(value)
    return value
