"""The shop: orders, payments, refunds, disputes, and the jobs that carry them on.

The warehouse is a callable `ship(shipment_id, order_id)` that knows a shipment it has seen by its id.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
import uuid
from collections.abc import Callable
from typing import Any

import requests

from falconshop.gateway import Gateway, Refused, Unknown, loads, millis
from falconshop.money import digits, to_minor, to_text
from falconshop.store import Store

HOUR = 3600
TOLERANCE = 300
PAYIN_STEPS = {
    "sending": -1,
    "created": 0,
    "pending": 1,
    "processing": 2,
    "refused": 3,
    "failed": 3,
    "cancelled": 3,
    "succeeded": 4,
}
REFUND_STEPS = {"sending": -1, "created": 0, "processing": 1, "refused": 2, "failed": 2, "succeeded": 3}
DISPUTE_STEPS = {"needs_response": 0, "under_review": 1, "won": 2, "lost": 2, "accepted": 2}
OVER = ("refused", "failed", "cancelled")


class Impossible(Exception):
    """The shop refuses what a customer or a colleague asked for."""


class NotOurs(Exception):
    """An event about something that this shop does not know (yet)."""


class Shop:
    """The shop; all that it needs comes from outside."""

    def __init__(
        self,
        *,
        database: str | Store,
        session: requests.Session,
        base_url: str,
        business_key: str,
        business_secret: str,
        webhook_secret: str,
        now: Callable[[], float],
        sleep: Callable[[float], None],
        warehouse: Callable[[str, str], None],
        livemode: bool = False,
        bugs: frozenset[str] = frozenset(),
    ) -> None:
        self.store = database if isinstance(database, Store) else Store(database)
        self.gateway = Gateway(session, base_url, business_key, business_secret, now, sleep, bugs)
        self.webhook_secret = webhook_secret.encode()
        self.now = now
        self.warehouse = warehouse
        self.livemode = livemode
        self.bugs = bugs
        self.queue: list[tuple[str, bytes]] = []

    # --- orders and payments ------------------------------------------------------------------

    def place_order(self, order_id: str, amount: str, currency: str, customer: dict[str, str]) -> dict[str, Any]:
        self.note_order(order_id, amount, currency, customer)
        return self.pay(order_id)

    def note_order(self, order_id: str, amount: str, currency: str, customer: dict[str, str]) -> None:
        if "amount_float_truncation" in self.bugs:
            minor = int(float(amount) * 10 ** digits(currency))
        else:
            minor = to_minor(amount, currency)
        with self.store.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO orders (id, amount, currency, customer, created) VALUES (?, ?, ?, ?, ?)",
                (order_id, minor, currency, json.dumps(customer), self.now()),
            )

    def pay(self, order_id: str) -> dict[str, Any]:
        """Starts a payment; if one is under way or done, shows that one. Safe to press twice."""
        ref = None
        with self.store.transaction() as db:
            order = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
            if order is None:
                raise Impossible("no such order")
            attempts = db.execute("SELECT * FROM payments WHERE order_id = ? ORDER BY attempt", (order_id,)).fetchall()
            over = (*OVER, "sending") if "unknown_is_not_live" in self.bugs else OVER
            if order["state"] in ("unpaid", "failed") and all(row["state"] in over for row in attempts):
                number = len(attempts) + 1
                ref = order_id if number == 1 else f"{order_id}.{number}"
                key, body = str(uuid.uuid4()), self._deposit_body(order)
                if "key_reused_for_pay_again" in self.bugs and attempts:
                    key, body = attempts[0]["idem_key"], attempts[0]["body"]
                db.execute(
                    "INSERT INTO payments (ref, order_id, attempt, idem_key, body, created) VALUES (?, ?, ?, ?, ?, ?)",
                    (ref, order_id, number, key, body, self.now()),
                )
                db.execute("UPDATE orders SET state = 'unpaid' WHERE id = ?", (order_id,))
        if ref is not None:
            self._send_deposit(ref)
        return self.show(order_id)

    def _deposit_body(self, order: sqlite3.Row) -> str:
        rest = {
            "currency": order["currency"],
            "external_identifier": order["id"],
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": json.loads(order["customer"]),
        }
        return f'{{"amount": {to_text(order["amount"], order["currency"])}, {json.dumps(rest)[1:]}'

    def _send_deposit(self, ref: str) -> None:
        row = self.store.row("SELECT * FROM payments WHERE ref = ?", ref)
        assert row is not None
        try:
            payin = self.gateway.create_deposit(row["idem_key"], row["body"])
        except Unknown:
            return  # the job asks again
        except Refused:
            self._refused(ref)
            return
        with self.store.transaction() as db:
            db.execute(
                "UPDATE payments SET payin_id = ? WHERE ref = ? AND payin_id IS NULL "
                "AND NOT EXISTS (SELECT 1 FROM payments WHERE payin_id = ?)",
                (payin["id"], ref, payin["id"]),
            )
            if "key_reused_for_pay_again" in self.bugs:
                db.execute(
                    "UPDATE payments SET state = 'created', url = ? WHERE ref = ? AND state = 'sending'",
                    (payin.get("payment_url"), ref),
                )
            self._payin(db, payin, millis(payin["updated_at"]))

    def _refused(self, ref: str) -> None:
        with self.store.transaction() as db:
            changed = db.execute("UPDATE payments SET state = 'refused' WHERE ref = ? AND state = 'sending'", (ref,))
            if changed.rowcount:
                row = db.execute("SELECT order_id FROM payments WHERE ref = ?", (ref,)).fetchone()
                self._unpaid(db, row["order_id"])

    def show(self, order_id: str) -> dict[str, Any]:
        order = self.store.row("SELECT * FROM orders WHERE id = ?", order_id)
        if order is None:
            raise Impossible("no such order")
        payments = self.store.rows("SELECT * FROM payments WHERE order_id = ? ORDER BY attempt", order_id)
        return {
            "id": order_id,
            "state": order["state"],
            "amount": to_text(order["amount"], order["currency"]),
            "currency": order["currency"],
            "refunded": to_text(order["refunded"], order["currency"]),
            "payments": [
                {"ref": row["ref"], "payin_id": row["payin_id"], "state": row["state"], "url": row["url"]}
                for row in payments
            ],
        }

    # --- what the service says, from a reply, a read or an event --------------------------------

    @staticmethod
    def _later(steps: dict[str, int], row: sqlite3.Row, state: str, at: int) -> bool:
        if state not in steps or state == row["state"]:
            return False
        if row["state_at"] is None or at > row["state_at"]:
            return True
        return at == row["state_at"] and steps[state] > steps[row["state"]]

    def _payin(self, db: sqlite3.Connection, payin: dict[str, Any], at: int) -> None:
        row = db.execute("SELECT * FROM payments WHERE payin_id = ?", (payin["id"],)).fetchone()
        if row is None:
            row = db.execute(
                "SELECT * FROM payments WHERE order_id = ? AND payin_id IS NULL "
                "ORDER BY state = 'sending' DESC, attempt DESC",
                (payin.get("external_identifier"),),
            ).fetchone()
            if row is None:
                raise NotOurs(payin["id"])
            db.execute("UPDATE payments SET payin_id = ? WHERE ref = ?", (payin["id"], row["ref"]))
        if payin.get("payment_url"):
            db.execute("UPDATE payments SET url = ? WHERE ref = ?", (payin["payment_url"], row["ref"]))
        state = payin["status"]
        if "late_failure_cancels_order" in self.bugs and state in ("failed", "cancelled"):
            db.execute("UPDATE orders SET state = 'failed' WHERE id = ?", (row["order_id"],))
        if row["state"] == "succeeded" or not self._later(PAYIN_STEPS, row, state, at):
            return
        db.execute("UPDATE payments SET state = ?, state_at = ? WHERE ref = ?", (state, at, row["ref"]))
        if "ship_in_second_transaction" in self.bugs and state == "succeeded":
            db.execute("COMMIT")
            self._paid_and_ship_now(row, payin)
            db.execute("BEGIN IMMEDIATE")
            return
        if "ships_on_processing" in self.bugs:
            if state == "processing" or (state == "succeeded" and row["state"] != "processing"):
                self._paid(db, row["order_id"], payin)
            return
        if state == "succeeded":
            self._paid(db, row["order_id"], payin)
        elif state in OVER:
            self._unpaid(db, row["order_id"])

    def _paid(self, db: sqlite3.Connection, order_id: str, payin: dict[str, Any]) -> None:
        order = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        minor = to_minor(payin["amount"], payin["currency"])
        db.execute(
            "INSERT INTO bookings (order_id, kind, ref, amount) VALUES (?, 'payment', ?, ?)",
            (order_id, payin["id"], minor),
        )
        if "hold_expiry_cancels" in self.bugs and order["state"] != "unpaid":
            return
        if (minor, payin["currency"]) != (order["amount"], order["currency"]):
            db.execute("UPDATE orders SET state = 'review' WHERE id = ?", (order_id,))
            return
        db.execute("UPDATE orders SET state = 'paid' WHERE id = ?", (order_id,))
        self._ship_if_safe(db, order_id)

    def _ship_if_safe(self, db: sqlite3.Connection, order_id: str) -> None:
        """Goods go out once, for a paid order whose money is neither disputed nor all given back."""
        order = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        if order["state"] != "paid" or order["refunded"] >= order["amount"]:
            return
        if db.execute("SELECT 1 FROM disputes WHERE order_id = ? AND state <> 'won'", (order_id,)).fetchone():
            return
        if db.execute("SELECT 1 FROM shipments WHERE order_id = ?", (order_id,)).fetchone():
            return
        db.execute("INSERT INTO shipments (id, order_id) VALUES (?, ?)", (str(uuid.uuid4()), order_id))

    def _paid_and_ship_now(self, row: sqlite3.Row, payin: dict[str, Any]) -> None:
        """Only with the mistake ship_in_second_transaction: the payment is committed, now the goods."""
        shipment = str(uuid.uuid4())
        self.warehouse(shipment, row["order_id"])
        with self.store.transaction() as db:
            db.execute("INSERT INTO shipments (id, order_id, state) VALUES (?, ?, 'sent')", (shipment, row["order_id"]))
            self._paid(db, row["order_id"], payin)

    def _unpaid(self, db: sqlite3.Connection, order_id: str) -> None:
        """An attempt is over without money. The order failed if no other attempt is alive."""
        alive = db.execute(
            "SELECT 1 FROM payments WHERE order_id = ? AND state NOT IN (?, ?, ?)", (order_id, *OVER)
        ).fetchone()
        if alive is None:
            db.execute("UPDATE orders SET state = 'failed' WHERE id = ? AND state = 'unpaid'", (order_id,))

    def _refund(self, db: sqlite3.Connection, refund: dict[str, Any], at: int) -> None:
        row = db.execute("SELECT * FROM refunds WHERE refund_id = ?", (refund["id"],)).fetchone()
        if row is None:
            row = db.execute(
                "SELECT * FROM refunds WHERE ref = ? AND refund_id IS NULL", (refund.get("external_identifier"),)
            ).fetchone()
            if row is not None:
                db.execute("UPDATE refunds SET refund_id = ? WHERE ref = ?", (refund["id"], row["ref"]))
        if row is None:  # somebody made it in the dashboard
            payment = db.execute("SELECT * FROM payments WHERE payin_id = ?", (refund["payin_id"],)).fetchone()
            if payment is None:
                raise NotOurs(refund["id"])
            db.execute(
                "INSERT INTO refunds (ref, order_id, payin_id, amount, created, refund_id) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    refund["id"],
                    payment["order_id"],
                    refund["payin_id"],
                    to_minor(refund["amount"], refund["currency"]),
                    self.now(),
                    refund["id"],
                ),
            )
            row = db.execute("SELECT * FROM refunds WHERE ref = ?", (refund["id"],)).fetchone()
        state = refund["status"]
        if not self._later(REFUND_STEPS, row, state, at):
            return
        db.execute("UPDATE refunds SET state = ?, state_at = ? WHERE ref = ?", (state, at, row["ref"]))
        if state == "succeeded":
            db.execute(
                "INSERT INTO bookings (order_id, kind, ref, amount) VALUES (?, 'refund', ?, ?)",
                (row["order_id"], refund["id"], -row["amount"]),
            )
            db.execute("UPDATE orders SET refunded = refunded + ? WHERE id = ?", (row["amount"], row["order_id"]))
        elif row["state"] == "succeeded" and state == "failed":  # the bank sent it back
            db.execute(
                "INSERT INTO bookings (order_id, kind, ref, amount) VALUES (?, 'refund_back', ?, ?)",
                (row["order_id"], refund["id"], row["amount"]),
            )
            db.execute("UPDATE orders SET refunded = refunded - ? WHERE id = ?", (row["amount"], row["order_id"]))

    def _dispute(self, db: sqlite3.Connection, dispute: dict[str, Any], at: int) -> None:
        payment = db.execute("SELECT * FROM payments WHERE payin_id = ?", (dispute["payin_id"],)).fetchone()
        if payment is None:
            raise NotOurs(dispute["id"])
        order_id, state = payment["order_id"], dispute["status"]
        number = dispute["payin_id"] if "dispute_by_payin" in self.bugs else dispute["id"]
        amount = to_minor(dispute["amount"], dispute["currency"])
        if "dispute_amount_is_order_total" in self.bugs:
            amount = db.execute("SELECT amount FROM orders WHERE id = ?", (order_id,)).fetchone()["amount"]
        if state not in DISPUTE_STEPS:
            return
        row = db.execute("SELECT * FROM disputes WHERE id = ?", (number,)).fetchone()
        if row is None:
            db.execute(
                "INSERT INTO disputes (id, order_id, payin_id, amount, state, state_at) VALUES (?, ?, ?, ?, ?, ?)",
                (number, order_id, dispute["payin_id"], amount, state, at),
            )
            db.execute(
                "INSERT INTO bookings (order_id, kind, ref, amount) VALUES (?, 'dispute', ?, ?)",
                (order_id, number, -amount),
            )
        elif "dispute_last_arrival_wins" in self.bugs:
            if row["state"] == state:
                return
            db.execute("UPDATE disputes SET state = ?, state_at = ? WHERE id = ?", (state, at, number))
        else:
            if not self._later(DISPUTE_STEPS, row, state, at):
                return
            db.execute("UPDATE disputes SET state = ?, state_at = ? WHERE id = ?", (state, at, number))
            if row["state"] == "won":  # reopened
                db.execute(
                    "INSERT INTO bookings (order_id, kind, ref, amount) VALUES (?, 'dispute', ?, ?)",
                    (order_id, number, -amount),
                )
        if state == "won" or (state == "accepted" and "dispute_accepted_is_won" in self.bugs):
            db.execute(
                "INSERT INTO bookings (order_id, kind, ref, amount) VALUES (?, 'dispute_won', ?, ?)",
                (order_id, number, amount),
            )
            self._ship_if_safe(db, order_id)

    # --- refunds ------------------------------------------------------------------------------

    def refund(self, order_id: str, amount: str | None = None, ticket: str | None = None) -> str:
        """A part, or (without an amount) what is left. Returns our reference."""
        with self.store.transaction() as db:
            if ticket is not None:
                known = db.execute("SELECT ref FROM refunds WHERE ticket = ?", (ticket,)).fetchone()
                if known is not None:
                    return str(known["ref"])
            order = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
            payment = db.execute(
                "SELECT * FROM payments WHERE order_id = ? AND state = 'succeeded' AND payin_id IS NOT NULL",
                (order_id,),
            ).fetchone()
            if order is None or order["state"] != "paid" or payment is None:
                raise Impossible("the order is not paid")
            if db.execute("SELECT 1 FROM disputes WHERE order_id = ? AND state <> 'won'", (order_id,)).fetchone():
                raise Impossible("the money is disputed")
            earlier = db.execute("SELECT * FROM refunds WHERE order_id = ?", (order_id,)).fetchall()
            gone = ("refused",) if "refund_failed_still_counts" in self.bugs else ("refused", "failed")
            left = order["amount"] - sum(row["amount"] for row in earlier if row["state"] not in gone)
            if amount is None:
                minor = order["amount"] if "refund_rest_ignores_partial" in self.bugs and left > 0 else left
            else:
                minor = to_minor(amount, order["currency"])
                if minor > left:
                    raise Impossible("more than is left")
            if minor <= 0:
                raise Impossible("nothing is left")
            ref = f"{order_id}.r{len(earlier) + 1}"
            body = (
                f'{{"amount": {to_text(minor, order["currency"])}, '
                + json.dumps({"payin_id": payment["payin_id"], "external_identifier": ref})[1:]
            )
            key = "" if "refund_key_not_stored" in self.bugs else str(uuid.uuid4())
            db.execute(
                "INSERT INTO refunds (ref, order_id, payin_id, amount, idem_key, body, created, ticket) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (ref, order_id, payment["payin_id"], minor, key, body, self.now(), ticket),
            )
        self._send_refund(ref)
        return ref

    def _send_refund(self, ref: str) -> None:
        row = self.store.row("SELECT * FROM refunds WHERE ref = ?", ref)
        assert row is not None
        try:
            refund = self.gateway.create_refund(row["idem_key"] or str(uuid.uuid4()), row["body"])
        except Unknown:
            return
        except Refused:
            with self.store.transaction() as db:
                db.execute("UPDATE refunds SET state = 'refused' WHERE ref = ? AND state = 'sending'", (ref,))
            return
        with self.store.transaction() as db:
            if "refund_reply_overwrites_event" in self.bugs:
                db.execute(
                    "UPDATE refunds SET refund_id = ?, state = ?, state_at = ? WHERE ref = ?",
                    (refund["id"], refund["status"], millis(refund["updated_at"]), ref),
                )
                return
            self._refund(db, refund, millis(refund["updated_at"]))

    # --- webhooks: into the inbox, then the job ---------------------------------------------------

    def webhook(self, header: str | None, raw: bytes) -> int:
        """The status to answer with. The event is on disk before it is acknowledged."""
        if "bad_signature_still_stored" in self.bugs:
            self._store_event(raw)
        verdict = self._verify(header, raw)
        if verdict != 200:
            return verdict
        self._store_event(raw)
        return 200

    def _store_event(self, raw: bytes) -> None:
        try:
            event_id = loads(raw)["id"]
        except (ValueError, KeyError, TypeError):
            return  # signed or not, nobody could read it
        if not isinstance(event_id, str):
            return
        if "inbox_in_memory" in self.bugs:
            self.queue.append((event_id, raw))
            return
        with self.store.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO inbox (event_id, body, received) VALUES (?, ?, ?)", (event_id, raw, self.now())
            )

    def _verify(self, header: str | None, raw: bytes) -> int:
        pairs = [part.strip().partition("=") for part in (header or "").split(",")]
        stamps = [value for name, _, value in pairs if name == "t"]
        digests = [value for name, _, value in pairs if name == "v1"]
        if len(stamps) != 1 or not stamps[0].isdecimal() or not digests:
            return 400
        if abs(self.now() - int(stamps[0])) > TOLERANCE:
            return 400
        wanted = hmac.new(self.webhook_secret, stamps[0].encode() + b"." + raw, hashlib.sha256).hexdigest().encode()
        return 200 if any(hmac.compare_digest(wanted, given.encode()) for given in digests) else 401

    def process_inbox(self) -> None:
        """Each event in a transaction of its own, with the note that it is done."""
        while self.queue:
            event_id, raw = self.queue.pop(0)
            with self.store.transaction() as db:
                db.execute(
                    "INSERT OR IGNORE INTO inbox (event_id, body, received) VALUES (?, ?, ?)",
                    (event_id, raw, self.now()),
                )
        for row in self.store.rows("SELECT * FROM inbox WHERE state = 'new' ORDER BY received, rowid"):
            try:
                with self.store.transaction() as db:
                    self._event(db, loads(row["body"]))
                    db.execute("UPDATE inbox SET state = 'done' WHERE event_id = ?", (row["event_id"],))
            except NotOurs:
                if self.now() - row["received"] > 72 * HOUR:
                    self._set_aside(row["event_id"])
            except (ValueError, KeyError, TypeError, ArithmeticError):
                self._set_aside(row["event_id"])

    def _set_aside(self, event_id: str) -> None:
        with self.store.transaction() as db:
            db.execute("UPDATE inbox SET state = 'ignored' WHERE event_id = ?", (event_id,))

    def _event(self, db: sqlite3.Connection, event: dict[str, Any]) -> None:
        if event.get("livemode") is not self.livemode:
            return
        family, at, thing = event["type"].split(".")[0], millis(event["created_at"]), event["data"]["object"]
        if family == "pay-in":
            self._payin(db, thing, at)
        elif family == "refund":
            self._refund(db, thing, at)
        elif family == "dispute":
            self._dispute(db, thing, at)

    # --- jobs ---------------------------------------------------------------------------------

    def dispatch(self) -> None:
        """Tells the warehouse. It may hear of a shipment twice, and knows it by its id."""
        # All of the money may have been asked back since the goods became due.
        asked = "SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE order_id = orders.id"
        back = f"{asked} AND state NOT IN ('refused', 'failed')"
        due = "SELECT shipments.* FROM shipments JOIN orders ON orders.id = order_id WHERE shipments.state = 'due'"
        for row in self.store.rows(f"{due} AND orders.amount > ({back})"):
            shipment_id = str(uuid.uuid4()) if "shipment_id_made_at_dispatch" in self.bugs else row["id"]
            try:
                self.warehouse(shipment_id, row["order_id"])
            except OSError:
                continue  # next time
            with self.store.transaction() as db:
                db.execute("UPDATE shipments SET state = 'sent' WHERE id = ?", (row["id"],))

    def resume(self) -> None:
        """What was sent, or was about to be, and has no answer: the same key, the same body."""
        for row in self.store.rows("SELECT * FROM payments WHERE state = 'sending' AND payin_id IS NULL"):
            if "resume_refuses_unsent" in self.bugs:
                self._refused(row["ref"])
                continue
            if self.now() - row["created"] < 23 * HOUR:
                self._send_deposit(row["ref"])
                continue
            try:  # the key may be forgotten: look first
                known = {each["payin_id"] for each in self.store.rows("SELECT payin_id FROM payments")}
                found = [
                    item
                    for item in self.gateway.payins(external_identifier=row["order_id"])
                    if item.get("external_identifier") == row["order_id"] and item["id"] not in known
                ]
            except Unknown:
                continue
            if found:
                with self.store.transaction() as db:
                    self._payin(db, found[0], millis(found[0]["updated_at"]))
            elif self.now() - row["created"] > 25 * HOUR:
                self._refused(row["ref"])
        for row in self.store.rows("SELECT * FROM refunds WHERE state = 'sending' AND body IS NOT NULL"):
            if self.now() - row["created"] < 23 * HOUR:
                self._send_refund(row["ref"])
                continue
            try:
                found = [
                    item
                    for item in self.gateway.refunds(row["payin_id"])
                    if item.get("external_identifier") == row["ref"]
                ]
            except Unknown:
                continue
            if found:
                with self.store.transaction() as db:
                    self._refund(db, found[0], millis(found[0]["updated_at"]))
            elif self.now() - row["created"] > 25 * HOUR:
                with self.store.transaction() as db:
                    db.execute(
                        "UPDATE refunds SET idem_key = ?, created = ? WHERE ref = ?",
                        (str(uuid.uuid4()), self.now(), row["ref"]),
                    )
                self._send_refund(row["ref"])

    def reconcile(self) -> None:
        """Reads what may have changed without an event reaching us."""
        open_payments = self.store.rows(
            "SELECT * FROM payments WHERE state <> 'succeeded' AND payin_id IS NOT NULL"
        )  # or comes late
        for row in open_payments:
            if "reconcile_checks_once" in self.bugs:
                if row["checked"]:
                    continue
                with self.store.transaction() as db:
                    db.execute("UPDATE payments SET checked = 1 WHERE ref = ?", (row["ref"],))
            if "reconcile_window_24h" in self.bugs and self.now() - row["created"] > 24 * HOUR:
                continue
            try:
                payin = self.gateway.payin(row["payin_id"])
            except Unknown:
                continue
            with self.store.transaction() as db:
                self._payin(db, payin, millis(payin["updated_at"]))
        for row in self.store.rows("SELECT * FROM payments WHERE state = 'succeeded'"):
            try:
                refunds = list(self.gateway.refunds(row["payin_id"]))
                disputes = list(self.gateway.disputes(row["payin_id"]))
            except Unknown:
                continue
            with self.store.transaction() as db:
                for item in refunds:
                    self._refund(db, item, millis(item["updated_at"]))
                for item in disputes:
                    self._dispute(db, item, millis(item["updated_at"]))
        if "hold_expiry_cancels" in self.bugs:
            with self.store.transaction() as db:
                db.execute(
                    "UPDATE orders SET state = 'cancelled' WHERE state = 'unpaid' AND created < ?", (self.now() - HOUR,)
                )

    def run_jobs(self) -> None:
        """Every minute in production (reconcile every hour)."""
        self.process_inbox()
        self.resume()
        self.process_inbox()
        self.dispatch()
