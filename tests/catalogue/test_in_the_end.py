"""What has to have happened in the end: deposits, refunds, and no attempt that waits without end."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from bugzoo.adapter import ZooMerchant
from small_shop import KEY_SECONDS, SmallOrder, SmallShop, Unknown, Wish

from paydouble.stateful import Merchant, MerchantBug, Play, Refused, ServiceLike


def verdict(merchant: type[Merchant], *steps: str) -> str | None:
    """Return what is said of a merchant after some steps; None when nothing is."""
    play = Play(merchant)
    try:
        play.order()
        for step in steps:
            name, _, arguments = step.partition("(")
            eval(f"play.{name}({arguments}", {"play": play})  # noqa: S307 - a call that this file writes
        play.end()
    except MerchantBug as bug:
        return bug.verdict
    finally:
        play.close()
    return None


class RefundsByJob(SmallShop):
    """Leaves refunds to its job."""

    def send_first(self, wish: Wish, path: str) -> None:
        if "refund" not in path:
            super().send_first(wish, path)


class ForgetsRefunds(RefundsByJob):
    """Keeps those in memory, so that a restart loses them."""

    def tick(self) -> None:
        """Run in time for other things."""

    def restart(self) -> None:
        for order in self.orders.values():
            order.refunds.clear()


@pytest.mark.parametrize("merchant", [SmallShop, RefundsByJob, ForgetsRefunds])
def test_a_refund_that_was_taken_is_made(merchant: type[Merchant]) -> None:
    """One that was queued and lost is found; one that the merchant declines, or the service refuses, is not."""
    lost = "The merchant never refunded 24.95 EUR of order-1, though it took the request and nothing went wrong"
    bought = ("pay()", "wait('10s')")

    assert verdict(merchant, *bought, "refund(1, 'half')", "restart()") == (
        lost if merchant is ForgetsRefunds else None
    )
    # A duration of no trouble disturbs nothing.
    assert verdict(merchant, *bought, "refund(1, 'half', lasts=2)", "restart()") == (
        lost if merchant is ForgetsRefunds else None
    )
    if merchant is not ForgetsRefunds:
        for refunds in (("all", "half"), ("half", "half", "half"), ("most", "most")):
            assert verdict(merchant, *bought, *(f"refund(1, {share!r})" for share in refunds)) is None
        assert verdict(merchant, *bought, "refund(1, 'half')", "provider('dispute')") is None
        assert verdict(merchant, *bought, "refund(1, 'half', 'reply lost')", "refund_again()", "wait('25h')") is None


class WaitsTooLong(SmallShop):
    """Keeps the reset of a 429 as the time of its next attempt, whatever its unit."""

    pauses = ()
    due = 0.0

    def send(self, wish: Wish, path: str) -> None:
        if self.service.now() >= self.due:
            super().send(wish, path)

    def until_reset(self, headers: Any) -> float:  # noqa: ANN401 - headers
        self.due = float(headers["X-RateLimit-Reset"])
        raise Unknown


class WaitsAsAsked(WaitsTooLong):
    """Divides by a thousand where it has to."""

    def until_reset(self, headers: Any) -> float:  # noqa: ANN401 - headers
        self.due = self.service.now() + SmallShop.until_reset(self, headers)
        raise Unknown


def test_an_attempt_does_not_wait_for_years() -> None:
    """A due time in another unit leaves the order pending, and no call shows it."""
    found = verdict(WaitsTooLong, "pay(1, '429 in milliseconds')", "wait('10m')")

    assert found is not None
    assert "calls order-1 pending in the end and has made no deposit for it; long before, the service refuses" in found
    assert verdict(WaitsAsAsked, "pay(1, '429 in milliseconds')", "wait('10m')") is None
    assert verdict(WaitsTooLong, "pay(1, '429')", "wait('10m')") is None


def test_a_refund_does_not_wait_for_years() -> None:
    """It was taken, so a job has to make it when the limit is over."""
    limited = ("pay()", "wait('10s')", "refund(1, 'half', '429 in milliseconds')", "wait('10m')")

    assert verdict(WaitsTooLong, *limited) == (
        "The merchant never refunded 24.95 EUR of order-1, though it took the request and "
        "the service refuses the request (429, the reset in milliseconds)"
    )
    assert verdict(WaitsAsAsked, *limited) is None


class TriesAgainByJob(SmallShop):
    """Sends what was refused once more, under a new key, in each job."""

    def tick(self) -> None:
        for order in self.orders.values():
            if order.wish is not None and order.wish.state == "refused":
                order.wish = self.wish(order.id, order.wish.body.decode())
        super().tick()


def test_a_job_does_not_repeat_a_refused_request() -> None:
    """Unless the customer has clicked again."""
    found = verdict(TriesAgainByJob, "pay(1, 'unknown code')", "wait('10m')")

    assert found is not None
    assert "repeated a request that was refused for good, under a new key" in found
    assert verdict(SmallShop, "pay(1, 'unknown code')", "wait('10m')", "retry()", "wait('10m')") is None


class DepositsAfterNo(SmallShop):
    """Tells the customer that the payment was not accepted, and asks for it in a job."""

    shown = "unpaid"

    def pay(self, order_id: str) -> None:
        super().pay(order_id)
        wish = self.orders[order_id].wish
        if wish is not None and wish.state == "open":
            self.orders[order_id].wish, self.left = None, wish
            raise Refused

    def retry(self, order_id: str) -> None:
        """Leave it to the job."""
        self.orders[order_id].wish = self.left
        del self.left

    def order_status(self, order_id: str) -> str:
        return self.shown if hasattr(self, "left") else super().order_status(order_id)

    def tick(self) -> None:
        if hasattr(self, "left"):
            self.orders[self.left.order_id].wish = self.wish(self.left.order_id, self.left.body.decode())
            del self.left
        super().tick()


class TellsThatItIsPending(DepositsAfterNo):
    """Tells the customer that the payment takes longer."""

    shown = "pending"


def test_no_job_asks_for_a_deposit_that_the_customer_was_denied() -> None:
    """One that the customer was promised, or has asked for again, may still be made."""
    found = verdict(DepositsAfterNo, "pay(1, '401')", "wait('2h')")

    assert str(found).startswith("The merchant asked for a deposit for order-1 without a click, after it had told")
    assert verdict(DepositsAfterNo, "pay(1, '401')", "retry()", "wait('2h')") is None
    assert verdict(TellsThatItIsPending, "pay(1, '401')", "wait('2h')") is None


def test_a_refusal_that_a_killed_process_never_saw_may_be_asked_for_again() -> None:
    """After two days, under a new key, since the old one is forgotten."""
    for at in range(6):
        assert verdict(ZooMerchant, f"pay(1, 'unknown code', meanwhile='dies', at={at})", "outage('50h')") is None


class Closes(SmallShop):
    """Takes no further click on an order whose deposit was refused."""

    def may_be_paid(self, order: SmallOrder) -> bool:
        return order.wish is None or order.wish.state == "open"


class NeverAgain(SmallShop):
    """Takes one click."""

    pauses = ()

    def may_be_paid(self, order: SmallOrder) -> bool:
        return order.wish is None

    def tick(self) -> None:
        """Do nothing."""


def test_an_order_may_be_closed_after_a_refusal() -> None:
    """Not after a request that was only lost."""
    lost = "The merchant never made a deposit for order-1, though the customer has pressed the button and"

    for refusal in ("unknown code", "method gone", "401"):
        assert verdict(Closes, f"pay(1, {refusal!r})", "retry()") is None
    assert str(verdict(NeverAgain, "pay(1, 'request lost')", "retry()")).startswith(lost)
    assert str(verdict(NeverAgain, "pay(1, 'request lost')")).startswith(lost)


def test_an_attempt_may_be_given_up_when_no_job_has_run() -> None:
    """Its key is too old after a day, and nothing has arrived; the customer may click again."""

    class Gives(SmallShop):
        pauses = ()

        def send_first(self, wish: Wish, path: str) -> None:
            """Leave it to the job."""

    assert verdict(Gives, "pay(1, 'request lost')", "pass_time('25h')", "retry()") is None
    assert verdict(Gives, "pay(1, 'request lost')", "wait('25h')") is None


class LooksFirst(SmallShop):
    """Sends a request once; then it asks, and gives up what is not there when its key is too old."""

    pauses = ()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.sent: set[str] = set()

    def send(self, wish: Wish, path: str) -> None:
        if wish.key not in self.sent:
            self.sent.add(wish.key)
            super().send(wish, path)
        elif self.ask(wish.order_id) and wish.state == "open" and self.service.now() - wish.since > KEY_SECONDS:
            wish.state = "refused"


def test_an_attempt_may_be_given_up_after_a_dead_line() -> None:
    """No job has run for days, the key is too old, and the click that ends the dead line gets no answer."""
    assert verdict(LooksFirst, "pay(1, 'closed')", "dead_line(1, '80h', lasts=2)") is None


def test_a_refund_may_be_given_up_when_no_job_has_run() -> None:
    """Its key is too old after a day, so the same request is in vain; after a minute it is not."""

    class OneAttempt(SmallShop):
        pauses = ()

    class NeverAgain(OneAttempt):
        def send(self, wish: Wish, path: str) -> None:
            if not wish.since < self.service.now():
                super().send(wish, path)

    refused = ("pay()", "wait('10s')", "refund(1, 'half', '503')")

    assert verdict(OneAttempt, *refused, "wait('25h')", "refund_again()") is None
    assert str(verdict(NeverAgain, *refused, "wait('1m')", "refund_again()")).startswith("The merchant never refunded")


class NeverReadsDisputes(SmallShop):
    """Learns of disputes by their events alone."""

    def list(self, path: str) -> list[dict[str, Any]]:
        return [] if path.startswith("/dispute") else super().list(path)


class ForgetsDisputes(NeverReadsDisputes):
    """Takes no notice of their events."""

    def learn(self, resource: dict[str, Any]) -> None:
        if resource["object"] != "dispute":
            super().learn(resource)


def test_a_dispute_may_be_unknown_to_a_merchant_that_never_reads_them() -> None:
    """As long as its events are lost; one that reads disputes, or has acknowledged their events, has to know it."""
    lost = ("pay()", "wait('10s')", "webhooks('drop all')", "provider('dispute')", "provider('dispute lost')")
    known = (*lost[:2], *lost[3:])

    assert verdict(SmallShop, *lost) is None
    assert verdict(NeverReadsDisputes, *lost) is None
    assert verdict(NeverReadsDisputes, *known) is None
    assert verdict(NeverReadsDisputes, *lost[:2], "provider('dispute')", lost[2], "provider('dispute won')") is None
    assert str(verdict(ForgetsDisputes, *known)).startswith("The merchant calls order-1 paid in the end")


class NeverReadsRefunds(SmallShop):
    """Learns of the end of refunds by their events alone."""

    def list(self, path: str) -> list[dict[str, Any]]:
        return [] if path.startswith("/refund") else super().list(path)


class ForgetsRefundEvents(NeverReadsRefunds):
    """Takes no notice of their events."""

    def learn(self, resource: dict[str, Any]) -> None:
        if resource["object"] != "refund":
            super().learn(resource)


@pytest.mark.parametrize("trouble", ["none", "reply lost"])
def test_the_end_of_a_refund_may_be_unknown_to_a_merchant_that_never_reads_them(trouble: str) -> None:
    """The contract shows no way to read them, and promises events; what was acknowledged has to be known."""
    known = ("pay()", "wait('10s')", f"refund(1, 'half', {trouble!r})", "wait('1h')")
    lost = (*known[:2], "webhooks('drop all')", *known[2:])

    assert verdict(SmallShop, *lost) is None
    assert verdict(NeverReadsRefunds, *lost) is None
    assert verdict(NeverReadsRefunds, *known) is None
    assert str(verdict(ForgetsRefundEvents, *known)).startswith("The merchant calls order-1 paid in the end")


def test_a_request_that_was_carried_out_is_not_refused() -> None:
    """The service answers its key as before."""

    class OneAttempt(SmallShop):
        pauses = ()

    with Play(OneAttempt) as play:
        play.order()
        play.pay(1, "reply too late")
        play.retry(1, "unknown code")
        answers = [entry.status for entry in play.sandbox.journal.requests.entries if entry.method == "POST"]

    assert answers == [200, 200]


class UnknownIsNo(SmallShop):
    """Says no when no answer has come."""

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if wish.state == "open":
            wish.state = "refused"
            raise Refused


class NoAnswerIsNo(SmallShop):
    """Says no when no answer has come, and goes on by itself."""

    def send_first(self, wish: Wish, path: str) -> None:
        super().send_first(wish, path)
        if wish.state == "open":
            raise Refused


@pytest.mark.parametrize("merchant", [SmallShop, UnknownIsNo, NoAnswerIsNo])
def test_what_the_service_has_made_is_not_declined(merchant: type[Merchant]) -> None:
    """A customer who hears that nothing was done asks again, or pays elsewhere."""
    bought, lost = ("pay()", "wait('10s')"), "'reply lost', lasts=6)"
    refund = "The merchant declines to refund 24.95 EUR of order-1, though the service has made the refund"
    deposit = "The merchant declines the payment of order-1, though the service has made its deposit"

    assert verdict(merchant, *bought, f"refund(1, 'half', {lost}") == (None if merchant is SmallShop else refund)
    # One that shows the order as pending knows that a payment may be under way.
    silent = "webhooks('drop all')"
    assert verdict(merchant, silent, f"pay(1, {lost}") == (deposit if merchant is UnknownIsNo else None)
    # A request that never arrived may be declined, and an attempt that has ended too.
    assert verdict(merchant, *bought, "refund(1, 'half', 'request lost', lasts='end')") is None
    assert verdict(merchant, "pay(1, 'none', scenario='card-declined')") is None


class TakesTheOldestRefund(SmallShop):
    """Gives what it hears of a refund to the oldest one of its payment that is under way."""

    def learn(self, resource: dict[str, Any]) -> None:
        order_id = self.order_of(resource)
        if resource["object"] == "refund" and order_id in self.orders and resource["status"] != "created":
            waiting = self.of(order_id, "refund", "created", "processing")
            if waiting:
                resource = {**resource, "id": waiting[0]["id"], "amount": waiting[0]["amount"]}
        super().learn(resource)


class RefundsTheFirst(SmallShop):
    """Refunds the first payment of an order, whatever became of it."""

    def of(self, order_id: str, kind: str, *statuses: str) -> list[dict[str, Any]]:
        found = super().of(order_id, kind, *statuses)
        is_paid = kind == "payin" and statuses == ("succeeded",) and found and self.is_refunding
        return super().of(order_id, kind)[:1] if is_paid else found

    is_refunding = False

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if self.order_status(order_id) != "paid":
            raise Refused
        self.is_refunding = True
        try:
            body = f'{{"payin_id": "{self.of(order_id, "payin", "succeeded")[0]["id"]}", "amount": {amount}}}'
        finally:
            self.is_refunding = False
        order = self.orders[order_id]
        order.refunds.setdefault(refund_id, self.wish(order_id, body))
        self.send_first(order.refunds[refund_id], "/refund/refund-creation")


class ShipsByJob(SmallShop):
    """Leaves shipping to a job, which a webhook begins too."""

    is_at_work = False

    def ships_now(self, order: SmallOrder) -> bool:
        return False

    def may_begin(self) -> bool:
        """Return whether nobody is at work."""
        return not self.is_at_work

    def ship(self) -> None:
        """Ship what is paid."""
        if not self.may_begin():
            return
        self.is_at_work = True
        for order in self.orders.values():
            if not order.shipped and self.order_status(order.id) in {"paid", "partly_refunded"}:
                self.service.checkpoint()
                order.shipped += 1
        self.is_at_work = False

    def tick(self) -> None:
        super().tick()
        self.ship()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        answer = super().handle(order_id, event)
        self.ship()
        return answer

    def restart(self) -> None:
        self.is_at_work = False


class ShipsBesideItself(ShipsByJob):
    """Lets a webhook begin the job while it is at work."""

    def may_begin(self) -> bool:
        return True

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        answer = SmallShop.handle(self, order_id, event)
        if self.is_at_work:
            self.ship()
        return answer


TWO_REFUNDS = (
    "pay()",
    "wait('10s')",
    "refund(1, 'half')",
    "refund(1, 'third')",
    "provider('refund fails')",
    "wait('10s')",
)
SECOND_ATTEMPT = ("pay(scenario='card-declined')", "wait('10s')", "retry()", "wait('10s')", "refund(1, 'half')")
AT_WORK = ("pay()", "pass_time('10s')", "order()", "pay(2)", "interrupt_jobs('events meanwhile', {at})", "wait('10s')")


@pytest.mark.parametrize(
    ("merchant", "steps", "said"),
    [
        (TakesTheOldestRefund, TWO_REFUNDS, "it should be 24.95"),
        (RefundsTheFirst, SECOND_ATTEMPT, "asked for a refund of a payment of order-1 that has ended as failed"),
        (ShipsBesideItself, AT_WORK, "fulfilled order-1 2 times"),
    ],
)
def test_objects_and_jobs_are_kept_apart(merchant: type[Merchant], steps: tuple[str, ...], said: str) -> None:
    """Of two refunds, two attempts, and a job that is begun beside itself."""
    told = [verdict(merchant, *(each.format(at=at) for each in steps)) for at in range(40)]

    assert any(said in (each or "") for each in told), told
    for correct in (SmallShop, ShipsByJob):
        assert not any(verdict(correct, *(each.format(at=at) for each in steps)) for at in range(40))


class ShipsLater(ShipsByJob):
    """Does not begin the job at a webhook."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        return SmallShop.handle(self, order_id, event)


class DropsDisputedGoods(ShipsLater):
    """Takes goods that are not sent yet off the list when their payment is disputed."""

    dropped: frozenset[str] = frozenset()
    shows = "paid"

    def learn(self, resource: dict[str, Any]) -> None:
        super().learn(resource)
        order_id = self.order_of(resource)
        if resource["object"] == "dispute" and order_id in self.orders and not self.orders[order_id].shipped:
            self.dropped |= {order_id}

    def may_begin(self) -> bool:
        return super().may_begin() and not self.dropped

    def order_status(self, order_id: str) -> str:
        status = super().order_status(order_id)
        return self.shows if status == "paid" and order_id in self.dropped else status


class LooksAtDisputedGoods(DropsDisputedGoods):
    """Leaves them to a person."""

    shows = "review"


class HoldsDisputedGoods(ShipsLater):
    """Sends them once the dispute is won."""

    def may_begin(self) -> bool:
        held = any(self.of(order_id, "dispute", "needs_response", "under_review") for order_id in self.orders)
        return super().may_begin() and not held


@pytest.mark.parametrize("merchant", [SmallShop, HoldsDisputedGoods, LooksAtDisputedGoods, DropsDisputedGoods])
def test_goods_are_due_after_a_dispute_that_was_won(merchant: type[Merchant]) -> None:
    """Unless a person decides."""
    steps = ("pay()", "pass_time('6s')", "provider('dispute')", "wait('10s')", "provider('dispute won')", "wait('10s')")
    due = "The merchant never fulfilled order-1, which is paid, and whose dispute was won"

    assert verdict(merchant, *steps) == (due if merchant is DropsDisputedGoods else None)


class SendsOnlyWhenClicked(SmallShop):
    """Keeps an attempt open whose request was disturbed, until the customer clicks again."""

    pauses = ()

    def tick(self) -> None:
        for order in self.orders.values():
            if order.wish is not None:
                self.ask(order.id)


@pytest.mark.parametrize("before", [(), ("pay()", "provider('fails')")])
def test_an_attempt_that_came_to_nothing_may_wait_for_the_next_click(before: tuple[str, ...]) -> None:
    """The order's first one, and one after a payment that has failed."""
    click = "retry(1, '409')" if before else "pay(1, '409')"

    assert verdict(SendsOnlyWhenClicked, *before, click) is None
    assert verdict(SendsOnlyWhenClicked, *before, click, "retry()", "wait('10s')") is None


class ShowsFailuresAsOpen(SmallShop):
    """Calls an order pending whose payment has failed."""

    def order_status(self, order_id: str) -> str:
        status = super().order_status(order_id)
        return "pending" if status == "failed" else status

    def may_be_paid(self, order: SmallOrder) -> bool:
        return super().may_be_paid(order) or super().order_status(order.id) == "failed"


def test_an_attempt_that_has_failed_is_not_open() -> None:
    """Although a request for it was disturbed, and it is the order's second."""
    told = verdict(ShowsFailuresAsOpen, "pay()", "provider('fails')", "retry(1, 'reply lost')", "provider('fails')")

    assert told is not None
    assert "order-1 pending" in told


class PausesForAll(WaitsTooLong):
    """Sends nothing for any order for a minute after a 429."""

    def until_reset(self, headers: Any) -> float:  # noqa: ANN401 - headers
        self.due = self.service.now() + 60
        raise Unknown


def test_an_attempt_that_waits_for_another_orders_limit_may_be_given_up() -> None:
    """When no job has run for so long that its key would be too old."""
    limited = ("pay(1, '429', lasts=6)", "order()", "pay(2)")

    assert verdict(PausesForAll, *limited, "wait('25h')") is None
    assert verdict(PausesForAll, *limited, "wait('10m')", "wait('10m')") is None


class AsksEachDay(SmallShop):
    """Has a job that asks the service about open payments, but only once a day."""

    asked_at = 0.0

    def tick(self) -> None:
        """Ask when a day has passed."""
        if self.service.now() >= self.asked_at + KEY_SECONDS:
            self.asked_at = self.service.now()
            super().tick()


def test_a_shop_that_asks_too_rarely_is_told_how_often_its_jobs_ran() -> None:
    """The verdict says what it was held to, and what a shop with longer intervals can do."""
    bought = ("pay()", "wait('10s')")
    found = verdict(AsksEachDay, *bought, "order()", "webhooks('drop all')", "pay(2)", "wait('10s')")

    assert found == (
        "The merchant calls order-2 pending in the end; the service's ledger says paid; in the end its jobs ran 5"
        " times, up to an hour apart, and asked the service nothing (a shop that does it less often needs a shorter"
        " interval in the test)"
    )


class TriesAgainAfterAMinute(SmallShop):
    """Tries a request once, and again in a job after a minute; gives it up when its key is no longer valid."""

    pauses = ()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.tried: dict[str, float] = {}

    def send(self, wish: Wish, path: str) -> None:
        now = self.service.now()
        if now - self.tried.get(wish.key, 0) >= 60:
            self.tried[wish.key] = now
            super().send(wish, path)


@pytest.mark.parametrize("disturbed", ["refund(2, trouble='503')", "pay(3, trouble='503')"])
def test_jobs_have_their_turn_before_days_pass(disturbed: str) -> None:
    """A dispute that is decided in a week does not keep them from trying again while a key is valid."""
    bought = ("pay(1)", "order()", "pay(2)", "order()", "wait('10s')")

    assert verdict(TriesAgainAfterAMinute, *bought, "provider('dispute', 1)", disturbed) is None


class SoldOut(SmallShop):
    """Sells nothing from a certain order on, and says so before it asks for money."""

    first = 2

    def may_be_paid(self, order: SmallOrder) -> bool:
        if list(self.orders).index(order.id) + 1 >= self.first:
            raise Refused("sold out")
        return super().may_be_paid(order)


class CallsALostRequestSoldOut(SmallShop):
    """Tells the customer no when its only request is lost, and forgets the order."""

    pauses = ()

    def pay(self, order_id: str) -> None:
        super().pay(order_id)
        wish = self.orders[order_id].wish
        if wish is not None and wish.state == "open":
            wish.state = "refused"
            raise Refused("sold out")


def test_a_click_that_is_declined_for_another_order_owes_no_deposit() -> None:
    """The other one may have taken what was left. Where there is none, nothing has been sold; so for a lost request."""
    nothing_left = type("NothingLeft", (SoldOut,), {"first": 1})
    never = "The merchant never made a deposit for {}, though the customer has pressed the button and {}"

    assert verdict(SoldOut, "pay()", "order()", "pay(2)") is None
    assert verdict(SoldOut, "order()", "pay(1, 'reply lost')", "pay(2, 'request lost')") is None
    assert verdict(nothing_left, "pay()") == never.format("order-1", "nothing went wrong")
    assert verdict(CallsALostRequestSoldOut, "order()", "pay(2, 'request lost')") == never.format(
        "order-2", "the request is lost on its way"
    )


class SendsTickets(SmallShop):
    """Mails a ticket by its job, which asks its table what is paid and has no mail yet."""

    needed_effects: ClassVar[Collection[str]] = ("ticket mail",)

    def __init__(self, service: ServiceLike) -> None:
        """Start with no mails."""
        super().__init__(service)
        self.mails: dict[str, int] = {}

    def tick(self) -> None:
        """Send the mails that are missing."""
        super().tick()
        for order_id in self.waiting():
            self.mails[order_id] = self.mails.get(order_id, 0) + 1

    def waiting(self) -> list[str]:
        """Return the orders whose mail is due."""
        return [each for each in self.orders if self.order_status(each) == "paid" and each not in self.mails]

    def effects(self, order_id: str) -> dict[str, int]:
        """Return the number of mails."""
        return {"ticket mail": self.mails.get(order_id, 0)}


class QueuesTickets(SendsTickets):
    """Queues a mail in memory when an order is fulfilled, so that a restart loses it."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with nothing in the queue."""
        super().__init__(service)
        self.queue: list[str] = []

    def ships_now(self, order: SmallOrder) -> bool:
        """Queue the mail too."""
        self.queue.append(order.id)
        return True

    def waiting(self) -> list[str]:
        """Empty the queue."""
        queue, self.queue = self.queue, []
        return queue

    def restart(self) -> None:
        """Lose what is in memory."""
        super().restart()
        self.queue = []


class MaySendTickets(QueuesTickets):
    """Promises no mail."""

    needed_effects = ()


BEFORE_THE_JOB = ("pay()", "pass_time('10s')", "restart()")


@pytest.mark.parametrize(
    ("merchant", "steps", "is_found"),
    [
        (QueuesTickets, BEFORE_THE_JOB, True),
        (QueuesTickets, ("pay()", "wait('10s')"), False),
        (SendsTickets, BEFORE_THE_JOB, False),
        (MaySendTickets, BEFORE_THE_JOB, False),
        # Whether a mail is sent then is nobody's promise.
        (QueuesTickets, (*BEFORE_THE_JOB, "refund(1, 'half')"), False),
        (QueuesTickets, (*BEFORE_THE_JOB, "provider('dispute half')", "provider('dispute won')"), False),
        (QueuesTickets, ("pay(1, 'underpaid')", "pass_time('10s')", "restart()"), False),
        (QueuesTickets, ("pay(1, scenario='card-declined')", "wait('10s')"), False),
    ],
)
def test_an_effect_that_each_order_needs_has_happened(
    merchant: type[Merchant], steps: tuple[str, ...], *, is_found: bool
) -> None:
    """For each one that is paid and nothing else; without the promise a lost effect is allowed."""
    lost = "The merchant never did 'ticket mail' for order-1, which is paid"

    assert verdict(merchant, *steps) == (lost if is_found else None)
