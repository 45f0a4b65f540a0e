"""Several disputes of a payment, and refunds after one that failed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from bugzoo.unusual_shops import NeverAsks
from late_shipping_shop import ShipsUntouchedOnly
from returning_shop import ReturnsTheSecond
from small_shop import LOST, Declined, SmallOrder, SmallShop, Unknown, Wish
from verdicts_of import verdicts_of

from paydouble.payments.resources import Refund
from paydouble.stateful import Merchant, MerchantBug, Play, Refused
from paydouble.stateful.steps import step

HALF_AN_HOUR_SECONDS = 1800
DAY_SECONDS = 86_400


class CountsFailedRefunds(SmallShop):
    """Adds up what was asked for, and not what became of it."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Refuse what is more than the rest."""
        order = self.orders[order_id]
        asked = sum((Decimal(str(amount)) for _ in order.refunds), Decimal(0))
        if refund_id not in order.refunds and asked + amount > order.amount:
            raise Refused
        super().refund(order_id, refund_id, amount)


class KnowsItsOwnRefunds(SmallShop):
    """Knows only refunds that it has asked for itself."""

    def of(self, order_id: str, kind: str, *statuses: str) -> list[dict[str, Any]]:
        """Leave out the refunds without its identifier."""
        found = super().of(order_id, kind, *statuses)
        return [each for each in found if kind != "refund" or each.get("external_identifier")]


class TakesItForItsOwn(SmallShop):
    """Looks a refund up by its amount before it asks for it."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Ask for none when there is one of this amount."""
        if all(Decimal(str(each["amount"])) != amount for each in self.of(order_id, "refund")):
            super().refund(order_id, refund_id, amount)


def _give_up(shop: SmallShop) -> None:
    """Leave the refunds that have no answer alone from now on."""
    for order in shop.orders.values():
        for wish in order.refunds.values():
            wish.state = "given up" if wish.state == "open" else wish.state


class TriesToReturnItOnce(ReturnsTheSecond):
    """Tries only once to give back what was paid twice."""

    demands = ("double payment",)

    def tick(self) -> None:
        """Leave a refund that has no answer alone."""
        super().tick()
        _give_up(self)


class GivesUp(SmallShop):
    """Tries a refund for some seconds, and again only when somebody asks for it again."""

    def tick(self) -> None:
        """Leave refunds that have no answer alone."""
        _give_up(self)
        super().tick()


class RepeatsFailedRefunds(SmallShop):
    """Asks again by itself for a refund that has failed, and refuses another one until then."""

    def failed_ones(self, order_id: str) -> list[str]:
        """Return the refunds that have failed and were not repeated."""
        failed = {each["external_identifier"] for each in self.of(order_id, "refund", "failed")}
        return [each for each in self.orders[order_id].refunds if each in failed and f"{each}+" not in failed]

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Refuse while a refund that has failed waits to be repeated."""
        if refund_id not in self.orders[order_id].refunds and self.failed_ones(order_id):
            raise Refused
        super().refund(order_id, refund_id, amount)

    def tick(self) -> None:
        """Repeat what has failed."""
        for order in self.orders.values():
            for each in self.failed_ones(order.id):
                if f"{each}+" not in order.refunds:
                    order.refunds[f"{each}+"] = self.repetition(order, each)
        super().tick()

    def repetition(self, order: SmallOrder, refund_id: str) -> Wish:
        """Return what is sent in place of a refund that has failed."""
        body = order.refunds[refund_id].body.replace(refund_id.encode(), f"{refund_id}+".encode())
        return self.wish(order.id, body.decode())


class RepeatsAnHourLater(RepeatsFailedRefunds):
    """Waits before it repeats a refund that has failed, and takes others until then."""

    def failed_ones(self, order_id: str) -> list[str]:
        """Return those that failed half an hour ago."""
        before = datetime.fromtimestamp(self.service.now() - HALF_AN_HOUR_SECONDS, UTC)
        late = {
            each["external_identifier"]
            for each in self.of(order_id, "refund", "failed")
            if datetime.fromisoformat(each["updated_at"]) > before
        }
        return [each for each in super().failed_ones(order_id) if each not in late]


class RepeatsADayLater(RepeatsFailedRefunds):
    """Waits for a day before it repeats a refund that has failed, and refuses others until then."""

    def tick(self) -> None:
        """Repeat what has failed a day ago."""
        day_ago = datetime.fromtimestamp(self.service.now() - DAY_SECONDS, UTC)
        for order in self.orders.values():
            failed = self.of(order.id, "refund", "failed")
            if all(datetime.fromisoformat(each["updated_at"]) < day_ago for each in failed):
                super().tick()


class RepeatsUnderTheOldKey(RepeatsAnHourLater):
    """Copies the request of the refund that has failed, and so gets its stored answer."""

    def repetition(self, order: SmallOrder, refund_id: str) -> Wish:
        """Return the same key and body as before."""
        failed = order.refunds[refund_id]
        return Wish(order.id, failed.key, failed.body, failed.since)


class LooksAtOldRefunds(SmallShop):
    """Lets a person look at a refund that may have been made, once its key is too old to ask again."""

    def is_too_old(self, wish: Wish) -> bool:
        """Return whether nobody knows what became of a refund."""
        return wish.state == "open" and self.service.now() - wish.since > DAY_SECONDS

    def send(self, wish: Wish, path: str) -> None:
        """Leave out what is too old."""
        if not self.is_too_old(wish):
            super().send(wish, path)

    def status_of_paid(self, order: SmallOrder) -> str:
        """Return `review` for an order with such a refund."""
        return "review" if any(map(self.is_too_old, order.refunds.values())) else super().status_of_paid(order)


def test_a_refund_that_is_too_old_may_be_looked_at() -> None:
    """Its request was lost, and no job ran for two days: to send it again under a new key might give it back twice."""
    with Play(LooksAtOldRefunds) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund(trouble="request lost", lasts="end")
        play.outage("50h")
        assert play.status() == "review"


class TakesTheSeatBack(SmallShop):
    """Gives a seat free after any refund, also of a part."""

    def shipments(self, order_id: str) -> int:
        return 0 if self.of(order_id, "refund", "succeeded") else super().shipments(order_id)


def test_a_seat_that_is_taken_from_a_paid_customer_is_told_as_that() -> None:
    """The customer had it, so it is not one that never came."""
    with pytest.raises(MerchantBug, match="no longer fulfils order-1, of which a part"), Play(TakesTheSeatBack) as play:
        play.pay()
        play.wait("10s")
        play.refund(share="half")
        play.wait("10s")


class GivesTheSeatFree(SmallShop):
    """Gives a seat free when all of its money is asked back, before the service has said anything."""

    declines = False
    """Whether it tells its customer that the service has refused the refund."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        super().refund(order_id, refund_id, amount)
        if self.declines and self.orders[order_id].refunds[refund_id].state == "refused":
            raise Refused

    def shipments(self, order_id: str) -> int:
        order = self.orders[order_id]
        return 0 if order.refunds and order.shipped else super().shipments(order_id)


class DeclinesAndKeepsTheSeat(GivesTheSeatFree):
    """Tells the customer no, and does not give the seat back."""

    declines = True


@pytest.mark.parametrize("trouble", ["unknown code", "stored 500"])
def test_who_asks_all_money_back_wants_no_goods(trouble: str) -> None:
    """Also as long as the refund is open, and when the service has refused it and a person has to see to it."""
    with Play(GivesTheSeatFree) as play:
        play.pay()
        play.wait("10s")
        play.refund(trouble=trouble)
        play.wait("10s")


def test_who_is_told_no_keeps_the_goods() -> None:
    """The catalogue has the play."""
    kept = "The merchant no longer fulfils order-1, which is paid"
    assert kept in set(
        verdicts_of(DeclinesAndKeepsTheSeat, lambda play: step("refund", 1, "all", "unknown code") in play.steps)
    )


class GivesNoRequestUp(SmallShop):
    """Leaves what got no answer open, however old it is."""

    def send(self, wish: Wish, path: str) -> None:
        try:
            self.learn(self.post(path, wish))
            wish.state = "made"
        except Unknown:
            pass


class TakesOffAtOnce(GivesNoRequestUp):
    """Takes the money of a refund off when it is asked for, and repeats the request as long as its key is valid."""

    def balance(self, order_id: str) -> Decimal:
        return super().balance(order_id) - self.promised(self.orders[order_id])

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        body = f'{{"payin_id": "{self.of(order_id, "payin")[0]["id"]}", "amount": {amount}}}'
        wish = self.orders[order_id].refunds.setdefault(refund_id, self.wish(order_id, body))
        self.send_first(wish, "/refund/refund-creation")

    def tick(self) -> None:
        for order in self.orders.values():
            for wish in order.refunds.values():
                if wish.state == "open":
                    self.send(wish, "/refund/refund-creation")


class TakesOffAndGivesUp(TakesOffAtOnce):
    """Does not repeat it."""

    def tick(self) -> None:
        pass


def test_a_refund_that_a_stored_error_answers_may_be_taken_off() -> None:
    """Its key is valid for a day. A refund that is not asked for any more is not taken off."""
    with Play(TakesOffAtOnce) as play:
        play.crowd(2)
        play.wait("10s")
        play.refund_for_all("all", "stored 500")
    off = r"has a balance of 0\.00 EUR for order-1; it should be 49\.90"
    with pytest.raises(MerchantBug) as found, Play(TakesOffAndGivesUp) as play:
        play.pay()
        play.wait("10s")
        play.refund(trouble="503", lasts="end")
    assert re.search(off, str(found.value))


class SuspendsTickets(SmallShop):
    """Its tickets are not valid during a dispute, and not after a refund has succeeded."""

    def shipments(self, order_id: str) -> int:
        is_held = any(each["status"] != "won" for each in self.of(order_id, "dispute"))
        return 0 if is_held or self.of(order_id, "refund", "succeeded") else super().shipments(order_id)


class RevivesTickets(SuspendsTickets):
    """Makes them valid again when a dispute is won, also after a refund."""

    def shipments(self, order_id: str) -> int:
        return super().shipments(order_id) or int(bool(self.of(order_id, "dispute", "won")))


def _refund_and_win(merchant: type[Merchant], *, waits: bool) -> None:
    with _story(merchant) as play:
        play.refund()
        if waits:
            play.wait("10s")
        play.provider("dispute")
        play.provider("dispute won")


def test_a_ticket_may_be_valid_again_while_its_refund_is_under_way() -> None:
    """The customer had it before the dispute, and the refund may still fail; once it has succeeded, he may not."""
    _refund_and_win(SuspendsTickets, waits=False)
    _refund_and_win(SuspendsTickets, waits=True)
    with pytest.raises(MerchantBug, match="fulfilled order-1 after all of its money was given back"):
        _refund_and_win(RevivesTickets, waits=True)


class ReturnsBoth(ReturnsTheSecond):
    """Gives back all of it."""

    kept = 0


def _pay_twice(merchant: type[Merchant]) -> None:
    with Play(merchant) as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.retry()
        play.wait("10s")
        play.provider("late money")
        play.wait("10s")


def test_what_was_paid_twice_may_go_back_unasked() -> None:
    """Once, and the order is still paid; a second refund is one that nobody asked for."""
    _pay_twice(ReturnsTheSecond)
    with pytest.raises(MerchantBug, match=r"refunded 49\.90 EUR of order-1 2 times, which nobody had requested"):
        _pay_twice(ReturnsBoth)


def _story(merchant: type[Merchant]) -> Play:
    play = Play(merchant)
    play.order()
    play.pay()
    play.wait("10s")
    return play


def _refund_after_failures(merchant: type[Merchant]) -> None:
    with _story(merchant) as play:
        for _ in range(2):
            play.refund(1, "half")
            play.wait("10s")
            play.provider("refund fails late")
            play.wait("10s")
        play.refund(1, "half")
        play.wait("10s")


def test_a_refund_that_failed_is_no_longer_counted() -> None:
    """As much is left as before; a merchant that refuses the next refund counts the one that failed."""
    _refund_after_failures(SmallShop)
    with pytest.raises(MerchantBug, match=r"refuses to refund 24\.95 EUR of order-1, though as much is left as when"):
        _refund_after_failures(CountsFailedRefunds)


@pytest.mark.parametrize("merchant", [RepeatsFailedRefunds, RepeatsADayLater])
def test_a_merchant_may_repeat_a_failed_refund_by_itself(merchant: type[Merchant]) -> None:
    """Until then it may refuse another one."""
    with _story(merchant) as play:
        play.refund(1, "half")
        play.wait("10s")
        play.sandbox.activate_scenario("refund-fails")
        play.pass_time("10s")
        play.provider("refund fails late")
        play.pass_time("1s")
        play.refund(1, "half")


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        (
            RepeatsUnderTheOldKey,
            "The merchant refuses to refund 49.90 EUR of order-1, though as much is left as when it took such a refund",
        ),
        (RepeatsAnHourLater, None),
        (RepeatsFailedRefunds, None),
    ],
)
def test_a_repetition_that_is_never_made_is_found(merchant: type[Merchant], verdict: str | None) -> None:
    """When the refund is requested once more, long after the one that has failed."""
    told = set(verdicts_of(merchant, lambda play: play.reason == "the jobs may have made the failed refund again"))

    assert told == {verdict} - {None}


@pytest.mark.parametrize("ends", [("dispute lost", "dispute won"), ("dispute won", "dispute lost")])
def test_a_payment_has_several_disputes(ends: tuple[str, str]) -> None:
    """One of two is lost, so half of the money is gone."""
    with _story(SmallShop) as play:
        for what in ("dispute half", "another dispute", *ends):
            play.provider(what)
        play.wait("10s")
        assert play.balance() == Decimal("24.95")


def test_an_accepted_dispute_is_lost() -> None:
    """The money is gone as after a decision."""
    with _story(SmallShop) as play:
        play.provider("dispute")
        play.provider("dispute accepted")
        play.wait("10s")
        assert play.balance() == 0


def test_a_dispute_under_review_is_decided_once() -> None:
    """An update in between moves no money."""
    with _story(SmallShop) as play:
        for what in ("dispute", "dispute under review", "dispute lost"):
            play.provider(what)
        play.wait("10s")
        assert play.balance() == 0


class WaitsForTheKey(SmallShop):
    """Shows an order as pending for as long as an attempt has no answer."""

    def order_status(self, order_id: str) -> str:
        """Look at the open attempt first."""
        wish = self.orders[order_id].wish
        shown = super().order_status(order_id)
        return "pending" if wish is not None and wish.state == "open" and shown in {"failed", "unpaid"} else shown


def test_an_attempt_with_a_stored_error_is_open_whatever_came_before() -> None:
    """The shop cannot know what became of it before the key is a day old."""
    with Play(WaitsForTheKey) as play:
        play.order()
        play.pay()
        play.provider("fails")
        play.wait("10s")
        play.retry(1, trouble="stored 500")


@pytest.mark.parametrize(("what", "shown"), [("refund", "refunded"), ("refund half", "partly_refunded")])
def test_a_refund_of_the_staff_is_not_the_merchants(what: str, shown: str) -> None:
    """Its code has not asked for it, so it may not be blamed for it, and has to show it."""
    with _story(SmallShop) as play:
        play.provider(what)
        play.wait("10s")
        play.provider(what)  # there is one only
        assert (play.status(), play.sandbox.ledger.count(Refund)) == (shown, 1)
    with pytest.raises(MerchantBug, match=f"calls order-1 paid in the end; the service's ledger says {shown}"):
        _refund_of_the_staff(KnowsItsOwnRefunds, what)


def _refund_of_the_staff(merchant: type[Merchant], what: str) -> None:
    with _story(merchant) as play:
        play.provider(what)


def test_a_refund_of_the_staff_that_nothing_tells_is_not_judged() -> None:
    """A merchant has no reason to ask for refunds that its code has not made."""
    with _story(KnowsItsOwnRefunds) as play:
        play.webhooks("drop all")
        play.provider("refund")
        play.wait("10s")
        assert play.status() == "paid"


class CountsWhatIsUnknown(SmallShop):
    """Takes no refund of more than is left after those whose outcome is unknown."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Decline what may be too much."""
        order = self.orders[order_id]
        if refund_id not in order.refunds and any(each.state == "open" for each in order.refunds.values()):
            raise Refused
        super().refund(order_id, refund_id, amount)


def test_a_trouble_that_lasts_may_also_meet_the_refunds_of_later_orders() -> None:
    """A shop that does not know whether one was made may refuse another one."""
    with Play(CountsWhatIsUnknown) as play:
        for number in (1, 2):
            play.order()
            play.pay(number)
            play.wait("10s")
            if number == 1:
                play.refund(1, trouble="page with 200", lasts="end")
        play.refund(2)
        play.refund(2)
        play.provider("dispute half", 2)


class HoldsAfterFailedRefunds(ShipsUntouchedOnly):
    """Shows an order in review when a refund of it has failed, and sends nothing until a person has decided."""

    def order_status(self, order_id: str) -> str:
        """Look for failed refunds first."""
        return "review" if self.of(order_id, "refund", "failed") else super().order_status(order_id)


def test_goods_wait_for_who_decides_about_a_refund_that_has_failed() -> None:
    """Staff wanted to give a part back before the goods left."""
    with Play(HoldsAfterFailedRefunds) as play:
        play.pay(scenario="refund-fails")
        play.pass_time("10s")
        play.refund(1, "half")
        play.wait("10s")

    assert (play.status(), play.shipments()) == ("review", 0)


class TakesGoodsBack(HoldsAfterFailedRefunds):
    """Ships at once, and takes the goods back when a refund has failed."""

    def ships_now(self, order: SmallOrder) -> bool:
        """Do not wait for the job."""
        return True

    def shipments(self, order_id: str) -> int:
        """Return what the customer has."""
        return 0 if self.of(order_id, "refund", "failed") else super().shipments(order_id)


def test_goods_that_were_sent_are_not_taken_back_for_a_refund_that_has_failed() -> None:
    """The person who decides about the money does not decide about the goods."""
    with pytest.raises(MerchantBug, match="no longer fulfils order-1"), Play(TakesGoodsBack) as play:
        play.pay(scenario="refund-fails")
        play.wait("10s")
        play.refund(1, "half")
        play.wait("10s")


def test_staff_that_gives_a_part_back_before_the_goods_are_sent_may_keep_them() -> None:
    """Not so the shop's own code, which was asked for a part alone; what was sent may not be undone."""
    with Play(ShipsUntouchedOnly) as play:
        play.pay()
        play.pass_time("10s")
        play.provider("refund half")
        play.wait("10s")

    with pytest.raises(MerchantBug, match="never fulfilled order-1"), Play(ShipsUntouchedOnly) as play:
        play.pay()
        play.pass_time("10s")
        play.refund(1, "half")
        play.wait("10s")


class WithoutRefunds(KnowsItsOwnRefunds):
    """Has no refunds."""

    refund = Merchant.refund


def test_a_merchant_without_refunds_does_not_meet_one() -> None:
    """It need not understand their events."""
    with _story(WithoutRefunds) as play:
        play.provider("refund")
        assert play.sandbox.ledger.count(Refund) == 0
    assert step("provider", "refund half").missing(WithoutRefunds) == "no refund"


def _own_after_another(merchant: type[Merchant]) -> None:
    with _story(merchant) as play:
        play.provider("refund half")
        play.wait("10s")
        play.refund(1, "half")
        play.wait("10s")


def test_a_refund_of_the_staff_is_not_the_one_that_was_asked_for() -> None:
    """Both are of the same amount, and the merchant still has to make its own."""
    _own_after_another(SmallShop)
    with pytest.raises(MerchantBug, match=r"never refunded 24\.95 EUR of order-1, though it took the request"):
        _own_after_another(TakesItForItsOwn)


class ReviewsFailedRefunds(SmallShop):
    """Leaves an order with a failed refund to a person."""

    def status_of_paid(self, order: SmallOrder) -> str:
        """Say that somebody has to look at it."""
        return "review" if self.of(order.id, "refund", "failed") else super().status_of_paid(order)


class TakesThemForFinal(SmallShop):
    """Keeps a refund that has succeeded, whatever comes then."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        """Say no after its success."""
        is_over = old["object"] == "refund" and old["status"] == "succeeded"
        return not is_over and super().is_newer(resource, old)


class Never(TakesThemForFinal):
    """Knows that its service never does it."""

    refunds_can_fail_late = False


def _fail_late(merchant: type[Merchant]) -> str:
    with _story(merchant) as play:
        play.refund(1, "half")
        play.wait("10s")
        play.provider("refund fails late")
        play.wait("10s")
        return play.status()


def test_a_failed_refund_may_be_left_to_a_person() -> None:
    """The money has to go back in another way."""
    assert _fail_late(ReviewsFailedRefunds) == "review"
    assert _fail_late(SmallShop) == "paid"


class BooksAWonDisputeForGood(SmallShop):
    """Looks at no dispute that was won again."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        """Say no after it was won."""
        return old["status"] != "won" and super().is_newer(resource, old)


class NeverReopens(BooksAWonDisputeForGood):
    """Knows that its service never does it."""

    disputes_can_reopen = False


def test_a_dispute_that_reopens_is_told_as_what_the_contract_does_not_say() -> None:
    """The report names the setting, with which it is not played."""

    def lose(merchant: type[Merchant]) -> str:
        with _story(merchant) as play:
            for what in ("dispute", "dispute won", "dispute reopened", "dispute lost"):
                play.provider(what)
            play.wait("10s")
            return play.status()

    assert lose(SmallShop) == "charged_back"
    with pytest.raises(MerchantBug, match="set disputes_can_reopen to false"):
        lose(BooksAWonDisputeForGood)
    assert lose(NeverReopens) == "paid"
    assert step("provider", "dispute reopened").missing(NeverReopens) == "disputes_can_reopen is false"


class ClosesWhatIsRefunded(RepeatsFailedRefunds):
    """Calls an order cancelled as soon as it was asked to give all of its money back."""

    def order_status(self, order_id: str) -> str:
        asked = sum(each["amount"] for each in self.of(order_id, "refund"))
        return "cancelled" if asked >= self.orders[order_id].amount else super().order_status(order_id)


class ClosesAndForgets(ClosesWhatIsRefunded):
    """And does nothing when the refund has failed."""

    def tick(self) -> None:
        SmallShop.tick(self)


def test_an_order_whose_money_goes_back_may_be_closed() -> None:
    """Also while its refund has failed and waits to be made again; in the end it was."""

    def play(merchant: type[Merchant]) -> str:
        with _story(merchant) as play:
            play.refund(1, "all")
            play.wait("10s")
            play.provider("refund fails late")
            play.wait("10s")
            return play.status()

    assert play(ClosesWhatIsRefunded) == "cancelled"
    with pytest.raises(
        MerchantBug, match="calls order-1 cancelled in the end; the service's ledger says paid or review"
    ):
        play(ClosesAndForgets)


def test_a_refund_that_fails_late_is_told_as_what_the_contract_does_not_say() -> None:
    """The report names the setting, with which it is not played."""
    with pytest.raises(MerchantBug, match="set refunds_can_fail_late to false"):
        _fail_late(TakesThemForFinal)

    assert _fail_late(Never) == "partly_refunded"
    assert step("provider", "refund fails late").missing(Never) == "refunds_can_fail_late is false"
    assert step("provider", "refund fails").missing(Never) is None


@pytest.mark.parametrize("lasts", [6, "end"])
def test_a_trouble_that_waits_for_any_refund_is_met_by_one_that_was_asked_for(lasts: int | str) -> None:
    """So that one was disturbed, also one of an order that was placed later."""
    for placed_before in (True, False):
        with Play(GivesUp) as play:
            if placed_before:
                play.order()
            play.own_refunds("503", lasts=lasts)
            if not placed_before:
                play.order()
            play.pay()
            play.wait("10s")
            play.refund()


class ForgetsTheRefundOfTheSecond(SmallShop):
    """Takes it, and does nothing."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Make those of other orders."""
        if order_id != "order-2":
            super().refund(order_id, refund_id, amount)


def test_a_trouble_that_has_met_its_refund_excuses_no_other_one() -> None:
    """It is used up by the refund of the first order, so the next one has to be made."""
    with pytest.raises(MerchantBug, match=r"never refunded 49\.90 EUR of order-2"):
        _refund_both(ForgetsTheRefundOfTheSecond)

    _refund_both(SmallShop)


def _refund_both(merchant: type[Merchant]) -> None:
    with Play(merchant) as play:
        for number in (1, 2):
            play.order()
            play.pay(number)
        play.wait("10s")
        play.own_refunds("503")
        for number in (1, 2):
            play.refund(number)
            play.wait("10s")


def test_a_trouble_of_refunds_to_the_end_is_met_by_the_orders_that_follow() -> None:
    """None of their refunds can succeed, so the money stays."""
    with Play(TriesToReturnItOnce) as play:
        play.own_refunds("503", lasts="end")
        play.order()
        play.pay(1, scenario="abandoned")
        play.wait("25h")
        play.retry()
        play.wait("10s")
        play.provider("late money")
        play.wait("10s")


class GivesThePriceBack(SmallShop):
    """Gives back the price of an order that is cancelled, or what is left; a person looks at what is refused."""

    knows_rest = False

    def cancel(self, order_id: str) -> None:
        """Ask for the refund."""
        amount = self.balance(order_id) if self.knows_rest else self.orders[order_id].amount
        self.refund(order_id, f"{order_id}-cancelled", amount)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Leave what is too much to the service."""
        try:
            super().refund(order_id, refund_id, amount)
        except Refused:
            wanted = {"payin_id": self.of(order_id, "payin")[0]["id"], "external_identifier": refund_id}
            body = json.dumps({**wanted, "amount": float(amount)})
            self.orders[order_id].refunds[refund_id] = self.wish(order_id, body)
            self.send(self.orders[order_id].refunds[refund_id], "/refund/refund-creation")

    def order_status(self, order_id: str) -> str:
        """Show what a person has to look at."""
        is_refused = any(each.state == "refused" for each in self.orders[order_id].refunds.values())
        return "review" if is_refused else super().order_status(order_id)


class GivesTheRestBack(GivesThePriceBack):
    """Knows what is left."""

    knows_rest = True


def _half_is_given_back(shop: type[Merchant], then: Callable[[Play], None]) -> str:
    with Play(shop) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund(share="half")
        play.wait("10s")
        then(play)
        play.wait("10s")
    return play.status()


def test_a_refund_of_more_than_a_shop_shows_to_be_left_is_told() -> None:
    """Though a person looks at the order in the end."""
    told = "asked for a refund of 49.90 EUR of order-1, which it shows as partly refunded: 24.95 EUR is left"

    assert _half_is_given_back(GivesTheRestBack, Play.cancel) == "refunded"
    with pytest.raises(MerchantBug, match=told):
        _half_is_given_back(GivesThePriceBack, Play.cancel)


def test_a_person_may_look_at_a_refund_that_was_requested_and_refused() -> None:
    """Only one that the shop decided on itself shows that it cannot add up. To take a requested one is a policy."""
    assert _half_is_given_back(GivesThePriceBack, Play.refund) == "review"


class ShowsRefusedRefunds(SmallShop):
    """A person looks at an order of which a refund was refused."""

    def order_status(self, order_id: str) -> str:
        """Show what a person has to look at."""
        is_refused = any(each.state == "refused" for each in self.orders[order_id].refunds.values())
        return "review" if is_refused else super().order_status(order_id)


class NeverRepeatsARefusal(ShowsRefusedRefunds):
    """A person looks at its credentials too."""

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Send a request once."""
        headers = {**self.headers, "Idempotency-Key": wish.key, "Content-Type": "application/json"}
        answer = self.service.call("POST", f"/api/v1{path}", headers, wish.body)
        made = self.data(answer.body)
        if made is None:
            raise Declined
        return made


class GivesTwiceAsMuchBack(ShowsRefusedRefunds):
    """Asks for a refund of another amount than it was asked for."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Double it."""
        wanted = {"payin_id": self.of(order_id, "payin")[0]["id"], "external_identifier": refund_id}
        body = json.dumps({**wanted, "amount": float(amount * 3)})
        self.orders[order_id].refunds[refund_id] = self.wish(order_id, body)
        self.send(self.orders[order_id].refunds[refund_id], "/refund/refund-creation")


@pytest.mark.parametrize(
    ("shop", "trouble"),
    [(ShowsRefusedRefunds, "unknown code"), (NeverRepeatsARefusal, "401"), (GivesTwiceAsMuchBack, "none")],
)
def test_only_a_refusal_that_is_no_fault_of_the_shop_excuses_it(shop: type[Merchant], trouble: str) -> None:
    """A refusal for its own reason is shown as it is in the ledger."""

    def play() -> str:
        with Play(shop) as play:
            play.order()
            play.pay()
            play.wait("10s")
            play.refund(share="half", trouble=trouble)
            play.wait("10s")
        return play.status()

    if shop is not GivesTwiceAsMuchBack:
        assert play() == "review"
    else:
        with pytest.raises(MerchantBug, match="calls order-1 review in the end; the service's ledger says paid"):
            play()


class TrustsOldKeys(SmallShop):
    """Repeats a request under its key, however old that is."""

    def send(self, wish: Wish, path: str) -> None:
        """Send it."""
        try:
            self.learn(self.post(path, wish))
        except Unknown:
            return
        wish.state = "made"


def test_a_report_names_the_keys_of_a_refund_that_was_made_twice() -> None:
    """And that one has expired."""
    keys = r"\(key \w{8}… at 0 s, the same key, which has expired, at \d+ s after a request that met a trouble\)"
    told = rf"refunded 24.95 EUR of order-1 2 times {keys}; that was requested once"
    with pytest.raises(MerchantBug, match=told), Play(TrustsOldKeys) as play:
        play.pay()
        play.wait("10s")
        play.webhooks("drop all")
        play.refund(share="half", trouble="reply lost", lasts=6)
        play.pass_time("25h")
        play.wait("1m")


class CallsAPerson(SmallShop):
    """Leaves everything about an order to a person when the service has refused what it has to take."""

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Note it."""
        try:
            return super().post(path, wish)
        except Unknown:
            self.to_look_at.add(wish.order_id)
            raise

    @property
    def to_look_at(self) -> set[str]:
        """Return the orders that a person has to look at."""
        found: set[str] = self.__dict__.setdefault("_to_look_at", set())
        return found

    def ask(self, order_id: str) -> bool:
        """Leave it to the person."""
        return order_id not in self.to_look_at and super().ask(order_id)

    def send(self, wish: Wish, path: str) -> None:
        """Leave it to the person."""
        if wish.order_id not in self.to_look_at:
            super().send(wish, path)

    def order_status(self, order_id: str) -> str:
        """Show it."""
        return "review" if order_id in self.to_look_at else super().order_status(order_id)


@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize("call", ["pay", "refund"])
@pytest.mark.parametrize(("trouble", "then"), [("409", "none"), ("reply lost", "409"), ("503", "none")])
def test_a_person_may_look_at_what_the_service_refuses_against_the_contract(
    call: str, trouble: str, then: str, silent: bool
) -> None:
    """Also when a request before it was carried out. It may not where the contract says to try again."""

    def play() -> str:
        with Play(CallsAPerson) as play:
            if call == "pay":
                play.webhooks("drop all" if silent else "late")
                play.pay(trouble=trouble, then=then, lasts=6 if trouble == "503" else 0)
            else:
                play.pay()
                play.wait("10s")
                play.webhooks("drop all" if silent else "late")
                play.refund(share="half", trouble=trouble, then=then, lasts=6 if trouble == "503" else 0)
            play.wait("10s")
        return play.status()

    if trouble == "503":
        with pytest.raises(MerchantBug, match="calls order-1 review in the end"):
            play()
    else:
        assert play() == "review"


class AsksAPersonAboutOldKeys(SmallShop):
    """Shows what was never answered, and may not be sent again, to a person."""

    def order_status(self, order_id: str) -> str:
        """Show it."""
        wish = self.orders[order_id].wish
        is_shown = wish is not None and wish.state == "refused" and not self.of(order_id, "payin")
        return "review" if is_shown else super().order_status(order_id)


def test_a_person_may_look_at_a_deposit_whose_key_has_expired() -> None:
    """No request can tell any more what became of it. One that was refused in the contract's own words is judged."""
    with Play(AsksAPersonAboutOldKeys) as play:
        play.pay(trouble="request lost", lasts="end")
        play.pass_time("25h")
        play.wait("1m")

    assert play.status() == "review"
    with pytest.raises(MerchantBug, match="calls order-1 review in the end"), Play(AsksAPersonAboutOldKeys) as play:
        play.pay(trouble="method gone")
        play.wait("1m")


class RefundsInItsJob(SmallShop):
    """Notes a refund, and asks for it in a later job, of what is left by then."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Note it."""
        order = self.orders[order_id]
        if refund_id not in order.refunds:
            if amount > self.balance(order_id) - self.promised(order):
                raise Refused
            order.refunds[refund_id] = self.wish(order_id, json.dumps({"amount": str(amount)}))

    def promised(self, order: SmallOrder) -> Decimal:
        """Return the money of refunds that are noted or under way."""
        open_ones = (json.loads(each.body)["amount"] for each in order.refunds.values() if each.state == "open")
        return sum(map(Decimal, open_ones), Decimal(0))

    def tick(self) -> None:
        """Learn what there is, and ask for the refunds."""
        super().tick()
        for order in self.orders.values():
            for refund_id, wish in order.refunds.items():
                is_due = wish.state == "open" and self.service.now() - wish.since >= HALF_AN_HOUR_SECONDS
                if is_due and self.ask(order.id):
                    self.ask_for_what_is_left(order, refund_id, wish)

    def ask_for_what_is_left(self, order: SmallOrder, refund_id: str, wish: Wish) -> None:
        """Ask for the refund, or for less."""
        (pay_in,) = self.of(order.id, "payin", "succeeded")
        amount = min(Decimal(json.loads(wish.body)["amount"]), self.balance(order.id))
        body = f'{{"payin_id": "{pay_in["id"]}", "amount": {amount}, "external_identifier": "{refund_id}"}}'
        sent = self.wish(order.id, body)
        self.send(sent, "/refund/refund-creation")
        wish.state = sent.state

    def wishes(self, order: SmallOrder) -> Iterator[tuple[Wish, str]]:
        """Yield the deposits alone; the job has the refunds."""
        yield from ((wish, path) for wish, path in super().wishes(order) if path != "/refund/refund-creation")


def test_a_refund_is_what_staff_has_left_of_it() -> None:
    """A refund waits for a job, and staff refunds a half on the provider's pages: the customer gets all of it once."""
    with Play(RefundsInItsJob) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.provider("refund half")
        play.wait("1h")
        play.wait("10m")
        assert play.balance() == 0


def test_a_smaller_refund_without_one_of_staff_is_found() -> None:
    """Nothing says then why the customer should get less."""

    class Halves(RefundsInItsJob):
        def balance(self, order_id: str) -> Decimal:
            return super().balance(order_id) / 2 if self.orders[order_id].refunds else super().balance(order_id)

    with pytest.raises(MerchantBug) as caught, Play(Halves) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("1h")
    assert "24.95 EUR of order-1, which nobody had requested" in str(caught.value)


class GivesBackTheRest(SmallShop):
    """Ends an order of which the bank has taken a part: the other part goes back."""

    after: ClassVar[tuple[str, ...]] = LOST

    def tick(self) -> None:
        """Run the jobs, and give back what is left."""
        super().tick()
        for order in self.orders.values():
            left = self.balance(order.id) - self.promised(order)
            if self.of(order.id, "dispute", *self.after) and left:
                (pay_in,) = self.of(order.id, "payin", "succeeded")
                body = f'{{"payin_id": "{pay_in["id"]}", "amount": {left}, "external_identifier": "rest"}}'
                wish = order.refunds.setdefault("rest", self.wish(order.id, body))
                if wish.state == "open":
                    self.send(wish, "/refund/refund-creation")


def _half_is_disputed(merchant: type[Merchant], outcome: str) -> None:
    with Play(merchant) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.provider("dispute half")
        play.provider(f"dispute {outcome}")
        play.wait("1h")


def test_the_rest_may_go_back_after_a_lost_dispute() -> None:
    """The contract is silent about what becomes of the order."""
    _half_is_disputed(GivesBackTheRest, "lost")


def test_a_dispute_that_is_won_gives_nothing_back() -> None:
    """The money is the shop's again, and nobody has asked for it."""
    generous = type("Generous", (GivesBackTheRest,), {"after": ("won",)})
    with pytest.raises(MerchantBug, match=r"refunded 49\.90 EUR of order-1, which nobody had requested"):
        _half_is_disputed(generous, "won")


class TakesTheFirstAlike(SmallShop):
    """Asked again for a refund without an answer, takes an earlier one of the same amount for it."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Look for it first."""
        wish = self.orders[order_id].refunds.get(refund_id)
        is_there = any(each["amount"] == amount for each in self.of(order_id, "refund"))
        if wish is not None and wish.state == "open" and is_there:
            wish.state = "made"
        super().refund(order_id, refund_id, amount)


def test_a_refund_that_is_promised_once_more_is_due() -> None:
    """Also when the service had refused it before; a refusal since then is an answer."""
    for merchant in (SmallShop, TakesTheFirstAlike):
        play = Play(merchant)
        play.pay()
        play.wait("10s")
        play.refund(1, "half")
        play.wait("10s")
        play.refund(1, "half", "request lost", then="401")
        play.refund_again()
        play.wait("10s")
        if merchant is SmallShop:
            play.end()
        else:
            due = "never refunded 24.95 EUR of order-1, though it took the request and this request got through"
            with pytest.raises(MerchantBug, match=due):
                play.end()
        play.close()


class WaitsForNewCredentials(GivesNoRequestUp):
    """Repeats nothing for half a day after a 401."""

    refused_at = -1e9

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Ask when the time has come."""
        if self.service.now() - self.refused_at < 12 * 3600:
            raise Unknown
        try:
            return super().post(path, wish)
        except Unknown:
            self.refused_at = self.service.now()
            raise


def test_a_promised_refund_may_be_made_half_a_day_later() -> None:
    """In the end a day passes for it."""
    with Play(WaitsForNewCredentials) as play:
        play.pay()
        play.wait("10s")
        play.refund(1, "half", "request lost", then="401")
        play.refund_again()
        play.wait("10s")


def test_a_refusal_of_one_refund_is_no_answer_to_another() -> None:
    """When it names the other one."""

    class ForgetsTheFirst(SmallShop):
        def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
            if self.orders[order_id].refunds:
                super().refund(order_id, refund_id, amount)
            else:
                self.orders[order_id].refunds[refund_id] = Wish(order_id, "", b"", 0.0, "made")

    with pytest.raises(MerchantBug, match=r"never refunded 24\.95 EUR of order-1"), Play(ForgetsTheFirst) as play:
        play.pay()
        play.wait("10s")
        play.refund(1, "half")
        play.refund(1, "third", "403")
        play.wait("10s")


class ShipsEachSuccess(NeverAsks):
    """Sends the goods when the success of a payment is told, whatever has gone back by then."""

    def learn(self, resource: dict[str, Any]) -> None:
        """Send them."""
        super().learn(resource)
        order = self.orders[str(self.order_of(resource))]
        order.shipped = int(bool(self.of(order.id, "payin", "succeeded")))


@pytest.mark.parametrize("late", ["late", "overtake"])
def test_goods_are_not_sent_when_all_money_is_known_to_have_gone_back(late: str) -> None:
    """Also when staff has given it back. Within seconds of each other, either event may have been worked on first."""
    for merchant in (NeverAsks, ShipsEachSuccess):
        play = Play(merchant)
        play.pay()
        play.pass_time("5s")
        play.webhooks(late)
        play.pass_time("5s")
        play.provider("refund")
        play.wait("10s")
        play.wait("1h")
        told = pytest.raises(MerchantBug, match="fulfilled order-1 after all of its money was given back")
        with told if merchant is ShipsEachSuccess and late == "late" else nullcontext():
            play.wait("3d")
            play.end()
        play.close()
