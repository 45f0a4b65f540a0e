"""What the service says of payments, refunds and disputes, and what an order is by it.

Each resource has a row with its newest known state. The status of an order is worked out from the
rows, never from the single event, so the order in which events come does not matter.
"""

import datetime as dt
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from . import money
from .conf import bugs
from .db import Database

Mailer = Callable[[str, str], None]
PAYIN_STATUSES = ("created", "pending", "processing", "failed", "cancelled", "succeeded")
REFUND_STATUSES = ("created", "processing", "succeeded", "failed")
DISPUTE_STATUSES = ("needs_response", "under_review", "won", "accepted", "lost")
OPEN_PAYIN = ("created", "pending", "processing")
OPEN_DISPUTE = ("needs_response", "under_review")


class Unreadable(ValueError):
    """A resource without what the shop needs of it."""


def instant(text: Any) -> int:
    """Return an ISO 8601 time as microseconds since 1970."""
    try:
        when = dt.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise Unreadable(f"not a time: {text!r}") from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=dt.UTC)
    return (when - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def text_of(thing: dict[str, Any], name: str) -> str:
    """Return a text member of a resource."""
    value = thing.get(name)
    if not isinstance(value, str) or not value:
        raise Unreadable(f"no {name}")
    return value


def is_newer(row: sqlite3.Row | None, status: str, at: int, statuses: tuple[str, ...]) -> bool:
    """Return whether a state of a resource is newer than the stored row."""
    if row is None:
        return True
    if "whole_seconds" in bugs:
        return at // 1_000_000 >= int(row["updated_at"]) // 1_000_000
    if at == row["updated_at"]:
        return statuses.index(status) > statuses.index(row["status"])
    return at > int(row["updated_at"])


class Orders:
    """The part of the shop that knows orders."""

    def __init__(self, db: Database, mailer: Mailer) -> None:
        self.db = db
        self.mailer = mailer

    # What the service says. Each works within a transaction and returns whether something was new.

    def payin(self, thing: dict[str, Any], order_id: str | None = None, ask_anyway: bool = False) -> bool:
        """Take a pay-in. `order_id` is given when it is the answer to a call of this order."""
        payin_id, status = text_of(thing, "id"), text_of(thing, "status")
        order_id = order_id or text_of(thing, "external_identifier")
        at, made = instant(thing.get("updated_at")), instant(thing.get("created_at"))
        if not self.db.one("SELECT 1 FROM calls WHERE kind = 'deposit' AND order_id = ?", order_id):
            return False  # not an order of this shop, or one that nobody has paid for here
        self._link_deposit(order_id, payin_id, made)
        url = thing.get("payment_url")
        if isinstance(url, str):
            self.db.run("UPDATE payins SET payment_url = ? WHERE id = ?", url, payin_id)
        row = self.db.one("SELECT * FROM payins WHERE id = ?", payin_id)
        if status not in PAYIN_STATUSES:
            if row:
                return False
            status, at = "created", 0  # it is there, and any status that the shop knows is newer
        if not ask_anyway and not is_newer(row, status, at, PAYIN_STATUSES):
            return False
        currency = str(thing.get("currency"))
        self.db.run(
            "INSERT INTO payins (id, order_id, status, amount, currency, payment_url, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status,"
            " amount = excluded.amount, currency = excluded.currency, updated_at = excluded.updated_at",
            payin_id, order_id, status, money.to_minor(thing.get("amount"), currency), currency,
            url if isinstance(url, str) else None, made, at,
        )  # fmt: skip
        self.refresh(order_id)
        return True

    def _link_deposit(self, order_id: str, payin_id: str, made: int) -> None:
        """Settle the call that has made this pay-in, if its answer is still missing."""
        if self.db.one("SELECT 1 FROM calls WHERE resource_id = ?", payin_id):
            return
        call = self.db.one(
            "SELECT * FROM calls WHERE kind = 'deposit' AND order_id = ? AND state IN ('new', 'unsure')"
            " ORDER BY id DESC LIMIT 1",
            order_id,
        )
        if call and made // 1_000_000 >= int(call["created_at"]):
            self.db.run("UPDATE calls SET state = 'done', resource_id = ? WHERE id = ?", payin_id, call["id"])

    def refund(self, thing: dict[str, Any], refund_id: str | None = None) -> bool:
        """Take a refund. `refund_id` is given when it is the answer to a call of this refund."""
        service_id, status, payin_id = text_of(thing, "id"), text_of(thing, "status"), text_of(thing, "payin_id")
        at = instant(thing.get("updated_at"))
        if status not in REFUND_STATUSES:
            status, at = "created", 0  # it is there, and any status that the shop knows is newer
        amount = money.to_minor(thing.get("amount"), str(thing.get("currency")))
        if amount is None:
            raise Unreadable("no amount")
        row = self.db.one("SELECT * FROM refunds WHERE service_id = ?", service_id)
        if row is None:
            ours = refund_id or thing.get("external_identifier")
            row = self.db.one(
                "SELECT * FROM refunds WHERE id = ? AND payin_id = ? AND service_id IS NULL", ours, payin_id
            )
            if row is None:  # made by somebody in the dashboard
                self.db.run(
                    "INSERT INTO refunds (id, payin_id, amount, status, service_id, updated_at)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    service_id, payin_id, amount, status, service_id, at,
                )  # fmt: skip
                self._refresh_of(payin_id)
                return True
            self.db.run("UPDATE refunds SET service_id = ?, updated_at = 0 WHERE id = ?", service_id, row["id"])
            self.db.run(
                "UPDATE calls SET state = 'done', resource_id = ?"
                " WHERE kind = 'refund' AND subject = ? AND state IN ('new', 'unsure')",
                service_id, row["id"],
            )  # fmt: skip
        elif not is_newer(row, status, at, REFUND_STATUSES):
            return False
        self.db.run(
            "UPDATE refunds SET status = ?, amount = ?, updated_at = ? WHERE id = ?", status, amount, at, row["id"]
        )
        self._refresh_of(payin_id)
        return True

    def dispute(self, thing: dict[str, Any]) -> bool:
        """Take a dispute."""
        dispute_id, status, payin_id = text_of(thing, "id"), text_of(thing, "status"), text_of(thing, "payin_id")
        if status not in DISPUTE_STATUSES:
            return False
        at = instant(thing.get("updated_at"))
        row = self.db.one("SELECT * FROM disputes WHERE id = ?", dispute_id)
        if not is_newer(row, status, at, DISPUTE_STATUSES):
            return False
        amount = money.to_minor(thing.get("amount"), str(thing.get("currency")))
        if "dispute_full_amount" in bugs:
            payin = self.db.one("SELECT amount FROM payins WHERE id = ?", payin_id)
            amount = payin["amount"] if payin else amount
        if amount is None:
            raise Unreadable("no amount")
        self.db.run(
            "INSERT INTO disputes (id, payin_id, amount, status, updated_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET amount = excluded.amount, status = excluded.status,"
            " updated_at = excluded.updated_at",
            dispute_id, payin_id, amount, status, at,
        )  # fmt: skip
        self._refresh_of(payin_id)
        return True

    def _refresh_of(self, payin_id: str) -> None:
        row = self.db.one("SELECT order_id FROM payins WHERE id = ?", payin_id)
        if row:
            self.refresh(row["order_id"])

    # What the order is.

    def sums(self, order: sqlite3.Row) -> tuple[int, int, int, bool]:
        """Return what was paid, refunded and lost to disputes, and whether a dispute is open."""
        paid = refunded = lost = 0
        disputed = False
        payins = self.db.all(
            "SELECT * FROM payins WHERE order_id = ? AND status = 'succeeded' AND amount = ? AND currency = ?",
            order["id"], order["amount"], order["currency"],
        )  # fmt: skip
        for payin in payins:
            paid += payin["amount"]
            for refund in self.db.all("SELECT * FROM refunds WHERE payin_id = ?", payin["id"]):
                refunded += refund["amount"] if refund["status"] == "succeeded" else 0
            for dispute in self.db.all("SELECT * FROM disputes WHERE payin_id = ?", payin["id"]):
                gone = ("lost",) if "accepted_forgotten" in bugs else ("lost", "accepted")
                lost += dispute["amount"] if dispute["status"] in gone else 0
                disputed = disputed or dispute["status"] in OPEN_DISPUTE
        return paid, refunded, lost, disputed

    def balance(self, order_id: str) -> int:
        """Return what the shop holds of an order, in minor units."""
        order = self.db.one("SELECT * FROM orders WHERE id = ?", order_id)
        paid, refunded, lost, _ = self.sums(order)
        return paid - refunded - lost

    def _status(self, order: sqlite3.Row, paid: int, refunded: int, lost: int, disputed: bool) -> str:
        payins = self.db.all("SELECT * FROM payins WHERE order_id = ? ORDER BY created_at, rowid", order["id"])
        if "late_failure_wins" in bugs and payins:
            newest = max(payins, key=lambda payin: payin["updated_at"])
            if newest["status"] in ("failed", "cancelled"):
                return str(newest["status"])
        if paid:
            if disputed:
                return "review"
            if lost:
                return "charged_back"
            if refunded:
                return "refunded" if refunded >= paid else "partly_refunded"
            return "paid"
        if any(payin["status"] == "succeeded" for payin in payins):
            return "review"  # another amount or currency than was asked for
        waiting = self.db.one(
            "SELECT 1 FROM calls WHERE kind = 'deposit' AND order_id = ? AND state IN ('new', 'unsure')", order["id"]
        )
        if waiting or any(payin["status"] in OPEN_PAYIN for payin in payins):
            return "pending"
        if payins:
            return str(payins[-1]["status"])
        return "unpaid"

    def refresh(self, order_id: str) -> None:
        """Work out the status of an order, and fulfil it when it is paid; within a transaction."""
        order = self.db.one("SELECT * FROM orders WHERE id = ?", order_id)
        if order is None:
            return
        paid, refunded, lost, disputed = self.sums(order)
        status = self._status(order, paid, refunded, lost, disputed)
        self.db.run("UPDATE orders SET status = ? WHERE id = ?", status, order_id)
        if "ship_on_transition" in bugs:
            if status == "paid" and order["status"] != "paid" and order["fulfilled_at"] is None:
                self.db.after_commit(lambda: self._fulfil_later(order_id))
            return
        if paid and order["fulfilled_at"] is None and paid > refunded + lost:
            self._fulfil(order_id)

    def _fulfil_later(self, order_id: str) -> None:
        with self.db.transaction():
            self._fulfil(order_id)

    def _fulfil(self, order_id: str) -> None:
        """Ship an order once; within a transaction."""
        if not self.db.run(
            "UPDATE orders SET fulfilled_at = ? WHERE id = ? AND fulfilled_at IS NULL", time.time(), order_id
        ):
            return
        self.db.run("INSERT INTO shipments (order_id) VALUES (?)", order_id)
        self.db.run("INSERT INTO stock_moves (order_id) VALUES (?)", order_id)
        self.db.run("INSERT INTO points (order_id) VALUES (?)", order_id)
        if "mail_in_transaction" in bugs:
            self.mailer(order_id, "receipt")
            return
        self.db.run("INSERT INTO mails (order_id, kind) VALUES (?, 'receipt')", order_id)
