"""What goes wrong in the shop: keys, money, states."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, ClassVar

from bugzoo.client_bugs import SaysFailed
from bugzoo.registry import mistake
from bugzoo.shop import Shop
from bugzoo.store import Row, Store, total


@mistake(12)
class OneKeyForAll(Shop):
    """Uses one key for several orders."""

    def new_key(self, purpose: str) -> str:
        return super().new_key("this shop")


@mistake(15)
class KeyPerClick(Shop):
    """A double click makes two keys."""

    clicks = 0

    def is_paying(self, order_id: str) -> bool:
        return False

    def attempt_for(self, order_id: str) -> Row:
        order = self.store.order(order_id)
        assert order is not None
        self.clicks += 1
        self.begin_attempt(order, order["method"])
        again = self.store.order(order_id)
        assert again is not None
        return again

    def new_key(self, purpose: str) -> str:
        return super().new_key(f"{purpose} {self.clicks}")


@mistake(16)
class OldKeys(Shop):
    """Retries under its key after 24 hours."""

    def key_is_old(self, order: Row) -> bool:
        return False


@mistake(17)
class KeysInMemory(Shop):
    """Loses its keys on a restart."""

    known: dict[str, Row]

    def __init__(self, *parts: Any) -> None:  # noqa: ANN401 - those of a shop
        super().__init__(*parts)
        self.known = {}

    def pay_once(self, order_id: str) -> None:
        if order_id not in self.known:
            self.store.run("update orders set key = null where id = ?", order_id)
        super().pay_once(order_id)

    def attempt_for(self, order_id: str) -> Row:
        self.known[order_id] = super().attempt_for(order_id)
        return self.known[order_id]


class Keyed(Shop):
    """Base: sends another text for a key."""

    def spell(self, key: str) -> str:
        raise NotImplementedError

    def new_key(self, purpose: str) -> str:
        return self.spell(super().new_key(purpose))


@mistake(18)
class KeyIsTheOrder(Keyed):
    """Sends a key that is no UUID."""

    def spell(self, key: str) -> str:
        return f"deposit-{key[:8]}"


@mistake(18)
class KeyWithoutDashes(Keyed):
    """Sends a key without dashes."""

    def spell(self, key: str) -> str:
        return key.replace("-", "")


@mistake(18)
class KeyOfAnotherVersion(Keyed):
    """Sends a UUID of version 5."""

    def spell(self, key: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, key))


@mistake(19)
class ConflictIsSuccess(Shop):
    """Takes a 409 for success."""

    def on_conflict(self, order: Row) -> None:
        self.store.run("update orders set shipped = 1 where id = ?", order["id"])


@mistake(36, test="a_method_that_is_gone")
class OneMethod(Shop):
    """Has no fallback for a payment method that is gone."""

    def on_declined(self, order: Row) -> None:
        self.store.run("update orders set refused = 1 where id = ?", order["id"])


@mistake(37)
class FloatMoney(Shop):
    """Counts money in binary floats."""

    def written_amount(self, order: Row) -> str:
        return f"{int(float(order['amount']) * 100) / 100:.2f}"


@mistake(37)
class TwoDigits(Shop):
    """Gives every currency two digits."""

    def written_amount(self, order: Row) -> str:
        return f"{Decimal(order['amount']):.2f}"


@mistake(41)
class BooksBeforeTheAnswer(Shop):
    """Books a refund before it is accepted."""

    def send_refund(self, wish: Row) -> None:
        booked = {"id": wish["id"], "status": "succeeded", "amount": wish["amount"], "currency": "", "updated_at": ""}
        self.store.learn("refund", wish["order_id"], booked)
        super().send_refund(wish)

    def on_refund_made(self, wish: Row, made: dict[str, Any]) -> None:
        self.store.run("delete from objects where id = ?", wish["id"])
        super().on_refund_made(wish, made)


@mistake(15)
class RefundPerClick(Shop):
    """A refund that is clicked twice is made twice."""

    clicks: ClassVar[int] = 0

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        type(self).clicks += 1
        super().refund(order_id, f"{refund_id}-{self.clicks}", amount)


@mistake(10)
class RefundKeyPerAttempt(Shop):
    """Takes a new key for each attempt at a refund."""

    def send_refund(self, wish: Row) -> None:
        for attempt in range(3):
            key = self.new_key(f"{wish['id']} {attempt}")
            try:
                answer = self.client.send("POST", "/refund/refund-creation", key, wish["body"])
            except OSError:
                self.service.sleep(1)
                continue
            if answer.status < 300:
                self.on_refund_made(wish, self.client.parse(answer.body)["data"])
                return
            self.service.sleep(1)
        self.find_refund(wish)


@mistake(43)
class DebitsTwice(Shop):
    """Takes disputed money off its books when the dispute opens, and again when it is lost."""

    def balance(self, order_id: str) -> Decimal:
        came = total(self.store.objects("payin", order_id), "succeeded")
        refunded = total(self.store.objects("refund", order_id), "succeeded")
        disputes = self.store.objects("dispute", order_id)
        held = total(disputes, "needs_response", "under_review", "lost", "accepted")
        return came - refunded - held - total(disputes, "lost", "accepted")


class FinalIsFinal(Store):
    """Base: what is in a state is never moved out of it."""

    stuck: tuple[str, ...] = ()

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return (old["kind"], old["status"]) != self.stuck and super().is_newer(old, status, updated_at)


@mistake(42)
class RefundsNeverFail(FinalIsFinal):
    """Ignores a refund that fails later."""

    stuck = ("refund", "succeeded")


@mistake(44)
class DisputesEnd(FinalIsFinal):
    """Books a dispute as won for good."""

    stuck = ("dispute", "won")


@mistake(46)
class ExpiredIsDead(FinalIsFinal):
    """Takes an expired pay-in for dead."""

    stuck = ("payin", "cancelled")


@mistake(46)
class CancelledIsOver(Shop):
    """Takes an order that its customer has cancelled for over, whatever is paid for it."""

    def status(self, order_id: str) -> str:
        order = self.store.order(order_id)
        return "cancelled" if order is not None and order["cancelled"] else super().status(order_id)


@mistake(47)
class AnyAmount(Shop):
    """Calls an under- or overpaid order paid."""

    def is_right_amount(self, order: Row, paid: list[Row]) -> bool:
        return True


@mistake(80)
class AtLeastTheAmount(Shop):
    """Calls an order paid whatever was paid above its price."""

    def is_right_amount(self, order: Row, paid: list[Row]) -> bool:
        return total(paid, "succeeded") >= Decimal(order["amount"])


@mistake(76)
class NeverAsks(Shop):
    """Never asks what became of a payment."""

    def reconcile(self) -> None:
        return


@mistake(78)
class ShipsOnReturn(Shop):
    """Ships when the payer comes back, whatever the webhook has done."""

    def look_up(self, order_id: str) -> bool:
        before = self.store.order(order_id)
        found = super().look_up(order_id)
        if before and before["shipped"] and self.status(order_id) == "paid":
            self.store.run("update orders set shipped = shipped + 1 where id = ?", order_id)
        return found


@mistake(69)
class KnowsRepliesOnly(Shop):
    """Knows a pay-in by the id in the reply alone, and finds none whose reply was lost."""

    def look_up(self, order_id: str) -> bool:
        order = self.store.order(order_id)
        if order is None or order["payin_id"] is None:
            return False
        return super().look_up(order_id)


@mistake(39)
class Believes404(SaysFailed):
    """Takes a 404 right after its POST for the truth."""

    def look_up(self, order_id: str) -> bool:
        order = self.store.order(order_id)
        if order is not None and order["payin_id"] is not None:
            try:
                status = self.client.send("GET", f"/pay-in/{order['payin_id']}").status
            except OSError:
                return True
            if status == 404:
                self.store.run("update orders set refused = 1 where id = ?", order_id)
                return False
        return super().look_up(order_id)


@mistake(40)
class BelievesStaleReads(Shop):
    """Lets a stale read take it back."""

    def look_up(self, order_id: str) -> bool:
        order = self.store.order(order_id)
        if order is not None and order["payin_id"] is not None:
            found = self.client.get(f"/pay-in/{order['payin_id']}")
            if found is not None:
                self.store.run("update objects set status = ? where id = ?", found["status"], found["id"])
                return True
        return super().look_up(order_id)
