"""What a merchant reads of the service by itself, so that it can know of what no event has told it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, Self

from paydouble.api.operations import OPERATIONS
from paydouble.sandbox import Sandbox


class Reads(NamedTuple):
    """The operations that read objects of a kind."""

    lists: frozenset[str]
    single: frozenset[str]

    @classmethod
    def of(cls, answer: object) -> Self:
        """Return those whose answer has such an object in it."""
        reads = [each for each in OPERATIONS if each.method == "GET" and each.answer is answer]
        single = frozenset(each.name for each in reads if "{id}" in each.path)
        return cls(frozenset(each.name for each in reads) - single, single)


def has_lists(box: Sandbox, reads: Reads) -> bool:
    """Return whether the merchant reads lists of such objects."""
    return any(entry.operation in reads.lists for entry in box.journal.requests.entries)


def has_unasked(box: Sandbox, reads: Reads) -> bool:
    """Return whether the merchant reads single objects more often than events of them have come.

    One that does not may read an object only because of its event, and then asks for none whose event is lost.
    """
    entries = [entry for entry in box.journal.requests.entries if entry.operation in reads.single]
    asked = Counter(entry.target.partition("?")[0].rpartition("/")[2] for entry in entries)
    sent: Counter[str] = Counter()
    for delivery in box.outbox.deliveries.values():
        sent[delivery.event.object_id] += len(delivery.attempts)
    return any(times > sent[object_id] for object_id, times in asked.items())
