"""How values are written in the lines of a run file: JSON, with instants as texts and bytes as text where they are."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import orjson

from paydouble.core import json_text
from paydouble.core.documents import BYTES, Document
from paydouble.core.errors import PaydoubleError
from paydouble.core.instants import Stamps, parse_instant

Line = Document
"""One line of a run file."""
Pairs = list[list[str]]
instant = Stamps().write
read_instant = parse_instant
# Values of a line may be nested as deep as those of a control call.
_DEEPEST: Final = 200


class RunFileError(PaydoubleError):
    """A run file cannot be used; the message says which line, what is wrong, and what to do."""


def dump(line: Line) -> bytes:
    """Return a line as JSON text, without a line break."""
    return orjson.dumps(line, default=_exact)


def load(text: bytes) -> Line:
    """Return a line from its JSON text; `ValueError` says what is wrong. Numbers with a fraction stay exact."""
    value = _plain(json_text.loads(text, deepest=_DEEPEST))
    if not isinstance(value, dict):
        message = "it is not a JSON object"
        raise ValueError(message)  # noqa: TRY004 - as for text that is not JSON
    return value


def without_nothing(line: Line) -> Line:
    """Return a line without the members that are None, empty, False or 0: these are the defaults where it is used."""
    return {name: value for name, value in line.items() if value}


def write_bytes(data: bytes) -> str | Document:
    """Return bytes as text, or as base64 where they are not UTF-8."""
    assert BYTES.write is not None  # noqa: S101 - for the type checker
    shown: str | Document = BYTES.write(data)
    return shown


def read_bytes(shown: str | Document) -> bytes:
    """Return the bytes that `write_bytes` has written; `ValueError` or `TypeError` for anything else."""
    assert BYTES.read is not None  # noqa: S101 - for the type checker
    data: bytes = BYTES.read(shown)
    return data


def write_text(text: str) -> str | Document:
    """Return a text that may hold bytes that are not UTF-8, as texts of HTTP do."""
    return write_bytes(text.encode("utf-8", "surrogateescape"))


def read_text(shown: str | Document) -> str:
    """Return the text that `write_text` has written."""
    return read_bytes(shown).decode("utf-8", "surrogateescape")


def write_block(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Return headers as pairs of texts; each character is a byte."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]


def read_block(pairs: Pairs) -> list[tuple[bytes, bytes]]:
    """Return the headers that `write_block` has written."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]


def write_pairs(headers: Iterable[tuple[str, str]]) -> list[list[str | Document]]:
    """Return headers as pairs."""
    return [[write_text(name), write_text(value)] for name, value in headers]


def read_pairs(pairs: list[list[str | Document]]) -> tuple[tuple[str, str], ...]:
    """Return the headers that `write_pairs` has written."""
    return tuple((read_text(name), read_text(value)) for name, value in pairs)


def _exact(value: object) -> orjson.Fragment:
    if isinstance(value, json_text.Number):
        return orjson.Fragment(value.lexeme)
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    if isinstance(value, json_text.Number):
        return int(value) if value.lexeme.lstrip("-").isdecimal() else value
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
