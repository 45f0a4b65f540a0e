"""An order is what its facts say: `fold` has no side effects and reads no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from eventshop.ledger import Fact

OVER = {"failed", "cancelled"}
LOST = {"lost", "accepted"}
PROGRESS = {
    "created": 0, "needs_response": 0, "pending": 1, "under_review": 1, "processing": 2,
    "failed": 3, "cancelled": 3, "won": 3, "lost": 3, "accepted": 3, "succeeded": 4,
}  # fmt: skip


@dataclass
class Ask:
    """A request to the service: one key and one body, however often it is sent."""

    key: str
    body: str
    at: float
    state: str = "open"
    """`open`, `absent` (never arrived), `refused`, or `made`."""
    sends: int = 0


@dataclass
class Order:
    """The state of an order."""

    id: str
    amount: Decimal = Decimal(0)
    currency: str = ""
    placed_at: float = 0.0
    version: int = 0
    asks: list[Ask] = field(default_factory=list)
    refund_asks: dict[str, Ask] = field(default_factory=dict)
    refund_amounts: dict[str, Decimal] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The newest state of each pay-in, refund and dispute."""
    counted: Decimal = Decimal(0)
    shipments: int = 0
    receipts: int = 0
    bugs: frozenset[str] = frozenset()

    def apply(self, fact: Fact) -> None:
        """Change by one fact."""
        data = fact.data
        self.version += 1
        match fact.kind:
            case "OrderPlaced":
                self.amount, self.currency, self.placed_at = Decimal(data["amount"]), data["currency"], data["at"]
            case "DepositAsked":
                self.asks.append(Ask(data["key"], data["body"], data["at"]))
            case "DepositSent":
                self.asks[-1].sends += 1
                self.asks[-1].state = "open"
            case "DepositSettled":
                for ask in self.asks:
                    if ask.key == data["key"]:
                        ask.state = data["state"]
            case "RefundAsked":
                self.refund_asks[data["reference"]] = Ask(data["key"], data["body"], data["at"])
                self.refund_amounts[data["reference"]] = Decimal(data["amount"])
            case "RefundSent":
                self.refund_asks[data["reference"]].sends += 1
                self.refund_asks[data["reference"]].state = "open"
            case "RefundSettled":
                self.refund_asks[data["reference"]].state = data["state"]
            case "PayinSeen" | "RefundSeen" | "DisputeSeen":
                self.see(fact.kind, data)
            case "GoodsShipped":
                self.shipments += 1
            case "ReceiptSent":
                self.receipts += 1
            case _:
                pass

    def see(self, kind: str, data: dict[str, Any]) -> None:
        """Keep the newest state of an object, by its own time and not by the order of arrival."""
        old = self.seen.get(data["id"])
        new_version = (data["version"], PROGRESS.get(data["status"], -1))
        if old is not None and data["status"] not in PROGRESS:
            return  # a status of a later version of the API says nothing that we understand
        if old is None and kind == "PayinSeen":
            for ask in self.asks:
                ask.state = "made" if ask.state == "open" else ask.state
        if kind == "RefundSeen" and data["reference"] in self.refund_asks:
            self.refund_asks[data["reference"]].state = "made"
        if kind == "PayinSeen" and data["status"] == "succeeded":
            self.counted += Decimal(data["amount"])
        if old is not None and "fold_by_arrival" not in self.bugs:
            old_version = (old["version"], PROGRESS.get(old["status"], -1))
            is_same_time = old["version"] == data["version"]
            if old_version >= new_version and not (data["is_listed"] and is_same_time):
                return
        if old is not None and old["status"] in OVER and "late_success_dropped" in self.bugs:
            return
        self.seen[data["id"]] = {**data, "kind": kind}

    def total(self, kind: str, statuses: set[str]) -> Decimal:
        """Return the money of the objects of a kind that have one of the statuses."""
        found = (each for each in self.seen.values() if each["kind"] == kind and each["status"] in statuses)
        return sum((Decimal(each["amount"]) for each in found), Decimal(0))

    @property
    def received(self) -> Decimal:
        """What payers have paid."""
        return self.counted if "fold_counts_twice" in self.bugs else self.total("PayinSeen", {"succeeded"})

    @property
    def refunded(self) -> Decimal:
        """What has gone back to payers."""
        if "refund_counted_at_request" in self.bugs:
            return sum(self.refund_amounts.values(), Decimal(0))
        return self.total("RefundSeen", {"succeeded"})

    @property
    def charged_back(self) -> Decimal:
        """What disputes have taken."""
        lost = self.total("DisputeSeen", LOST)
        return self.received if lost and "dispute_whole_amount" in self.bugs else lost

    @property
    def refundable(self) -> Decimal:
        """What could still be refunded; what is on its way counts as gone."""
        under_way = self.total("RefundSeen", {"created", "processing", "succeeded"})
        known = {each["reference"] for each in self.seen.values() if each["kind"] == "RefundSeen"}
        for reference, ask in self.refund_asks.items():
            if ask.state == "open" and reference not in known:
                under_way += self.refund_amounts[reference]
        disputed = self.total("DisputeSeen", {"needs_response", "under_review", *LOST})
        return self.received - under_way - disputed

    @property
    def balance(self) -> Decimal:
        """The money that is left."""
        return self.received - self.refunded - self.charged_back

    @property
    def status(self) -> str:
        """How the order stands."""
        payins = [each for each in self.seen.values() if each["kind"] == "PayinSeen"]
        if any(each["status"] == "succeeded" for each in payins):
            is_right = self.received == self.amount and all(each["currency"] == self.currency for each in payins)
            if not is_right and "amount_not_checked" not in self.bugs:
                return "review"
            if self.charged_back:
                return "charged_back"
            if not self.refunded:
                return "paid"
            if "refund_never_whole" in self.bugs:
                refunds = (Decimal(each["amount"]) for each in self.seen.values() if each["kind"] == "RefundSeen")
                return "refunded" if self.amount in refunds else "partly_refunded"
            return "refunded" if self.refunded >= self.received else "partly_refunded"
        if any(each["status"] not in OVER for each in payins) or (self.asks and self.asks[-1].state == "open"):
            return "pending"
        return str(payins[-1]["status"]) if payins else "unpaid"


def fold(order_id: str, facts: Iterable[Fact], bugs: frozenset[str] = frozenset()) -> Order:
    """Return the state of an order."""
    order = Order(order_id, bugs=bugs)
    for fact in facts:
        order.apply(fact)
    return order
