"""The records of the control API, described once: the state of a sandbox, and what happened in it.

Each kind is a frozen dataclass whose fields describe the JSON document too (see `core/documents.py`):

- the control API answers with `dump(record)`, or in long listings with `show_request(entry)` and similar functions,
- its OpenAPI document has `schema(kind)`,
- the Python handle returns `load(kind, document)`, so a test gets the same values from a server and from a sandbox in
  its own process.

The functions at the end make records from the core's own objects. Bodies are bytes, exactly as they were sent. Times
are in UTC, in whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, get_args

from paydouble.core.clock import ClockMode
from paydouble.core.documents import (
    BYTES,
    INSTANT,
    MILLISECONDS,
    PAIRS,
    REAL,
    TEXTS,
    WHOLE,
    Coding,
    Document,
    Headers,
    Inside,
    instant,
    maybe_instant,
    member,
    one,
    read_json,
    several,
    written,
)
from paydouble.core.durations import format_duration
from paydouble.core.health import Health as Health  # noqa: PLC0414 - one of the records, which a server's start needs alone
from paydouble.core.json_schema import COUNT, FLAG, INTEGER, OBJECT, TEXT, Schema, choice, one_of, open_object

if TYPE_CHECKING:  # the core is not loaded by a test that speaks to a server elsewhere
    from paydouble import journal
    from paydouble.faults.armed import Armed
    from paydouble.journal import Verdict
    from paydouble.payments import events
    from paydouble.sandbox import Sandbox
    from paydouble.sandbox.tenancy import Tenancy
    from paydouble.webhooks import deliveries
    from paydouble.webhooks.deliveries import DeliveryStatus

# What the idempotency key decided about a request.
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

_FIRED: Final = member(TEXTS, "The faults that acted on it, by id.")
_SENT: Final = member(PAIRS, "Names and values as they were sent, in their order.")
_LABELS: Final[Schema] = {"type": "object", "additionalProperties": TEXT}
_ORDER: Final = member(
    COUNT,
    "Its place in the order of what happened in the sandbox. Requests are numbered when they arrive, events when "
    "they are made, attempts when they are sent, faults when they are armed.",
)
_IDEMPOTENCY: Final = Inside("idempotency", "Idempotency", "What became of its key.")
_ERROR: Final = Inside("error", "AttemptError", "Why no answer came; null with one.", optional=True)


# What happened


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the API and its answer. `status` is None while it is in flight."""

    id: str = field(
        metadata=member(TEXT, "Its own, also when it is a replay, whose answer has the first one's `X-Request-Id`.")
    )
    at: datetime = field(metadata=member(INSTANT, "When it arrived, on the sandbox's clock."))
    method: str = field(metadata=member(TEXT, "As it came."))
    path: str = field(metadata=member(TEXT, "Without the query."))
    target: str = field(metadata=member(TEXT, "The path with the query, as it came."))
    operation: str | None = field(
        metadata=member(TEXT, "The name of the operation; null where no operation has this path.", optional=True)
    )
    headers: Headers = field(metadata=_SENT)
    body: bytes = field(metadata=member(BYTES, "The bytes that came."))
    status: int | None = field(
        metadata=member(
            COUNT,
            "What it was answered with; null while it is in flight. A fault may have kept it from the caller.",
            optional=True,
        )
    )
    response_headers: Headers = field(
        metadata=member(
            PAIRS,
            "Of the answer, without `Server`, `Date` and its length, which the connection adds; empty while it is in "
            "flight.",
        )
    )
    response_body: bytes = field(metadata=member(BYTES, "What it was answered with; empty while it is in flight."))
    idempotency_key: str | None = field(
        metadata=member(
            TEXT, "The Idempotency-Key; null without a valid one.", name="key", inside=_IDEMPOTENCY, optional=True
        )
    )
    verdict: str = field(metadata=member(one_of(VERDICTS), inside=_IDEMPOTENCY))
    bytes_differ: bool = field(
        metadata=member(FLAG, "Whether a replay's body meant the same in other bytes.", inside=_IDEMPOTENCY)
    )
    faults: tuple[str, ...] = field(metadata=_FIRED)
    events: tuple[str, ...] = field(metadata=member(TEXTS, "The events that it caused, by id."))
    sequence: int = field(metadata=_ORDER)

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the request's body as JSON."""
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class UnclaimedRequest(Request):
    """A request with no business key, or with one that no sandbox has; or bytes that are not an HTTP request.

    Unreadable bytes have an empty `method` and `target`. Credentials are not kept, and of the body only the beginning.
    `business_key` is the one that it had, or None. `sequence` counts unclaimed requests only.
    """

    business_key: str | None = field(metadata=member(TEXT, optional=True))


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the service, with the exact bytes in which it is sent."""

    id: str = field(metadata=member(TEXT, "Stays the same on each delivery."))
    type: str = field(metadata=member(TEXT, "One of the documented types."))
    object_id: str = field(metadata=member(TEXT, "The object that it is about."))
    created_at: datetime = field(metadata=member(INSTANT, "When it was made, on the sandbox's clock."))
    request_id: str | None = field(
        metadata=member(TEXT, "The request that caused it; null when none did.", optional=True)
    )
    body: bytes = field(metadata=member(BYTES, "The exact bytes, frozen when it was made."))
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

    number: int = field(metadata=member(COUNT, "1 for the first."))
    due_at: datetime = field(metadata=member(INSTANT, "When it was due, on the sandbox's clock."))
    sent_at: datetime | None = field(
        metadata=member(INSTANT, "When it was sent, in real time; null until it has an outcome.", optional=True)
    )
    signed_at: int = field(metadata=member(COUNT, "The signature's `t`: Unix seconds."))
    headers: Headers = field(metadata=_SENT)
    body: bytes = field(metadata=member(BYTES, "The bytes that were sent, and for which the signature is."))
    status: int | None = field(metadata=member(COUNT, "The receiver's status; null without an answer.", optional=True))
    error_kind: str | None = field(metadata=member(one_of(ERROR_KINDS), name="kind", inside=_ERROR))
    error: str | None = field(metadata=member(TEXT, "For a person.", name="message", inside=_ERROR))
    latency_ms: float | None = field(
        metadata=member(MILLISECONDS, "Real time until the answer or the error, in milliseconds.", optional=True)
    )
    response_body: bytes | None = field(
        metadata=member(
            BYTES,
            "What the receiver answered, as far as the setting `webhooks.response_limit` goes.",
            optional=True,
        )
    )
    faults: tuple[str, ...] = field(metadata=_FIRED)
    sequence: int = field(metadata=_ORDER)
    evicted: bool = field(
        default=False,
        metadata=member(
            FLAG,
            "Whether its `response_headers` and `response_body`, and a `body` that is not its event's, were removed "
            "since the journals had no room for them (the setting `journal_bytes`).",
        ),
    )
    response_headers: Headers = field(
        default=(), metadata=member(PAIRS, "Of the receiver's answer, in their order; empty without one.")
    )


@dataclass(frozen=True, slots=True)
class DeliverySummary:
    """One event on its way to one target, without its attempts."""

    id: str = field(metadata=member(TEXT, "The delivery's own; a copy of an event has another."))
    event_id: str = field(metadata=member(TEXT, "The event's id; the same in each copy of it."))
    event_type: str = field(metadata=member(TEXT, "The event's `type`."))
    object_id: str = field(metadata=member(TEXT, "The object that the event is about."))
    target: str | None = field(metadata=member(TEXT, "The URL that it goes to; null without one.", optional=True))
    status: str = field(metadata=member(one_of(STATES)))
    next_due_at: datetime | None = field(
        metadata=member(
            INSTANT,
            "When the next attempt is due, on the sandbox's clock; null unless it is waiting.",
            optional=True,
        )
    )
    faults: tuple[str, ...] = field(metadata=_FIRED)


@dataclass(frozen=True, slots=True)
class Delivery(DeliverySummary):
    """One event on its way to one target, with its attempts so far."""

    attempts: tuple[Attempt, ...] = field(metadata=member(several(Attempt), "Every attempt so far."))


# The state of a sandbox


@dataclass(frozen=True, slots=True)
class ClockState:
    """The clock of a sandbox, and what is still to happen."""

    mode: str = field(metadata=member(choice(get_args(ClockMode))))
    now: datetime = field(metadata=member(INSTANT))
    rate: float = field(metadata=member(REAL))
    next_due_at: datetime | None = field(metadata=member(INSTANT, optional=True))
    pending: int = field(metadata=member(COUNT))
    """How many timers are set."""
    idle: bool = field(metadata=member(FLAG))
    """Whether nothing is left to happen, now or later."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """The result of an advance of the clock."""

    now: datetime = field(metadata=member(INSTANT))
    fired: int = field(metadata=member(COUNT))
    """How many timers fired."""
    attempts: int = field(metadata=member(COUNT))
    """How many attempts became due during the advance; those that were due before do not count."""
    idle: bool = field(metadata=member(FLAG))
    """Whether nothing is left to happen, now or later."""


@dataclass(frozen=True, slots=True)
class SandboxState:
    """A sandbox as it is now."""

    id: str = field(metadata=member(TEXT))
    base_url: str = field(metadata=member(TEXT))
    """Where the API is, as the server sees it."""
    business_key: str = field(metadata=member(TEXT))
    business_secret: str = field(metadata=member(TEXT))
    webhook_secret: str = field(metadata=member(TEXT))
    notification_url: str | None = field(metadata=member(TEXT, optional=True))
    seed: int = field(metadata=member(INTEGER))
    clock: ClockState = field(metadata=member(one(ClockState)))
    scenario: str = field(metadata=member(TEXT))
    """The default scenario."""
    settings: Document = field(metadata=member(OBJECT))
    ttl: str | None = field(
        metadata=member(TEXT, "For how long nobody may use it before it is deleted, in real time.", optional=True)
    )
    expires_at: datetime | None = field(
        metadata=member(INSTANT, "When it is deleted if nobody uses it from now on, in real time.", optional=True)
    )
    labels: Mapping[str, str] = field(metadata=member(_LABELS, "Names and values that say what it is for."))


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault with its counts. A member that it was declared without has its default, or is None."""

    id: str = field(metadata=member(TEXT))
    on: str = field(metadata=member(choice(("api", "webhooks"))))
    enabled: bool = field(metadata=member(FLAG))
    skip: int = field(metadata=member(COUNT))
    probability: float = field(metadata=member(REAL))
    compose: bool = field(metadata=member(FLAG))
    match: Document = field(metadata=member(OBJECT))
    effect: str = field(metadata=member(Coding(open_object({"type": TEXT}), read=itemgetter("type"))))
    """The name of its effect; `document` has the effect's attributes."""
    times_matched: int = field(metadata=member(COUNT))
    times_fired: int = field(metadata=member(COUNT))
    created_at: datetime = field(metadata=member(INSTANT))
    sequence: int = field(metadata=_ORDER)
    order: str | None = field(
        metadata=member(TEXT, "The external identifier of the order for which a scenario has armed it.", optional=True)
    )
    expires_at: datetime | None = field(metadata=member(INSTANT, optional=True))
    active: bool = field(metadata=member(FLAG))
    """Whether it can still fire."""
    name: str | None = field(metadata=member(TEXT, absent=True))
    phase: str | None = field(metadata=member(choice(("before_commit", "after_commit")), absent=True))
    times: int | None = field(metadata=member(COUNT, absent=True))
    ttl: str | None = field(metadata=member(TEXT, absent=True))
    document: Document = field(metadata=WHOLE)
    """The fault as the control API shows it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that a pay-in can play."""

    name: str = field(metadata=member(TEXT))
    summary: str = field(metadata=member(TEXT))
    source: str = field(metadata=member(TEXT, "`shipped`, `uploaded`, or the path of its file."))
    active: bool = field(metadata=member(FLAG))
    """Whether every new pay-in plays it."""


@dataclass(frozen=True, slots=True)
class WebhookState:
    """The target of events, and the secrets that sign them."""

    notification_url: str | None = field(metadata=member(TEXT, optional=True))
    secret: str = field(metadata=member(TEXT))
    previous_secret: str | None = field(metadata=member(TEXT, optional=True))
    """During the grace period of a rotation, the former secret, which signs too."""
    previous_valid_until: datetime | None = field(metadata=member(INSTANT, optional=True))
    signature_header: str = field(metadata=member(TEXT))


@dataclass(frozen=True, slots=True)
class Resource:
    """A pay-in, refund, dispute or payout."""

    id: str = field(metadata=member(TEXT))
    object: str = field(metadata=member(TEXT))
    status: str = field(metadata=member(TEXT))
    document: Document = field(metadata=WHOLE)
    """All its members, as the API shows them."""


# Made from what the core keeps. `show_…` makes a document without a record, since a listing may have 10 000 of them.


def request_of(entry: journal.RequestEntry) -> Request:
    """Return an entry of the request journal."""
    return Request(**_request(entry))


def show_request(entry: journal.RequestEntry) -> Document:
    """Return its document."""
    return written(Request, _request(entry))


def unclaimed_of(entry: journal.UnclaimedEntry) -> UnclaimedRequest:
    """Return an unclaimed request."""
    return UnclaimedRequest(**_request(entry), business_key=entry.business_key)


def show_unclaimed(entry: journal.UnclaimedEntry) -> Document:
    """Return its document."""
    return {**show_request(entry), "business_key": entry.business_key}


def event_of(event: events.Event) -> Event:
    """Return an event."""
    return Event(**_event(event))


def show_event(event: events.Event) -> Document:
    """Return its document."""
    return written(Event, _event(event))


def summary_of(delivery: deliveries.Delivery) -> DeliverySummary:
    """Return a delivery without its attempts."""
    return DeliverySummary(**_delivery(delivery))


def delivery_of(delivery: deliveries.Delivery) -> Delivery:
    """Return a delivery with its attempts."""
    return Delivery(**_delivery(delivery), attempts=tuple(map(attempt_of, delivery.attempts)))


def show_delivery(delivery: deliveries.Delivery) -> Document:
    """Return its document."""
    return {**show_summary(delivery), "attempts": [show_attempt(each) for each in delivery.attempts]}


def show_summary(delivery: deliveries.Delivery) -> Document:
    """Return the document of a delivery without its attempts."""
    return written(DeliverySummary, _delivery(delivery))


def attempt_of(attempt: deliveries.Attempt) -> Attempt:
    """Return one attempt, byte for byte; its outcome's members are None while it is in flight."""
    return Attempt(**_attempt(attempt))


def show_attempt(attempt: deliveries.Attempt) -> Document:
    """Return its document."""
    return written(Attempt, _attempt(attempt))


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
        "response_headers": entry.response_headers,
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
        "response_headers": outcome.response_headers if outcome else (),
    }


def clock_of(box: Sandbox) -> ClockState:
    """Return the clock of a sandbox."""
    clock = box.clock
    due = maybe_instant(box.timers.next_due())
    return ClockState(clock.mode, instant(box.now), clock.rate, due, len(box.timers), box.idle)


def sandbox_of(box: Sandbox, base_url: str, tenancy: Tenancy, expires_at: int | None = None) -> SandboxState:
    """Return a sandbox whose API is at `base_url`, with its lease, which expires at a time of the machine."""
    identity = box.identity
    return SandboxState(
        id=identity.id,
        base_url=base_url,
        business_key=identity.business_key,
        business_secret=identity.business_secret,
        webhook_secret=box.secrets.current,
        notification_url=box.notification_url,
        seed=identity.seed,
        clock=clock_of(box),
        scenario=box.settings.scenario,
        settings=box.settings.model_dump(mode="json"),
        ttl=None if tenancy.ttl is None else format_duration(tenancy.ttl),
        expires_at=maybe_instant(expires_at),
        labels=dict(tenancy.labels),
    )


def scenario_of(box: Sandbox, name: str) -> Scenario:
    """Return a scenario of a sandbox."""
    return Scenario(
        name=name,
        summary=box.scenario(name).summary,
        source="uploaded" if name in box.scenarios.uploaded else box.scenarios.library.source(name),
        active=name == box.active_scenario,
    )


def webhook_of(box: Sandbox) -> WebhookState:
    """Return the target and the secrets of a sandbox."""
    secrets = box.secrets
    grace = secrets.previous is not None and box.now < secrets.previous_until
    return WebhookState(
        notification_url=box.notification_url,
        secret=secrets.current,
        previous_secret=secrets.previous if grace else None,
        previous_valid_until=instant(secrets.previous_until) if grace else None,
        signature_header=box.settings.webhooks.signature_header,
    )


def show_fault(armed: Armed, now: int) -> Document:
    """Return the document of a fault: its declaration, and its counts at a time (milliseconds)."""
    from paydouble.faults.model import document  # noqa: PLC0415 - forty models, which most runs never need

    fault = armed.fault
    counts = {
        "id": armed.id,
        "times_matched": armed.matched,
        "times_fired": armed.fired,
        "created_at": instant(armed.created_at),
        "sequence": armed.armed_at,
        "order": None if armed.order is None else armed.order[0],
        "expires_at": None if fault.ttl is None else instant(armed.created_at + fault.ttl),
        "active": armed.is_active(now),
    }
    return {**document(fault), **written(Fault, counts)}
