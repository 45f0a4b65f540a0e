"""What happens to a payment after its money has come is disturbed too, each kind of change with code of its own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from small_shop import LOST, SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, Refused, ServiceLike
from paydouble.stateful.lifecycles import ways_to_each_act


def verdict(merchant: type[Merchant], *words: str) -> str | None:
    """Return the first finding of the plays of the catalogue whose steps have all of some words."""
    return next(verdicts_of(merchant, lambda play: all(word in str(play.steps) for word in words)), None)


class CanRestart(SmallShop):
    """Keeps all of it."""

    def restart(self) -> None:
        """Forget nothing."""


class NotesRefundsFirst(SmallShop):
    """Notes the event of a refund as done before it books it."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.done: set[str] = set()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if event["type"].startswith("refund."):
            if event["id"] in self.done:
                return 200
            self.done.add(event["id"])
        return super().handle(order_id, event)


class NotesReadDisputesFirst(SmallShop):
    """Notes which version of a dispute its job has read before it books it."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.read: set[tuple[str, str]] = set()

    def learn(self, resource: dict[str, Any]) -> None:
        version = resource["id"], resource["updated_at"]
        if resource["object"] == "dispute":
            if version in self.read:
                return
            self.read.add(version)
        super().learn(resource)


class LastDisputeEventWins(SmallShop):
    """Takes the event of a dispute that arrives last for the newest."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return resource["object"] == "dispute" or super().is_newer(resource, old)


class ReadsNoDisputes(SmallShop):
    """Takes the end of a dispute from its event only, and forgets the events that it has not worked on."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.inbox: list[tuple[str, dict[str, Any]]] = []

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if not event["type"].startswith("dispute."):
            return super().handle(order_id, event)
        self.inbox.append((order_id, event))
        return 200

    def restart(self) -> None:
        self.inbox.clear()

    def tick(self) -> None:
        super().tick()
        while self.inbox:
            super().handle(*self.inbox.pop(0))

    def list(self, path: str) -> list[dict[str, Any]]:
        return [] if path.startswith("/dispute") else super().list(path)


class MarksWorkAsDoneFirst(CanRestart):
    """Leaves events to its job, which takes each out of the queue before it has worked on it, and then reads."""

    queued: tuple[str, ...] = ("pay-in", "refund", "dispute")

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.inbox: list[tuple[str, dict[str, Any]]] = []

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if event["type"].partition(".")[0] not in self.queued:
            return super().handle(order_id, event)
        self.inbox.append((order_id, event))
        return 200

    def tick(self) -> None:
        while self.inbox:
            order_id, event = self.inbox.pop(0)
            super().handle(order_id, event)
        super().tick()


class MarksDisputesAsDoneFirst(MarksWorkAsDoneFirst):
    """Does so with disputes only."""

    queued = ("dispute",)


class KeepsWorkUntilItIsDone(MarksWorkAsDoneFirst):
    """Takes each event out of the queue when it has worked on it."""

    def tick(self) -> None:
        while self.inbox:
            SmallShop.handle(self, *self.inbox[0])
            self.inbox.pop(0)
        SmallShop.tick(self)


class RemembersPaymentsInMemory(SmallShop):
    """Finds the order of a dispute by what this process has seen of its payment, and acknowledges the rest."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.known: set[str] = set()

    def restart(self) -> None:
        self.known.clear()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        resource = event["data"]["object"]
        if resource["object"] == "dispute" and resource["payin_id"] not in self.known:
            return 200
        return super().handle(order_id, event)

    def learn(self, resource: dict[str, Any]) -> None:
        self.known.add(resource["id"])
        super().learn(resource)

    def list(self, path: str) -> list[dict[str, Any]]:
        return [] if path.startswith("/dispute") else super().list(path)


class ChecksDisputesOnce(SmallShop):
    """Declines a refund of disputed money, and sends one that has waited without another look."""

    demands = ("disputed refund",)
    pauses = ()

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if self.of(order_id, "dispute", "needs_response", "under_review", *LOST):
            raise Refused
        super().refund(order_id, refund_id, amount)


@pytest.mark.parametrize(
    ("merchant", "words", "found"),
    [
        (NotesRefundsFirst, ["'interrupt_webhook'", "'dies'", "(1, 'half')"], "answered 200 to the refund."),
        (NotesReadDisputesFirst, ["'drop all'", "'interrupt_jobs'", "'dies'", "'dispute lost'"], "calls order-1 paid"),
        (LastDisputeEventWins, ["'inject'", "'again'", "'dispute lost'"], "calls it paid; the service's ledger says"),
        (ReadsNoDisputes, ["'pass_time'", "'restart'", "'dispute lost'"], "answered 200 to the dispute.closed"),
        (RemembersPaymentsInMemory, ["'restart'", "'work_off'", "'dispute lost'"], "answered 200 to the dispute."),
        (
            MarksWorkAsDoneFirst,
            ["'5s'", "'interrupt_jobs'", "'dies'", "'work_off'"],
            "answered 200 to the pay-in.succeeded",
        ),
        (
            MarksDisputesAsDoneFirst,
            ["'interrupt_jobs'", "'dies'", "'work_off'", "'dispute lost'"],
            "answered 200 to the dispute.",
        ),
        (ChecksDisputesOnce, ["('lasts', 6)", "'429'", "'dispute'"], "tries to refund"),
    ],
)
def test_each_kind_of_change_is_disturbed(merchant: type[Merchant], words: list[str], found: str) -> None:
    """The correct shop passes the same plays."""
    assert found in str(verdict(merchant, *words))
    assert verdict(CanRestart, *words) is None
    assert verdict(KeepsWorkUntilItIsDone, *words) is None


def test_there_is_a_way_to_each_act() -> None:
    """Each is the last of its way, and no way is longer than it has to be."""
    ways = ways_to_each_act()
    acts = {(way[-1].command, way[-1].arguments) for way in ways}

    assert {("provider", ("dispute reopened", 1)), ("provider", ("dispute accepted",)), ("cancel", (1,))} <= acts
    assert max(map(len, ways)) == 3
    assert len(set(ways)) == len(ways)
