"""The queue's handlers: one job, one step, and what it knows is committed with the job."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from sqlite3 import Row
from typing import Any, Protocol

from workershop.db import Database
from workershop.wire import Conflict, Later, Refusal, Service, Unclear

log = logging.getLogger(__name__)

RUNS = 5
LEASE_SECONDS = 60.0
KEY_SECONDS = 23 * 3600
SETTLE_SECONDS = 60.0
DIGITS = {
    **dict.fromkeys(["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF"], 0),
    **dict.fromkeys(["UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"], 0),
    **dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3),
    **dict.fromkeys(["CLF", "UYW"], 4),
}
STEPS = {
    "created": 0, "needs_response": 0, "pending": 1, "under_review": 1, "processing": 2,
    "failed": 3, "cancelled": 3, "won": 3, "lost": 3, "accepted": 3, "succeeded": 4,
}  # fmt: skip


class Mailer(Protocol):
    """The mail provider; it drops a second message with the same id."""

    def send(self, message_id: str, text: str) -> None:
        """Send a mail."""


def to_minor(amount: Decimal, currency: str) -> int:
    """Return an amount in the smallest unit of its currency."""
    return int(amount.scaleb(DIGITS.get(currency, 2)))


def to_text(minor: int, currency: str, bugs: frozenset[str] = frozenset()) -> str:
    """Return an amount as the service wants it."""
    digits = DIGITS.get(currency, 2)
    if "two_decimals" in bugs:
        return f"{Decimal(minor).scaleb(-digits):.2f}"
    return f"{Decimal(minor).scaleb(-digits):.{digits}f}"


class Worker:
    """Takes jobs from the table and does them."""

    def __init__(self, db: Database, service: Service, mailer: Mailer, bugs: frozenset[str] = frozenset()) -> None:
        self.db, self.service, self.mailer, self.bugs = db, service, mailer, bugs

    # The queue

    def put(self, kind: str, ref: str, payload: str = "", delay: float = 0.0) -> int:
        """Add a job, within a transaction of the caller."""
        sql = "INSERT INTO jobs (kind, ref, payload, run_at) VALUES (?, ?, ?, ?)"
        return self.db.execute(sql, kind, ref, payload, time.time() + delay).lastrowid or 0

    def work(self) -> None:
        """Do what is due, each job once; what has been received comes before what is to be sent."""
        tried: set[int] = set()
        due = "SELECT id FROM jobs WHERE run_at <= ? ORDER BY kind != 'event', id"
        while ready := [row["id"] for row in self.db.rows(due, time.time()) if row["id"] not in tried]:
            tried.add(ready[0])
            self.run(ready[0])

    def forever(self, pause_seconds: float = 1.0) -> None:
        """Work until the process ends."""
        while True:
            self.work()
            time.sleep(pause_seconds)

    def run(self, job_id: int) -> None:
        """Claim a job and do it; a worker that dies leaves it for the next one when its lease is over."""
        with self.db.begin() as execute:
            job = self.db.row("SELECT * FROM jobs WHERE id = ? AND locked_until <= ?", job_id, time.time())
            if job is None or job["run_at"] > time.time():
                return
            lease = 1e12 if "lease_without_end" in self.bugs else time.time() + LEASE_SECONDS
            execute("UPDATE jobs SET locked_until = ?, runs = runs + 1 WHERE id = ?", lease, job_id)
            if "job_gone_before_done" in self.bugs:
                execute("DELETE FROM jobs WHERE id = ?", job_id)
        handler: Callable[[Row], None] = getattr(self, "do_" + job["kind"])
        try:
            handler(job)
        except Later as error:
            self.again(job, self.until(error.reset))
        except (Unclear, Conflict):
            if job["runs"] + 1 < RUNS or "retries_without_end" in self.bugs:
                self.again(job, 2.0 ** job["runs"])
            else:
                self.give_up(job)

    def again(self, job: Row, delay: float) -> None:
        """Do a job once more, later."""
        with self.db.begin() as execute:
            execute("UPDATE jobs SET locked_until = 0, run_at = ? WHERE id = ?", time.time() + delay, job["id"])

    def give_up(self, job: Row) -> None:
        """Leave a request whose outcome is unknown to a look at the service's lists."""
        with self.db.begin() as execute:
            execute("DELETE FROM jobs WHERE id = ?", job["id"])
            if job["kind"] in {"deposit", "refund"}:
                table, column = ("payments", "number") if job["kind"] == "deposit" else ("refunds", "reference")
                sql = f"UPDATE {table} SET state = 'unknown' WHERE {column} = ? AND state = 'sending'"  # noqa: S608
                execute(sql, job["ref"])
                row = self.db.row(f"SELECT order_id FROM {table} WHERE {column} = ?", job["ref"])  # noqa: S608
                self.put("lookup", row["order_id"] if row else "", delay=SETTLE_SECONDS)

    def done(self, job: Row) -> None:
        """Remove a job, within the transaction that holds its result."""
        self.db.execute("DELETE FROM jobs WHERE id = ?", job["id"])

    def until(self, reset: str | None) -> float:
        """Return the seconds until a rate limit is reset; the size of the number tells its unit."""
        try:
            number = float(reset or "")
        except ValueError:
            return 60.0
        now = time.time()
        return max(number / 1000 - now if number > 1e11 else number - now if number > 1e8 else number, 0.0) + 1.0

    # Requests

    def do_deposit(self, job: Row) -> None:
        """Send the deposit of a payment: the key and the bytes of its row, whichever run this is."""
        payment = self.db.row("SELECT * FROM payments WHERE number = ?", job["ref"])
        if payment is None or payment["state"] != "sending" or self.is_too_old(payment):
            with self.db.begin() as execute:
                self.done(job)
                if payment is not None and payment["state"] == "sending":
                    execute("UPDATE payments SET state = 'unknown' WHERE number = ?", job["ref"])
                    self.put("lookup", payment["order_id"])
            return
        key = str(uuid.uuid4()) if "key_per_run" in self.bugs else payment["key"]
        try:
            payin = self.service.post("/pay-in/deposit-creation", key, payment["body"])
        except Refusal:
            with self.db.begin() as execute:
                self.done(job)
                # Was it sent before, only the lists can tell what became of that.
                state = "refused" if job["runs"] == 0 and not job["payload"] else "unknown"
                execute("UPDATE payments SET state = ? WHERE number = ?", state, job["ref"])
                if state == "unknown":
                    self.put("lookup", payment["order_id"], "refused")
                self.release(payment["order_id"])
            return
        except Conflict:
            if "conflict_new_key" in self.bugs:
                with self.db.begin() as execute:
                    execute("UPDATE payments SET key = ? WHERE number = ?", str(uuid.uuid4()), job["ref"])
            raise
        with self.db.begin() as execute:
            execute("UPDATE payments SET state = 'made' WHERE number = ?", job["ref"])
            self.learn("pay-in", payin)
            self.done(job)

    def do_refund(self, job: Row) -> None:
        """Send a refund."""
        refund = self.db.row("SELECT * FROM refunds WHERE reference = ?", job["ref"])
        if refund is None or refund["state"] != "sending":
            with self.db.begin():
                self.done(job)
            return
        if self.is_too_old(refund):
            raise Unclear("the key is nearly a day old")
        key = str(uuid.uuid4()) if "refund_new_key" in self.bugs else refund["key"]
        try:
            answer = self.service.post("/refund/refund-creation", key, refund["body"])
        except Refusal:
            with self.db.begin() as execute:
                self.done(job)
                state = "refused" if job["runs"] == 0 and not job["payload"] else "unknown"
                execute("UPDATE refunds SET state = ? WHERE reference = ?", state, job["ref"])
                if state == "unknown":
                    self.put("lookup", refund["order_id"], "refused")
            return
        with self.db.begin():
            self.learn("refund", answer)
            self.done(job)

    def is_too_old(self, row: Row) -> bool:
        """Return whether the service may have forgotten the key."""
        return "key_outlives_day" not in self.bugs and time.time() - row["begun"] > KEY_SECONDS

    def do_lookup(self, job: Row) -> None:
        """Ask what the service has of an order; what it does not have was never carried out."""
        order_id = job["ref"]
        payins = self.service.listing("/pay-in", external_identifier=order_id)
        paid = [payin["id"] for payin in payins if payin["status"] == "succeeded"]
        refunds = [refund for payin in paid for refund in self.service.listing("/refund", payin_id=payin)]
        disputes = [dispute for payin in paid for dispute in self.service.listing("/dispute", payin_id=payin)]
        gone = "refused" if job["payload"] == "refused" else "void"
        before = time.time() if job["payload"] == "refused" else time.time() - SETTLE_SECONDS
        with self.db.begin() as execute:
            for payin in reversed(payins):
                self.learn("pay-in", payin, asked=True)
            for refund in refunds:
                self.learn("refund", refund, asked=True)
            for dispute in disputes:
                self.learn("dispute", dispute, asked=True)
            for table in ("payments", "refunds"):
                sql = f"UPDATE {table} SET state = ? WHERE order_id = ? AND state = 'unknown' AND begun <= ?"  # noqa: S608
                execute(sql, gone, order_id, before)
            self.done(job)

    # Events

    def do_event(self, job: Row) -> None:
        """Apply a webhook."""
        event = json.loads(job["payload"], parse_float=Decimal, parse_int=Decimal)
        with self.db.begin():
            try:
                shown = event["data"]["object"]
                self.learn(str(event["type"]).partition(".")[0], {"updated_at": event["created_at"], **shown})
            except (LookupError, TypeError, AttributeError, ValueError):
                log.exception("an event cannot be read: %s", job["ref"])
            self.done(job)

    def learn(self, kind: str, shown: dict[str, Any], *, asked: bool = False) -> None:
        """Take over a state of the service, and start what follows from it. Within a transaction."""
        if kind == "pay-in":
            owner = self.db.row("SELECT id FROM orders WHERE id = ?", shown.get("external_identifier"))
        elif kind in {"refund", "dispute"}:
            owner = self.db.row("SELECT order_id AS id FROM remote WHERE id = ?", shown.get("payin_id"))
        else:
            return
        old = self.db.row("SELECT * FROM remote WHERE id = ?", shown["id"])
        if owner is None or (old and not self.is_newer(old, shown, asked=asked)):
            return
        order_id, currency = owner["id"], shown["currency"]
        minor = to_minor(shown["amount"], currency)
        self.db.execute(
            "INSERT OR REPLACE INTO remote VALUES (?, ?, ?, ?, ?, ?, ?)",
            shown["id"], kind, order_id, shown["status"], minor, currency, shown["updated_at"],
        )  # fmt: skip
        if kind == "pay-in" and old is None:
            sql = "UPDATE payments SET state = 'made' WHERE order_id = ? AND state IN ('sending', 'unknown')"
            self.db.execute(sql, order_id)
        if kind == "refund":
            sql = "UPDATE refunds SET state = 'made' WHERE reference = ?"
            self.db.execute(sql, shown.get("external_identifier"))
        self.follow(order_id, kind, shown["status"])

    def is_newer(self, old: Row, shown: dict[str, Any], *, asked: bool) -> bool:
        """Return whether a state is newer than the stored one."""
        if shown["status"] not in STEPS:
            return False  # a status that we do not know is better than nothing, and no more
        if "arrival_order" in self.bugs:
            return True
        known = (old["version"], STEPS.get(old["status"], -1))
        new = (shown["updated_at"], STEPS[shown["status"]])
        return new > known or (asked and new == known)

    # What follows

    def standing(self, order_id: str) -> str:
        """Return the state of an order."""
        order = self.db.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        remote = self.db.rows("SELECT * FROM remote WHERE order_id = ? ORDER BY rowid", order_id)
        good = {"succeeded", "processing"} if "processing_is_paid" in self.bugs else {"succeeded"}
        payins = [row for row in remote if row["kind"] == "pay-in"]
        paid = [row for row in payins if row["status"] in good]
        if paid:
            if sum(row["minor"] for row in paid) != order["minor"] or paid[0]["currency"] != order["currency"]:
                return "review"
            if any(row["kind"] == "dispute" and row["status"] in {"lost", "accepted"} for row in remote):
                return "charged_back"
            back = sum(row["minor"] for row in remote if row["kind"] == "refund" and row["status"] == "succeeded")
            return "paid" if not back else "refunded" if back >= order["minor"] else "partly_refunded"
        if any(row["status"] not in {"failed", "cancelled"} for row in payins):
            return "pending"
        last = self.db.row("SELECT * FROM payments WHERE order_id = ? ORDER BY number DESC", order_id)
        if last is not None and last["state"] in {"sending", "unknown"}:
            return "pending"
        return str(payins[-1]["status"]) if payins else "unpaid"

    def follow(self, order_id: str, kind: str, status: str) -> None:
        """Move stock and queue mail and shipment, each once."""
        order = self.db.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        standing = self.standing(order_id)
        if standing == "paid":
            is_first = order["stock"] in {"held", "free"}
            if is_first or (kind == "pay-in" and "stock_sold_per_event" in self.bugs):
                self.move(order_id, "sold")
            if is_first:
                self.put("ship", order_id)
                if "mail_before_commit" in self.bugs:
                    self.mailer.send(str(uuid.uuid4()), f"Thank you for {order_id}")
                else:
                    self.put("mail", order_id)
        elif standing in {"failed", "cancelled"}:
            self.release(order_id)
        elif standing == "refunded" and order["stock"] == "sold":
            self.move(order_id, "returned")
        if kind == "refund" and status == "succeeded" and "stock_returned_twice" in self.bugs:
            self.move(order_id, "returned")

    def release(self, order_id: str) -> None:
        """Give a reservation back."""
        if self.db.row("SELECT 1 FROM orders WHERE id = ? AND stock = 'held'", order_id):
            self.move(order_id, "free")

    def move(self, order_id: str, what: str) -> None:
        """Book a movement of stock."""
        self.db.execute("UPDATE orders SET stock = ? WHERE id = ?", what, order_id)
        self.db.execute("INSERT INTO stock_moves VALUES (?, ?)", order_id, what)

    def do_mail(self, job: Row) -> None:
        """Send the confirmation; its id makes a second run harmless."""
        self.mailer.send(f"paid-{job['ref']}", f"Thank you for {job['ref']}")
        with self.db.begin():
            self.done(job)

    def do_ship(self, job: Row) -> None:
        """Hand the goods over, unless all of the money is going back: a worker that was down comes late to this."""
        with self.db.begin() as execute:
            execute(
                "UPDATE orders SET shipped = shipped + 1 WHERE id = ? AND shipped = 0 AND minor > (SELECT total(minor)"
                " FROM refunds WHERE order_id = orders.id AND state NOT IN ('refused', 'void'))",
                job["ref"],
            )
            self.done(job)
