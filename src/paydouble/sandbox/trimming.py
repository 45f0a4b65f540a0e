"""Keeps a sandbox's journals within their bytes.

What is kept is counted exactly only now and then: `Journal.grown` grows by whatever is added, and what a full log drops
is not taken off. When it passes the limit, everything is counted, and the oldest goes until an eighth of the limit is
free again. So each record costs an addition, and the count of all of them is shared by megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paydouble.feed import Feed
    from paydouble.journal import Journal, RequestEntry
    from paydouble.payments.events import Event
    from paydouble.webhooks.deliveries import Attempt, Delivery, Outbox

# What Python needs for each, beside its bytes.
REQUEST_BYTES: Final = 500
EVENT_BYTES: Final = 250
DELIVERY_BYTES: Final = 400
ATTEMPT_BYTES: Final = 500


def size_of_request(entry: RequestEntry) -> int:
    """Return how many bytes a request and its answer take."""
    return REQUEST_BYTES + len(entry.header_block) + len(entry.target) + len(entry.body) + len(entry.response_body)


def size_of_event(event: Event) -> int:
    """Return how many bytes an event takes."""
    return EVENT_BYTES + len(event.body)


def size_of_delivery(delivery: Delivery) -> int:
    """Return how many bytes a delivery takes, without its event."""
    event = delivery.event
    return DELIVERY_BYTES + sum(ATTEMPT_BYTES + attempt.own_bytes(event) for attempt in delivery.attempts)


class Trimmer:
    """Counts what a sandbox's journals keep, and removes the oldest when it is too much."""

    __slots__ = ("_feed", "_journal", "_outbox")

    def __init__(self, journal: Journal, outbox: Outbox, feed: Feed) -> None:
        """Watch over what is kept."""
        self._journal = journal
        self._outbox = outbox
        self._feed = feed

    def keep(self, count: int) -> None:
        """Count bytes that are kept from now on, and make room when there is none left."""
        journal = self._journal
        journal.grown += count
        if journal.grown > journal.most_bytes:
            self._trim(journal)

    def _trim(self, journal: Journal) -> None:
        """Remove the oldest until the journals have room again.

        Requests go, or events with their deliveries: whichever take more. A delivery that waits is never removed; of
        its attempts the bytes may be.
        """
        enough = journal.most_bytes - journal.most_bytes // 8
        requests = sum(map(size_of_request, journal.requests.entries))
        told = _Told(journal, self._outbox)
        gone: list[object] = []
        while requests + told.size > enough:
            if requests > told.size:
                entry = journal.requests.evict()
                requests -= size_of_request(entry)
                gone.append(entry)
            elif not told.shrink(gone):
                break
        self._feed.drop(gone)
        journal.grown = min(requests + told.size, enough)


class _Told:
    """The events and deliveries of a sandbox, and how many bytes they take."""

    def __init__(self, journal: Journal, outbox: Outbox) -> None:
        self._events = journal.events
        self._outbox = outbox
        self._attempts = _attempts_of_waiting(outbox)
        self.size = sum(map(size_of_event, journal.events.entries))
        self.size += sum(map(size_of_delivery, outbox.deliveries.values()))

    def shrink(self, gone: list[object]) -> bool:
        """Remove the oldest event or delivery; returns whether there was anything to remove."""
        # In step, since a delivery holds its event.
        if len(self._events.entries) > len(self._outbox.deliveries):
            self._evict_event(gone)
            return True
        settled = self._outbox.evict()
        if settled is not None:
            self.size -= size_of_delivery(settled)
            gone.append(settled)
            return True
        for delivery, attempt in self._attempts:
            self.size -= attempt.own_bytes(delivery.event)
            attempt.strip(delivery.event)
            return True
        if not self._events.entries:
            return False
        self._evict_event(gone)
        return True

    def _evict_event(self, gone: list[object]) -> None:
        event = self._events.evict()
        self.size -= size_of_event(event)
        gone.append(event)


def _attempts_of_waiting(outbox: Outbox) -> Iterator[tuple[Delivery, Attempt]]:
    for delivery in outbox.deliveries.values():
        for attempt in delivery.attempts:
            if attempt.outcome is not None and attempt.own_bytes(delivery.event):
                yield delivery, attempt
