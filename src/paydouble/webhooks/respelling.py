"""The usual serialisations of a JSON document: what its bytes may have been before it was parsed and written again.

A parser drops white space, the order of members, escapes, and the zeros of 49.90. They cannot be restored with
certainty, but serialisers have few habits, so each combination of those is one guess.
"""

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from paydouble.core.json_text import JsonTextError, Number, loads
from paydouble.webhooks.signing import to_bytes

# Fifty times the size of an event; hundreds of serialisations of a much larger body would take minutes.
_LARGEST_BYTES = 64 * 1024

# Separators of items, of names and values, and the indent of one level.
_BLANKS: tuple[tuple[str, str, str], ...] = (
    (",", ":", ""),  # JSON.stringify, orjson, and the service itself
    (", ", ": ", ""),  # Python's json.dumps
    (",", ": ", "  "),
    (",", ": ", "    "),
    (",", ": ", "\t"),
)

# The members in the order of contract sections 2.1 and 2.2, which do not contradict each other.
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
    """Return a writer of fractions with at least this many decimal places; whole numbers stay as they are."""

    def spell(number: Number) -> str:
        # A number with an exponent stays as it is: it may be too large to write out.
        if not set(number.lexeme) <= set("-.0123456789") or "." not in number.lexeme:
            return number.lexeme
        whole, _, fraction = number.lexeme.partition(".")
        fraction = fraction.rstrip("0").ljust(digits, "0")
        return f"{whole}.{fraction}" if fraction else whole

    return spell


def _always_with_two_digits(number: Number) -> str:
    """Write whole numbers with two decimal places too: 50 was 50.00 before JavaScript parsed it."""
    return f"{number.lexeme}.00" if number.lexeme.lstrip("-").isdecimal() else _with_digits(2)(number)


_NUMBERS: tuple[Callable[[Number], str], ...] = (
    lambda number: number.lexeme,
    _with_digits(2),
    _with_digits(3),
    _with_digits(0),
    _always_with_two_digits,
)


def respellings(body: bytes) -> Iterator[bytes]:
    """Yield the body's JSON value in each of the usual serialisations; nothing if it is not JSON, or too large."""
    if len(body) > _LARGEST_BYTES:
        return
    try:
        value = loads(body)
        # Written once as a probe: nesting that the parser accepts may be too deep for the writer.
        _Writer(_BLANKS[0], list, json.dumps, str).write(value, 0)
    except (JsonTextError, RecursionError):
        return
    for blanks, order, ascii_only, escape, number in product(_BLANKS, _ORDERS, (False, True), _ESCAPES, _NUMBERS):

        def text(string: str, *, ascii_only: bool = ascii_only, escape: Callable[[str], str] = escape) -> str:
            return escape(json.dumps(string, ensure_ascii=ascii_only))

        yield to_bytes(_Writer(blanks, order, text, number).write(value, 0))


class _Writer:
    """Writes a JSON value in one style; `json.dumps` cannot keep the digits of numbers."""

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
        """Return the text of a value at a nesting level."""
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
