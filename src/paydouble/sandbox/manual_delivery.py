"""What a test does to events and deliveries by hand: publish, send once more, hold and release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paydouble.core.errors import UsageError
from paydouble.payments.events import EVENT_TYPES, Event
from paydouble.payments.resources import Payout, Resource
from paydouble.sandbox.samples import sample
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.feed import Feed
    from paydouble.sandbox.delivery_scheduler import DeliveryScheduler
    from paydouble.sandbox.publishing import Publisher
    from paydouble.webhooks.deliveries import Outbox


class ManualDelivery:
    """A test's hand on the events and deliveries of one sandbox; `now` is on the sandbox's clock."""

    __slots__ = ("_feed", "_outbox", "_publisher", "_scheduler")

    def __init__(self, publisher: Publisher, outbox: Outbox, dispatch: DeliveryScheduler, feed: Feed) -> None:
        """Work on what a sandbox publishes and delivers."""
        self._publisher = publisher
        self._outbox = outbox
        self._scheduler = dispatch
        self._feed = feed

    def emit_event(self, kind: str, resource: Resource, now: int) -> Event:
        """Publish an event of any documented type for a resource, as it is now; `UsageError` if the two do not fit."""
        _check_documented(kind)
        if isinstance(resource, Payout) or kind.partition(".")[0].replace("-", "") != resource.OBJECT:
            raise UsageError(f"{resource.id} is a {resource.OBJECT}, which {kind} is not about", member="object_id")
        return self._publish(kind, resource, now)

    def send_test_webhook(self, kind: str, now: int, response_window: int) -> Event:
        """Send a sample event of a documented type; its object exists in the event alone.

        `response_window` is how long a merchant has to answer a dispute, in milliseconds.
        """
        _check_documented(kind)
        publisher = self._publisher
        resource = sample(kind, publisher.ids, publisher.journal.events.total, now, response_window)
        return self._publish(kind, resource, now)

    def redeliver(self, delivery: Delivery, now: int) -> None:
        """Send a delivery once more, now, whatever became of it; `UsageError` while it is on its way."""
        if self._outbox.in_flight(delivery):
            raise UsageError(f"{delivery.id} is being sent at this moment; wait for its answer", member="id")
        self._scheduler.cancel(delivery)
        self._outbox.resend(delivery, self._publisher.notification_url, now)
        self._feed.add(delivery)

    def failed_deliveries(self, since: int | None) -> list[Delivery]:
        """Return the deliveries whose latest attempt has failed, since an instant of the sandbox's clock if given."""
        return [
            delivery
            for delivery in self._outbox.deliveries.values()
            if delivery.status in {"waiting", "exhausted"}
            and delivery.attempts
            and not self._outbox.in_flight(delivery)
            and (since is None or delivery.attempts[-1].due_at >= since)
        ]

    def hold(self, delivery: Delivery) -> None:
        """Keep a delivery back; `UsageError` when nothing of it is to come."""
        if delivery.settled:
            raise UsageError(f"{delivery.id} is {delivery.status}; nothing is left to hold", member="id")
        self._scheduler.hold(delivery)
        self._feed.add(delivery)

    def release(self, delivery: Delivery, now: int) -> None:
        """Send a held delivery, now; `UsageError` when it is not held."""
        if delivery.status != "held":
            raise UsageError(f"{delivery.id} is {delivery.status}, not held", member="id")
        self._scheduler.release(delivery, now)
        self._feed.add(delivery)

    def _publish(self, kind: str, resource: Resource, now: int) -> Event:
        publisher = self._publisher
        return publisher.publish(kind, resource, resource.event_object(publisher.ledger.stamp), {}, now)


def _check_documented(kind: str) -> None:
    if kind not in EVENT_TYPES:
        raise UsageError(f"{kind[:64]!r} is no event type; there are: {', '.join(EVENT_TYPES)}", member="type")
