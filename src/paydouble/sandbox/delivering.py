"""What a test does to events and deliveries by hand: emit, send once more, hold and release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paydouble.core.errors import UsageError
from paydouble.payments.events import EVENT_TYPES, Event
from paydouble.payments.resources import Living, Payout
from paydouble.sandbox import emission
from paydouble.sandbox.samples import sample
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.sandbox.business import Sandbox


def emit_event(box: Sandbox, kind: str, resource: Living) -> Event:
    """Emit an event of any documented type for a resource, as it is now; `UsageError` when the two do not fit."""
    _documented(kind)
    if isinstance(resource, Payout) or kind.partition(".")[0].replace("-", "") != resource.OBJECT:
        raise UsageError(f"{resource.id} is a {resource.OBJECT}, which {kind} is not about", member="object_id")
    return emission.emit(box, kind, resource, resource.event_object(box.ledger.stamp), {}, box.now)


def send_test_webhook(box: Sandbox, kind: str) -> Event:
    """Send a sample event of a documented type; its object exists in the event alone."""
    _documented(kind)
    resource = sample(box, kind)
    return emission.emit(box, kind, resource, resource.event_object(box.ledger.stamp), {}, box.now)


def redeliver(box: Sandbox, delivery: Delivery) -> None:
    """Send a delivery once more, now, whatever became of it; `UsageError` while it is on its way."""
    if box.outbox.in_flight(delivery):
        raise UsageError(f"{delivery.id} is being sent at this moment; wait for its answer", member="id")
    box.dispatch.forget(delivery)
    box.timers.cancel_subject(delivery.id)
    box.outbox.resend(delivery, box.notification_url, box.now)
    box.feed.add(delivery)


def failed_deliveries(box: Sandbox, since: int | None) -> list[Delivery]:
    """Return the deliveries whose latest attempt has failed, since an instant of the sandbox's clock if given."""
    return [
        delivery
        for delivery in box.outbox.deliveries.values()
        if delivery.status in {"waiting", "exhausted"}
        and delivery.attempts
        and not box.outbox.in_flight(delivery)
        and (since is None or delivery.attempts[-1].due_at >= since)
    ]


def hold(box: Sandbox, delivery: Delivery) -> None:
    """Keep a delivery back; `UsageError` when nothing of it is to come."""
    if delivery.settled:
        raise UsageError(f"{delivery.id} is {delivery.status}; nothing is left to hold", member="id")
    box.dispatch.hold(delivery)
    box.feed.add(delivery)


def release(box: Sandbox, delivery: Delivery) -> None:
    """Let a held delivery go, now; `UsageError` when it is not held."""
    if delivery.status != "held":
        raise UsageError(f"{delivery.id} is {delivery.status}, not held", member="id")
    box.dispatch.release(delivery, box.now)
    box.feed.add(delivery)


def _documented(kind: str) -> None:
    if kind not in EVENT_TYPES:
        raise UsageError(f"{kind[:64]!r} is no event type; there are: {', '.join(EVENT_TYPES)}", member="type")
