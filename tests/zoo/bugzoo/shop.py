"""The shop: orders, deposits under stable keys, refunds, and the reconciliation that asks when nobody tells."""

from __future__ import annotations

import json
import uuid
from decimal import Decimal
from hashlib import sha256
from typing import Any

from bugzoo.client import Client, Conflict, Declined, Unknown
from bugzoo.store import Row, Store, total
from paydouble.stateful import Refused, ServiceLike

METHODS = ("CREDIT_CARD", "DEBIT_CARD")
# A key is remembered for a day; one that is nearly that old must not be relied on.
KEY_SECONDS = 23 * 3600.0


class Shop:
    """What the rest of the merchant's code calls."""

    def __init__(self, service: ServiceLike, store: Store, client: Client) -> None:
        self.service = service
        self.store = store
        self.client = client
        self.paying: set[str] = set()

    # Orders

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Note an order."""
        self.store.run("insert into orders (id, amount, currency) values (?, ?, ?)", order_id, str(amount), currency)

    def status(self, order_id: str) -> str:
        """Return how an order stands, from the newest versions of everything that belongs to it."""
        order = self.store.order(order_id)
        assert order is not None
        pay_ins = self.store.objects("payin", order_id)
        paid = [row for row in pay_ins if row["status"] == "succeeded"]
        if paid:
            return self.status_of_paid(order, paid)
        if order["cancelled"]:
            return "cancelled"
        if any(row["status"] in {"created", "pending", "processing"} for row in pay_ins):
            return "pending"
        if pay_ins:
            return "failed" if pay_ins[-1]["status"] == "failed" else "cancelled"
        return "failed" if order["refused"] else "unpaid"

    def status_of_paid(self, order: Row, paid: list[Row]) -> str:
        """Return how an order stands for which money has come."""
        if not self.is_right_amount(order, paid):
            return "review"
        disputes = self.store.objects("dispute", order["id"])
        if any(row["status"] in {"lost", "accepted"} for row in disputes):
            return "charged_back"
        refunded = total(self.store.objects("refund", order["id"]), "succeeded")
        if refunded:
            return "refunded" if refunded >= Decimal(order["amount"]) else "partly_refunded"
        return "paid"

    def is_right_amount(self, order: Row, paid: list[Row]) -> bool:
        """Return whether exactly the price has come, in its currency."""
        is_right_currency = {row["currency"] for row in paid} == {order["currency"]}
        return is_right_currency and total(paid, "succeeded") == Decimal(order["amount"])

    def balance(self, order_id: str) -> Decimal:
        """Return what is left of an order's money; nobody takes back more than there was."""
        came = total(self.store.objects("payin", order_id), "succeeded")
        refunded = total(self.store.objects("refund", order_id), "succeeded")
        lost = total(self.store.objects("dispute", order_id), "lost", "accepted")
        return max(Decimal(0), came - refunded - lost)

    def ship_what_is_paid(self, order_id: str) -> None:
        """Send the goods, once."""
        if self.status(order_id) == "paid":
            self.store.run("update orders set shipped = 1 where id = ? and shipped = 0", order_id)

    def cancel(self, order_id: str) -> None:
        """The customer does not want the order; when its money comes all the same, it is taken up again."""
        with self.store.transaction():
            if self.status(order_id) not in {"unpaid", "pending", "failed", "cancelled"}:
                raise Refused("it is paid")
            self.store.run("update orders set cancelled = 1 where id = ?", order_id)

    # Paying

    def pay(self, order_id: str) -> None:
        """The customer presses the button; a second click while the first is under way does nothing."""
        if self.is_paying(order_id):
            return
        self.paying.add(order_id)
        try:
            self.pay_once(order_id)
        finally:
            self.paying.discard(order_id)

    def is_paying(self, order_id: str) -> bool:
        """Return whether a click is being worked on."""
        return order_id in self.paying

    def pay_once(self, order_id: str) -> None:
        """Make a deposit, unless there is one."""
        order = self.store.order(order_id)
        assert order is not None
        if order["cancelled"] or self.status(order_id) not in {"unpaid", "failed", "cancelled"}:
            return
        if self.key_is_old(order) and self.look_up(order_id):
            return
        self.send_deposit(self.attempt_for(order_id))

    def attempt_for(self, order_id: str) -> Row:
        """Return the order with a key and a body for its deposit; both are kept before anything is sent."""
        with self.store.transaction():
            order = self.store.order(order_id)
            assert order is not None
            if order["key"] is None or self.is_over(order) or self.key_is_old(order):
                self.begin_attempt(order, order["method"])
                order = self.store.order(order_id)
                assert order is not None
            return order

    def is_over(self, order: Row) -> bool:
        """Return whether the deposit of the order's key has come to an end without money."""
        pay_in = self.store.one("select * from objects where id = ?", order["payin_id"])
        return bool(order["refused"]) or (pay_in is not None and pay_in["status"] in {"failed", "cancelled"})

    def key_is_old(self, order: Row) -> bool:
        """Return whether the service may have forgotten the order's key."""
        return order["key"] is not None and self.service.now() - order["tried_at"] > KEY_SECONDS

    def begin_attempt(self, order: Row, method: int) -> None:
        """Give an order a key and a body."""
        self.store.run(
            "update orders set key = ?, body = ?, tried_at = ?, payin_id = null, refused = 0, method = ? where id = ?",
            self.new_key(f"{order['id']} {method} {self.service.now()}"),
            self.deposit_body(order, METHODS[method]),
            self.service.now(),
            method,
            order["id"],
        )

    def new_key(self, purpose: str) -> str:
        """Return a version 4 UUID; made of its purpose rather than drawn, so that runs can be repeated."""
        return str(uuid.UUID(bytes=sha256(purpose.encode()).digest()[:16], version=4))

    def deposit_body(self, order: Row, method: str) -> bytes:
        """Return the request, its amount as exact as the price."""
        body = {
            "amount": "\0",
            "currency": order["currency"],
            "external_identifier": order["id"],
            "payment_method": {"type": method},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        return json.dumps(body).replace('"\\u0000"', self.written_amount(order)).encode()

    def written_amount(self, order: Row) -> str:
        """Return the amount as a JSON number."""
        return str(order["amount"])

    def send_deposit(self, order: Row) -> None:
        """Send the deposit of an order's attempt."""
        try:
            made = self.client.post("/pay-in/deposit-creation", order["key"], order["body"])
        except Declined:
            self.on_declined(order)
        except Conflict:
            self.on_conflict(order)
        except Unknown:
            self.on_unknown(order)
        else:
            self.on_made(order, made)

    def on_made(self, order: Row, made: dict[str, Any]) -> None:
        """The deposit exists."""
        with self.store.transaction():
            self.store.run("update orders set payin_id = ? where id = ?", made["id"], order["id"])
            self.store.learn("payin", order["id"], made)
            self.ship_what_is_paid(order["id"])

    def on_declined(self, order: Row) -> None:
        """The request was refused; another method may do, unless an earlier attempt went through after all."""
        method = order["method"] + 1
        if self.look_up(order["id"]):
            return
        with self.store.transaction():
            current = self.store.order(order["id"])
            assert current is not None
            if current["payin_id"] is not None or current["key"] != order["key"]:
                return
            if method == len(METHODS):
                self.store.run("update orders set refused = 1, method = 0 where id = ?", order["id"])
                return
            self.begin_attempt(order, method)
            again = self.store.order(order["id"])
        assert again is not None
        self.send_deposit(again)

    def on_conflict(self, order: Row) -> None:
        """The key is somebody else's: see what there is, and leave the rest to reconciliation."""
        self.look_up(order["id"])

    def on_unknown(self, order: Row) -> None:
        """Nobody knows: reconciliation will ask."""

    # Refunds

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Give money back; the same id again is the same refund."""
        with self.store.transaction():
            wish = self.store.one("select * from wishes where id = ?", refund_id)
            if wish is None:
                pay_in = next(
                    (row for row in self.store.objects("payin", order_id) if row["status"] == "succeeded"), None
                )
                if pay_in is None or self.status(order_id) not in {"paid", "partly_refunded"}:
                    raise Refused("there is nothing to give back")
                body = f'{{"payin_id": "{pay_in["id"]}", "amount": {amount}, "external_identifier": "{refund_id}"}}'
                self.store.run(
                    "insert into wishes (id, order_id, amount, key, body, tried_at) values (?, ?, ?, ?, ?, ?)",
                    refund_id,
                    order_id,
                    str(amount),
                    self.new_key(refund_id),
                    body.encode(),
                    self.service.now(),
                )
                wish = self.store.one("select * from wishes where id = ?", refund_id)
        assert wish is not None
        if wish["object_id"] is None and not wish["refused"]:
            self.send_refund(wish)

    def send_refund(self, wish: Row) -> None:
        """Send a refund; a stale one is looked up first."""
        if self.service.now() - wish["tried_at"] > KEY_SECONDS and self.find_refund(wish):
            return
        try:
            made = self.client.post("/refund/refund-creation", wish["key"], wish["body"])
        except Declined:
            self.on_refund_declined(wish)
        except (Conflict, Unknown):
            self.find_refund(wish)
        else:
            self.on_refund_made(wish, made)

    def on_refund_made(self, wish: Row, made: dict[str, Any]) -> None:
        """The refund exists."""
        with self.store.transaction():
            self.store.run("update wishes set object_id = ? where id = ?", made["id"], wish["id"])
            self.store.learn("refund", wish["order_id"], made)

    def on_refund_declined(self, wish: Row) -> None:
        """The refund was refused."""
        self.store.run("update wishes set refused = 1 where id = ?", wish["id"])

    def find_refund(self, wish: Row) -> bool:
        """Look whether a refund exists."""
        for pay_in in self.store.objects("payin", wish["order_id"]):
            for each in self.client.listing(f"/refund?payin_id={pay_in['id']}") or ():
                if each.get("external_identifier") == wish["id"]:
                    self.on_refund_made(wish, each)
                    return True
        return False

    # Reconciliation

    def look_up(self, order_id: str) -> bool:
        """Ask for everything that belongs to an order; returns whether one is, or may be, under way or paid."""
        listed = self.client.listing(f"/pay-in?external_identifier={order_id}")
        if listed is None:
            return True  # nobody knows, so nothing new is begun
        for each in reversed(listed):
            self.adopt(order_id, each)
        self.look_up_children(order_id)
        with self.store.transaction():
            self.ship_what_is_paid(order_id)
        return any(each["status"] not in {"failed", "cancelled"} for each in listed)

    def adopt(self, order_id: str, pay_in: dict[str, Any]) -> None:
        """Keep a deposit that the service shows."""
        with self.store.transaction():
            self.store.run("update orders set payin_id = ? where id = ?", pay_in["id"], order_id)
            self.store.learn("payin", order_id, pay_in)

    def look_up_children(self, order_id: str) -> None:
        """Ask for the refunds and disputes of an order that was paid."""
        for pay_in in self.store.objects("payin", order_id):
            if pay_in["status"] == "succeeded":
                for kind in ("refund", "dispute"):
                    listed = self.client.listing(f"/{kind}?payin_id={pay_in['id']}")
                    with self.store.transaction():
                        for each in listed or ():
                            self.store.believe(kind, order_id, each)

    def reconcile(self) -> None:
        """Ask about every order for which anything was ever sent, and send again what never arrived."""
        for order in self.store.all("select * from orders where key is not null"):
            if not self.look_up(order["id"]) and self.is_lost(order["id"]):
                self.resend(order["id"])
        for wish in self.store.all("select * from wishes where object_id is null and refused = 0"):
            if not self.find_refund(wish):
                self.send_refund(wish)

    def is_lost(self, order_id: str) -> bool:
        """Return whether a deposit was wanted and nothing came of it."""
        order = self.store.order(order_id)
        assert order is not None
        is_wanted = not (order["refused"] or order["cancelled"])
        return is_wanted and order["payin_id"] is None and not self.store.objects("payin", order_id)

    def resend(self, order_id: str) -> None:
        """Send a deposit again; `attempt_for` takes a new key when the old one may have been forgotten."""
        self.send_deposit(self.attempt_for(order_id))
