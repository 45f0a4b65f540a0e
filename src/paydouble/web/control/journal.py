"""Control calls about what happened: the request journal, unclaimed requests and events."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from paydouble.config import Whole
from paydouble.core import json_text
from paydouble.core.documents import Document, components_of, schema
from paydouble.core.errors import UnknownThing, UsageError
from paydouble.core.instants import write_instant
from paydouble.core.json_schema import COUNT, described, object_of
from paydouble.faults.names import OperationPattern, misspelt
from paydouble.journal import RequestEntry, Verdict
from paydouble.payments.events import EVENT_TYPES, FAMILIES
from paydouble.records import Event, Request, UnclaimedRequest, show_event, show_request, show_unclaimed
from paydouble.sandbox import Sandbox
from paydouble.verification import Criterion
from paydouble.web.control.calls import PAGE, SANDBOX, Body, ControlCall, Noun, listed, listing, shown
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.replies import ControlError
from paydouble.web.control.verification import VERDICT, Journal, Members, Question, alone, given


def _documented(value: str) -> str:
    if value not in EVENT_TYPES:
        message = f"{value!r} is not a documented event type; there are: {', '.join(EVENT_TYPES)}"
        raise ValueError(message)
    return value


DocumentedType = Annotated[str, AfterValidator(_documented)]


class RequestMatch(Body):
    """Which requests: all that is given must hold; texts take `*`, `headers` and `body` are partial."""

    operation: OperationPattern | None = None
    method: str | None = None
    path: str | None = None
    status: Whole | None = None
    external_identifier: str | None = None
    object_id: str | None = None
    idempotency_key: str | None = None
    verdict: Verdict | None = None
    headers: dict[str, str] | None = None
    body: dict[str, Any] | None = None


class RequestQuestion(Question):
    """What the request journal should hold."""

    match: RequestMatch = RequestMatch()
    sequence: Annotated[
        Annotated[tuple[RequestMatch, ...], Field(min_length=1, max_length=1000)] | None, AfterValidator(alone)
    ] = None


class EmitEvent(Body):
    """A documented event for an object that exists, with the object as it is now."""

    type: DocumentedType
    object_id: str = Field(min_length=1, max_length=128)


def _body(entry: RequestEntry) -> Any:  # noqa: ANN401 - JSON is any
    try:
        return json_text.read(entry.body)
    except json_text.JsonTextError:
        return None


def _headers(entry: RequestEntry) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in entry.headers}


_MEMBERS: Members[RequestEntry] = {
    "operation": (lambda entry: entry.operation, False),
    "method": (lambda entry: entry.method, False),
    "path": (lambda entry: entry.target.partition("?")[0], False),
    "status": (lambda entry: entry.status, False),
    "external_identifier": (lambda entry: entry.external_identifier, False),
    "object_id": (lambda entry: entry.object_id, False),
    "idempotency_key": (lambda entry: entry.key, False),
    "verdict": (lambda entry: entry.verdict, False),
    "headers": (_headers, True),
    "body": (_body, True),
}


def _criteria(match: RequestMatch, _: Sandbox) -> list[Criterion[RequestEntry]]:
    asked = given(match)
    if "headers" in asked:
        asked["headers"] = {name.lower(): value for name, value in asked["headers"].items()}
    if "idempotency_key" in asked:
        asked["idempotency_key"] = asked["idempotency_key"].lower()
    return [Criterion(name, wanted, *_MEMBERS[name]) for name, wanted in asked.items()]


_JOURNAL: Final[Journal[RequestEntry]] = Journal(
    lambda box: box.journal.requests.entries,
    lambda box: box.journal.requests.evicted,
    lambda entry: {"id": entry.id, "at": write_instant(entry.at), "method": entry.method, "target": entry.target},
    _criteria,
)


def requests(call: ControlCall) -> Document:
    """Show the request journal, oldest first."""
    log = call.sandbox.journal.requests
    return listing(log.entries, show_request, call.queries, evicted=log.evicted)


def unclaimed(call: ControlCall) -> Document:
    """Show the newest unclaimed requests, oldest first."""
    log = call.host.unclaimed.log
    return listing(log.entries, show_unclaimed, call.queries, evicted=log.evicted)


def forget_requests(call: ControlCall) -> Document:
    """Empty the request journal."""
    return {"removed": call.sandbox.reset(frozenset({"requests"}))["requests"]}


def events(call: ControlCall) -> Document:
    """Show the events, oldest first, filtered by `type` and `object_id`."""
    call.sandbox.tick()
    log = call.sandbox.journal.events
    kind, object_id = named(call, "type", EVENT_TYPES, "event type"), call.queries.get("object_id")
    chosen = (
        event
        for event in log.entries
        if (kind is None or event.type == kind) and (object_id is None or event.object_id == object_id)
    )
    return listing(chosen, show_event, call.queries, evicted=log.evicted)


def event(call: ControlCall) -> Document:
    """Show one event."""
    wanted = call.params["id"]
    for record in call.sandbox.journal.events.entries:
        if record.id == wanted:
            return show_event(record)
    raise UnknownThing(f"There is no event {wanted[:64]!r} in sandbox {call.sandbox.identity.id}.")


def emit(call: ControlCall) -> Document:
    """Emit a documented event for an object that exists; the object stays as it is."""
    wanted: EmitEvent = call.body
    box = call.sandbox
    box.tick()
    name = wanted.type.partition(".")[0]
    resource = box.ledger.find(wanted.object_id)
    if resource is None:
        raise UnknownThing(f"There is no object {wanted.object_id!r} in sandbox {box.identity.id}.")
    if not isinstance(resource, FAMILIES[name]):
        raise UsageError(f"{wanted.object_id} is no {name}, which {wanted.type} is about", member="object_id")
    return show_event(call.host.act(box, lambda: box.emit_event(wanted.type, resource)))


def named(call: ControlCall, member: str, names: Collection[str], what: str) -> str | None:
    """Return a query parameter that must be one of some names, None when it is absent.

    A misspelt name is refused: it would match nothing, as if nothing had happened.
    """
    value = call.queries.get(member)
    if value is not None and value not in names:
        raise ControlError(400, "invalid", f"{member}: {misspelt(value[:64], names, what)}", member)
    return value


NOUN: Final = Noun(
    routes=(
        Row(
            "request-list",
            "GET",
            f"{SANDBOX}/requests",
            "The request journal.",
            requests,
            listed(shown(Request)),
            queries=PAGE,
        ),
        Row(
            "request-forget",
            "DELETE",
            f"{SANDBOX}/requests",
            "Empty the request journal.",
            forget_requests,
            object_of({"removed": COUNT}),
        ),
        Row(
            "request-verify",
            "POST",
            f"{SANDBOX}/requests/verify",
            "Whether the request journal holds what is expected.",
            _JOURNAL.verify,
            VERDICT,
            RequestQuestion,
        ),
        Row(
            "request-wait",
            "POST",
            f"{SANDBOX}/requests/wait",
            "The same, once it holds or when `timeout` is over.",
            _JOURNAL.wait,
            VERDICT,
            RequestQuestion,
            advice=("`timeout` is real time. When it is over the answer says so, with the same explanation."),
        ),
        Row(
            "unclaimed-request-list",
            "GET",
            "/unclaimed-requests",
            "The newest requests that no sandbox has claimed.",
            unclaimed,
            listed(shown(UnclaimedRequest)),
            queries=PAGE,
        ),
        Row(
            "event-list",
            "GET",
            f"{SANDBOX}/events",
            "The events.",
            events,
            listed(shown(Event)),
            queries=("type", "object_id", *PAGE),
        ),
        Row("event-read", "GET", f"{SANDBOX}/events/{{id}}", "One event, with its exact body.", event, shown(Event)),
        Row(
            "event-emit",
            "POST",
            f"{SANDBOX}/events",
            "Emit a documented event for an object that exists.",
            emit,
            shown(Event),
            EmitEvent,
            status=201,
        ),
    ),
    tags={
        "request": "The journal of the API's requests.",
        "event": "What has happened to objects.",
    },
    components={
        **components_of(Request, Event),
        "UnclaimedRequest": described(
            "As a request of a sandbox's journal, and the business key that it came with. Of its headers the first "
            "16 KiB are kept, of its body the first 4 KiB, and nothing that authenticates. Bytes that are not an HTTP "
            "request are listed too, with an empty `method` and `target`; the answer says what is wrong.",
            schema(UnclaimedRequest),
        ),
    },
)
