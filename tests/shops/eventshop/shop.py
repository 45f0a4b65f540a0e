"""Commands, webhooks, and the daily settlement: each reads facts, decides, and appends."""

from __future__ import annotations

import hmac
import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from eventshop.ledger import Fact, Known, Ledger, Stale
from eventshop.order import OVER, Ask, Order, fold
from eventshop.service import Clock, Service

TOLERANCE_SECONDS = 300
LIVEMODE = False
KEY_SECONDS = 23 * 3600
ARRIVAL_SECONDS = 60.0
DAY_SECONDS = 86_400.0
KINDS = {"payin": "PayinSeen", "refund": "RefundSeen", "dispute": "DisputeSeen"}


class Rejected(Exception):
    """The shop does not do what it was asked for."""


@dataclass
class Settlement:
    """The report of a day: the money of each currency, and what differed from the facts."""

    totals: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    differences: list[str] = field(default_factory=list)
    is_complete: bool = True


class Shop:
    """The shop; all of its state is in the ledger."""

    def __init__(
        self, ledger: Ledger, service: Service, clock: Clock, secret: str, bugs: frozenset[str] = frozenset()
    ) -> None:
        self.ledger, self.service, self.clock, self.bugs = ledger, service, clock, bugs
        self.secret = secret.encode()

    def order(self, order_id: str) -> Order:
        """Return the state of an order."""
        return fold(order_id, self.ledger.facts(order_id), self.bugs)

    def decide(self, order_id: str, decision: Callable[[Order], list[Fact]]) -> Order:
        """Append what a decision says; it is made anew when the order has changed meanwhile. Returns the order."""
        while True:
            order = self.order(order_id)
            facts = decision(order)
            after = fold(order_id, [*self.ledger.facts(order_id)[: order.version], *facts], self.bugs)
            if after.status == "paid" and not after.shipments:
                facts = [*facts, Fact("GoodsShipped"), Fact("ReceiptSent")]
            if not facts:
                return order
            try:
                self.ledger.append(order_id, order.version, facts)
            except Stale:
                continue
            except Known:
                pass
            return self.order(order_id)

    # Commands

    def place(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Take an order."""
        data = {"amount": str(amount), "currency": currency, "at": self.clock.now()}
        self.ledger.append(order_id, 0, [Fact("OrderPlaced", data)])

    def pay(self, order_id: str) -> str:
        """Ask for a deposit: the request is a fact before it is sent, so no end of the process loses its key."""
        order = self.order(order_id)
        ask = order.asks[-1] if order.asks else None
        is_old = ask is not None and ask.state in {"open", "absent"} and self.clock.now() - ask.at > KEY_SECONDS
        if is_old and not self.settle_order(order_id):
            return order.status
        if "fact_after_call" in self.bugs:
            return self.pay_carelessly(order_id)
        was_sent = False

        def ask_for_deposit(order: Order) -> list[Fact]:
            nonlocal was_sent
            last = order.asks[-1] if order.asks else None
            is_young = last is not None and self.clock.now() - last.at <= KEY_SECONDS
            was_sent = last is not None and last.state == "open" and is_young
            if was_sent:
                return [Fact("DepositSent")]
            if order.status not in {"unpaid", *OVER}:
                return []
            if last is not None and last.state == "absent" and is_young:
                return [Fact("DepositSent")]
            return [Fact("DepositAsked", self.deposit(order)), Fact("DepositSent")]

        before = order.version
        order = self.decide(order_id, ask_for_deposit)
        if order.version == before or not order.asks or order.asks[-1].state != "open":
            return order.status
        ask = order.asks[-1]
        outcome = self.service.post("/pay-in/deposit-creation", ask.key, ask.body)
        self.settle_deposit(order_id, ask, outcome.kind, outcome.data, was_sent=was_sent)
        if outcome.kind in {"refused", "unsent"}:
            raise Rejected("the payment was not accepted")
        return self.order(order_id).status

    def deposit(self, order: Order) -> dict[str, Any]:
        """Return a new request."""
        rest = {
            "currency": order.currency,
            "external_identifier": order.id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        body = f'{{"amount": {order.amount}, {json.dumps(rest)[1:]}'
        return {"key": str(uuid.uuid4()), "body": body, "at": self.clock.now()}

    def settle_deposit(self, order_id: str, ask: Ask, kind: str, data: dict[str, Any], *, was_sent: bool) -> None:
        """Append what became of a deposit."""
        if kind == "unknown" and "timeout_is_refusal" in self.bugs:
            kind = "refused"
        if kind == "made":
            facts = [Fact("DepositSettled", {"key": ask.key, "state": "made"}), seen(data)]
        elif kind == "refused" and was_sent:  # an earlier click may have got through
            self.settle_order(order_id, is_over=True)
            return
        elif kind == "refused" or (kind == "unsent" and not was_sent):
            state = "refused" if kind == "refused" else "absent"
            facts = [Fact("DepositSettled", {"key": ask.key, "state": state})]
        else:
            return
        self.decide(order_id, lambda _order: facts)

    def pay_carelessly(self, order_id: str) -> str:
        """Send first and write later."""
        order = self.order(order_id)
        if order.status in {"unpaid", *OVER}:
            data = self.deposit(order)
            outcome = self.service.post("/pay-in/deposit-creation", data["key"], data["body"])
            if outcome.kind == "made":
                self.decide(order_id, lambda _order: [Fact("DepositAsked", data), seen(outcome.data)])
        return self.order(order_id).status

    def refund(self, order_id: str, reference: str, amount: Decimal) -> None:
        """Refund an amount; the same reference is the same refund."""
        ask = self.order(order_id).refund_asks.get(reference)
        if ask is not None and ask.state == "open" and self.clock.now() - ask.at > KEY_SECONDS:
            self.settle_order(order_id)
        was_sent = False

        def ask_for_refund(order: Order) -> list[Fact]:
            nonlocal was_sent
            ask = order.refund_asks.get(reference)
            is_young = ask is not None and self.clock.now() - ask.at <= KEY_SECONDS
            was_sent = ask is not None and ask.state == "open"
            if ask is not None and ask.state == "refused":
                raise Rejected("this refund was refused")
            if ask is not None and (ask.state == "made" or (was_sent and not is_young)):
                return []
            sent = Fact("RefundSent", {"reference": reference})
            if ask is not None and is_young:
                return [sent]
            paid = [
                each for each in order.seen.values() if (each["kind"], each["status"]) == ("PayinSeen", "succeeded")
            ]
            if not paid or not 0 < amount <= order.refundable:
                raise Rejected("there is not so much to refund")
            body = (
                f'{{"amount": {amount}, {json.dumps({"payin_id": paid[0]["id"], "external_identifier": reference})[1:]}'
            )
            asked = {"reference": reference, "amount": str(amount), "key": str(uuid.uuid4())}
            return [Fact("RefundAsked", {**asked, "body": body, "at": self.clock.now()}), sent]

        before = self.order(order_id).version
        order = self.decide(order_id, ask_for_refund)
        ask = order.refund_asks[reference]
        if order.version == before or ask.state != "open":
            return
        outcome = self.service.post("/refund/refund-creation", ask.key, ask.body)
        if outcome.kind == "made":
            self.decide(order_id, lambda _order: [seen(outcome.data)])
        elif outcome.kind == "refused" and was_sent:
            self.settle_order(order_id, is_over=True)
        elif outcome.kind == "refused" or (outcome.kind == "unsent" and not was_sent):
            state = "refused" if outcome.kind == "refused" else "absent"
            self.decide(order_id, lambda _order: [Fact("RefundSettled", {"reference": reference, "state": state})])
        if outcome.kind in {"refused", "unsent"}:
            raise Rejected("the refund was not accepted")

    # Webhooks

    def webhook(self, headers: Mapping[str, str], raw: bytes) -> int:
        """Append what a genuine webhook tells; returns the status to answer."""
        refusal = self.refusal({name.lower(): value for name, value in headers.items()}, raw)
        if refusal:
            return refusal
        try:
            event = json.loads(raw, parse_float=Decimal, parse_int=Decimal)
            shown = {"updated_at": event["created_at"], **event["data"]["object"]}
            fact = seen(shown, source=str(event["id"]))
            order_id = self.owner(shown) if event["livemode"] is LIVEMODE else None
        except (ValueError, LookupError, TypeError, AttributeError):
            return 200  # a type that we do not know, or a sample: nothing to do, and no reason to send it again
        if order_id is not None:
            self.decide(order_id, lambda _order: [fact])
        return 200

    def owner(self, shown: dict[str, Any]) -> str | None:
        """Return the order of a pay-in, refund or dispute; None when it is none of ours."""
        if shown["object"] != "payin":
            return self.ledger.owner(shown.get("payin_id"))
        order_id = str(shown.get("external_identifier"))
        return order_id if self.ledger.facts(order_id) else None

    def refusal(self, headers: Mapping[str, str], raw: bytes) -> int:
        """Return the status that refuses a webhook; 0 for a genuine one."""
        if "sandbox_unverified" in self.bugs and b'"livemode":false' in raw.replace(b" ", b""):
            return 0
        parts = [part.partition("=")[::2] for part in headers.get("x-service-signature", "").split(",")]
        times = [value for name, value in parts if name == "t"]
        digests = [value for name, value in parts if name == "v1" and value]
        if "last_v1_only" in self.bugs:
            digests = digests[-1:]
        if len(times) != 1 or not digests or not times[0].isascii() or not times[0].isdigit() or len(times[0]) > 12:
            return 400
        if abs(int(self.clock.now()) - int(times[0])) > TOLERANCE_SECONDS:
            return 400
        expected = hmac.digest(self.secret, times[0].encode() + b"." + raw, "sha256").hex().encode()
        return 0 if any(hmac.compare_digest(expected, each.encode("utf-8", "replace")) for each in digests) else 401

    # Settlement

    def settle(self) -> Settlement:
        """Compare the facts of all orders with the service's lists, and report the money; runs once a day."""
        report = Settlement()
        listed = self.listed()
        orders = self.ledger.orders()
        if "settlement_recent_only" in self.bugs:
            orders = [each for each in orders if self.clock.now() - self.order(each).placed_at < DAY_SECONDS]
        if listed is None:
            report.is_complete = False
        else:
            for order_id in orders:
                report.differences += self.catch_up(order_id, [each for each in listed if self.owner(each) == order_id])
            # A pay-in that was unknown until now has made its refunds and disputes ours.
            for order_id in orders:
                report.differences += self.catch_up(order_id, [each for each in listed if self.owner(each) == order_id])
            ours = {str(each["id"]) for each in listed if self.owner(each)}
            report.differences += [f"{each['id']}: not ours" for each in listed if str(each["id"]) not in ours]
        for order_id in orders:
            order = self.order(order_id)
            report.totals[order.currency] += order.balance
        return report

    def listed(self, **query: str) -> list[dict[str, Any]] | None:
        """Return what the service has, the oldest first; None when it does not say all of it."""
        payins = self.service.everything("/pay-in", **query)
        if payins is None:
            return None
        found = payins[::-1]
        for path in ("/refund", "/dispute"):
            scopes: list[dict[str, str]] = [{"payin_id": str(each["id"])} for each in payins] if query else [{}]
            for scope in scopes:
                items = self.service.everything(path, **scope)
                if items is None:
                    return None
                found += items[::-1]
        return found

    def settle_order(self, order_id: str, *, is_over: bool = False) -> bool:
        """Ask the service about one order; returns whether it said."""
        listed = self.listed(external_identifier=order_id)
        if listed is None:
            return False
        self.catch_up(order_id, listed, is_over=is_over)
        return True

    def catch_up(self, order_id: str, listed: list[dict[str, Any]], *, is_over: bool = False) -> list[str]:
        """Append what the facts of an order lack; returns the differences."""
        differences: list[str] = []

        def lacking(order: Order) -> list[Fact]:
            differences.clear()
            facts = []
            for shown in listed:
                fact = seen(shown, is_listed=True)
                if "settlement_stale" in self.bugs:
                    fact.data["version"] = "9999" + fact.data["version"]
                known = order.seen.get(fact.data["id"])
                is_news = known is None or known["status"] != fact.data["status"]
                if is_news and (known is None or known["version"] <= fact.data["version"]):
                    facts.append(fact)
                    differences.append(f"{fact.data['id']}: {fact.data['status']}")
            last_sent = self.clock.now() - (0.0 if is_over else ARRIVAL_SECONDS)
            state = "refused" if is_over else "absent"
            if all(str(shown["id"]) in order.seen for shown in listed if shown["object"] == "payin"):
                lost = [ask.key for ask in order.asks if ask.state == "open" and ask.at <= last_sent]
                facts += [Fact("DepositSettled", {"key": key, "state": state}) for key in lost]
            references = {str(shown.get("external_identifier")) for shown in listed if shown["object"] == "refund"}
            for reference, ask in order.refund_asks.items():
                if ask.state == "open" and ask.at <= last_sent and reference not in references:
                    facts.append(Fact("RefundSettled", {"reference": reference, "state": state}))
            return facts

        order = self.decide(order_id, lacking)
        if "deposit_by_job" in self.bugs and order.asks and order.asks[-1].state == "absent":
            data = self.deposit(order)
            self.decide(order_id, lambda _order: [Fact("DepositAsked", data), Fact("DepositSent")])
            outcome = self.service.post("/pay-in/deposit-creation", data["key"], data["body"])
            ask = Ask(data["key"], data["body"], data["at"])
            self.settle_deposit(order_id, ask, outcome.kind, outcome.data, was_sent=False)
        return differences


def seen(shown: dict[str, Any], source: str | None = None, *, is_listed: bool = False) -> Fact:
    """Return the fact that an object of the service was seen in a state; KeyError for what is no such object.

    A state that was listed holds against another one with the same time.
    """
    data = {
        "id": str(shown["id"]),
        "status": str(shown["status"]),
        "amount": str(shown["amount"]),
        "currency": str(shown["currency"]),
        "version": str(shown["updated_at"]),
        "reference": str(shown.get("external_identifier") or shown["id"]),
        "is_listed": is_listed,
    }
    return Fact(KINDS[shown["object"]], data, source)
