"""What a shop does with money where the contract is silent: it is told, and judged only where it is demanded."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import takewhile
from typing import Any, ClassVar, cast

import pytest
from bugzoo.unusual_shops import ReadsDisputesByTheirEvents
from cancelling_shop import TakesUpAgain
from late_shipping_shop import ShipsUntouchedOnly
from small_shop import RANK, Declined, Limited, SmallOrder, SmallShop, Unknown, Wish
from verdicts_of import verdicts_of

from paydouble.core.errors import UsageError
from paydouble.guards.credentials import basic_header
from paydouble.payments.resources import PayIn
from paydouble.stateful import Merchant, MerchantBug, MerchantMachine, Play, Refused, ServiceLike
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.held_to import FAMILIES, Shows
from paydouble.stateful.policies import POLICIES
from paydouble.stateful.steps import step
from paydouble.stateful.troubles import ORDER_READ_TROUBLES, POLICY_OF_DIALECT


class KeepsDoublePayments(SmallShop):
    """An order is paid, however much has come."""

    def status_of_paid(self, order: SmallOrder) -> str:
        status = super().status_of_paid(order)
        return "paid" if status == "review" else status


class KeepsMoneyOfCancelledOrders(SmallShop):
    """Notes that the customer does not come any more, and nothing else."""

    def cancel(self, order_id: str) -> None:
        assert order_id in self.orders


class GivesRestBack(SmallShop):
    """Gives back what is left of an order that is cancelled."""

    def cancel(self, order_id: str) -> None:
        if left := self.balance(order_id):
            self.refund(order_id, f"{order_id}-cancelled", left)


class ForgetsRefundsThatAreLimited(GivesRestBack):
    """Takes a refund for refused when the service has not let it through in four tries."""

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        try:
            return super().post(path, wish)
        except Unknown:
            if "refund" in path:
                raise Declined from None
            raise


class NeverReadsRefunds(SmallShop):
    """Learns of the end of refunds by their events alone."""

    def list(self, path: str) -> list[dict[str, Any]]:
        return [] if path.startswith("/refund") else super().list(path)


class AsksNoMoreAboutWhatHasEnded(SmallShop):
    """Takes a payment that has failed, and a refund that has succeeded, for over until an event says something else."""

    def ask(self, order_id: str) -> bool:
        return self.order_status(order_id) in {"failed", "partly_refunded"} or super().ask(order_id)


class StopsAtTheFirstOrder(SmallShop):
    """Ends its job when it gets no answer about an order, and begins with the first one each time."""

    def tick(self) -> None:
        for order_id in self.orders:
            if not self.ask(order_id):
                return


class StopsAtAnUnknownStatus(SmallShop):
    """Its job ends at a status that it does not know."""

    def tick(self) -> None:
        for order_id in self.orders:
            self.ask(order_id)
            if any(each["status"] not in RANK for each in self.of(order_id, "payin")):
                return


class LeavesWonDisputesToAPerson(SmallShop):
    """Takes the goods back when a payment is disputed, and a person has to send them again."""

    def status_of_paid(self, order: SmallOrder) -> str:
        return "review" if self.of(order.id, "dispute", "won") else super().status_of_paid(order)

    def shipments(self, order_id: str) -> int:
        return 0 if self.of(order_id, "dispute") else super().shipments(order_id)


class LeavesLimitsToTheService(SmallShop):
    """Says yes to any refund, as one does that only notes what is wanted."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        try:
            super().refund(order_id, refund_id, amount)
        except Refused:
            return


class ForgetsUnanswered(SmallShop):
    """Counts no refund that may have been made."""

    def promised(self, order: SmallOrder) -> Decimal:
        return Decimal(0)


class AsksTheServiceFirst(LeavesLimitsToTheService):
    """Asks for any refund, and says no when the service does."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        refund = {"payin_id": self.of(order_id, "payin")[0]["id"], "amount": float(amount)}
        wish = self.wish(order_id, json.dumps(refund))
        self.send(wish, "/refund/refund-creation")
        if wish.state == "refused":
            raise Refused("the service says no")


class LeavesDisputesToTheService(SmallShop):
    """Asks for any refund, and declines what the service refuses."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if self.of(order_id, "dispute"):
            refund = {"payin_id": self.of(order_id, "payin")[0]["id"], "amount": float(amount)}
            self.send(self.wish(order_id, json.dumps(refund)), "/refund/refund-creation")
            raise Refused("the service says no")
        super().refund(order_id, refund_id, amount)


def _paid_twice(play: Play) -> None:
    play.pay(scenario="abandoned")
    play.wait("25h")
    play.retry()
    play.wait("10s")
    play.provider("late money")
    play.wait("10s")


def _cancelled(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.refund(share="half")
    play.wait("10s")
    play.cancel()


def _refunded_too_much(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.refund(share="half")
    play.wait("10s")
    play.refund()


def _refunded_while_disputed(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.provider("dispute half")
    play.refund()


def _dispute_is_won(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.provider("dispute")
    play.provider("dispute won")


def _cancelled_before_payment(play: Play) -> None:
    play.pay()
    play.pass_time("1s")
    play.cancel()
    play.wait("10s")


def _one_cannot_be_read(play: Play, trouble: str = "500", order: int = 1) -> None:
    play.order()
    play.order()
    play.webhooks("drop all")
    play.pay(1)
    play.pay(2)
    play.reads_of(trouble, order)
    play.wait("10s")


def _refunded_in_silence(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.webhooks("drop all")
    play.refund(1, "half")
    play.wait("1h")


class CountsRequests(SmallShop):
    """Takes an event for one that came before when it names the same request."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.named: set[str] = set()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        named = event["request_id"] or event["id"]
        if named in self.named:
            return 200
        self.named.add(named)
        return super().handle(order_id, event)

    def ask(self, order_id: str) -> bool:
        return True


class BooksAcceptedRefunds(SmallShop):
    """Takes a refund for made when the service has accepted it."""

    def status_of_paid(self, order: SmallOrder) -> str:
        status = super().status_of_paid(order)
        gone = sum(each["amount"] for each in self.of(order.id, "refund", "created", "processing", "succeeded"))
        return ("refunded" if gone == order.amount else "partly_refunded") if status == "paid" and gone else status


def _refunded_a_half(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.refund(1, "half")
    play.wait("10s")


def _refunded(play: Play) -> None:
    _refunded_a_half(play)
    play.provider("refund fails late")


def _refund_failed_late_in_silence(play: Play) -> None:
    _refunded_a_half(play)
    play.webhooks("drop all")
    play.provider("refund fails late")
    play.wait("1h")


def _paid_after_all_in_silence(play: Play) -> None:
    play.pay(scenario="card-declined")
    play.wait("10s")
    play.webhooks("drop all")
    play.provider("late money")
    play.wait("1h")


def _paid(play: Play) -> None:
    play.pay()
    play.wait("10s")


class ClosesFailedOrders(SmallShop):
    """Takes no second attempt to pay an order."""

    def may_be_paid(self, order: SmallOrder) -> bool:
        return super().may_be_paid(order) and self.order_status(order.id) != "failed"


def _declined_and_paid(play: Play) -> None:
    play.pay(scenario="card-declined")
    play.wait("10s")
    play.retry()
    play.wait("10s")


class StaysClosed(SmallShop):
    """Sends nothing for an hour after a 429, except what has met it."""

    closed_until = 0.0

    def until_reset(self, headers: Mapping[str, str]) -> float:
        self.closed_until = self.service.now() + 3600
        return super().until_reset(headers)

    def send(self, wish: Wish, path: str) -> None:
        if self.service.now() >= self.closed_until:
            super().send(wish, path)


class WaitsForEachAlone(SmallShop):
    """Leaves what has met a 429 to a job, and goes on with the rest; with `waits_for_all` it leaves all of it."""

    waits_for_all = False

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.closed_until: dict[str, float] = {}

    def is_closed(self, order_id: str) -> bool:
        """Return whether nothing is sent for an order now."""
        closed = self.closed_until.values() if self.waits_for_all else [self.closed_until.get(order_id, 0)]
        return any(self.service.now() < each for each in closed)

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        pauses, self.pauses = self.pauses, ()
        try:
            if self.is_closed(wish.order_id):
                raise Unknown
            return super().post(path, wish)
        except Limited:
            self.closed_until[wish.order_id] = self.service.now() + self.limit
            raise
        finally:
            self.pauses = pauses

    def until_reset(self, headers: Mapping[str, str]) -> float:
        self.limit = super().until_reset(headers)
        return 0.0

    def list(self, path: str) -> list[dict[str, Any]]:
        if self.waits_for_all and self.is_closed(""):
            raise Unknown
        return super().list(path)


class WaitsForTheNextJob(WaitsForEachAlone):
    """Sends everything again when its jobs run."""

    def is_closed(self, order_id: str) -> bool:
        return False


class WaitsForAll(WaitsForEachAlone):
    """Asks for nothing while a limit lasts."""

    waits_for_all = True


class StopsAtTheKnown(SmallShop):
    """Reads a list until it comes to what it has."""

    def list(self, path: str) -> list[dict[str, Any]]:
        found = super().list(path)[::-1]
        return (
            list(takewhile(lambda each: self.versions.get(each["id"]) != each, found)) if "dispute" in path else found
        )


def _disputed_again_in_silence(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.provider("dispute half")
    play.wait("10s")
    play.webhooks("drop all")
    play.provider("another dispute")
    play.provider("dispute lost")
    play.wait("10s")


class GivesUpUnpaid(SmallShop):
    """Closes an order some time after its payment has begun, and gives back what comes later."""

    hours: ClassVar[float] = 0.5

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.closed: set[str] = set()

    def order_status(self, order_id: str) -> str:
        return "cancelled" if order_id in self.closed else super().order_status(order_id)

    def ships_now(self, order: SmallOrder) -> bool:
        return order.id not in self.closed

    def gives_up(self, order: SmallOrder) -> bool:
        started = order.wish is not None and self.service.now() - order.wish.since > self.hours * 3600
        return started and not self.of(order.id, "payin", "succeeded")

    def tick(self) -> None:
        super().tick()
        for order in self.orders.values():
            if self.gives_up(order):
                self.closed.add(order.id)
            for paid in self.of(order.id, "payin", "succeeded") if order.id in self.closed else ():
                body = f'{{"payin_id": "{paid["id"]}", "amount": {paid["amount"]}, "external_identifier": "back"}}'
                back = order.refunds.setdefault("back", self.wish(order.id, body))
                if back.state == "open":
                    self.send(back, "/refund/refund-creation")


class WaitsForReceived(GivesUpUnpaid):
    """Gives an order up only when no payment of it is received."""

    def gives_up(self, order: SmallOrder) -> bool:
        return super().gives_up(order) and not self.of(order.id, "payin", "processing")


class GivesUpUnasked(GivesUpUnpaid):
    """Closes what is old before it asks about what is open."""

    def tick(self) -> None:
        for order in self.orders.values():
            if self.gives_up(order):
                self.closed.add(order.id)
        super().tick()


def _paid_in_the_last_minute(play: Play) -> None:
    play.pay(scenario="payer-decides")
    play.wait("29m")
    play.webhooks("drop all")
    play.payer("pays")
    play.wait("2m")


def _verified_for_hours(play: Play) -> None:
    play.pay(scenario="slow-verification")
    play.wait("2h", jobs_every="30m")
    play.wait("4h", jobs_every="1h")
    play.wait("10s")


def _limited_before(play: Play) -> None:
    play.pay(1, "429 in milliseconds")
    play.pass_time("1m")
    play.order()
    play.pay(2)
    play.wait("10s")
    play.wait("32m")
    play.wait("10s")


def _limited_beside(play: Play) -> None:
    play.order()
    play.order()
    play.jobs_wait()
    play.pay(1, "429")
    play.pay(2)
    play.wait("10s")


_CASES = {
    "double payment": (KeepsDoublePayments, _paid_twice, "keeps 49.90 EUR of order-1, which was paid twice"),
    "cancelled order": (
        KeepsMoneyOfCancelledOrders,
        _cancelled,
        "keeps 24.95 EUR of order-1, which was cancelled after its payment",
    ),
    "refund limit": (
        LeavesLimitsToTheService,
        _refunded_too_much,
        "takes a refund of 49.90 EUR of order-1, of which 24.95 EUR is left",
    ),
    "disputed refund": (
        LeavesDisputesToTheService,
        _refunded_while_disputed,
        "tries to refund 49.90 EUR of order-1, of which 24.95 EUR is disputed or was charged back",
    ),
    "won dispute": (
        LeavesWonDisputesToAPerson,
        _dispute_is_won,
        "leaves order-1 in review in the end, though its dispute was won and its money is there",
    ),
    "cancelled before payment": (
        TakesUpAgain,
        _cancelled_before_payment,
        "takes order-1 up again, which was cancelled before its money came",
    ),
    "independent orders": (
        StopsAtTheFirstOrder,
        _one_cannot_be_read,
        "calls order-2 pending in the end; the service's ledger says paid; of the reads only those about order-1",
    ),
    "lost events": (
        NeverReadsRefunds,
        _refunded_in_silence,
        "calls order-1 paid in the end; the service's ledger says partly_refunded",
    ),
    "request ids": (
        CountsRequests,
        _paid,
        "calls order-1 pending in the end; the service's ledger says paid",
    ),
    "accepted refund": (
        BooksAcceptedRefunds,
        _refunded,
        "calls order-1 partly_refunded though no refund of it has succeeded yet",
    ),
    "late money": (
        AsksNoMoreAboutWhatHasEnded,
        _paid_after_all_in_silence,
        "calls order-1 failed in the end; the service's ledger says paid",
    ),
    "late failure": (
        AsksNoMoreAboutWhatHasEnded,
        _refund_failed_late_in_silence,
        "calls order-1 partly_refunded in the end; the service's ledger says paid",
    ),
    "another attempt": (
        ClosesFailedOrders,
        _declined_and_paid,
        "never made another deposit for order-1, though its payment has ended as failed, and the customer",
    ),
    "after a limit": (
        StaysClosed,
        _limited_before,
        "has asked for no deposit for order-2 32 minutes after the click of its customer; the reset of a 429",
    ),
    "shared limit": (
        WaitsForEachAlone,
        _limited_beside,
        "sends POST /api/v1/pay-in/deposit-creation 0.1 s after a 429 to POST /api/v1/pay-in/deposit-creation that",
    ),
    "list order": (
        StopsAtTheKnown,
        _disputed_again_in_silence,
        "has a balance of 24.95 EUR for order-1; it should be 0.00",
    ),
    "paid in time": (
        GivesUpUnasked,
        _paid_in_the_last_minute,
        "calls order-1 cancelled in a job, though its payment had succeeded before, as a read tells",
    ),
    "received payment": (
        GivesUpUnpaid,
        _verified_for_hours,
        "calls order-1 cancelled while its payment is processing, which is received money",
    ),
}
_DIALECTS = {policy: dialect for dialect, policy in POLICY_OF_DIALECT.items()}
"""The dialect in which a policy shows; `plain` for all others."""


# The status, the balance and the goods of the other order, and of one whose success is lost; the status and the balance
# after the refund, of late money, and of a late failure.
_FINDINGS = {"independent orders": 3, "lost events": 2, "request ids": 3, "late money": 2, "late failure": 2}


def test_each_policy_has_a_case() -> None:
    """A new one needs a shop here that does not keep it, and a sentence in the adapter's reference."""
    assert _CASES.keys() == POLICIES.keys()
    assert [name for name in POLICIES if f"`{name}`" not in inspect.getsource(Merchant)] == []


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_is_judged_where_it_is_demanded(policy: str) -> None:
    """Elsewhere it is counted."""
    shop, steps, sentence = _CASES[policy]
    dialect = _DIALECTS.get(policy, "plain")
    with Play(shop, dialect=dialect) as play:
        steps(play)
    assert dict(play.tried.allowed) == {policy: _FINDINGS.get(policy, 1)}

    with pytest.raises(MerchantBug, match=sentence), Play(_demanding(shop, policy), dialect=dialect) as play:
        steps(play)


@pytest.mark.parametrize(
    ("shop", "scenario"),
    [
        (WaitsForReceived, "slow-verification"),
        (WaitsForReceived, "slow-bank-transfer"),
        (GivesUpUnpaid, "slow-bank-transfer"),
        (GivesUpUnpaid, "abandoned"),
    ],
)
def test_an_order_without_a_received_payment_may_be_given_up(shop: type[SmallShop], scenario: str) -> None:
    """Its money goes back when it comes all the same; one that is processing is waited for."""
    with Play(_demanding(shop, "received payment")) as play:
        play.pay(scenario=scenario)
        play.wait("2h", jobs_every="30m")
        play.wait("1d", jobs_every="1h")
        play.provider("late money")
        play.wait("10s")


def test_an_order_may_be_given_up_of_which_the_service_knows_no_success() -> None:
    """One that asks before, and one whose payment succeeds after the job."""
    with Play(_demanding(GivesUpUnpaid, "paid in time")) as play:
        _paid_in_the_last_minute(play)
        assert play.status() == "paid"
    with Play(_demanding(GivesUpUnasked, "paid in time")) as play:
        play.pay(scenario="payer-decides")
        play.webhooks("drop all")
        play.wait("31m")
        play.payer("pays")
        play.wait("10s")
    for command, trouble in (("reads", "503"), ("reads_of", "500")):
        with Play(_demanding(GivesUpUnasked, "paid in time")) as play:
            play.order()
            getattr(play, command)(trouble)
            _paid_in_the_last_minute(play)


def test_an_order_may_be_given_up_whose_hold_was_over_before_it_was_paid() -> None:
    """No job has run since then, so it was shown as open."""
    with Play(_demanding(GivesUpUnasked, "paid in time")) as play:
        play.pay(scenario="payer-decides")
        play.webhooks("drop all")
        play.pass_time("31m")
        play.payer("pays")
        play.wait("10s")
        assert play.status() == "cancelled"


def test_an_order_may_be_given_up_whose_request_met_a_trouble() -> None:
    """The shop may not know its payment."""
    with Play(_demanding(GivesUpUnasked, "paid in time")) as play:
        play.pay(1, "reply lost", scenario="payer-decides")
        play.wait("29m")
        play.webhooks("drop all")
        play.payer("pays")
        play.wait("2m")
        assert play.status() == "cancelled"


class GivesUpAfterADay(GivesUpUnpaid):
    """Does not wait for longer than a day."""

    hours = 24


def test_an_order_is_kept_for_five_hours_of_a_received_payment_and_not_longer() -> None:
    """The jobs come back after two days, when it has been processing for most of them."""
    with Play(_demanding(GivesUpAfterADay, "received payment")) as play:
        play.pay(scenario="slow-bank-transfer")
        play.wait("53h40m")
        assert play.status() == "cancelled"


class GivesUpTooEarly(GivesUpUnpaid):
    """Does not wait for the five hours of its promise."""

    demands = ("received payment",)
    hours = 4.6


def test_the_catalogue_looks_at_a_received_payment_until_the_five_hours_are_over() -> None:
    """A shop that waits for most of them does not wait for long enough."""
    told = set(verdicts_of(GivesUpTooEarly, lambda play: "slow-verification" in str(play.steps)))

    assert "The merchant calls order-1 cancelled while its payment is processing, which is received money" in told


class AsksAboutRefusedRefunds(ShipsUntouchedOnly):
    """Shows an order in review when a refund of it was refused, and holds its goods back."""

    def order_status(self, order_id: str) -> str:
        refused = any(each.state == "refused" for each in self.orders[order_id].refunds.values())
        return "review" if refused else super().order_status(order_id)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        super().refund(order_id, refund_id, amount)
        if self.orders[order_id].refunds[refund_id].state == "refused":
            raise Refused


def test_an_order_may_stay_in_review_for_a_refused_refund_when_its_dispute_was_won() -> None:
    """Its customer asked for the money, and nobody has told the shop why the service refused."""
    with Play(_demanding(AsksAboutRefusedRefunds, "won dispute")) as play:
        play.pay()
        play.pass_time("10s")
        play.webhooks("drop all")
        play.provider("dispute")
        play.refund()
        play.provider("dispute won")

    assert (play.status(), play.shipments()) == ("review", 0)


class GivesUpFirst(GivesUpUnpaid):
    """Closes an order before it has learned of its payment, whose webhooks are late."""

    def tick(self) -> None:
        self.closed |= {order.id for order in self.orders.values() if self.gives_up(order)}
        super().tick()


def test_an_order_that_the_shop_has_closed_stays_so_when_a_dispute_takes_its_money() -> None:
    """Nothing is left that could go back."""
    with Play(GivesUpFirst) as play:
        play.webhooks("late four")
        play.pay()
        play.pass_time("10s")
        play.provider("dispute")
        play.wait("59m")
        play.provider("dispute lost")
        assert play.status() == "cancelled"


def test_an_order_may_be_closed_after_some_minutes_or_for_another_one() -> None:
    """What was held for it may be free again, or sold to somebody else."""
    shop = _demanding(ClosesFailedOrders, "another attempt")
    for minutes, orders in (("5m", 0), ("10s", 1)):
        with Play(shop) as play:
            play.pay(scenario="card-declined")
            play.wait(minutes)
            for _ in range(orders):
                play.order()
            play.retry()
    # Money that comes for the first attempt after all is what the customer wanted.
    with Play(shop) as play:
        _declined_and_paid(play)
        play.provider("late money")
        play.wait("10s")
        assert play.status() == "paid"
    with Play(_demanding(SmallShop, "another attempt")) as play:
        _declined_and_paid(play)
        assert play.status() == "paid"


@pytest.mark.parametrize(
    ("trouble", "pause"), [("429 without headers", "32m"), ("429 with a reset in the past", "32m"), ("429", "25m")]
)
def test_a_limit_without_an_end_is_as_long_as_a_shop_makes_it(trouble: str, pause: str) -> None:
    """And half an hour is no finding."""
    with Play(_demanding(StaysClosed, "after a limit")) as play:
        play.pay(1, trouble)
        play.pass_time("1m")
        play.order()
        play.pay(2)
        for time in ("10s", pause, "10s"):
            play.wait(time)


def test_a_limit_is_kept_by_what_begins_after_it_and_is_not_forgotten() -> None:
    """A merchant that waits with everything keeps it; the catalogue shows one that waits for each request by itself."""
    for play in catalogue():
        if play.reason == "a limit is the whole business's":
            broken = set()
            for shop in (WaitsForEachAlone, WaitsForTheNextJob, WaitsForAll):
                with suppress(MerchantBug), Play(_demanding(shop, "shared limit")) as played:
                    for taken in play.steps:
                        taken.take(played)
                    continue
                broken.add(shop)
            assert broken == {WaitsForEachAlone, WaitsForTheNextJob}, play.steps
    with (
        pytest.raises(MerchantBug, match="0 s after a 429"),
        Play(_demanding(WaitsForTheNextJob, "shared limit")) as played,
    ):
        played.pay(1, "429")
    with Play(_demanding(WaitsForEachAlone, "shared limit")) as played:
        played.order()
        played.order()
        played.jobs_wait()
        played.pay(1, "429")
        played.restart()
        played.pay(2)
        played.wait("10s")


def test_the_catalogue_limits_another_customer_first() -> None:
    """Whatever the unit of the reset."""
    plays = [each for each in catalogue() if each.reason == "a limit that another request has met"]
    found = set()
    for each in plays:
        with suppress(MerchantBug), Play(_demanding(StaysClosed, "after a limit")) as play:
            for taken in each.steps:
                taken.take(play)
            continue
        found.add(each.steps[1].arguments[1])

    assert found == {"429", "429 in seconds", "429 in milliseconds", "429 with requests left"}


class ChecksTheLimitInside(SmallShop):
    """Does all in one transaction, which may begin late."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        self.service.checkpoint()
        super().refund(order_id, refund_id, amount)


class ChecksTheLimitBeforehand(SmallShop):
    """Compares a refund with what is left, and stores it in a transaction that begins after that."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        order = self.orders[order_id]
        if refund_id not in order.refunds and amount > self.balance(order_id) - self.promised(order):
            raise Refused
        self.service.checkpoint()
        body = f'{{"payin_id": "{self.of(order_id, "payin")[0]["id"]}", "amount": {amount}}}'
        order.refunds.setdefault(refund_id, self.wish(order_id, body))
        self.send_first(order.refunds[refund_id], "/refund/refund-creation")


@pytest.mark.parametrize("shop", [ChecksTheLimitInside, ChecksTheLimitBeforehand])
def test_two_refunds_at_once_keep_the_limit(shop: type[SmallShop]) -> None:
    """A shop that promises to decline what is too much does so too when both come at the same time."""
    found: set[str] = set()
    for at in range(3):
        try:
            with Play(_demanding(shop, "refund limit")) as play:
                play.pay()
                play.wait("10s")
                play.refund(1, "most", meanwhile="another refund", at=at)
                play.refund_again(1)  # it was made before, or is too much as it was then
        except MerchantBug as bug:
            found.add(bug.verdict)

    told = "The merchant asks the service for 2 refunds of order-1 at once, of 66.52 EUR in all; 49.90 EUR is left"
    assert found == (set() if shop is ChecksTheLimitInside else {told})


def test_examples_are_not_spent_where_nothing_would_be_a_finding() -> None:
    """The dialect of a policy is plain in an example, unless the policy is demanded."""
    chosen: list[str] = []
    for shop in (SmallShop, _demanding(SmallShop, "request ids")):

        class ShopMachine(MerchantMachine):
            merchant = shop

        machine = ShopMachine()
        machine.start("shared request ids")
        chosen.append(machine.play.story.dialect)
        machine.play.close()

    assert chosen == ["plain", "shared request ids"]


@pytest.mark.parametrize("lasts", [0, "end"])
def test_a_refund_without_a_reply_takes_its_money(lasts: int | str) -> None:
    """It may have been made, so the limit counts it also where the order met a trouble."""
    steps = [
        step("webhooks", "drop all"),
        step("refund", 1, "all", "reply lost", lasts=lasts),
        step("refund", 1, "most"),
    ]
    for shop, demand in ((SmallShop, ("refund limit",)), (ForgetsUnanswered, ())):
        with Play(_demanding(shop, *demand)) as play:
            _paid(play)
            for each in steps:
                each.take(play)
        assert dict(play.tried.allowed) == ({} if demand else {"refund limit": 1})

    sentence = "takes a refund of 33.26 EUR of order-1, of which 0.00 EUR is left"
    with pytest.raises(MerchantBug, match=sentence), Play(_demanding(ForgetsUnanswered, "refund limit")) as play:
        _paid(play)
        for each in steps:
            each.take(play)


def test_a_limit_is_not_left_to_the_service() -> None:
    """To say no when the service does is another thing than to know what is left."""
    _, steps, _ = _CASES["refund limit"]
    sentence = "asks the service for a refund of 49.90 EUR of order-1, of which 24.95 EUR is left"

    with Play(AsksTheServiceFirst) as play:
        steps(play)
    assert dict(play.tried.allowed) == {"refund limit": 1}
    with pytest.raises(MerchantBug, match=sentence), Play(_demanding(AsksTheServiceFirst, "refund limit")) as play:
        steps(play)


def test_what_cannot_be_read_of_one_order_is_judged_for_others() -> None:
    """Of the order itself nothing is asked; a shop must understand the answers about another one without a promise."""
    for trouble in ORDER_READ_TROUBLES:
        for order in (1, 2):
            with Play(_demanding(SmallShop, *POLICIES)) as play:
                _one_cannot_be_read(play, trouble, order)
            assert play.status(3 - order) == "paid"
            assert [each.name for each in play.trials if each.table == "reads of one order"] == [trouble]
            assert dict(play.tried.allowed) == {}

    with pytest.raises(MerchantBug, match="calls order-2 pending in the end"), Play(StopsAtAnUnknownStatus) as play:
        _one_cannot_be_read(play, "unknown status")


class KeepsRefundsUntilDecided(SmallShop):
    """Takes the request, and sends nothing as long as the payment is disputed."""

    def send(self, wish: Wish, path: str) -> None:
        if "refund" not in path or not self.of(wish.order_id, "dispute", "needs_response"):
            super().send(wish, path)


class WorksOnEventsByJob(SmallShop):
    """Stores events, and declines what is disputed once its job has worked on them."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.inbox: list[tuple[str, dict[str, Any]]] = []

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        self.inbox.append((order_id, event))
        return 200

    def tick(self) -> None:
        # Refunds come first.
        super().tick()
        self.service.checkpoint()
        inbox, self.inbox = self.inbox, []
        for order_id, event in inbox:
            super().handle(order_id, event)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if self.of(order_id, "dispute", "needs_response"):
            raise Refused
        super().refund(order_id, refund_id, amount)


def test_what_is_kept_until_a_dispute_is_over_was_not_tried() -> None:
    """Nor does a shop know of a dispute whose event waits for its job; it is judged when the job has run."""
    promise = "disputed refund"
    with Play(_demanding(KeepsRefundsUntilDecided, promise)) as play:
        _refunded_while_disputed(play)

    by_job: Shows = dict.fromkeys(FAMILIES, "after jobs")
    with Play(_demanding(WorksOnEventsByJob, promise), shows=by_job) as play:
        _refunded_while_disputed(play)
    assert dict(play.tried.allowed) == {}

    at_once: Shows = dict.fromkeys(FAMILIES, "at once")
    for shows in cast("tuple[Shows, ...]", ("", at_once)):
        found = pytest.raises(MerchantBug, match="tries to refund 49")
        with found, Play(_demanding(LeavesDisputesToTheService, promise), shows=shows) as play:
            _refunded_while_disputed(play)
    found = pytest.raises(MerchantBug, match="tries to refund 49")
    with found, Play(_demanding(LeavesDisputesToTheService, promise), shows=by_job) as play:
        play.pay()
        play.wait("10s")
        play.provider("dispute half")
        play.wait("10s")
        play.refund()


class ChecksDisputesAtTheRequest(SmallShop):
    """Declines a refund of disputed money, and does not look again before its job sends one that has waited."""

    pauses = ()

    def is_held(self, order_id: str) -> bool:
        return bool(self.of(order_id, "dispute", "needs_response", "under_review", "lost"))

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if self.is_held(order_id):
            raise Refused
        super().refund(order_id, refund_id, amount)


class ChecksDisputesBeforeItSends(ChecksDisputesAtTheRequest):
    """Looks again, unless an earlier request may have been carried out."""

    def send(self, wish: Wish, path: str) -> None:
        if "refund" not in path or wish.key in self.unknown or not self.is_held(wish.order_id):
            super().send(wish, path)

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        self.was_limited = False
        try:
            return super().post(path, wish)
        except Unknown:
            if not self.was_limited:
                self.unknown.add(wish.key)
            raise

    def until_reset(self, headers: Mapping[str, str]) -> float:
        self.was_limited = True
        return super().until_reset(headers)

    @property
    def unknown(self) -> set[str]:
        found: set[str] = self.__dict__.setdefault("_unknown", set())
        return found


class GivesDisputedRestBack(ChecksDisputesAtTheRequest):
    """Gives back what is left of an order that is cancelled, also while it is disputed."""

    def cancel(self, order_id: str) -> None:
        SmallShop.refund(self, order_id, f"{order_id}-cancelled", self.balance(order_id))


def _disputed_while_a_refund_waits(play: Play, trouble: str = "429") -> None:
    play.pay()
    play.wait("10s")
    play.refund(1, "half", trouble, lasts=6)
    play.provider("dispute")
    for _ in range(8):
        play.wait("10m")


def _cancelled_while_disputed(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.provider("dispute half")
    play.wait("10s")
    play.cancel()


@pytest.mark.parametrize(
    ("shop", "steps"),
    [(ChecksDisputesAtTheRequest, _disputed_while_a_refund_waits), (GivesDisputedRestBack, _cancelled_while_disputed)],
)
def test_disputed_money_is_not_asked_back_by_a_job_or_a_cancellation(
    shop: type[Merchant], steps: Callable[[Play], None]
) -> None:
    """By a job that sends what has waited, or by a cancellation that decides on it."""
    with pytest.raises(MerchantBug, match="tries to refund"), Play(_demanding(shop, "disputed refund")) as play:
        steps(play)


@pytest.mark.parametrize("trouble", ["429", "reply lost", "request lost"])
def test_a_refund_that_may_have_been_made_is_asked_for_once_more(trouble: str) -> None:
    """Only the reply tells what became of it; one that was surely not made is held back."""
    with Play(_demanding(ChecksDisputesBeforeItSends, "disputed refund")) as play:
        _disputed_while_a_refund_waits(play, trouble)


def test_a_dispute_that_comes_with_the_request_need_not_be_known() -> None:
    """No job has run since its event, and the shop works on events in a job."""
    by_job: Shows = dict.fromkeys(FAMILIES, "after jobs")
    with Play(_demanding(WorksOnEventsByJob, "disputed refund"), shows=by_job) as play:
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.refund(1, "half")


@pytest.mark.parametrize("what", ["dies", "database down"])
def test_a_job_that_was_cut_short_has_not_worked_on_the_event_of_a_dispute(what: str) -> None:
    """Nor need the shop know of it."""
    by_job: Shows = dict.fromkeys(FAMILIES, "after jobs")
    with Play(_demanding(WorksOnEventsByJob, "disputed refund"), shows=by_job) as play:
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.interrupt_jobs(what)
        play.refund(1, "half")


def test_a_broken_record_meets_each_way_to_ask_for_it() -> None:
    """By its own address and by lists, also of its refunds; other orders are answered."""
    services: list[ServiceLike] = []

    class Shop(SmallShop):
        def __init__(self, service: ServiceLike) -> None:
            super().__init__(service)
            services.append(service)

    with Play(Shop) as play:
        _one_cannot_be_read(play)
        first, second = (each.id for each in reversed(list(play.sandbox.ledger.newest_first(PayIn))))
        asked = {
            (f"/pay-in/{first}", 500),
            ("/pay-in?external_identifier=order-1", 500),
            (f"/refund?payin_id={first}", 500),
            (f"/pay-in/{second}", 200),
            ("/pay-in?external_identifier=order-2", 200),
            ("/pay-in", 200),
        }
        (service,) = services
        headers = {"Authorization": basic_header(service.business_key, service.business_secret)}

        assert {(path, service.call("GET", f"/api/v1{path}", headers).status) for path, _ in asked} == asked


def test_a_cancellation_of_which_nobody_was_told_is_no_promise() -> None:
    """The process was killed before it answered."""
    with Play(_demanding(TakesUpAgain, "cancelled before payment")) as play:
        play.order()
        play.pay()
        play.pass_time("1s")
        play.cancel(meanwhile="dies")
        play.wait("10s")


@pytest.mark.parametrize(("shop", "steps"), [(SmallShop, _paid_twice), (GivesRestBack, _cancelled)])
def test_a_shop_that_keeps_its_promises_passes(shop: type[SmallShop], steps: Callable[[Play], None]) -> None:
    """It leaves what was paid twice to a person, and gives back what is left."""
    with Play(_demanding(shop, *POLICIES)) as play:
        steps(play)
    assert dict(play.tried.allowed) == {}


def _one_of_two_is_limited(play: Play) -> None:
    for order in (1, 2):
        play.order()
        play.pay(order)
        play.wait("10s")
        if order == 2:
            play.own_refunds("429", lasts=6)
        play.cancel(order)
        play.wait("10s")


def test_what_went_back_once_goes_back_again() -> None:
    """A shop that gives back what is left of a cancelled order does so also when the refund is refused for a while."""
    with Play(GivesRestBack) as play:
        _one_of_two_is_limited(play)

    sentence = (
        "keeps 49.90 EUR of order-2, which was cancelled after its payment,"
        " though it gave back what was left of order-1"
    )
    with pytest.raises(MerchantBug, match=sentence), Play(ForgetsRefundsThatAreLimited) as play:
        _one_of_two_is_limited(play)


def test_a_limit_to_the_end_excuses_what_is_not_refunded() -> None:
    """No refund can succeed then."""
    with Play(_demanding(GivesRestBack, *POLICIES)) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.own_refunds("429", lasts="end")
        play.cancel()
        play.wait("10s")


def test_the_catalogue_limits_such_a_refund_for_long() -> None:
    """Nothing but a long limit shows a shop that forgets it."""
    limited = step("own_refunds", "429", lasts=6)
    plays = [play for play in catalogue() if limited in play.steps and step("cancel", 2) in play.steps]
    assert len(plays) == 1

    with pytest.raises(MerchantBug, match="though it gave back"), Play(ForgetsRefundsThatAreLimited) as play:
        for each in plays[0].steps:
            each.take(play)


def test_a_request_for_the_same_refund_is_no_other_one() -> None:
    """So it is no refund of more than is left."""
    with Play(_demanding(SmallShop, "refund limit")) as play:
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")
        play.refund_again()


def test_the_summary_tells_what_was_met() -> None:
    """And how to have it judged."""

    class ShopMachine(MerchantMachine):
        merchant = LeavesLimitsToTheService
        phases = ("hunt",)

    with Play(LeavesLimitsToTheService) as play:
        _refunded_too_much(play)
    ShopMachine.coverage.add(play.tried)

    assert (
        "Allowed, since the contract is silent, and met 1 time: a refund of more than is left is asked for, and the"
        " service refuses it. With 'refund limit' in demands it is a finding."
    ) in ShopMachine.coverage.summary()


def test_a_policy_that_is_none_is_named() -> None:
    """Before anything is played; a name alone is a list of one."""
    with pytest.raises(
        UsageError, match="demands has 'double payments', which is no policy; there are: double payment"
    ):
        Play(_demanding(SmallShop, "double payments"))
    Play(type("Shop", (SmallShop,), {"demands": "refund limit"})).close()


def _demanding(shop: type[Merchant], *policies: str) -> type[Merchant]:
    return type(f"Demanding{shop.__name__}", (shop,), {"demands": policies})


class PollsInVain(ReadsDisputesByTheirEvents):
    """Also reads in its job the disputes that it knows, and does nothing with the answers."""

    def tick(self) -> None:
        super().tick()
        for each in [each for each in self.versions.values() if each["object"] == "dispute"]:
            self.service.call("GET", f"/api/v1/dispute/{each['id']}", self.headers)


def _its_decision_is_not_told(play: Play) -> None:
    play.pay()
    play.wait("10s")
    play.provider("dispute")
    play.wait("10s")
    play.webhooks("drop all")
    play.provider("dispute lost")
    play.wait("10s")


def test_one_that_reads_disputes_by_itself_has_to_know_of_each() -> None:
    """And one that reads a dispute only when its event comes need not."""
    with Play(ReadsDisputesByTheirEvents) as play:
        _its_decision_is_not_told(play)
    with pytest.raises(MerchantBug, match="charged_back"), Play(PollsInVain) as play:
        _its_decision_is_not_told(play)
