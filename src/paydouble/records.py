"""What a sandbox shows of itself, described once: requests, events, deliveries, attempts, and its own state.

Each kind is a frozen dataclass. A field says beside its type where it stands in the JSON document, how it is written
there, and what it means. Everything else follows from that description:

- `dump(record)` is the document that the control API answers with,
- `load(kind, document)` reads it back, in a test of another process,
- `schema(kind)` describes it as JSON Schema, for the control API's OpenAPI document,
- `request_of(entry)` and the like make the record of what the core keeps.

`load(kind, dump(record)) == record` holds for every record, and `dump(record)` fits `schema(kind)`. So a test gets the
same values from a server and from a sandbox in its own process. The order of the fields is the order of the document's
members. Bodies are bytes, exactly as they travelled; instants are in UTC and have whole milliseconds.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from orjson import Fragment

from paydouble.core.json_schema import (
    COUNT,
    FLAG,
    TEXT,
    TIME,
    Schema,
    described,
    list_of,
    object_of,
    one_of,
    or_null,
    reference,
)

if TYPE_CHECKING:  # the core is not loaded by a test that speaks to a server elsewhere
    from paydouble import journal
    from paydouble.journal import Verdict
    from paydouble.payments import events
    from paydouble.webhooks import deliveries
    from paydouble.webhooks.deliveries import DeliveryStatus

R = TypeVar("R")
Document = dict[str, Any]
Headers = tuple[tuple[str, str], ...]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# What idempotency made of a request.
VERDICTS: Final[Mapping[Verdict, str]] = {
    "new": "the key was new, and the request was carried out",
    "replay": "the key and the body were known, and the first answer was given again",
    "joined": "the same request was in flight, and both got its answer",
    "conflict": "the key was known with another body, and the request was refused",
    "none": "it has no key, or was refused before its key was looked at",
}
STATES: Final[Mapping[DeliveryStatus, str]] = {
    "waiting": "an attempt is due, now or later, or is in flight",
    "held": "kept back by a fault or by a call, until it is released",
    "delivered": "a receiver has answered 2xx",
    "exhausted": "the last attempt of the schedule has failed",
    "dropped": "a fault has taken it away; it is never sent",
    "no_endpoint": "there was no URL to send it to",
}
ERROR_KINDS: Final[Mapping[str, str]] = {
    "timeout": "no headers within the setting `webhooks.timeout`",
    "refused": "nobody listens at the target",
    "unreachable": "no connection for another reason",
    "dns": "the host cannot be resolved",
    "tls": "no TLS connection",
    "reset": "the connection ended without an answer",
    "protocol": "the answer is not HTTP",
    "bad_url": "the target is not a URL that can be posted to",
    "policy": "the target is one to which the double does not send",
    "internal": "the double failed; its log says why",
}

SEQUENCE: Final = described(
    "Its place in the order of what happened in the sandbox. Requests are numbered when they arrive, events when "
    "they are made, attempts when they are sent, faults when they are armed.",
    COUNT,
)


def read_json(text: bytes | str) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of a JSON text; a number with a fraction is a `Decimal`, so that money stays exact."""
    return json.loads(text, parse_float=Decimal)


def instant(milliseconds: int) -> datetime:
    """Return an instant of the core as a `datetime` in UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


# How values are written and read


class Coding(NamedTuple):
    """How a value stands in a document: its schema, and what writes and reads it unless it is JSON already."""

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


_TEXT: Final = Coding(TEXT)
_COUNT: Final = Coding(COUNT)
_FLAG: Final = Coding(FLAG)
_LATENCY: Final = Coding({"type": "number", "minimum": 0}, _thousandths, float)
_TEXTS: Final = Coding(list_of(TEXT), None, tuple)
_INSTANT: Final = Coding(TIME, _write_instant, datetime.fromisoformat)
_BYTES: Final = Coding(reference("Bytes"), _write_bytes, _read_bytes)
_HEADERS: Final = Coding(list_of({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}), None, _read_pairs)


class Inside(NamedTuple):
    """A member of the document that is an object with several fields of the record, each of them JSON as it is.

    With `optional` it is null where all of them are None.
    """

    name: str
    component: str
    meaning: str
    optional: bool = False


class _Place(NamedTuple):
    """Where a field stands in the document."""

    coding: Coding
    meaning: str
    name: str | None
    inside: Inside | None
    optional: bool


def _at(
    coding: Coding,
    meaning: str = "",
    *,
    name: str | None = None,
    inside: Inside | None = None,
    optional: bool = False,
) -> dict[str, _Place]:
    """Return the metadata of a field: its coding and its meaning; it stands under its own name unless said otherwise.

    With `optional` it may be null.
    """
    return {"place": _Place(coding, meaning, name, inside, optional)}


def _several(kind: type[Any]) -> Coding:
    return Coding(
        list_of(reference(kind.__name__)),
        lambda records: list(map(dump, records)),
        lambda shown: tuple(load(kind, each) for each in shown),
    )


class _Step(NamedTuple):
    """A member of a document: a field of the record, or an object with several of them."""

    name: str
    attribute: str
    place: _Place
    inner: tuple[_Step, ...] = ()


class _Plan:
    """How the documents of one kind are written and read; worked out once, since a listing may have thousands."""

    def __init__(self, kind: type[Any]) -> None:
        """Take what the fields of a kind say of themselves."""
        steps: list[_Step] = []
        for each in fields(kind):
            place: _Place = each.metadata["place"]
            step = _Step(place.name or each.name, each.name, place)
            if place.inside is None:
                steps.append(step)
            elif steps and steps[-1].name == place.inside.name:
                steps[-1] = steps[-1]._replace(inner=(*steps[-1].inner, step))
            else:
                steps.append(_Step(place.inside.name, each.name, place, (step,)))
        self.steps = tuple(steps)
        """The members in the order of the document."""
        self._names = [step.name for step in steps]
        self._ordered = itemgetter(*(step.attribute for step in steps))
        self._written = [(step.name, step.place.coding.write) for step in steps if step.place.coding.write]
        self._objects = [step for step in steps if step.inner]

    def write(self, members: dict[str, Any]) -> Document:
        """Return the document of a record's members."""
        # Most members stand in the document as they are, so all are laid out at once and the others written over.
        document = dict(zip(self._names, self._ordered(members), strict=True)) if self._objects else members
        for name, write in self._written:
            value = document[name]
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
    return _plan(type(record)).write({each.name: getattr(record, each.name) for each in fields(record)})


def load(kind: type[R], document: Document) -> R:
    """Return the record of a document that `dump` has made of one of this kind; further members are left out."""
    return kind(**dict(_read(document, _plan(kind).steps)))


def _read(document: Document, steps: tuple[_Step, ...]) -> Iterator[tuple[str, Any]]:
    for name, attribute, place, inner in steps:
        value = document[name]
        if inner:
            yield from ((each.attribute, None) for each in inner) if value is None else _read(value, inner)
        else:
            read = place.coding.read
            yield attribute, value if read is None or value is None else read(value)


def schema(kind: type[Any]) -> Schema:
    """Return the JSON Schema of a kind's documents; what they have in common is referred to as a component."""
    return _schema(_plan(kind).steps)


def schemas_inside(kind: type[Any]) -> dict[str, Schema]:
    """Return the schemas of the objects inside a kind's documents that several of its fields make up, by component."""
    return {
        step.place.inside.component: _schema(step.inner)
        for step in _plan(kind).steps
        if step.place.inside is not None and step.inner
    }


def _schema(steps: tuple[_Step, ...]) -> Schema:
    members: dict[str, Schema] = {}
    for step in steps:
        place = step.place
        if step.inner and place.inside is not None:
            inside = place.inside
            made = reference(inside.component)
            members[step.name] = described(inside.meaning, or_null(made) if inside.optional else made)
        else:
            made = place.coding.schema
            members[step.name] = described(place.meaning, or_null(made) if place.optional else made)
    return object_of(members)


# The kinds

_FIRED: Final = _at(_TEXTS, "The faults that acted on it, by id.")
_SENT: Final = _at(_HEADERS, "Names and values as they were sent, in their order.")
_ORDER: Final = _at(Coding(SEQUENCE))
_IDEMPOTENCY: Final = Inside("idempotency", "Idempotency", "What became of its key.")
_ERROR: Final = Inside("error", "AttemptError", "Why no answer came; null with one.", optional=True)


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the API, as it came and as it was answered. `status` is None while it is in flight."""

    id: str = field(
        metadata=_at(_TEXT, "Its own, also when it is a replay, whose answer has the first one's `X-Request-Id`.")
    )
    at: datetime = field(metadata=_at(_INSTANT, "When it arrived, on the sandbox's clock."))
    method: str = field(metadata=_at(_TEXT, "As it came."))
    path: str = field(metadata=_at(_TEXT, "Without the query."))
    target: str = field(metadata=_at(_TEXT, "The path with the query, as it came."))
    operation: str | None = field(
        metadata=_at(_TEXT, "The name of the operation; null where no operation has this path.", optional=True)
    )
    headers: Headers = field(metadata=_SENT)
    body: bytes = field(metadata=_at(_BYTES, "The bytes that came."))
    status: int | None = field(
        metadata=_at(
            _COUNT,
            "What it was answered with; null while it is in flight. A fault may have kept it from the caller.",
            optional=True,
        )
    )
    response_body: bytes = field(metadata=_at(_BYTES, "What it was answered with; empty while it is in flight."))
    idempotency_key: str | None = field(
        metadata=_at(
            _TEXT, "The Idempotency-Key; null without a valid one.", name="key", inside=_IDEMPOTENCY, optional=True
        )
    )
    verdict: str = field(metadata=_at(Coding(one_of(VERDICTS)), inside=_IDEMPOTENCY))
    bytes_differ: bool = field(
        metadata=_at(_FLAG, "Whether a replay's body meant the same in other bytes.", inside=_IDEMPOTENCY)
    )
    faults: tuple[str, ...] = field(metadata=_FIRED)
    events: tuple[str, ...] = field(metadata=_at(_TEXTS, "The events that it caused, by id."))
    sequence: int = field(metadata=_ORDER)

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the request's body as JSON."""
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class UnclaimedRequest(Request):
    """A request that no sandbox has claimed. Nothing that authenticates is kept of it, and of its body the beginning.

    `business_key` is the one that it came with; None without one. `sequence` counts such requests alone.
    """

    business_key: str | None = field(metadata=_at(_TEXT, optional=True))


@dataclass(frozen=True, slots=True)
class Event:
    """A fact that the service tells, with the exact bytes in which it is sent."""

    id: str = field(metadata=_at(_TEXT, "Stays the same on each delivery."))
    type: str = field(metadata=_at(_TEXT, "One of the documented types."))
    object_id: str = field(metadata=_at(_TEXT, "The object that it is about."))
    created_at: datetime = field(metadata=_at(_INSTANT, "When it was made, on the sandbox's clock."))
    request_id: str | None = field(
        metadata=_at(_TEXT, "The request that caused it; null when none did.", optional=True)
    )
    body: bytes = field(metadata=_at(_BYTES, "The exact bytes, frozen when it was made."))
    sequence: int = field(metadata=_ORDER)

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the body as JSON."""
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST to a receiver; `due_at` is on the sandbox's clock, `sent_at` and `signed_at` are real.

    `error_kind` says why no answer came (`refused`, `timeout`, `reset`, …), `error` says it as a sentence; both are
    None when one came.
    """

    number: int = field(metadata=_at(_COUNT, "1 for the first."))
    due_at: datetime = field(metadata=_at(_INSTANT, "When it was due, on the sandbox's clock."))
    sent_at: datetime | None = field(
        metadata=_at(_INSTANT, "When it was sent, in real time; null until it has an outcome.", optional=True)
    )
    signed_at: int = field(metadata=_at(_COUNT, "The signature's `t`: Unix seconds."))
    headers: Headers = field(metadata=_SENT)
    body: bytes = field(metadata=_at(_BYTES, "The bytes that were sent, and for which the signature is."))
    status: int | None = field(metadata=_at(_COUNT, "The receiver's status; null without an answer.", optional=True))
    error_kind: str | None = field(metadata=_at(Coding(one_of(ERROR_KINDS)), name="kind", inside=_ERROR))
    error: str | None = field(metadata=_at(_TEXT, "For a person.", name="message", inside=_ERROR))
    latency_ms: float | None = field(
        metadata=_at(_LATENCY, "Real time until the answer or the error, in milliseconds.", optional=True)
    )
    response_body: bytes | None = field(
        metadata=_at(
            _BYTES,
            "What the receiver answered, as far as the setting `webhooks.response_limit` goes.",
            optional=True,
        )
    )
    faults: tuple[str, ...] = field(metadata=_FIRED)
    sequence: int = field(metadata=_ORDER)
    evicted: bool = field(
        default=False,
        metadata=_at(
            _FLAG,
            "Whether its `response_body`, and a `body` that is not its event's, were removed since the journals "
            "had no room for them (the setting `journal_bytes`).",
        ),
    )


@dataclass(frozen=True, slots=True)
class DeliverySummary:
    """One event on its way to one target, without its attempts."""

    id: str = field(metadata=_at(_TEXT, "The delivery's own; a copy of an event has another."))
    event_id: str = field(metadata=_at(_TEXT, "The event's id; the same in each copy of it."))
    event_type: str = field(metadata=_at(_TEXT, "The event's `type`."))
    object_id: str = field(metadata=_at(_TEXT, "The object that the event is about."))
    target: str | None = field(metadata=_at(_TEXT, "The URL that it goes to; null without one.", optional=True))
    status: str = field(metadata=_at(Coding(one_of(STATES))))
    next_due_at: datetime | None = field(
        metadata=_at(
            _INSTANT,
            "When the next attempt is due, on the sandbox's clock; null unless it is waiting.",
            optional=True,
        )
    )
    faults: tuple[str, ...] = field(metadata=_FIRED)


@dataclass(frozen=True, slots=True)
class Delivery(DeliverySummary):
    """One event on its way to one target, with its attempts so far."""

    attempts: tuple[Attempt, ...] = field(metadata=_at(_several(Attempt), "Every attempt so far."))


# Records of what the core keeps. A journal may have ten thousand, so that `show_…` makes the document without a record.


def request_of(entry: journal.RequestEntry) -> Request:
    """Return a line of the request journal."""
    return Request(**_request(entry))


def show_request(entry: journal.RequestEntry) -> Document:
    """Return its document."""
    return _plan(Request).write(_request(entry))


def unclaimed_of(entry: journal.UnclaimedEntry) -> UnclaimedRequest:
    """Return a request that no sandbox has claimed."""
    return UnclaimedRequest(**_request(entry), business_key=entry.business_key)


def show_unclaimed(entry: journal.UnclaimedEntry) -> Document:
    """Return its document."""
    return {**show_request(entry), "business_key": entry.business_key}


def event_of(event: events.Event) -> Event:
    """Return an event."""
    return Event(**_event(event))


def show_event(event: events.Event) -> Document:
    """Return its document."""
    return _plan(Event).write(_event(event))


def delivery_of(delivery: deliveries.Delivery) -> Delivery:
    """Return a delivery with its attempts."""
    return Delivery(**_delivery(delivery), attempts=tuple(map(attempt_of, delivery.attempts)))


def show_delivery(delivery: deliveries.Delivery) -> Document:
    """Return its document."""
    return {**show_summary(delivery), "attempts": [show_attempt(each) for each in delivery.attempts]}


def show_summary(delivery: deliveries.Delivery) -> Document:
    """Return the document of a delivery without its attempts."""
    return _plan(DeliverySummary).write(_delivery(delivery))


def attempt_of(attempt: deliveries.Attempt) -> Attempt:
    """Return one attempt, byte for byte; its outcome's members are None while it is in flight."""
    return Attempt(**_attempt(attempt))


def show_attempt(attempt: deliveries.Attempt) -> Document:
    """Return its document."""
    return _plan(Attempt).write(_attempt(attempt))


def _request(entry: journal.RequestEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "at": instant(entry.at),
        "method": entry.method,
        "path": entry.target.partition("?")[0],
        "target": entry.target,
        "operation": entry.operation,
        "headers": tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in entry.headers]),
        "body": entry.body,
        "status": entry.status,
        "response_body": entry.response_body,
        "idempotency_key": entry.key,
        "verdict": entry.verdict,
        "bytes_differ": entry.bytes_differ,
        "faults": tuple(entry.faults),
        "events": tuple(entry.events),
        "sequence": entry.sequence,
    }


def _event(event: events.Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "type": event.type,
        "object_id": event.object_id,
        "created_at": instant(event.created_at),
        "request_id": event.request_id,
        "body": event.body,
        "sequence": event.sequence,
    }


def _delivery(delivery: deliveries.Delivery) -> dict[str, Any]:
    due = delivery.next_due_at if delivery.status == "waiting" else None
    return {
        "id": delivery.id,
        "event_id": delivery.event.id,
        "event_type": delivery.event.type,
        "object_id": delivery.event.object_id,
        "target": delivery.target,
        "status": delivery.status,
        "next_due_at": None if due is None else instant(due),
        "faults": tuple(delivery.faults),
    }


def _attempt(attempt: deliveries.Attempt) -> dict[str, Any]:
    outcome = attempt.outcome
    error = outcome.error if outcome else None
    return {
        "number": attempt.number,
        "due_at": instant(attempt.due_at),
        "sent_at": instant(outcome.sent_at) if outcome else None,
        "signed_at": attempt.signed_at,
        "headers": attempt.headers,
        "body": attempt.body,
        "status": outcome.status if outcome else None,
        "error_kind": error.kind if error else None,
        "error": error.message if error else None,
        "latency_ms": round(outcome.latency_ms, 3) if outcome else None,
        "response_body": outcome.response_body if outcome else None,
        "faults": attempt.faults,
        "sequence": attempt.sequence,
        "evicted": attempt.evicted,
    }
