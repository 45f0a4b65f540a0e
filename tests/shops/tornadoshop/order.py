"""An order, derived from its facts."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from .facts import Fact

KEY_LIFE = 23 * 3600.0
PAYIN = {"created": 0, "pending": 1, "processing": 2, "failed": 3, "cancelled": 3, "succeeded": 4}
REFUND = {"created": 0, "processing": 1, "succeeded": 2, "failed": 3}
DISPUTE = {"needs_response": 0, "under_review": 1, "won": 2, "lost": 2, "accepted": 2}
OPEN = ("created", "pending", "processing")


@dataclass
class Intent:
    """A deposit or a refund that we want to be made, under one key."""

    key: str
    kind: str
    body: str
    amount: Decimal
    ref: str = ""
    payin_id: str = ""
    state: str = "open"  # open, made, declined, abandoned
    resource_id: str | None = None
    declined_with: int = 0
    unanswered: int = 0
    asked: int = 0
    first_asked: float | None = None
    last_asked: float = 0.0
    not_before: float = 0.0

    @property
    def doubtful(self) -> bool:
        """Whether it was declined after a request of which no answer came."""
        return self.state == "declined" and self.unanswered > 0

    def due(self) -> float:
        """Return when a job may send it (again)."""
        pause = min(30.0 * 2 ** min(self.asked // 4, 8), 3600.0) if self.asked else 0.0
        return max(self.last_asked + pause, self.not_before)


@dataclass
class Order:
    """The state of an order."""

    bugs: frozenset[str] = frozenset()
    amount: Decimal = Decimal(0)
    currency: str = ""
    placed_at: float = 0.0
    intents: dict[str, Intent] = field(default_factory=dict)
    payins: dict[str, dict[str, Any]] = field(default_factory=dict)
    refunds: dict[str, dict[str, Any]] = field(default_factory=dict)
    disputes: dict[str, dict[str, Any]] = field(default_factory=dict)
    shipped: int = 0
    mailed: int = 0

    def apply(self, fact: Fact) -> None:
        """Learn one fact."""
        getattr(self, f"_{fact.kind}")(fact, fact.data)

    def _ordered(self, fact: Fact, data: dict[str, Any]) -> None:
        self.amount, self.currency, self.placed_at = Decimal(data["amount"]), data["currency"], fact.at

    def _wanted(self, _: Fact, data: dict[str, Any]) -> None:
        self.intents[data["key"]] = Intent(**{**data, "amount": Decimal(data["amount"])})

    def _asked(self, fact: Fact, data: dict[str, Any]) -> None:
        intent = self.intents[data["key"]]
        intent.state = "open" if intent.state == "declined" else intent.state
        intent.asked += 1
        intent.unanswered += 1
        intent.first_asked = intent.first_asked or fact.at
        intent.last_asked = fact.at

    def _limited(self, _: Fact, data: dict[str, Any]) -> None:
        intent = self.intents[data["key"]]
        intent.unanswered -= 1
        intent.not_before = data["until"]
        if not intent.unanswered:
            intent.first_asked = None  # the service never worked on it

    def _declined(self, _: Fact, data: dict[str, Any]) -> None:
        intent = self.intents[data["key"]]
        intent.unanswered -= 1
        if intent.state == "open":
            intent.state, intent.declined_with = "declined", data["status"]

    def _abandoned(self, _: Fact, data: dict[str, Any]) -> None:
        if self.intents[data["key"]].state != "made":
            self.intents[data["key"]].state = "abandoned"

    def _made(self, _: Fact, data: dict[str, Any]) -> None:
        intent = self.intents[data["key"]]
        intent.state, intent.resource_id = "made", data["id"]

    def _payin(self, fact: Fact, data: dict[str, Any]) -> None:
        if self._newer(self.payins.get(data["id"]), data, PAYIN, monotonic=True):
            self.payins[data["id"]] = data
        self._claim(data["id"], [i for i in self.intents.values() if i.kind == "deposit"][-1:])

    def _refund(self, _: Fact, data: dict[str, Any]) -> None:
        known = self.refunds.get(data["id"])
        if self._newer(known, data, REFUND):
            self.refunds[data["id"]] = data
        self._claim(data["id"], [i for i in self.intents.values() if i.kind == "refund" and i.ref == data.get("ref")])

    def _dispute(self, _: Fact, data: dict[str, Any]) -> None:
        known = self.disputes.get(data["id"])
        if known and "closed_is_closed" in self.bugs and known["status"] in {"won", "lost", "accepted"}:
            return
        if self._newer(known, data, DISPUTE):
            self.disputes[data["id"]] = data

    def _shipped(self, _: Fact, __: dict[str, Any]) -> None:
        self.shipped += 1

    def _mailed(self, _: Fact, __: dict[str, Any]) -> None:
        self.mailed += 1

    def _newer(
        self, known: dict[str, Any] | None, data: dict[str, Any], ranks: dict[str, int], *, monotonic: bool = False
    ) -> bool:
        if known is None or ("arrival_order" in self.bugs and not monotonic):
            return True
        if "reads_always_win" in self.bugs and data.get("read"):
            return True
        new, old = (
            (moment(data["updated_at"]), ranks[data["status"]]),
            (moment(known["updated_at"]), ranks[known["status"]]),
        )
        return new[::-1] > old[::-1] if monotonic else new > old

    def _claim(self, resource_id: str, intents: list[Intent]) -> None:
        """Take a resource as the answer to an intent of which no answer came."""
        if any(intent.resource_id == resource_id for intent in self.intents.values()):
            return
        for intent in intents:
            if intent.asked and (intent.state in {"open", "abandoned"} or intent.doubtful):
                intent.state, intent.resource_id = "made", resource_id
                return

    # ------------------------------------------------------------------------------------------------ what it means

    def open_payin(self) -> str | None:
        """Return the pay-in that the customer can still pay."""
        return next((name for name, data in self.payins.items() if data["status"] in OPEN), None)

    def last_deposit(self) -> Intent | None:
        """Return the newest deposit that we wanted."""
        return next((i for i in reversed(self.intents.values()) if i.kind == "deposit"), None)

    def succeeded(self) -> dict[str, Decimal]:
        """Return the money of each pay-in."""
        done = {n: d for n, d in self.payins.items() if d["status"] == "succeeded" and d["currency"] == self.currency}
        return {name: Decimal(data["amount"]) for name, data in done.items()}

    def refunded(self, *statuses: str) -> Decimal:
        """Return the sum of the refunds in these states."""
        if "refund_never_undone" in self.bugs:
            statuses += ("failed",)
        return sum((Decimal(d["amount"]) for d in self.refunds.values() if d["status"] in statuses), Decimal(0))

    def lost(self) -> Decimal:
        """Return the money that disputes have taken or hold."""
        kept = set() if "won_stays_lost" in self.bugs else {"won"}
        against = [d for d in self.disputes.values() if d["status"] not in kept]
        if "dispute_whole_order" in self.bugs:
            return self.amount if against else Decimal(0)
        return sum((Decimal(data["amount"]) for data in against), Decimal(0))

    def balance(self) -> Decimal:
        """Return the money that we have."""
        return (
            sum(self.succeeded().values(), Decimal(0))
            - self.refunded("succeeded", "processing", "created")
            - self.lost()
        )

    def refundable(self, amount: Decimal) -> str | None:
        """Return a pay-in of which an amount can be refunded."""
        for name, rest in self.succeeded().items():
            taken = [d for d in self.refunds.values() if d["payin_id"] == name and d["status"] != "failed"]
            taken += [d for d in self.disputes.values() if d["payin_id"] == name and d["status"] != "won"]
            waiting = [
                i.amount for i in self.intents.values() if i.payin_id == name and (i.state == "open" or i.doubtful)
            ]
            if rest - sum((Decimal(d["amount"]) for d in taken), Decimal(0)) - sum(waiting, Decimal(0)) >= amount:
                return name
        return None

    def status(self, now: float) -> str:
        """Return what the customer sees."""
        paid = sum(self.succeeded().values(), Decimal(0))
        states = {data["status"] for data in self.disputes.values()}
        refunded = self.refunded("succeeded")
        if paid:
            if states & {"lost", "accepted"}:
                return "charged_back"
            if states & {"needs_response", "under_review"}:
                return "review"
            if refunded >= paid:
                return "refunded"
            if self.amount not in self.succeeded().values():
                return "review"  # somebody has to look at an amount that was not asked for
            return "partly_refunded" if refunded else "paid"
        if any(data["status"] == "succeeded" for data in self.payins.values()):
            return "review"
        last = self.last_deposit()
        if last is None:
            return "unpaid"
        if "local_expiry" in self.bugs and now - (last.first_asked or now) > 86400 and last.state in {"open", "made"}:
            return "cancelled"
        if self.open_payin() or last.state == "open" or last.doubtful:
            return "pending"
        if last.state == "made":
            seen = self.payins.get(last.resource_id or "")
            return seen["status"] if seen else "pending"
        newest = max(self.payins.values(), key=lambda data: moment(data["updated_at"]), default=None)
        return newest["status"] if newest else "unpaid"


def moment(text: str) -> datetime:
    """Return a time of the service."""
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
