"""Records and their JSON documents, both from one description.

A record is a frozen dataclass. The metadata of each field (`member`) says where its value is in the JSON document, how
it is written there, and what it means. Three functions use this:

- `dump(record)` returns the document,
- `load(kind, document)` returns the record,
- `schema(kind)` returns the JSON Schema of the documents.

`load(kind, dump(record)) == record` holds for every record, and `dump(record)` fits `schema(kind)`. The order of the
fields is the order of the document's members.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from orjson import Fragment

from paydouble.core.errors import PaydoubleError
from paydouble.core.json_schema import (
    AMOUNT,
    NUMBER,
    OBJECT,
    TEXT,
    TIME,
    Schema,
    described,
    list_of,
    object_of,
    or_null,
    reference,
)

R = TypeVar("R")
Document = dict[str, Any]
Headers = tuple[tuple[str, str], ...]
# Kept, since `json.loads` would make a new decoder for each text.
_DECODER: Final = json.JSONDecoder(parse_float=Decimal)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_json(text: bytes | str) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of a JSON text; a number with a fraction is a `Decimal`, so that money stays exact.

    Bytes are UTF-8, UTF-16 or UTF-32. Raises `ValueError` for anything else.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    return _DECODER.decode(text)


def instant(milliseconds: int) -> datetime:
    """Return a time of the core (milliseconds since 1970) as a `datetime` in UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def maybe_instant(milliseconds: int | None) -> datetime | None:
    """Return a time of the core as a `datetime` in UTC, or None for None."""
    return None if milliseconds is None else instant(milliseconds)


# How values are written and read


class Coding(NamedTuple):
    """How a value is written in a document: its schema, and functions to write and read it unless it is plain JSON."""

    schema: Schema
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None


def _write_instant(moment: datetime) -> str:
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"


def _write_bytes(body: bytes) -> str | Document:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _read_bytes(shown: str | Document) -> bytes:
    return shown.encode() if isinstance(shown, str) else base64.b64decode(shown["base64"])


def _read_pairs(shown: list[list[str]]) -> Headers:
    return tuple((name, value) for name, value in shown)


def _thousandths(number: float) -> Fragment:
    return Fragment(f"{number:.3f}")


INSTANT: Final = Coding(TIME, _write_instant, datetime.fromisoformat)
REAL: Final = Coding(NUMBER, None, float)
SECONDS: Final = Coding(NUMBER, _thousandths, float)
MILLISECONDS: Final = Coding(AMOUNT, _thousandths, float)
TEXTS: Final = Coding(list_of(TEXT), None, tuple)
PAIRS: Final = Coding(list_of({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}), None, _read_pairs)
BYTES: Final = Coding(reference("Bytes"), _write_bytes, _read_bytes)
"""UTF-8 text, or an object with `base64`."""
BYTES_COMPONENTS: Final = {
    "Base64": {**object_of({"base64": TEXT}), "additionalProperties": False},
    "Bytes": described(
        "Text, or an object with `base64` where the bytes are not UTF-8.", {"anyOf": [TEXT, reference("Base64")]}
    ),
}


def component(kind: type[Any]) -> str:
    """Return the name of a kind's schema among the components of an OpenAPI document: `Clock` for `ClockState`."""
    return kind.__name__.removesuffix("State")


def one(kind: type[Any]) -> Coding:
    """Return the coding of a record inside a record."""
    return Coding(reference(component(kind)), dump, lambda shown: load(kind, shown))


def several(kind: type[Any]) -> Coding:
    """Return the coding of a tuple of records inside a record."""
    return Coding(
        list_of(reference(component(kind))),
        lambda records: list(map(dump, records)),
        lambda shown: tuple(load(kind, each) for each in shown),
    )


# The description of a field


class Inside(NamedTuple):
    """An object in the document that holds several fields of the record, each of them plain JSON.

    With `optional` it is null when all of them are None.
    """

    name: str
    component: str
    meaning: str
    optional: bool = False


class _Place(NamedTuple):
    """Where the value of a field is in the document."""

    coding: Coding
    meaning: str = ""
    name: str | None = None
    inside: Inside | None = None
    optional: bool = False
    absent: bool = False


def member(  # noqa: PLR0913 - all that a member can have
    coding: Coding | Schema,
    meaning: str = "",
    *,
    name: str | None = None,
    inside: Inside | None = None,
    optional: bool = False,
    absent: bool = False,
) -> dict[str, _Place]:
    """Return the metadata of a field: its coding, or the schema of plain JSON, and its meaning.

    The member has the field's name unless `name` is given. With `optional` it may be null, with `absent` it may be
    missing; the field is then None.
    """
    made = coding if isinstance(coding, Coding) else Coding(coding)
    return {"place": _Place(made, meaning, name, inside, optional, absent)}


WHOLE: Final = {"place": None}
"""The metadata of a field that holds the whole document.

`dump` returns a copy of it. The other fields of such a record are what `load` has read from it.
"""


class _Step(NamedTuple):
    """A member of a document: a field of the record, or an object with several of them."""

    name: str
    attribute: str
    place: _Place
    inner: tuple[_Step, ...] = ()


class _Plan:
    """How the documents of one kind are written and read. Computed once, since a listing may have thousands of them."""

    def __init__(self, kind: type[Any]) -> None:
        """Read the descriptions of a kind's fields."""
        steps: list[_Step] = []
        self.whole: str | None = None
        """The field that holds the whole document."""
        for each in fields(kind):
            place: _Place | None = each.metadata["place"]
            if place is None:
                self.whole = each.name
                continue
            step = _Step(place.name or each.name, each.name, place)
            if place.inside is None:
                steps.append(step)
            elif steps and steps[-1].name == place.inside.name:
                steps[-1] = steps[-1]._replace(inner=(*steps[-1].inner, step))
            else:
                steps.append(_Step(place.inside.name, each.name, place, (step,)))
        self.attributes = tuple(each.name for each in fields(kind))
        self.steps = tuple(steps)
        """The members in the order of the document."""
        self._names = [step.name for step in steps]
        self._ordered = itemgetter(*(step.attribute for step in steps))
        self._written = [(step.name, step.place.coding.write) for step in steps if step.place.coding.write]
        self._objects = [step for step in steps if step.inner]

    def write(self, members: dict[str, Any]) -> Document:
        """Return the document of a record's members."""
        # Most values are plain JSON, so all are copied at once and the others are then overwritten.
        document = dict(zip(self._names, self._ordered(members), strict=True)) if self._objects else members
        for name, write in self._written:
            value = document.get(name)
            if value is not None:
                document[name] = write(value)
        for step in self._objects:
            values = {each.name: members[each.attribute] for each in step.inner}
            missing = step.place.inside is not None and step.place.inside.optional and set(values.values()) == {None}
            document[step.name] = None if missing else values
        return document


_PLANS: Final[dict[type[Any], _Plan]] = {}


def _plan(kind: type[Any]) -> _Plan:
    plan = _PLANS.get(kind)
    if plan is None:
        plan = _PLANS[kind] = _Plan(kind)
    return plan


def dump(record: Any) -> Document:  # noqa: ANN401 - a record of any kind
    """Return the document of a record, as the control API shows it."""
    plan = _plan(type(record))
    if plan.whole is not None:
        return dict(getattr(record, plan.whole))
    return plan.write({name: getattr(record, name) for name in plan.attributes})


def written(kind: type[Any], members: dict[str, Any]) -> Document:
    """Return what `dump` returns for a record with these members, without making the record; `members` are changed.

    For listings, which may have thousands of documents. A kind with a `WHOLE` field needs only some of its members.
    """
    return _plan(kind).write(members)


def load(kind: type[R], document: Document) -> R:
    """Return the record of a document that `dump` has made; unknown members are ignored.

    `PaydoubleError` when a member is missing, as in a document of a server of an older version.
    """
    plan = _plan(kind)
    try:
        members = dict(_read(document, plan.steps))
    except KeyError as missing:
        message = (
            f"The server's {component(kind)} lacks the member {missing.args[0]!r}, so its version is another; "
            "use the same version of paydouble on both sides"
        )
        raise PaydoubleError(message) from None
    if plan.whole is not None:
        members[plan.whole] = document
    return kind(**members)


def _read(document: Document, steps: tuple[_Step, ...]) -> Iterator[tuple[str, Any]]:
    for name, attribute, place, inner in steps:
        value = document.get(name) if place.absent else document[name]
        if inner:
            yield from ((each.attribute, None) for each in inner) if value is None else _read(value, inner)
        else:
            read = place.coding.read
            yield attribute, value if read is None or value is None else read(value)


def schema(kind: type[Any]) -> Schema:
    """Return the JSON Schema of a kind's documents; it refers to shared schemas as components."""
    return _schema(_plan(kind).steps)


def components_of(*kinds: type[Any]) -> dict[str, Schema]:
    """Return the schemas of kinds and of the objects inside them, by the names of their components."""
    found: dict[str, Schema] = {}
    for kind in kinds:
        found[component(kind)] = schema(kind)
        found |= {
            step.place.inside.component: _schema(step.inner)
            for step in _plan(kind).steps
            if step.place.inside is not None and step.inner
        }
    return found


def _schema(steps: tuple[_Step, ...]) -> Schema:
    members: dict[str, Schema] = {}
    absent: dict[str, Schema] = {}
    for step in steps:
        place = step.place
        if step.inner and place.inside is not None:
            inside = place.inside
            made = reference(inside.component)
            members[step.name] = described(inside.meaning, or_null(made) if inside.optional else made)
        else:
            made = place.coding.schema
            found = absent if place.absent else members
            found[step.name] = described(place.meaning, or_null(made) if place.optional else made)
    return object_of(members, **absent)


def open_schema(kind: type[Any]) -> Schema:
    """Return the schema of documents that have more members than a kind has fields."""
    return {**schema(kind), **OBJECT}
