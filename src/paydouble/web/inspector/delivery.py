"""The page of a delivery: every attempt byte for byte, its signature taken apart, and what can be done now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from aiohttp import web

from paydouble.core.errors import UnknownThing
from paydouble.faults import labels
from paydouble.records import ERROR_KINDS, STATES, attempt_of
from paydouble.runtime.wall import wall_ms
from paydouble.sandbox.publishing import pay_in_of
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector.actions import DELIVERY_ACTIONS, control
from paydouble.web.inspector.activity import Tone, attempt_result, state_tone
from paydouble.web.inspector.content import download
from paydouble.web.inspector.inbox import Due, due_of
from paydouble.web.inspector.payment import delivery_actions
from paydouble.web.inspector.request import FaultView, fault_views
from paydouble.web.inspector.signatures import SignatureView, taken_apart
from paydouble.web.inspector.visits import (
    Page,
    PageRoute,
    Shown,
    Visit,
    delivery_url,
    doctor_url,
    home,
    payment_url,
    request_url,
    sandbox_url,
    see,
)

if TYPE_CHECKING:
    from paydouble.records import Attempt as AttemptRecord
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Attempt, Delivery

_SIGNATURE_REFUSED: Final = frozenset({401, 403})
_MAY_BE_REFUSED: Final = frozenset({400})
"""A receiver that does not accept a signature answers 400 or 401 (contract section 5.5.6), some answer 403."""
_CURRENT: Final = "the current secret"
_PREVIOUS: Final = "the previous secret"


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt, and what the receiver answered."""

    url: str
    """Where its bytes can be saved."""
    record: AttemptRecord
    at: int
    sent: int | None
    target: str
    result: str
    tone: Tone
    error: str
    """Why there was no answer, in words; empty with one."""
    faults: tuple[FaultView, ...]
    signature: SignatureView | None
    """None where the signed bytes are not kept any more."""
    conclusion: str
    """Who is wrong, if the receiver refused it as one with a wrong signature; empty otherwise."""
    right: bool
    """Whether the signature verified when it was sent."""
    too_old: str
    """Why the same bytes would not verify now, if they did when they were sent."""
    doctor: str
    """The URL of the signature doctor with what was sent."""


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """Everything that the page shows."""

    sandbox: str
    id: str
    url: str
    event: str
    event_id: str
    event_type: str
    event_body: bytes
    copy: str
    state: str
    tone: Tone
    meaning: str
    """What the state means."""
    target: str
    created: int
    due: Due | None
    faults: tuple[FaultView, ...]
    attempts: tuple[AttemptView, ...]
    order: str
    payment_url: str
    """Empty when the event is about no payment."""
    request_url: str
    """That of the request that caused the event; empty when none did."""
    actions: tuple[tuple[str, str], ...]
    """What can be done with it now: names of actions, and the labels of their buttons."""


def show(visit: Visit, *, problem: str = "", status: int = 200) -> Page:
    """Show a delivery, with the reason if something could not be done with it."""
    box = visit.sandbox
    box.tick()
    view = delivery_view(box, box.delivery(visit.params["id"]))
    values = {
        "title": f"{view.event_type} · {view.state}",
        "view": view,
        "problem": problem,
        "inbox": home(),
        "back": sandbox_url(view.sandbox),
    }
    return Page("delivery.html", values, status)


async def _act(visit: Visit, *, name: str) -> Shown:
    """Send it again, hold it or release it, and show it again; a refusal is shown on its page."""
    try:
        await control(visit, "POST", "deliveries", visit.params["id"], name)
    except ControlError as error:
        return show(visit, problem=str(error), status=409)
    return see(delivery_url(visit.params["s"], visit.params["id"]))


def save_body(visit: Visit) -> web.Response:
    """Give the body of an attempt as a file."""
    attempt = _attempt(visit)
    return download(attempt.body, f"{visit.params['id']}-{attempt.number}-sent")


def save_answer(visit: Visit) -> web.Response:
    """Give the body of the receiver's answer as a file."""
    attempt = _attempt(visit)
    body = b"" if attempt.outcome is None else attempt.outcome.response_body
    return download(body, f"{visit.params['id']}-{attempt.number}-answer")


def save_event(visit: Visit) -> web.Response:
    """Give the event's bytes as a file."""
    event = visit.sandbox.delivery(visit.params["id"]).event
    return download(event.body, event.id)


def delivery_view(box: Sandbox, delivery: Delivery) -> DeliveryView:
    """Return what the page of a delivery shows."""
    sandbox, event = box.identity.id, delivery.event
    url = delivery_url(sandbox, delivery.id)
    pay_in = pay_in_of(box.ledger, event.object_id)
    due = delivery.next_due_at if delivery.status == "waiting" else None
    return DeliveryView(
        sandbox=sandbox,
        id=delivery.id,
        url=url,
        event=event.object_id,
        event_id=event.id,
        event_type=event.type,
        event_body=event.body,
        copy=labels.copy(delivery.id).strip(),
        state=delivery.status,
        tone=state_tone(delivery.status),
        meaning=STATES[delivery.status],
        target=delivery.target or "",
        created=event.created_at,
        due=None if due is None else due_of(box, due),
        faults=fault_views(box, delivery.faults, labels.to_event),
        attempts=tuple(_attempt_view(box, delivery, each, url) for each in delivery.attempts),
        order="" if pay_in is None else pay_in.external_identifier,
        payment_url="" if pay_in is None else payment_url(sandbox, pay_in.id),
        request_url="" if event.request_id is None else request_url(sandbox, event.request_id),
        actions=delivery_actions(delivery),
    )


def _attempt_view(box: Sandbox, delivery: Delivery, attempt: Attempt, url: str) -> AttemptView:
    result, tone = attempt_result(attempt)
    outcome = attempt.outcome
    error = None if outcome is None else outcome.error
    signature = None
    if not attempt.evicted or attempt.body is delivery.event.body:
        signature = _signature(box, attempt, _sent_at(attempt))
    right = signature is not None and signature.diagnosis.verified
    now = _signature(box, attempt, wall_ms() // 1000).diagnosis if right else None
    return AttemptView(
        url=f"{url}/attempts/{attempt.number}",
        record=attempt_of(attempt),
        at=attempt.due_at,
        sent=None if outcome is None else outcome.sent_at,
        target=attempt.url,
        result=result,
        tone=tone,
        error="" if error is None else f"{error.message} ({error.kind}: {ERROR_KINDS[error.kind]})",
        faults=fault_views(box, attempt.faults, labels.to_attempt),
        signature=signature,
        conclusion="" if signature is None else _conclusion(delivery, attempt, signature),
        right=right,
        too_old="" if now is None or now.verified else now.message,
        doctor=doctor_url(sandbox=box.identity.id, delivery=delivery.id, attempt=str(attempt.number)),
    )


def _conclusion(delivery: Delivery, attempt: Attempt, signature: SignatureView) -> str:
    """Return who is wrong, if an attempt was refused as one with a wrong signature."""
    status = None if attempt.outcome is None else attempt.outcome.status
    if status not in _SIGNATURE_REFUSED | _MAY_BE_REFUSED:
        return ""
    if signature.diagnosis.verified:
        refused = "The receiver refused it:" if status in _SIGNATURE_REFUSED else "If the receiver refused it for that:"
        return (
            "The signature that was sent is right for this endpoint's secret. "
            f"{refused} its secret differs, or it does not verify the raw bytes as they came."
        )
    if attempt.faults or delivery.faults:
        return "The signature that was sent does not verify, and a fault fired: the receiver was right to refuse it."
    if any(digest.secret == _PREVIOUS for digest in signature.digests):
        return "It was signed with the previous secret; this endpoint has a new one since then."
    if signature.diagnosis.cause == "wrong-secret":
        return "It does not fit the secret that this endpoint has now: the secret was probably replaced since then."
    return f"The signature that was sent does not verify: {signature.diagnosis.message}."


def _sent_at(attempt: Attempt) -> int:
    """Return when an attempt was sent, in Unix seconds; when it was signed, while it is in flight."""
    return attempt.signed_at if attempt.outcome is None else attempt.outcome.sent_at // 1000


def signature_header(box: Sandbox, attempt: Attempt) -> str | None:
    """Return the value of an attempt's signature header, or None."""
    name = box.settings.webhooks.signature_header.lower()
    return next((value for each, value in attempt.headers if each.lower() == name), None)


def _signature(box: Sandbox, attempt: Attempt, at: int) -> SignatureView:
    name = box.settings.webhooks.signature_header
    secrets = [(_CURRENT, box.secrets.current)]
    if box.secrets.previous is not None:
        secrets.append((_PREVIOUS, box.secrets.previous))
    return taken_apart(attempt.body, signature_header(box, attempt), secrets, at, name=name)


def _attempt(visit: Visit) -> Attempt:
    return attempt_numbered(visit.sandbox.delivery(visit.params["id"]), visit.params["number"])


def attempt_numbered(delivery: Delivery, number: str) -> Attempt:
    """Return an attempt of a delivery by its number; `UnknownThing` when there is none."""
    for attempt in delivery.attempts:
        if str(attempt.number) == number:
            return attempt
    message = f"There is no attempt {number[:20]!r} of {delivery.id}."
    raise UnknownThing(message)


_DELIVERY: Final = "inspector/sandboxes/{s}/deliveries/{id}"
ROUTES: Final = (
    PageRoute("GET", _DELIVERY, show),
    PageRoute("GET", f"{_DELIVERY}/event", save_event),
    PageRoute("GET", f"{_DELIVERY}/attempts/{{number}}/sent", save_body),
    PageRoute("GET", f"{_DELIVERY}/attempts/{{number}}/answer", save_answer),
    *(PageRoute("POST", f"{_DELIVERY}/{name}", partial(_act, name=name)) for name in DELIVERY_ACTIONS),
)
