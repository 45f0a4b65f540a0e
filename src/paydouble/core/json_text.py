"""Strict JSON: the standard's text and nothing else, with every number's own spelling kept.

Refused: bytes that are not UTF-8, NaN and the infinities, lone surrogates, the same member twice in an object
(receivers disagree about which one counts), and nesting that no payment needs.
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
"""Lists and objects in one another that can be written again."""


class JsonTextError(ValueError):
    """The bytes are not the JSON that we take; the message says why and where."""


class Number(Decimal):
    """A JSON number: exact, and with the lexeme that it was written with (`49.90`, `4.99e1`)."""

    __slots__ = ("lexeme",)
    lexeme: str

    def __new__(cls, lexeme: str) -> Number:  # noqa: PYI034 - final in practice; Self would hide the slot from mypy
        """Read a lexeme that the JSON scanner has already checked."""
        return _number(lexeme)


def _number(lexeme: str) -> Number:
    # What the scanner calls for each number: a function is half the price of a class that is called.
    try:
        number = Decimal.__new__(Number, lexeme)
    except InvalidOperation:
        message = f"the number {lexeme[:40]} is out of any range"
        raise JsonTextError(message) from None
    number.lexeme = lexeme
    return number


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        message = f"the member {json.dumps(_repeated(pairs)[:80])} stands twice in one object"
        raise JsonTextError(message)
    return members


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    """Return the first name of an object's members that another one has as well."""
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

    `deepest` is how many lists and objects may stand in one another, for those who walk through the value by recursion.
    """
    if deepest is not None:
        check_depth(body, deepest)
    try:
        text = body.decode("utf-8")
        try:
            value, end = _SCAN(text, 0)
        except StopIteration:
            value, end = None, -1
        # The usual text is one value and nothing around it; the rest has white space, or an error to be told of.
        return value if end == len(text) else _DECODER.decode(text)
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
    except json.JSONDecodeError as error:
        message = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        message = "nested too deeply"
    raise JsonTextError(message)


# A text, or one bracket. Never tried again from within (`*+`), a text takes time in proportion to its length.
_MARKS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)


def check_depth(body: bytes, deepest: int) -> None:
    """Raise `JsonTextError`, with the place, when more than `deepest` lists and objects stand in one another."""
    if body.count(b"[") + body.count(b"{") <= deepest:
        return  # as nearly every text
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
    """Return the value of a JSON text as quickly as it can be had; numbers are ints and Decimals, exact.

    For those who need no number's spelling. What the quick reader refuses, `loads` takes or explains.
    """
    try:
        return from_json(body, allow_inf_nan=False, cache_mode="all", catch_duplicate_keys=True, float_mode="decimal")
    except ValueError:
        value = loads(body, deepest=DEEPEST)
    canonical(value)  # refuses what `loads` alone would not: half a surrogate pair, a nesting that cannot be written
    return value


def _lexeme(value: object) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.lexeme)
    raise TypeError


def dumps(value: Any, *, indent: bool = False) -> bytes:  # noqa: ANN401 - JSON is any
    """Return a JSON text in which every `Number` is written as it was read."""
    return orjson.dumps(value, default=_lexeme, option=orjson.OPT_INDENT_2 if indent else 0)


def canonical(value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return one spelling for all texts with the same members and the same number lexemes."""
    try:
        return orjson.dumps(value, default=_lexeme, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        deep = "ecursion" in str(error)
        message = "nested too deeply" if deep else "a text holds half of a surrogate pair, which is no character"
    raise JsonTextError(message)
