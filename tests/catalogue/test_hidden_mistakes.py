"""Plays for mistakes that only show behind something else: each is found, and the correct shop passes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from bugzoo.adapter import ZooMerchant
from bugzoo.shop import Shop
from bugzoo.store import Row, Store
from bugzoo.unusual_shops import PacksLater
from small_shop import SmallOrder, SmallShop, Unknown, Wish
from verdicts_of import verdicts_of

from paydouble.core.instants import parse_instant
from paydouble.stateful import Merchant, Play, Refused, ServiceLike
from paydouble.stateful.catalogue import catalogue


def verdict(merchant: type[Merchant], *words: str) -> str | None:
    """Return the first finding of the plays of the catalogue whose steps have all of some words."""
    return next(verdicts_of(merchant, lambda play: all(word in str(play.steps) for word in words)), None)


class WholeSeconds(Store):
    """Orders states by whole seconds, and takes the later arrival of one second."""

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return updated_at[:19] >= str(old["updated_at"])[:19]


class StrictlyLaterSeconds(Store):
    """Takes a state only when it is of a later second."""

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return updated_at[:19] > str(old["updated_at"])[:19]


class StrictlyLater(Store):
    """Takes a state only when it is later, although the service may cut the fractions of a second off."""

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return updated_at > str(old["updated_at"])


class BelievesLists(Shop):
    """Takes a deposit that no list shows for one that was never made, and begins anew at the next click."""

    def is_lost(self, order_id: str) -> bool:
        if super().is_lost(order_id):
            self.store.run("update orders set key = null where id = ?", order_id)
        return False


class StopsAtKnown(Shop):
    """Reads the list of payments until a page has no news."""

    def reconcile(self) -> None:
        cursor, news = "", True
        while news:
            listed = self.client.get(f"/pay-in?limit=100{cursor}") or {"items": [], "next_cursor": None}
            news = False
            for each in listed["items"]:
                if self.store.order(each["external_identifier"]):
                    news |= self.store.believe("payin", each["external_identifier"], each)
                    self.ship_what_is_paid(each["external_identifier"])
            cursor = f"&cursor={listed['next_cursor']}"
            news &= bool(listed["next_cursor"])


class StopsAtTheFirst(Shop):
    """Sends nothing more in a job once a deposit could not be made."""

    def reconcile(self) -> None:
        for order in self.store.all("select * from orders where key is not null"):
            if not self.look_up(order["id"]) and self.is_lost(order["id"]):
                self.resend(order["id"])
                if self.is_lost(order["id"]):
                    break


def shop(**parts: Any) -> type[ZooMerchant]:  # noqa: ANN401 - parts of the zoo's merchant
    """Return the correct merchant with other parts."""
    return type("ShopAdapter", (ZooMerchant,), parts)


@pytest.mark.parametrize(
    ("parts", "words", "found"),
    [
        ({"store_part": WholeSeconds}, ["'succeeds'", "3400ms"], "calls it pending"),
        ({"store_part": StrictlyLaterSeconds}, ["'succeeds'", "3400ms"], "still calls it pending"),
        ({"shop_part": BelievesLists}, ["not found yet", "8m"], "made 2 deposits"),
        ({"shop_part": StopsAtTheFirst}, ["request lost", "stored 500"], "though its jobs made one for order-1"),
        ({"shop_part": StopsAtKnown}, ["other_system"], "the service's ledger says paid"),
    ],
)
def test_each_class_finds_its_mistake(parts: dict[str, Any], words: list[str], found: str) -> None:
    """The correct shop passes the same plays."""
    assert found in str(verdict(shop(**parts), *words))
    assert verdict(ZooMerchant, *words) is None


def test_states_of_the_same_time_are_told_apart_by_what_they_are() -> None:
    """The success of a payment may have the time of the state before it, also when it is read."""
    found, correct = (
        next(verdicts_of(each, lambda play: play.reason == "two states have the same time"), None)
        for each in (shop(store_part=StrictlyLater), ZooMerchant)
    )

    assert "calls it pending" in str(found)
    assert correct is None


class TakesTheLastOfTwo(SmallShop):
    """Takes what comes last for newer when both have the same time."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return bool(resource["updated_at"] >= old["updated_at"])


def test_events_of_the_same_time_may_come_in_any_order() -> None:
    """The success stays, whatever comes after it."""
    found, correct = (
        next(verdicts_of(each, lambda play: play.reason == "events of the same time come in another order"), None)
        for each in (TakesTheLastOfTwo, SmallShop)
    )

    assert found is not None
    assert "pending" in found
    assert correct is None


class NoNextTry(SmallShop):
    """Keeps no time for the next attempt after a 429 that says none."""

    waits = False

    def send(self, wish: Wish, path: str) -> None:
        if not self.waits:
            super().send(wish, path)

    def until_reset(self, headers: Any) -> float:  # noqa: ANN401 - headers
        if "X-RateLimit-Reset" not in headers:
            self.waits = True
            raise Unknown
        return SmallShop.until_reset(self, headers)


def test_an_attempt_is_not_left_pending_after_a_day_of_jobs() -> None:
    """Whatever the click met; a shop may need the day until a key is no longer valid."""
    words = ["429 without headers", "59m"]

    assert "no deposit for it; long before, the service refuses the request (429 without headers)" in str(
        verdict(NoNextTry, *words)
    )
    assert verdict(SmallShop, *words) is None


class ReadsWin(SmallShop):
    """Takes what a read says for the newest state."""

    asks = False

    def ask(self, order_id: str) -> bool:
        self.asks = True
        try:
            return super().ask(order_id)
        finally:
            self.asks = False

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return self.asks or super().is_newer(resource, old)


class LastDisputeWins(SmallShop):
    """Takes the event of a dispute that arrives last for the newest one."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return resource["object"] == "dispute" or super().is_newer(resource, old)

    def ask(self, order_id: str) -> bool:
        """Ask for nothing, so that events are all that tells."""
        return bool(order_id)


class HoldsDisputed(SmallShop):
    """Refunds nothing of which it calls a dispute open."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Look at the disputes first."""
        if any(each["status"] not in {"won", "lost"} for each in self.of(order_id, "dispute")):
            raise Refused
        super().refund(order_id, refund_id, amount)


class HoldsOldDispute(HoldsDisputed, LastDisputeWins):
    """Does so by the event of a dispute that arrives last, so that one under review stays so after it was won."""


class NeverRefundsDisputed(SmallShop):
    """Has a rule that nothing is refunded of which there ever was a dispute."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Look for any dispute."""
        if self.of(order_id, "dispute"):
            raise Refused
        super().refund(order_id, refund_id, amount)


class HoldsGoods(SmallShop):
    """Takes no ticket at the door while a dispute is open."""

    def is_held(self, disputes: list[dict[str, Any]]) -> bool:
        return any(each["status"] in {"needs_response", "under_review"} for each in disputes)

    def shipments(self, order_id: str) -> int:
        return 0 if self.is_held(self.of(order_id, "dispute")) else super().shipments(order_id)


class HoldsForSomeMinutes(HoldsGoods):
    """Lets the guest in when nobody has decided after five minutes."""

    def shipments(self, order_id: str) -> int:
        held = super().shipments(order_id)
        disputed = [each["updated_at"] for each in self.of(order_id, "dispute")]
        is_over = disputed and parse_instant(max(disputed)) <= self.service.now() * 1000 - 300_000
        return self.orders[order_id].shipped if is_over else held


class HoldsByNewestDispute(HoldsGoods):
    """Looks at the newest one alone."""

    def is_held(self, disputes: list[dict[str, Any]]) -> bool:
        return super().is_held(disputes[-1:])


class PacksAccepted(PacksLater):
    """Sends the goods of a dispute that was accepted, too."""

    def is_wanted(self, order: SmallOrder) -> bool:
        return bool(super().is_wanted(order) or self.of(order.id, "dispute", "accepted"))


class OneTimeForAnOrder(SmallShop):
    """Takes news of a payment for old when those of another attempt of the same order are newer."""

    def learn(self, resource: dict[str, Any]) -> None:
        """Compare with all attempts."""
        order_id = self.order_of(resource)
        others = self.of(order_id, "payin") if order_id and resource["object"] == "payin" else []
        if all(each["updated_at"] <= resource["updated_at"] for each in others):
            super().learn(resource)


class FindsByAmount(SmallShop):
    """Takes an earlier refund of the same amount for the one that got no answer."""

    pauses = ()

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if wish.state == "open" and "refund" in path and self.of(wish.order_id, "refund"):
            wish.state = "made"


class ShipsFromAQueue(SmallShop):
    """Notes that a payment has come, and ships in its job whatever has become of it."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.queue: list[SmallOrder] = []

    def ships_now(self, order: SmallOrder) -> bool:
        if order not in self.queue:
            self.queue.append(order)
        return False

    def tick(self) -> None:
        super().tick()
        for order in self.queue:
            order.shipped = 1


class ShipsOnlyPaid(ShipsFromAQueue):
    """Ships what is called paid when its job runs, and nothing of which a part has gone back."""

    def tick(self) -> None:
        SmallShop.tick(self)
        for order in self.queue:
            order.shipped |= self.order_status(order.id) == "paid"


class DropsRefunded(ShipsFromAQueue):
    """Decides once, in its job, whether an order is shipped: not when all of its money was given back."""

    def tick(self) -> None:
        SmallShop.tick(self)
        for order in self.queue:
            order.shipped |= self.order_status(order.id) != "refunded"
        self.queue.clear()

    def ships_now(self, order: SmallOrder) -> bool:
        return not self.of(order.id, "refund") and super().ships_now(order)


@pytest.mark.parametrize(
    ("merchant", "words", "found"),
    [
        (ReadsWin, ["overtaken"], "called order-1 paid and now calls it pending"),
        (LastDisputeWins, ["'reverse'", "'dispute lost'"], "calls it paid; the service's ledger says charged_back"),
        (FindsByAmount, ["(1, 'half', '503')"], "never refunded 24.95 EUR of order-1, though it took the request"),
        (HoldsByNewestDispute, ["'another dispute'", "'dispute won'"], "a dispute is open for which it had held them"),
        (PacksAccepted, ["'dispute accepted'"], "fulfilled order-1 after all of its money was charged back"),
        (ShipsOnlyPaid, ["'pass_time'", "(1, 'half')"], "never fulfilled order-1, of which a part was given back"),
        (
            OneTimeForAnOrder,
            ["'late four'", "'late money'"],
            "has a balance of 49.90 EUR for order-1; it should be 99.80",
        ),
        (HoldsOldDispute, ["'reverse'", "(2, 'half')"], "refuses to refund 24.95 EUR of order-2, whose dispute"),
        (ShipsFromAQueue, ["'pass_time'", "(1, 'all')"], "fulfilled order-1 after all of its money was given back"),
    ],
)
def test_what_happens_late_or_looks_alike(merchant: type[Merchant], words: list[str], found: str) -> None:
    """A read that an event overtakes, a dispute in another order, a second refund, goods after a refund."""
    assert found in str(verdict(merchant, *words))
    assert verdict(SmallShop, *words) is None


def test_a_read_that_an_event_overtakes_comes_early() -> None:
    """It does nothing where no event is under way."""
    early = [play for play in catalogue()[:1_100] if not play.reason]

    overtaken = [play for play in early if "overtaken" in str(play.steps)]
    assert any("now calls it pending" in each for each in verdicts_of(ReadsWin, lambda play: play in overtaken))


@pytest.mark.parametrize("merchant", [HoldsGoods, HoldsForSomeMinutes])
def test_goods_may_be_held_back_while_any_dispute_is_open(merchant: type[Merchant]) -> None:
    """Until the last one has ended, or for some time."""
    assert list(verdicts_of(merchant, lambda play: "another dispute" in str(play.steps))) == []
    with Play(merchant) as play:
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.wait("10m")
        play.wait("10m")


@pytest.mark.parametrize("merchant", [HoldsDisputed, NeverRefundsDisputed])
def test_refunds_after_a_dispute_may_be_refused(merchant: type[Merchant]) -> None:
    """While it is open, or on principle; only what was refunded once has to be refunded again in the same case."""
    assert verdict(merchant, "(2, 'half')") is None
    with Play(merchant) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.wait("10s")
        play.refund(1, "half")


def test_a_dispute_whose_end_was_not_heard_may_still_hold_a_refund() -> None:
    """The second dispute is won as the first one, but its event has not come and no job has asked."""
    with Play(HoldsDisputed) as play:
        for number in (1, 2):
            play.order()
            play.pay(number)
            play.wait("10s")
            play.provider("dispute", number)
            play.wait("10s")
            if number == 2:
                play.webhooks("drop all")
            play.provider("dispute won", number)
            if number == 1:
                play.wait("10s")
                play.wait("10s")
            play.refund(number, "half")


def test_who_asked_for_all_of_the_money_may_get_no_goods() -> None:
    """The customer no longer wants them, whether that refund fails later or not."""
    with Play(DropsRefunded) as play:
        play.order()
        play.pay()
        play.pass_time("10s")
        play.refund()
        play.pass_time("10s")
        play.wait("10s")
        play.provider("refund fails late")
