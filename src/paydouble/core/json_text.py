"""Strict JSON: what the standard allows and nothing else, with the spelling of every number kept.

Refused: bytes that are not UTF-8, NaN and the infinities, lone surrogates, duplicate members of an object (parsers
disagree about which one counts), and deep nesting.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from json import scanner
from typing import Any, Final, NoReturn

import orjson
from jiter import from_json

DEEPEST: Final = 254
"""The deepest nesting of lists and objects that can be serialised again."""


class JsonTextError(ValueError):
    """The bytes are not accepted as JSON; the message says why and where."""


class Number(Decimal):
    """An exact JSON number with its lexeme: the text that it was written as (`49.90`, `4.99e1`)."""

    __slots__ = ("lexeme",)
    lexeme: str

    def __new__(cls, lexeme: str) -> Number:  # noqa: PYI034 - final in practice; Self would hide the slot from mypy
        """Take a lexeme that the JSON scanner has checked."""
        return _number(lexeme)


def _number(lexeme: str) -> Number:
    # The scanner calls this for each number; a function call takes half the time of a class call.
    try:
        number = Decimal.__new__(Number, lexeme)
    except InvalidOperation:
        message = f"the number {lexeme[:40]} is out of range"
        raise JsonTextError(message) from None
    number.lexeme = lexeme
    return number


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        message = f"the member {json.dumps(_repeated(pairs)[:80])} is twice in one object"
        raise JsonTextError(message)
    return members


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    """Return the first name that occurs twice."""
    times = Counter(name for name, _ in pairs)
    return next(name for name, count in times.items() if count > 1)


def _constant(name: str) -> NoReturn:
    message = f"{name} is not JSON"
    raise JsonTextError(message)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_number, parse_int=_number, parse_constant=_constant
)


_SCAN: Final = scanner.make_scanner(_DECODER)  # type: ignore[arg-type]  # typeshed types it wrongly


def loads(body: bytes, *, deepest: int | None = None) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of a JSON text; numbers are `Number`s. `JsonTextError` says what is wrong and where.

    `deepest` limits the nesting of lists and objects, for callers that recurse through the value.
    """
    if deepest is not None:
        check_depth(body, deepest)
    try:
        text = body.decode("utf-8")
        try:
            value, end = _SCAN(text, 0)
        except StopIteration:
            value, end = None, -1
        # Most texts are one value with nothing around it; others have white space, or an error to report.
        return value if end == len(text) else _DECODER.decode(text)
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
    except json.JSONDecodeError as error:
        message = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        message = "nested too deeply"
    raise JsonTextError(message)


# A string, or one bracket. The possessive quantifiers prevent backtracking, so the time is linear.
_MARKS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)


def check_depth(body: bytes, deepest: int) -> None:
    """Raise `JsonTextError`, with the place, if lists and objects are nested more than `deepest` levels deep."""
    if body.count(b"[") + body.count(b"{") <= deepest:
        return  # true for nearly every text
    depth = 0
    for mark in _MARKS.finditer(body):
        at = mark.start()
        sign = body[at : at + 1]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
        if depth > deepest:
            line = body.count(b"\n", 0, at) + 1
            column = len(body[body.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")) + 1
            message = f"nested more than {deepest} levels deep at line {line}, column {column}"
            raise JsonTextError(message)


def read(body: bytes) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of a JSON text with a faster parser; numbers are ints and Decimals, exact but without lexeme.

    When that parser refuses a text, `loads` parses it or raises `JsonTextError`.
    """
    try:
        return from_json(body, allow_inf_nan=False, cache_mode="all", catch_duplicate_keys=True, float_mode="decimal")
    except ValueError:
        value = loads(body, deepest=DEEPEST)
    canonical(value)  # refuses lone surrogates, and nesting that cannot be serialised
    return value


def _lexeme(value: object) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.lexeme)
    raise TypeError


def dumps(value: Any, *, indent: bool = False) -> bytes:  # noqa: ANN401 - JSON is any
    """Return a JSON text; every `Number` is written with its lexeme."""
    return orjson.dumps(value, default=_lexeme, option=orjson.OPT_INDENT_2 if indent else 0)


def canonical(value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return the canonical text of a value: the same for all texts with the same members and number lexemes."""
    try:
        return orjson.dumps(value, default=_lexeme, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        deep = "ecursion" in str(error)
        message = "nested too deeply" if deep else "a text has half of a surrogate pair, which is not a character"
    raise JsonTextError(message)
