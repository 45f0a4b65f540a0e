"""Keeps the journals of a sandbox below their limit in bytes.

Exact counts are rare: `Journal.grown` only adds up what is recorded, and ignores what a full log drops. When it passes
the limit, everything is counted, and the oldest records are removed until an eighth of the limit is free again. So each
record costs one addition, and an exact count happens once in several megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paydouble.feed import Feed
    from paydouble.journal import Journal, RequestEntry
    from paydouble.payments.events import Event
    from paydouble.webhooks.deliveries import Attempt, Delivery, Outbox

# Memory that Python needs for each record, besides its own bytes.
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
    """Counts the bytes of a sandbox's journals, and removes the oldest records when they are too many."""

    __slots__ = ("_feed", "_journal", "_outbox")

    def __init__(self, journal: Journal, outbox: Outbox, feed: Feed) -> None:
        """Work on the journals of a sandbox."""
        self._journal = journal
        self._outbox = outbox
        self._feed = feed

    def keep(self, count: int) -> None:
        """Add bytes that are kept from now on, and remove old records when the limit is passed."""
        journal = self._journal
        journal.grown += count
        if journal.grown > journal.most_bytes:
            self._trim(journal)

    def _trim(self, journal: Journal) -> None:
        """Remove the oldest records until an eighth of the limit is free.

        Requests are removed, or events with their deliveries: whichever take more. A delivery that is not settled is
        never removed, but the bytes of its attempts may be.
        """
        enough = journal.most_bytes - journal.most_bytes // 8
        requests = sum(map(size_of_request, journal.requests.entries))
        webhooks = _Webhooks(journal, self._outbox)
        removed: list[object] = []
        while requests + webhooks.size > enough:
            if requests > webhooks.size:
                entry = journal.requests.evict()
                requests -= size_of_request(entry)
                removed.append(entry)
            elif not webhooks.shrink(removed):
                break
        self._feed.drop(removed)
        journal.grown = min(requests + webhooks.size, enough)


class _Webhooks:
    """The events and deliveries of a sandbox, and how many bytes they take."""

    def __init__(self, journal: Journal, outbox: Outbox) -> None:
        self._journal = journal
        self._events = journal.events
        self._outbox = outbox
        self._attempts = _attempts_of_waiting(outbox)
        self.size = sum(map(size_of_event, journal.events.entries))
        self.size += sum(map(size_of_delivery, outbox.deliveries.values()))

    def shrink(self, removed: list[object]) -> bool:
        """Remove the oldest event or delivery and append it to `removed`; returns whether there was one to remove."""
        # By turns, since a delivery keeps its event in memory.
        if len(self._events.entries) > len(self._outbox.deliveries):
            self._evict_event(removed)
            return True
        settled = self._outbox.evict()
        if settled is not None:
            self.size -= size_of_delivery(settled)
            removed.append(settled)
            return True
        for delivery, attempt in self._attempts:
            self.size -= attempt.own_bytes(delivery.event)
            attempt.strip(delivery.event)
            self._journal.stripped = True
            return True
        if not self._events.entries:
            return False
        self._evict_event(removed)
        return True

    def _evict_event(self, removed: list[object]) -> None:
        event = self._events.evict()
        self.size -= size_of_event(event)
        removed.append(event)


def _attempts_of_waiting(outbox: Outbox) -> Iterator[tuple[Delivery, Attempt]]:
    for delivery in outbox.deliveries.values():
        for attempt in delivery.attempts:
            if attempt.outcome is not None and attempt.own_bytes(delivery.event):
                yield delivery, attempt
