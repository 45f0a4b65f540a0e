"""The control calls with which a test publishes events, and sends again, holds or releases deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paydouble.core.errors import UsageError
from paydouble.payments.events import EVENT_TYPES, FAMILIES, Event, reported_state
from paydouble.payments.resources import (
    Customer,
    Dispute,
    Failure,
    PayIn,
    PaymentMethod,
    Refund,
    Resource,
)
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.core.ids import Ids
    from paydouble.feed import Feed
    from paydouble.sandbox.delivery_scheduler import DeliveryScheduler
    from paydouble.sandbox.publishing import Publisher
    from paydouble.webhooks.deliveries import Outbox


class ManualDelivery:
    """The control calls about events and deliveries of one sandbox; `now` is on the sandbox's clock."""

    __slots__ = ("_feed", "_outbox", "_publisher", "_scheduler")

    def __init__(self, publisher: Publisher, outbox: Outbox, scheduler: DeliveryScheduler, feed: Feed) -> None:
        """Work on the events and deliveries of a sandbox."""
        self._publisher = publisher
        self._outbox = outbox
        self._scheduler = scheduler
        self._feed = feed

    def emit_event(self, kind: str, resource: Resource, now: int) -> Event:
        """Publish an event about a resource as it is now; `UsageError` if the type is unknown or does not fit."""
        _check_documented(kind)
        if not isinstance(resource, FAMILIES[kind.partition(".")[0]]):
            raise UsageError(f"{resource.id} is a {resource.OBJECT}, which {kind} is not about", member="object_id")
        return self._publish(kind, resource, now)

    def send_test_webhook(self, kind: str, now: int, response_window: int) -> Event:
        """Send a sample event of a documented type; its object exists only in the event.

        `response_window` is how long a merchant has to answer a dispute, in milliseconds.
        """
        _check_documented(kind)
        publisher = self._publisher
        resource = sample(kind, publisher.ids, publisher.journal.events.total, now, response_window)
        return self._publish(kind, resource, now)

    def redeliver(self, delivery: Delivery, now: int) -> None:
        """Send a delivery again now, in any status; `UsageError` while an attempt is in flight."""
        if self._outbox.in_flight(delivery):
            raise UsageError(f"{delivery.id} is being sent at this moment; wait for its answer", member="id")
        self._scheduler.cancel(delivery)
        self._outbox.resend(delivery, self._publisher.notification_url, now)
        self._feed.add(delivery)

    def failed_deliveries(self, since: int | None) -> list[Delivery]:
        """Return the deliveries whose latest attempt has failed; with `since`, of attempts due from this instant on."""
        return [
            delivery
            for delivery in self._outbox.deliveries.values()
            if delivery.status in {"waiting", "exhausted"}
            and delivery.attempts
            and not self._outbox.in_flight(delivery)
            and (since is None or delivery.attempts[-1].due_at >= since)
        ]

    def hold(self, delivery: Delivery) -> None:
        """Hold a delivery; `UsageError` when it is settled."""
        if delivery.settled:
            raise UsageError(f"{delivery.id} is {delivery.status}; nothing is left to hold", member="id")
        self._scheduler.hold(delivery)
        self._feed.add(delivery)

    def release(self, delivery: Delivery, now: int) -> None:
        """Send a held delivery now; `UsageError` when it is not held."""
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


def sample(kind: str, ids: Ids, number: int, now: int, response_window: int) -> PayIn | Refund | Dispute:
    """Return an object for a sample event, in the state that the event type reports; it is in no ledger.

    `number` distinguishes its id from those of other samples; `response_window` is a dispute's, in milliseconds.
    """
    family, state = kind.partition(".")[0], reported_state(kind)
    pay_in = PayIn(
        id=ids.derive("payin", "sample", number),
        sequence=0,
        reference="PAY-TEST-TEST",
        external_identifier="test-webhook",
        amount=4990,
        currency="EUR",
        digits=2,
        payment_method=PaymentMethod("CREDIT_CARD", "card", "Credit card"),
        customer=Customer("Ada", "Lovelace", "ada@example.test"),
        created_at=now,
        updated_at=now,
        expires_at=now + 86_400_000,
        checkout_base="",
        status=state if family == "pay-in" else "succeeded",
    )
    if family == "refund":
        return Refund(
            id=ids.derive("refund", "sample", number),
            sequence=0,
            payin_id=pay_in.id,
            reference="REF-TEST-TEST",
            external_identifier=None,
            amount=pay_in.amount,
            currency=pay_in.currency,
            reason=None,
            created_at=now,
            updated_at=now,
            status=state,
            failure=Failure() if state == "failed" else None,
        )
    if family == "dispute":
        return Dispute(
            id=ids.derive("dispute", "sample", number),
            sequence=0,
            payin_id=pay_in.id,
            reference="DSP-TEST-TEST",
            amount=pay_in.amount,
            currency=pay_in.currency,
            reason="fraudulent",
            evidence_due_by=now + response_window,
            created_at=now,
            updated_at=now,
            status=state,
        )
    return pay_in
