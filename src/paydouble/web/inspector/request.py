"""The page of a request: what came, what it was answered with, which fault fired, and how a retry differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from aiohttp import web

from paydouble.core import json_text
from paydouble.core.errors import UnknownThing
from paydouble.faults import labels
from paydouble.journal import UnclaimedEntry
from paydouble.records import VERDICTS, request_of
from paydouble.sandbox.publishing import pay_in_of
from paydouble.timeline import faults_of
from paydouble.web.inspector.activity import Tone, answer_of, owner_of, refusal, status_tone
from paydouble.web.inspector.content import download
from paydouble.web.inspector.retries import Comparison, compared, series
from paydouble.web.inspector.visits import (
    Page,
    PageRoute,
    Visit,
    delivery_url,
    home,
    payment_url,
    request_url,
    sandbox_url,
)

if TYPE_CHECKING:
    from paydouble.journal import RequestEntry
    from paydouble.records import Request
    from paydouble.sandbox import Sandbox

_MOST_RELATIVES: Final = 100


@dataclass(frozen=True, slots=True)
class FaultView:
    """A fault that fired: what it did, and its declaration."""

    id: str
    label: str
    declaration: bytes | None
    """As the control API shows it; None for one that was deleted."""
    url: str
    """Where it is on the page of its sandbox."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A request of the same series."""

    id: str
    url: str
    at: int
    here: bool
    """Whether it is the one that the page shows."""
    key: str
    verdict: str
    result: str
    tone: Tone
    faults: tuple[FaultView, ...]


@dataclass(frozen=True, slots=True)
class Caused:
    """An event that the request caused."""

    id: str
    type: str
    deliveries: tuple[tuple[str, str], ...]
    """Ids and URLs."""


@dataclass(frozen=True, slots=True)
class RequestView:
    """Everything that the page shows."""

    sandbox: str
    """Empty for a request that no sandbox claims."""
    url: str
    record: Request
    at: int
    real: int | None
    result: str
    tone: Tone
    verdict: str
    """What the idempotency key decided, as a sentence."""
    message: str
    """The error with which it was refused; empty otherwise."""
    faults: tuple[FaultView, ...]
    order: str
    payment_url: str
    """Empty when it led to no payment."""
    business_key: str | None
    """That of a request that no sandbox claims."""
    events: tuple[Caused, ...]
    series: tuple[Relative, ...]
    compared: Comparison | None
    compared_url: str


def show(visit: Visit) -> Page:
    """Show a request of a sandbox."""
    box = visit.sandbox
    box.tick()
    return _page(request_view(box, _entry(box.journal.requests.entries, visit.params["id"])))


def show_unclaimed(visit: Visit) -> Page:
    """Show a request that no sandbox claims."""
    return _page(request_view(None, _unclaimed(visit)))


def save_body(visit: Visit) -> web.Response:
    """Give the body of a request as a file."""
    entry = _entry(visit.sandbox.journal.requests.entries, visit.params["id"])
    return download(entry.body, f"{entry.id}-request")


def save_answer(visit: Visit) -> web.Response:
    """Give the body of a request's answer as a file."""
    entry = _entry(visit.sandbox.journal.requests.entries, visit.params["id"])
    return download(entry.response_body, f"{entry.id}-response")


def save_unclaimed_body(visit: Visit) -> web.Response:
    """Give what is kept of the body of a request that no sandbox claims as a file."""
    entry = _unclaimed(visit)
    return download(entry.body, f"{entry.id}-request")


def save_unclaimed_answer(visit: Visit) -> web.Response:
    """Give the body of its answer as a file."""
    entry = _unclaimed(visit)
    return download(entry.response_body, f"{entry.id}-response")


def request_view(box: Sandbox | None, entry: RequestEntry) -> RequestView:
    """Return what the page of a request shows; `box` is None for one that no sandbox claims."""
    sandbox = "" if box is None else box.identity.id
    owner = None if box is None else owner_of(box, entry)
    pay_in = None if box is None or owner is None else pay_in_of(box.ledger, owner)
    relatives: list[RequestEntry] = [] if box is None else series(box.journal.requests.entries, entry)
    comparison = compared(relatives, entry)
    result, tone = (str(entry.status), status_tone(entry.status)) if box is None else answer_of(box, entry)
    return RequestView(
        sandbox=sandbox,
        url=request_url(sandbox, entry.id),
        record=request_of(entry),
        at=entry.at,
        real=entry.arrived or None,
        result=result,
        tone=tone,
        verdict="" if entry.verdict == "none" else VERDICTS[entry.verdict],
        message=refusal(entry),
        faults=() if box is None else fault_views(box, entry.faults, labels.to_request),
        order=entry.external_identifier or "",
        payment_url="" if pay_in is None else payment_url(sandbox, pay_in.id),
        business_key=entry.business_key if isinstance(entry, UnclaimedEntry) else None,
        events=() if box is None else _events(box, entry),
        series=tuple(_relative(box, each, entry) for each in relatives[-_MOST_RELATIVES:] if box is not None),
        compared=comparison,
        compared_url="" if comparison is None else request_url(sandbox, comparison.earlier.id),
    )


def fault_views(box: Sandbox, ids: Iterable[str], say: Callable[[labels.Declaration], str]) -> tuple[FaultView, ...]:
    """Return the faults that fired, with their declarations; `say` is a function of `faults/labels.py`."""
    find = faults_of(box)
    faults_url = f"{sandbox_url(box.identity.id)}#"
    views = []
    for fault_id in dict.fromkeys(ids):
        fault = find(fault_id)
        label = "fault fired" if fault is None else say(fault)
        views.append(
            FaultView(fault_id, label, None if fault is None else json_text.dumps(fault), faults_url + quote(fault_id))
        )
    return tuple(views)


def _page(view: RequestView) -> Page:
    name = f"{view.record.method} {view.record.path}" if view.record.method else "Bytes that are not HTTP"
    return Page(
        "request.html", {"title": name, "name": name, "view": view, "inbox": home(), "back": sandbox_url(view.sandbox)}
    )


def _entry(entries: Iterable[RequestEntry], request_id: str) -> RequestEntry:
    for entry in entries:
        if entry.id == request_id:
            return entry
    message = f"There is no request {request_id[:80]!r}."
    raise UnknownThing(message)


def _unclaimed(visit: Visit) -> RequestEntry:
    return _entry(visit.host.unclaimed.log.entries, visit.params["id"])


def _relative(box: Sandbox, entry: RequestEntry, shown: RequestEntry) -> Relative:
    result, tone = answer_of(box, entry)
    return Relative(
        entry.id,
        request_url(box.identity.id, entry.id),
        entry.at,
        entry is shown,
        entry.key or "",
        "" if entry.verdict == "none" else entry.verdict,
        result,
        tone,
        fault_views(box, entry.faults, labels.to_request),
    )


def _events(box: Sandbox, entry: RequestEntry) -> tuple[Caused, ...]:
    sent: dict[str, list[tuple[str, str]]] = {event_id: [] for event_id in entry.events}
    for delivery in box.outbox.deliveries.values():
        if delivery.event.id in sent:
            sent[delivery.event.id].append((delivery.id, delivery_url(box.identity.id, delivery.id)))
    types = {event.id: event.type for event in box.journal.events.entries if event.id in sent}
    return tuple(Caused(event_id, types.get(event_id, ""), tuple(each)) for event_id, each in sent.items())


_REQUEST: Final = "inspector/sandboxes/{s}/requests/{id}"
_UNCLAIMED: Final = "inspector/unclaimed-requests/{id}"
ROUTES: Final = (
    PageRoute("GET", _REQUEST, show),
    PageRoute("GET", f"{_REQUEST}/body", save_body),
    PageRoute("GET", f"{_REQUEST}/response", save_answer),
    PageRoute("GET", _UNCLAIMED, show_unclaimed),
    PageRoute("GET", f"{_UNCLAIMED}/body", save_unclaimed_body),
    PageRoute("GET", f"{_UNCLAIMED}/response", save_unclaimed_answer),
)
