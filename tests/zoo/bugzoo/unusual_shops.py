"""Correct shops of an unusual kind: what the contract leaves open is a choice, and no finding."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, ClassVar, Final

from cancelling_shop import GivesBack, StaysCancelled, TakesUpAgain
from small_shop import SmallOrder, SmallShop, Wish

from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.holds import hold_of


class Rereads(SmallShop):
    """Takes a webhook as a hint, and believes what it reads from the service."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        return 200 if self.ask(order_id) else 503


class WorksLater(SmallShop):
    """Stores each event, and works on it in a job."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        self.service.checkpoint()
        self.stored = [*getattr(self, "stored", []), event]
        return 200

    def tick(self) -> None:
        for event in getattr(self, "stored", []):
            self.learn(event["data"]["object"])
            # Only now, since the process may be killed before.
            self.stored = [each for each in self.stored if each is not event]
        super().tick()


class PacksLater(SmallShop):
    """Shows a payment at once; its staff packs the goods five minutes later."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.paid_at: dict[str, float] = {}

    def ships_now(self, order: SmallOrder) -> bool:
        self.paid_at.setdefault(order.id, self.service.now())
        return False

    def tick(self) -> None:
        super().tick()
        for order_id, paid_at in self.paid_at.items():
            order = self.orders[order_id]
            if self.service.now() - paid_at >= 300 and self.is_wanted(order):
                order.shipped = 1

    def is_wanted(self, order: SmallOrder) -> bool:
        if self.of(order.id, "dispute", "needs_response", "under_review"):
            return False
        is_left = self.balance(order.id) > self.promised(order)
        return is_left and self.order_status(order.id) in {"paid", "partly_refunded"}


class LeavesTheUnknown(WorksLater):
    """Works at once on the events of what it has the identifier of, and on the others in its job.

    Its job repeats what got no answer.
    """

    pauses = ()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        resource = event["data"]["object"]
        known_by = resource["payin_id"] if resource["object"] == "dispute" else resource["id"]
        if known_by not in self.versions:
            return super().handle(order_id, event)
        self.learn(resource)
        return 200


class NeverRetries(SmallShop):
    """Sends each request once, and closes an order whose attempt has failed."""

    retries_by_itself: ClassVar[bool] = False
    pauses = ()

    def may_be_paid(self, order: SmallOrder) -> bool:
        return order.wish is None

    def send(self, wish: Wish, path: str) -> None:
        """Look what has become of it instead."""
        if self.ask(wish.order_id) and wish.state == "open":
            wish.state = "refused"

    def send_first(self, wish: Wish, path: str) -> None:
        super().send(wish, path)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Send once more what was not found, under its key, when it is asked for again."""
        wish = self.orders[order_id].refunds.get(refund_id)
        if wish is not None and wish.state == "refused":
            wish.state = "open"
        super().refund(order_id, refund_id, amount)


class NeverAsks(SmallShop):
    """Believes replies and events alone: the contract promises events, and demands no reads."""

    reconciles: ClassVar[bool] = False

    def ask(self, order_id: str) -> bool:
        return False


class PutsOffWhatCameFirst(NeverAsks):
    """Shows disputed money in review and off the balance, and puts a dispute off until its payment has succeeded."""

    put_off: tuple[tuple[float, dict[str, Any]], ...] = ()

    def status_of_paid(self, order: SmallOrder) -> str:
        shown = super().status_of_paid(order)
        return "review" if self.open_disputes(order.id) and shown != "charged_back" else shown

    def open_disputes(self, order_id: str) -> list[dict[str, Any]]:
        return self.of(order_id, "dispute", "needs_response", "under_review")

    def balance(self, order_id: str) -> Decimal:
        held = sum((each["amount"] for each in self.open_disputes(order_id)), Decimal(0))
        return max(Decimal(0), super().balance(order_id) - held)

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        resource = event["data"]["object"]
        if resource["object"] != "dispute" or self.of(order_id, "payin", "succeeded"):
            return super().handle(order_id, event)
        self.put_off += ((self.service.now() + 240, resource),)
        return 200

    def tick(self) -> None:
        super().tick()
        due = [resource for at, resource in self.put_off if at <= self.service.now()]
        self.put_off = tuple(each for each in self.put_off if each[1] not in due)
        for resource in due:
            self.learn(resource)


class FulfilsForThePayer(SmallShop):
    """Fulfils when the payer is back, or in its job, and only after the service has said that it is paid."""

    is_asked = False

    def ships_now(self, order: SmallOrder) -> bool:
        return self.is_asked and self.balance(order.id) > self.promised(order)

    def customer_returns(self, order_id: str) -> None:
        self.ask(order_id)

    def ask(self, order_id: str) -> bool:
        self.is_asked = True
        try:
            return super().ask(order_id)
        finally:
            self.is_asked = False


class Cron(SmallShop):
    """Sends nothing in a click; a job of each minute sends each open request once, and asks."""

    pauses = ()

    def send_first(self, wish: Wish, path: str) -> None:
        """Leave it to the job."""


class Jitters(SmallShop):
    """Pauses for about as long each time."""

    pauses = (2.1, 1.7, 2.4, 1.9)


class LearnsRefundsByAsking(SmallShop):
    """Works on the success of payments at once, and learns everything else in its job."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if event["type"] == "pay-in.succeeded":
            self.learn(event["data"]["object"])
        return 200


class ClosesAfterARefusal(SmallShop):
    """Takes no further click on an order whose deposit was refused or whose payment has failed."""

    def may_be_paid(self, order: SmallOrder) -> bool:
        return order.wish is None or order.wish.state == "open"


class AnswersFirst(SmallShop):
    """Stores an event, answers, and then works on it; what is left over at its end is worked on after the start."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.inbox: list[dict[str, Any]] = []
        self.asked: list[str] = []

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        self.service.checkpoint()
        self.inbox.append(event)
        return 200

    def drain(self) -> None:
        self.asked.append("drain")
        while self.inbox:
            self.learn(self.inbox[0]["data"]["object"])
            self.service.checkpoint()
            self.inbox.pop(0)


class SellsOneSeat(SmallShop):
    """Has one seat, which is held while a payment is under way: other orders are declined before it asks for money."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.holders: set[str] = set()

    def pay(self, order_id: str) -> None:
        self.hold(order_id)
        super().pay(order_id)

    def retry(self, order_id: str) -> None:
        self.hold(order_id)
        super().retry(order_id)

    def hold(self, order_id: str) -> None:
        over = {"unpaid", "failed", "cancelled"}
        if any(self.order_status(other) not in over for other in self.holders - {order_id}):
            raise Refused("sold out")
        self.holders.add(order_id)


class DoubtsTheOtherEnvironment(SmallShop):
    """Leaves an order to a person when an event of the other environment says that it is paid."""

    @property
    def doubted(self) -> set[str]:
        """The orders that a person has to look at."""
        found: set[str] = self.__dict__.setdefault("_doubted", set())
        return found

    def receive(self, webhook: Webhook) -> int:
        status = super().receive(webhook)
        if status == 200 and b'"livemode":true' in webhook.body and b'"pay-in.succeeded"' in webhook.body:
            self.doubted.add(json.loads(webhook.body)["data"]["object"]["external_identifier"])
        return status

    def order_status(self, order_id: str) -> str:
        return "review" if order_id in self.doubted else super().order_status(order_id)

    def ships_now(self, order: SmallOrder) -> bool:
        return order.id not in self.doubted


class ReadsDisputesByTheirEvents(SmallShop):
    """Reads a dispute only by the id in its event, and lists none."""

    def list(self, path: str) -> list[dict[str, Any]]:
        return [] if path.startswith("/dispute") else super().list(path)

    def receive(self, webhook: Webhook) -> int:
        # It may not have been told of the payment yet.
        is_early = b'"object":"dispute"' in webhook.body and not any(
            map(webhook.body.count, map(str.encode, self.versions))
        )
        wanted = [each.id for each in self.orders.values() if each.wish is not None]
        if is_early and not all(map(self.ask, wanted)):
            return 503
        return super().receive(webhook)

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        resource = event["data"]["object"]
        if resource["object"] != "dispute":
            return super().handle(order_id, event)
        try:
            answer = self.service.call("GET", f"/api/v1/dispute/{resource['id']}", self.headers)
        except OSError:
            return 503
        found = self.data(answer.body) if answer.status == 200 else None
        if found is None:
            return 503
        self.learn(found)
        return 200


UNUSUAL_SHOPS: Final = (
    NeverAsks,
    ClosesAfterARefusal,
    SmallShop,
    Rereads,
    WorksLater,
    NeverRetries,
    FulfilsForThePayer,
    Cron,
    Jitters,
    LearnsRefundsByAsking,
    AnswersFirst,
    LeavesTheUnknown,
    SellsOneSeat,
    DoubtsTheOtherEnvironment,
    ReadsDisputesByTheirEvents,
    TakesUpAgain,
    GivesBack,
    StaysCancelled,
    PacksLater,
    PutsOffWhatCameFirst,
)


def play_a_part(merchant: type[Merchant], parts: int) -> None:
    """Run one part of the catalogue of so many over a shop, each shop another one; `MerchantBug` for an alarm."""
    run = CatalogueRun(merchant, shows=when_it_shows(merchant), hold=hold_of(merchant))
    for play in run.plays()[UNUSUAL_SHOPS.index(merchant) % parts :: parts]:
        run.one(play)
