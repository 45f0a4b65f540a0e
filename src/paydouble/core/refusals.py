"""Messages for values that a model refuses: what was sent, and what to send instead.

There is one sentence for each of pydantic's error types, because its own messages are about Python types. The value is
the subject of a sentence: the caller puts the member before it, as in `amount: is text; send a number such as 49.90`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from paydouble.core.likeness import nearest

Limits = Mapping[str, Any]
UNKNOWN_MEMBER: Final = "this member is not known"
# Characters of a value that a sentence shows.
_LONGEST: Final = 40
_NUMBER: Final = "a number"
_AMOUNT: Final = "a number such as 49.90"
_WHOLE: Final = "a whole number"
_FLAG: Final = "true or false"
_OBJECT: Final = "an object"
_LIST: Final = "a list"
# Error type -> what to send.
_WANTED: Final = MappingProxyType(
    {
        "bool_parsing": _FLAG,
        "bool_type": _FLAG,
        "decimal_parsing": _AMOUNT,
        "decimal_type": _AMOUNT,
        "dict_type": _OBJECT,
        "finite_number": _NUMBER,
        "float_parsing": _NUMBER,
        "float_type": _NUMBER,
        "int_from_float": _WHOLE,
        "int_parsing": _WHOLE,
        "int_parsing_size": f"{_WHOLE} of fewer digits",
        "int_type": _WHOLE,
        "is_instance_of": _AMOUNT,  # the models only have instances of Decimal
        "list_type": _LIST,
        "model_type": _OBJECT,
        "string_type": "a text",
        "string_unicode": "a text of Unicode characters",
        "tuple_type": _LIST,
    }
)
# Pattern -> a description. A test compares the keys with the patterns of the models.
FITTING: Final = MappingProxyType(
    {
        r"^[A-Z]{3}$": "three capital letters such as EUR",
        r"^[A-Z]{2}$": "two capital letters such as DE",
        r"^[A-Z][A-Z0-9_]{0,63}$": "capital letters, digits and underscores, such as ADJUSTMENT",
        r"^[^@\u0000-\u0020]+@[^@\u0000-\u0020]+$": "an e-mail address such as ada@example.test",
        r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$": "1 to 64 letters, digits, dots, hyphens and underscores",
        r"^[^,]*$": "a text without commas",
        r"^[\x21-\x39\x3b-\x7e]+$": "characters of ASCII without spaces and colons",
        r"\S": "a text that is not blank",
        r"^https?://[\x21-\x7e]+$": "a URL that begins with http:// or https://",
        r"^GET https?://[\x21-\x7e]+$": "GET and a URL, such as GET http://127.0.0.1:3000/health",
        r"^(/[^/]*)*$": "a JSON pointer such as /order/status",
        r"^[a-z0-9]+(-[a-z0-9]+)*$": "small letters and digits, with single hyphens between",
    }
)


def sentence(kind: str, value: object, limits: Limits, otherwise: str) -> str:
    """Return the sentence for an error type; `limits` is pydantic's error context, `otherwise` its own message."""
    if kind in _WANTED:
        return f"is {_what(value)}; send {_WANTED[kind]}"
    if kind in _SENTENCES:
        return _SENTENCES[kind](value, limits)
    if kind not in KINDS:
        return f"{otherwise[:1].lower()}{otherwise[1:]}"
    # The message of a validator of ours, in which numbers may be written as in Python.
    return re.sub(r"Decimal\('([^']*)'\)", r"\1", otherwise.removeprefix("Value error, ")).replace("\n", " ")


def _what(value: object) -> str:
    """Return the kind of a value, or a short value itself."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float() | Decimal():
            return f"the number {_number(value)}"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def _number(value: object) -> str:
    return str(getattr(value, "lexeme", value))[:_LONGEST]


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")
    return _what(value)


def _compared(words: str, limit: str) -> Callable[[object, Limits], str]:
    def describe(value: object, limits: Limits) -> str:
        given = _number(value) if isinstance(value, int | float | Decimal) else _shown(value)
        return f"is {given}; send {words} {limits[limit]}"

    return describe


def _counted(words: str, limit: str) -> Callable[[object, Limits], str]:
    def describe(value: object, limits: Limits) -> str:
        unit = "character" if isinstance(value, str) else "entry" if limits[limit] == 1 else "entries"
        plural = "s" if unit == "character" and limits[limit] != 1 else ""
        size = len(value) if isinstance(value, str | list | tuple | dict) else limits.get("actual_length")
        given = "is empty" if not size else f"has {size} {'characters' if isinstance(value, str) else 'entries'}"
        return f"{given}; send {words} {limits[limit]} {unit}{plural}"

    return describe


def _not_among(value: object, limits: Limits) -> str:
    names = str(limits["expected"])
    for python, json in (("True", "true"), ("False", "false"), ("None", "null")):
        names = names.replace(python, json)
    near = nearest(value, re.findall("'([^']*)'", names))
    return f"is {_shown(value)}; " + (f"did you mean {near!r}?" if near else f"send {names}")


def _of_no_kind(_value: object, limits: Limits) -> str:
    near = nearest(limits["tag"], re.findall("'([^']*)'", str(limits["expected_tags"])))
    return f"is {_shown(limits['tag'])}; " + (f"did you mean {near!r}?" if near else f"send {limits['expected_tags']}")


_SENTENCES: Final[Mapping[str, Callable[[object, Limits], str]]] = MappingProxyType(
    {
        "extra_forbidden": lambda _value, _limits: UNKNOWN_MEMBER,
        "greater_than": _compared("more than", "gt"),
        "greater_than_equal": _compared("at least", "ge"),
        "invalid_key": lambda _value, _limits: "is the name of a member, and a name is a text",
        "less_than": _compared("less than", "lt"),
        "less_than_equal": _compared("at most", "le"),
        "literal_error": _not_among,
        "missing": lambda _value, _limits: "is missing",
        "string_pattern_mismatch": lambda value, limits: f"is {_shown(value)}; send {FITTING[limits['pattern']]}",
        "string_too_long": _counted("at most", "max_length"),
        "string_too_short": _counted("at least", "min_length"),
        "too_long": _counted("at most", "max_length"),
        "too_short": _counted("at least", "min_length"),
        "union_tag_invalid": _of_no_kind,
        "union_tag_not_found": lambda _value, limits: f"has no {limits['discriminator'].strip(chr(39))}",
    }
)
KINDS: Final = frozenset({*_WANTED, *_SENTENCES, "value_error"})
"""The error types that have a sentence; validators of ours have their own message."""
