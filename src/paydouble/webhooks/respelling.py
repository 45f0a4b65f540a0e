"""The other ways to write one JSON document: what its bytes may have been before somebody parsed and wrote it anew.

A parser forgets how the text was written: blanks, the order of members, escapes, the zeros after 49.90. Nothing can
give that back for certain, but there are few habits, so each combination of them is one guess.
"""

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from paydouble.core.json_text import JsonTextError, Number, loads
from paydouble.webhooks.signing import to_bytes

# Fifty times an event's size; far beyond it, hundreds of spellings would take minutes.
_LARGEST_BYTES = 64 * 1024

# Separators of items, of names and values, and the indent of one level.
_BLANKS: tuple[tuple[str, str, str], ...] = (
    (",", ":", ""),  # JSON.stringify, orjson, and the service itself
    (", ", ": ", ""),  # Python's json.dumps
    (",", ": ", "  "),
    (",", ": ", "    "),
    (",", ": ", "\t"),
)

# The members in the order of contract sections 2.1 and 2.2; one list serves both, for they do not disagree.
_DOCUMENTED_ORDER = [
    "id",
    "object",
    "type",
    "code",
    "name",
    "api_version",
    "reference",
    "external_identifier",
    "amount",
    "currency",
    "status",
    "payment_method",
    "customer",
    "first_name",
    "last_name",
    "email",
    "created_at",
    "updated_at",
    "data",
    "previous_attributes",
    "request_id",
    "livemode",
]
_RANK = {name: rank for rank, name in enumerate(_DOCUMENTED_ORDER)}

_ORDERS: tuple[Callable[[list[str]], list[str]], ...] = (
    lambda names: names,
    sorted,
    lambda names: sorted(names, key=lambda name: _RANK.get(name, len(_RANK))),
)

_ESCAPES: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text.replace("/", "\\/"),  # PHP
    lambda text: text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),  # Go, Ruby on Rails
)


def _with_digits(digits: int) -> Callable[[Number], str]:
    """Write a fraction with so many digits after its point, as money of such a currency is; leave whole numbers."""

    def spell(number: Number) -> str:
        # A number beyond a double's exactness is no float written anew, and may be too large to write out.
        if not set(number.lexeme) <= set("-.0123456789") or "." not in number.lexeme:
            return number.lexeme
        whole, _, fraction = number.lexeme.partition(".")
        fraction = fraction.rstrip("0").ljust(digits, "0")
        return f"{whole}.{fraction}" if fraction else whole

    return spell


def _always_with_two_digits(number: Number) -> str:
    """Write whole numbers with two digits as well: 50 was 50.00 before a parser in JavaScript read it."""
    return f"{number.lexeme}.00" if number.lexeme.lstrip("-").isdecimal() else _with_digits(2)(number)


_NUMBERS: tuple[Callable[[Number], str], ...] = (
    lambda number: number.lexeme,
    _with_digits(2),
    _with_digits(3),
    _with_digits(0),
    _always_with_two_digits,
)


def respellings(body: bytes) -> Iterator[bytes]:
    """Yield the body's JSON value in each of the usual spellings; nothing when it is no JSON, or far too large."""
    if len(body) > _LARGEST_BYTES:
        return
    try:
        value = loads(body)
        # One spelling as a probe: a reader that gets through deep nesting may still be too deep for the writer.
        _Writer(_BLANKS[0], list, json.dumps, str).write(value, 0)
    except (JsonTextError, RecursionError):
        return
    for blanks, order, ascii_only, escape, number in product(_BLANKS, _ORDERS, (False, True), _ESCAPES, _NUMBERS):

        def text(string: str, *, ascii_only: bool = ascii_only, escape: Callable[[str], str] = escape) -> str:
            return escape(json.dumps(string, ensure_ascii=ascii_only))

        yield to_bytes(_Writer(blanks, order, text, number).write(value, 0))


class _Writer:
    """Write one JSON value in one spelling; `json.dumps` cannot keep a number's own digits."""

    def __init__(
        self,
        blanks: tuple[str, str, str],
        order: Callable[[list[str]], list[str]],
        text: Callable[[str], str],
        number: Callable[[Number], str],
    ) -> None:
        self.comma, self.colon, self.indent = blanks
        self.order = order
        self.text = text
        self.number = number

    def write(self, value: Any, depth: int) -> str:  # noqa: ANN401 - JSON is any
        """Give the text of a value that stands `depth` levels deep."""
        if isinstance(value, dict):
            names = self.order(list(value))
            members = [f"{self.text(name)}{self.colon}{self.write(value[name], depth + 1)}" for name in names]
            return self._between("{", members, "}", depth)
        if isinstance(value, list):
            return self._between("[", [self.write(item, depth + 1) for item in value], "]", depth)
        if isinstance(value, Number):
            return self.number(value)
        return self.text(value) if isinstance(value, str) else json.dumps(value)

    def _between(self, opening: str, items: list[str], closing: str, depth: int) -> str:
        if not self.indent or not items:
            return opening + self.comma.join(items) + closing
        line = "\n" + self.indent * (depth + 1)
        return f"{opening}{line}{(self.comma + line).join(items)}\n{self.indent * depth}{closing}"
