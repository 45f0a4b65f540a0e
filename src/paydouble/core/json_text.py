"""Strict JSON: the standard's text and nothing else, with every number's own spelling kept.

Refused: bytes that are not UTF-8, NaN and the infinities, lone surrogates, the same member twice in an object
(receivers disagree about which one counts), and nesting that no payment needs.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from json import scanner
from typing import Any, Final, NoReturn

import orjson
from jiter import from_json


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
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        message = f"the member {json.dumps(twice[:80])} stands twice in one object"
        raise JsonTextError(message)
    return members


def _constant(name: str) -> NoReturn:
    message = f"{name} is not JSON"
    raise JsonTextError(message)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_number, parse_int=_number, parse_constant=_constant
)


_SCAN: Final = scanner.make_scanner(_DECODER)  # type: ignore[arg-type]  # typeshed types it wrongly


def loads(body: bytes) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of a JSON text; numbers are `Number`s. `JsonTextError` says what is wrong and where."""
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


def read(body: bytes) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of a JSON text as quickly as it can be had; numbers are ints and Decimals, exact.

    For those who need no number's spelling. What the quick reader refuses, `loads` takes or explains.
    """
    try:
        return from_json(body, allow_inf_nan=False, cache_mode="all", catch_duplicate_keys=True, float_mode="decimal")
    except ValueError:
        value = loads(body)
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
