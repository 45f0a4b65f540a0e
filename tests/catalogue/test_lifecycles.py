"""What becomes of a paid order: refunds, a cancellation and a dispute in every order, told in time, late or never."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from cancelling_shop import TakesUpAgain
from small_shop import LOST, SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, MerchantBug, Play, Refused, ServiceLike
from paydouble.stateful.lifecycles import lifecycles
from paydouble.stateful.steps import CataloguePlay, step

REFUNDS_PATH = "/refund/refund-creation"


def verdict(merchant: type[Merchant], reason: str) -> str:
    """Return the first finding of the catalogue's plays with a reason; empty without any."""
    return next(verdicts_of(merchant, lambda play: reason in play.reason), "")


class GivesRestBack(SmallShop):
    """A cancelled order's money goes back, as soon as no dispute holds it; a refund that failed is asked for again."""

    demands = ("cancelled order",)
    asks_again = True
    """Whether it does so when the service has refused the refund: a dispute may hold the money."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.cancelled: set[str] = set()

    def cancel(self, order_id: str) -> None:
        """Cancel an order that is paid, and one that is cancelled already."""
        if self.order_status(order_id) in {"unpaid", "pending", "failed"}:
            raise Refused
        self.cancelled.add(order_id)
        self.give_back(order_id)

    def give_back(self, order_id: str) -> None:
        """Ask for what is left, unless a refund is on its way or the money is disputed."""
        waits = [*self.of(order_id, "refund", "created", "processing"), *self.disputed(order_id)]
        if not waits and (left := self.balance(order_id)):
            name = self.name(order_id)
            paid = self.of(order_id, "payin", "succeeded")[0]
            body = f'{{"payin_id": "{paid["id"]}", "amount": {left}, "external_identifier": "{name}"}}'
            wish = self.orders[order_id].refunds.setdefault(name, self.wish(order_id, body))
            self.service.checkpoint()
            if wish.state == "open":
                self.send(wish, REFUNDS_PATH)
            if wish.state == "refused" and self.asks_again:
                del self.orders[order_id].refunds[name]

    def disputed(self, order_id: str) -> list[dict[str, Any]]:
        """Return the disputes that hold money."""
        return [each for each in self.of(order_id, "dispute") if each["status"] not in {"won", *LOST}]

    def name(self, order_id: str) -> str:
        """Return the name of the refund that is due now."""
        return f"{order_id}-cancelled-{len(self.of(order_id, 'refund'))}"

    def tick(self) -> None:
        """Give back what could not be given back before."""
        super().tick()
        for order_id in sorted(self.cancelled):
            self.give_back(order_id)


class AsksOnce(GivesRestBack):
    """Forgets the refund of a cancelled order once it was asked for, whatever became of it."""

    def name(self, order_id: str) -> str:
        return f"{order_id}-cancelled"


class KeepsItsKey(GivesRestBack):
    """Sends a refused refund again when the dispute is won, with the same key, which is answered as before."""

    asks_again = False

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.sent_again: set[str] = set()

    def give_back(self, order_id: str) -> None:
        for wish in self.orders[order_id].refunds.values():
            if wish.state == "refused" and wish.key not in self.sent_again and self.of(order_id, "dispute", "won"):
                self.sent_again.add(wish.key)
                wish.state = "open"
        super().give_back(order_id)


class CancelsWhileDisputed(GivesRestBack):
    """Gives nothing back of an order that was disputed when it was cancelled."""

    def cancel(self, order_id: str) -> None:
        disputed = self.disputed(order_id)
        super().cancel(order_id)
        if disputed:
            self.cancelled.discard(order_id)


class RestocksTwice(GivesRestBack):
    """Counts the goods back into the stock at each of two cancellations that come together."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.restocked: dict[str, int] = {}

    def cancel(self, order_id: str) -> None:
        is_new = order_id not in self.cancelled
        self.service.checkpoint()
        super().cancel(order_id)
        self.restocked[order_id] = self.restocked.get(order_id, 0) + is_new

    def effects(self, order_id: str) -> dict[str, int]:
        """Return how often the goods came back into the stock."""
        return {"restocked": self.restocked.get(order_id, 0)}


class RestocksOnce(RestocksTwice):
    """Counts them with the cancellation."""

    def cancel(self, order_id: str) -> None:
        GivesRestBack.cancel(self, order_id)
        self.restocked[order_id] = 1


class LeavesMixturesToJobs(SmallShop):
    """Leaves a dispute to its jobs where there is a refund as well, as it cannot tell which comes first."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        is_mixture = event["data"]["object"]["object"] == "dispute" and self.of(order_id, "refund")
        return 200 if is_mixture else super().handle(order_id, event)


class IgnoresLateEvents(SmallShop):
    """Takes an event that is older than half an hour for one that no longer matters."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        age = self.service.now() - datetime.fromisoformat(event["created_at"]).timestamp()
        return 200 if age > 1800 else super().handle(order_id, event)


class ReadsAPage(SmallShop):
    """Asks for disputes and refunds of all orders at once, and reads the first page."""

    def ask(self, order_id: str) -> bool:
        answer = self.service.call("GET", f"/api/v1/pay-in?external_identifier={order_id}", self.headers)
        listed = [*(self.data(answer.body) or {"items": []})["items"]]
        for kind in ("refund", "dispute"):
            answer = self.service.call("GET", f"/api/v1/{kind}", self.headers)
            listed += (self.data(answer.body) or {"items": []})["items"]
        for each in listed:
            self.learn(each)
        return True


class TakesWhatIsLeft(SmallShop):
    """Gives back what a dispute has left of a refund that was asked for, when the dispute is over."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.waiting: dict[str, tuple[str, Decimal]] = {}

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if not self.of(order_id, "dispute", "needs_response", "under_review"):
            super().refund(order_id, refund_id, amount)
        elif refund_id not in self.waiting:
            self.waiting[refund_id] = order_id, amount

    def tick(self) -> None:
        super().tick()
        for refund_id, (order_id, amount) in list(self.waiting.items()):
            if not self.of(order_id, "dispute", "needs_response", "under_review"):
                del self.waiting[refund_id]
                self.give_back_at_most(order_id, refund_id, amount)

    def give_back_at_most(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Give money back, or what is left of it."""
        if left := min(amount, self.balance(order_id)):
            paid = self.of(order_id, "payin", "succeeded")[0]
            body = f'{{"payin_id": "{paid["id"]}", "amount": {left}, "external_identifier": "{refund_id}"}}'
            wish = self.orders[order_id].refunds[refund_id] = self.wish(order_id, body)
            self.send(wish, REFUNDS_PATH)


class TakesTooMuch(TakesWhatIsLeft):
    """Gives back more than was asked for, as long as it is there."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        super().refund(order_id, refund_id, amount * 2)


class TakesTooLittle(TakesWhatIsLeft):
    """Gives back a part of what was asked for, though nobody disputes anything."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        super().refund(order_id, refund_id, amount / 2)


class BelievesASuccess(SmallShop):
    """Takes the success of a refund for the newest state, also after a failure."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        is_success = resource["object"] == "refund" and resource["status"] == "succeeded"
        return is_success or super().is_newer(resource, old)


class WorksInItsJobs(SmallShop):
    """Keeps events and refunds for its jobs; no refund is sent while a dispute is open, nor after one that was lost."""

    demands = ("disputed refund",)
    drops_what_was_lost = True

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.inbox: list[tuple[str, dict[str, Any]]] = []
        self.queue: dict[str, tuple[str, Decimal]] = {}

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        self.inbox.append((order_id, event))
        return 200

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if self.of(order_id, "dispute", "needs_response", "under_review", *LOST):
            raise Refused
        self.queue.setdefault(refund_id, (order_id, amount))

    def tick(self) -> None:
        inbox, self.inbox = self.inbox, []
        for order_id, event in inbox:
            super().handle(order_id, event)
        super().tick()
        for refund_id, (order_id, amount) in list(self.queue.items()):
            if self.waits(order_id):
                continue
            if self.drops_what_was_lost and self.of(order_id, "dispute", *LOST):
                del self.queue[refund_id]
            elif refund_id not in self.orders[order_id].refunds:
                paid = self.of(order_id, "payin", "succeeded")[0]
                body = f'{{"payin_id": "{paid["id"]}", "amount": {amount}, "external_identifier": "{refund_id}"}}'
                wish = self.orders[order_id].refunds[refund_id] = self.wish(order_id, body)
                self.send(wish, REFUNDS_PATH)

    def waits(self, order_id: str) -> bool:
        """Return whether no refund of an order is sent now."""
        return bool(self.of(order_id, "dispute", "needs_response", "under_review"))


class QueuesDeposits(SmallShop):
    """Leaves each deposit to a job."""

    def send_first(self, wish: Wish, path: str) -> None:
        if path != "/pay-in/deposit-creation":
            super().send_first(wish, path)


class QueuesAgain(QueuesDeposits):
    """Queues another deposit at each click, as long as none was sent."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.queue: list[Wish] = []

    def send_first(self, wish: Wish, path: str) -> None:
        if path == "/pay-in/deposit-creation":
            self.queue.append(self.wish(wish.order_id, wish.body.decode()))
        super().send_first(wish, path)

    def tick(self) -> None:
        queue, self.queue = self.queue, []
        for wish in queue:
            self.orders[wish.order_id].wish = wish
            self.send(wish, "/pay-in/deposit-creation")
        super().tick()


class QueuesRefunds(WorksInItsJobs):
    """Keeps refunds alone for its jobs."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        return SmallShop.handle(self, order_id, event)


class LooksOnce(QueuesRefunds):
    """Sends a refund although a dispute has come since it was asked for."""

    def waits(self, order_id: str) -> bool:
        return False


class ReleasesWhatWasLost(WorksInItsJobs):
    """Sends a refund that had to wait for a dispute, also after the dispute was lost."""

    drops_what_was_lost = False


def test_each_act_of_a_lifecycle_has_an_effect() -> None:
    """On a shop that gives the money of a cancelled order back, so that this refund can fail as well."""
    for acts in lifecycles(3):
        with Play(GivesRestBack) as play:
            for each in (step("order"), step("pay"), step("wait", "10s")):
                each.take(play)
            for act in acts:
                before = len(play.story.calls)
                act.take(play)
                play.wait("10s")
                assert len(play.story.calls) == before + 2, (acts, act)


def test_the_acts_can_be_on_another_order() -> None:
    """Nothing else differs, and no act is left on the first one."""
    first, third = lifecycles(2), lifecycles(2, 3)

    assert {each for acts in third for each in acts if 1 in each.arguments} == set()
    assert [[str(each).replace("3", "1") for each in acts] for acts in third] == [
        list(map(str, acts)) for acts in first
    ]


@pytest.mark.parametrize(
    ("wrong", "correct", "reason", "found"),
    [
        (
            CancelsWhileDisputed,
            GivesRestBack,
            "refunds, a cancellation and a dispute meet",
            "keeps 49.90 EUR of order-1, which was cancelled after its payment; it neither goes back",
        ),
        (AsksOnce, GivesRestBack, "which fails once", "whose refund failed; it neither goes back in the end"),
        (LeavesMixturesToJobs, SmallShop, "events are all that tells of refunds", "answered 200 to the dispute.closed"),
        (IgnoresLateEvents, SmallShop, "no job runs before them", "answered 200 to the refund.succeeded"),
        (
            ReleasesWhatWasLost,
            WorksInItsJobs,
            "no job runs between two changes",
            "of which 49.90 EUR is disputed or was",
        ),
        (
            KeepsItsKey,
            GivesRestBack,
            "a dispute that the merchant has not heard of",
            "keeps 49.90 EUR of order-1, which was cancelled after its payment; it neither goes back",
        ),
        (QueuesAgain, QueuesDeposits, "no job has sent the request yet", "made 2 deposits for order-1"),
        (LooksOnce, QueuesRefunds, "no job has sent the refund yet", "of which 49.90 EUR is disputed"),
        (BelievesASuccess, SmallShop, "two changes are told in reverse", "calls it partly_refunded; the"),
        (ReadsAPage, SmallShop, "disputes or refunds fill more than a page", "order-1 paid in the end"),
        (ReadsAPage, SmallShop, "is behind a page that is not the shop's", "order-1 paid in the end"),
    ],
)
def test_what_meets_a_dispute_or_comes_late_is_found(
    wrong: type[Merchant], correct: type[Merchant], reason: str, found: str
) -> None:
    """Each by the plays that have it, which a correct shop passes."""
    assert found in verdict(wrong, reason)
    assert not verdict(correct, reason)


def test_two_cancellations_at_once_happen_once() -> None:
    """What a second one finds must not be what the first one has found."""

    def cancelled_twice(play: CataloguePlay) -> bool:
        return any(each.command == "cancel" and ("meanwhile", "second click") in each.options for each in play.steps)

    found = next(verdicts_of(RestocksTwice, cancelled_twice), "")

    assert "restocked" in found
    assert not list(verdicts_of(RestocksOnce, cancelled_twice))
    assert not list(verdicts_of(TakesUpAgain, cancelled_twice))


def test_a_second_cancellation_that_is_declined_leaves_the_order_cancelled() -> None:
    """The first one was taken while the second one ran."""

    class DeclinesTheOuter(SmallShop):
        entered = 0

        def cancel(self, order_id: str) -> None:
            self.entered += 1
            mine = self.entered
            self.service.checkpoint()
            if mine < self.entered:
                raise Refused
            assert order_id in self.orders

    with Play(DeclinesTheOuter) as play:
        play.order()
        play.cancel(1, meanwhile="second click")
        play.pay(1)

        assert play.orders[0].cancellations == 1
        assert not any("paid for" in each for each in play.story.sentences)


def test_what_a_dispute_has_left_of_a_refund_may_go_back() -> None:
    """Somebody has asked for more than is there by then; without a dispute it is wrong as before."""
    with Play(TakesWhatIsLeft) as play:
        for each in ("order", "pay"):
            getattr(play, each)()
        play.wait("10s")
        play.provider("dispute half")
        play.refund()
        play.provider("dispute lost")
        play.wait("10s")
        play.wait("10s")

        assert play.balance() == 0


@pytest.mark.parametrize(
    ("merchant", "acts", "found"),
    [
        (TakesTooLittle, (), r"24\.95 EUR of order-1, which nobody had requested"),
        (TakesTooMuch, ("dispute", "dispute won"), r"49\.90 EUR of order-1, which nobody had requested"),
    ],
)
def test_another_amount_is_no_rest_of_a_refund(merchant: type[Merchant], acts: tuple[str, ...], found: str) -> None:
    """Without a dispute nothing can be missing, and a rest is less than what was asked for."""
    with pytest.raises(MerchantBug, match=found), Play(merchant) as play:
        play.order()
        play.pay()
        play.wait("10s")
        for act in acts:
            play.provider(act)
        play.refund(1, "all" if merchant is TakesTooLittle else "half")


@pytest.mark.parametrize("cancelled", [1, 2])
def test_refunds_that_are_refused_to_the_end_excuse_a_merchant(cancelled: int) -> None:
    """Those of other orders too, and of orders that are placed later: the trouble meets them all."""

    class StopsWhenRefused(GivesRestBack):
        asks_again = False

    class ShowsCancelled(StopsWhenRefused):
        def order_status(self, order_id: str) -> str:
            return "cancelled" if order_id in self.cancelled else super().order_status(order_id)

    for merchant in (StopsWhenRefused, ShowsCancelled):
        with Play(merchant) as play:
            play.order()
            play.refund(1, trouble="unknown code", lasts="end")
            play.order()
            play.pay(cancelled)
            play.wait("10s")
            play.cancel(cancelled)


def test_who_has_requested_a_refund_hears_of_its_failure() -> None:
    """The promise is about the money that was left when the order was cancelled."""

    class GivesBackAtOnce(GivesRestBack):
        def tick(self) -> None:
            SmallShop.tick(self)

    with Play(GivesBackAtOnce) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.cancel()
        play.wait("10s")
        play.provider("refund fails late")
        play.wait("25h")
