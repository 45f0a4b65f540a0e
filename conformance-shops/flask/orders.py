"""Orders, and what the payment service says about them."""

import json
import logging
from datetime import datetime
from decimal import Decimal
from typing import Any

import books
import money
import payments
from books import Books
from settings import mistake

log = logging.getLogger("shop.orders")

Resource = dict[str, Any]

# A status never replaces one of a higher rank, in whatever order events and reads arrive.
PAYIN_RANKS = {"created": 0, "pending": 1, "processing": 2, "succeeded": 3, "failed": 3, "cancelled": 3}
REFUND_RANKS = {"created": 0, "processing": 1, "succeeded": 2, "failed": 2}
DISPUTE_RANKS = {"needs_response": 0, "under_review": 1, "won": 2, "lost": 2, "accepted": 2}
DISPUTE_LOST = {"lost", "accepted"}

# The service remembers a key for 24 hours; the last hour is left for retries and clocks that differ.
KEY_SECONDS = 23 * 3600

_open_in_memory: set[int] = set()  # only for a mistake


class Refusal(Exception):
    """The shop does not do this; `status` is the HTTP status to answer."""

    def __init__(self, reason: str, status: int = 422) -> None:
        super().__init__(reason)
        self.status = status


def place(order_id: str, amount: object, currency: str) -> None:
    try:
        exact = money.text(money.parse(amount, currency), currency)
    except ValueError as error:
        raise Refusal(str(error)) from None
    with books.transaction() as tx:
        known = books.row(tx, "SELECT amount, currency FROM orders WHERE id = ?", order_id)
        if known and (known["amount"], known["currency"]) != (exact, currency):
            raise Refusal(f"order {order_id} exists with another amount", 409)
        tx.execute("INSERT OR IGNORE INTO orders (id, amount, currency) VALUES (?, ?, ?)", (order_id, exact, currency))


def _find(tx: Books, order_id: str) -> Resource:
    if (found := books.row(tx, "SELECT * FROM orders WHERE id = ?", order_id)) is None:
        raise Refusal(f"there is no order {order_id}", 404)
    return dict(found)


def view(order_id: str) -> Resource:
    with books.transaction() as tx:
        order = _find(tx, order_id)
        return {
            "id": order_id,
            "status": _status(tx, order),
            "shipped": order["shipped"],
            "paid": money.text(books.total(tx, order_id), order["currency"]),
            "currency": order["currency"],
            "effects": {"mails": order["mails"]},
            "disputed": bool(_open_disputes(tx, order_id)),
            "review": order["review"],
        }


def _open_disputes(tx: Books, order_id: str) -> list[Resource]:
    found = books.rows(tx, "SELECT * FROM disputes WHERE order_id = ?", order_id)
    return [dict(row) for row in found if row["status"] not in DISPUTE_LOST | {"won"}]


def _status(tx: Books, order: Resource) -> str:
    received, refunded = books.total(tx, order["id"], "payin"), -books.total(tx, order["id"], "refund")
    if received > 0:
        if books.total(tx, order["id"], "dispute") < 0:
            return "charged_back"
        if refunded > 0:
            return "refunded" if refunded >= received else "partly_refunded"
        return "paid"
    if order["review"]:
        return "review"
    last = books.row(tx, "SELECT * FROM attempts WHERE order_id = ? ORDER BY number DESC", order["id"])
    if last is None:
        return "unpaid"
    if last["state"] in {"refused", "denied"}:
        return "failed"
    payin = books.row(tx, "SELECT status FROM payins WHERE id = ?", last["payin"])
    return payin["status"] if payin and payin["status"] in {"failed", "cancelled"} else "pending"


# ------------------------------------------------------------------------------------------------------------- deposits


def pay(order_id: str) -> Resource:
    """The customer wants to pay: go on with the attempt there is, or begin one when the last has failed for certain."""
    refresh(order_id)
    now = books.now()
    with books.transaction() as tx:
        order = _find(tx, order_id)
        last = books.row(tx, "SELECT * FROM attempts WHERE order_id = ? ORDER BY number DESC", order_id)
        status = _status(tx, order)
        if last and last["state"] in {"open", "denied"}:
            number = last["number"]
            tx.execute("UPDATE attempts SET state = 'open' WHERE number = ?", (number,))
        elif status in {"unpaid", "failed", "cancelled"}:
            body = _json_with_amount(
                order["amount"],
                currency=order["currency"],
                external_identifier=order_id,
                payment_method={"type": "CREDIT_CARD"},
                customer={"first_name": "Zoë", "last_name": "Müller", "email": "zoe@example.test"},
            )
            number = tx.execute(
                "INSERT INTO attempts (order_id, key, key_made, body) VALUES (?, ?, ?, ?)",
                (order_id, payments.new_key(), now, body),
            ).lastrowid
            _open_in_memory.add(number or 0)
        else:
            number = None
    if number is not None:
        _send_deposit(number)
    with books.transaction() as tx:
        last = books.row(tx, "SELECT payment_url FROM attempts WHERE order_id = ? ORDER BY number DESC", order_id)
    return view(order_id) | {"payment_url": last["payment_url"] if last else None}


def _json_with_amount(amount: str, **rest: object) -> str:
    """Return JSON with the amount as it is written: json.dumps would make a float of it."""
    return f'{{"amount": {amount}, {json.dumps(rest, ensure_ascii=False)[1:]}'


def _send_deposit(number: int) -> None:
    now = books.now()
    with books.transaction() as tx:
        attempt = books.row(tx, "SELECT * FROM attempts WHERE number = ? AND state = 'open'", number)
    if attempt is None:
        return
    key = attempt["key"]
    if now - attempt["key_made"] >= KEY_SECONDS:
        # The service may have forgotten the key, and would make a second deposit. So look first.
        found = _deposit_of(attempt["order_id"])
        if found != []:
            _deposit_made(number, found)
            return
        key = payments.new_key()
        with books.transaction() as tx:
            tx.execute("UPDATE attempts SET key = ?, key_made = ? WHERE number = ?", (key, now, number))
    reply = payments.call("POST", "/pay-in/deposit-creation", key=key, body=attempt["body"])
    if reply.kind == "ok":
        _deposit_made(number, [reply.data])
    elif reply.kind == "conflict":
        # The key was used for something else, which is our fault. A new key could make a second deposit.
        log.error("order %s: %s", attempt["order_id"], reply.reason)
        _deposit_made(number, _deposit_of(attempt["order_id"]))
    elif reply.kind == "refused":
        log.error("order %s: %s", attempt["order_id"], reply.reason)
        _close(number, "refused")
    elif reply.kind == "denied":
        # Our own credentials or address: nothing for a job to repeat. The next click uses the same key.
        _close(number, "denied")


def _close(number: int, state: str) -> None:
    with books.transaction() as tx:
        tx.execute("UPDATE attempts SET state = ? WHERE number = ? AND state = 'open'", (state, number))


def _deposit_of(order_id: str) -> list[Resource] | None:
    """Return the order's deposits at the service that belong to no other attempt; None when they cannot be read."""
    found = payments.everything("/pay-in", external_identifier=order_id)
    if found is None:
        return None
    with books.transaction() as tx:
        taken = {row["payin"] for row in books.rows(tx, "SELECT payin FROM attempts WHERE payin IS NOT NULL")}
    mine = [item for item in found if item.get("external_identifier") == order_id and item.get("id") not in taken]
    return sorted(mine, key=lambda item: item.get("status") != "succeeded")


def _deposit_made(number: int, found: list[Resource] | None) -> None:
    """Note which deposit came of an attempt, if it is for the same order and money."""
    if not found:
        return
    data = found[0]
    with books.transaction() as tx:
        query = "SELECT a.*, amount, currency FROM attempts a JOIN orders o ON o.id = a.order_id WHERE number = ?"
        attempt = books.row(tx, query, number)
        if attempt is None:
            return
        if mistake("success-not-checked"):
            pass
        elif data.get("external_identifier") != attempt["order_id"] or not _same_money(data, dict(attempt)):
            log.error("order %s: the reply is about something else: %s", attempt["order_id"], data.get("id"))
            return
        tx.execute(
            "UPDATE attempts SET state = 'made', payin = ?, payment_url = ? WHERE number = ?",
            (data.get("id"), data.get("payment_url"), number),
        )
        apply_payin(tx, data, instant(data.get("updated_at")))


def _same_money(data: Resource, order: Resource) -> bool:
    try:
        amount = money.parse(data.get("amount"), order["currency"])
    except ValueError:
        return False
    return data.get("currency") == order["currency"] and amount == Decimal(order["amount"])


def instant(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


# ------------------------------------------------------------------------- what the service says, by an event or a read


def apply_payin(tx: Books, data: Resource, at: float, event_id: str | None = None) -> None:
    """Take over a pay-in's status. Without an event it was read, and a read settles what events contradict."""
    payin_id, status = str(data.get("id")), data.get("status")
    known = books.row(tx, "SELECT * FROM payins WHERE id = ?", payin_id)
    order = books.row(
        tx, "SELECT * FROM orders WHERE id = ?", known["order_id"] if known else data.get("external_identifier")
    )
    if order is None or status not in PAYIN_RANKS:
        log.warning("pay-in %s with status %s is not for us", payin_id, status)
        return
    again = event_id is not None and mistake("dedup-in-memory", "effect-per-event")
    if known and not (again and status == "succeeded"):
        before = known["status"]
        if mistake("last-arrival-wins") and event_id is not None:
            newer = status != before
        elif PAYIN_RANKS[status] != PAYIN_RANKS[before]:
            newer = PAYIN_RANKS[status] > PAYIN_RANKS[before]
        elif event_id is not None:
            newer = before not in {status, "succeeded"} and at > known["at"]  # such as late money
        else:
            newer = status != before
        if not newer:
            return
    query = "INSERT INTO payins VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = ?, at = ?"
    tx.execute(query, (payin_id, order["id"], status, at, status, at))
    if status != "succeeded":
        tx.execute("DELETE FROM ledger WHERE kind = 'payin' AND reference = ?", (payin_id,))
    elif _same_money(data, dict(order)) or mistake("amount-not-checked"):
        reference = f"{payin_id} {event_id}" if again else payin_id
        _book(tx, order["id"], "payin", reference, Decimal(order["amount"]))
        if order["shipped"] == 0 or again:
            tx.execute("UPDATE orders SET shipped = shipped + 1, mails = mails + 1 WHERE id = ?", (order["id"],))
    else:
        _review(tx, order["id"], f"{payin_id} brought {data.get('amount')} {data.get('currency')}")


def _book(tx: Books, order_id: str, kind: str, reference: str, amount: Decimal) -> None:
    tx.execute("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?)", (kind, reference, order_id, str(amount)))


def _review(tx: Books, order_id: str, reason: str) -> None:
    """Ask a person to look at the order."""
    log.error("order %s: %s", order_id, reason)
    tx.execute("UPDATE orders SET review = ? WHERE id = ?", (reason, order_id))


def apply_refund(tx: Books, data: Resource, at: float) -> None:
    """Take over a refund's status; it may be one that the service made without a request of ours."""
    remote, status = str(data.get("id")), data.get("status")
    payin = books.row(tx, "SELECT order_id FROM payins WHERE id = ?", data.get("payin_id"))
    if payin is None or status not in REFUND_RANKS:
        log.warning("refund %s with status %s is not for us", remote, status)
        return
    order = _find(tx, payin["order_id"])
    try:
        amount = money.parse(data.get("amount"), order["currency"])
    except ValueError:
        amount = None
    known = books.row(tx, "SELECT * FROM refunds WHERE remote = ?", remote) or books.row(
        tx,
        "SELECT * FROM refunds WHERE id = ? AND payin = ? AND remote IS NULL",
        data.get("external_identifier"),
        data.get("payin_id"),
    )
    if data.get("currency") != order["currency"] or amount is None or (known and amount != Decimal(known["amount"])):
        _review(tx, order["id"], f"{remote} returned {data.get('amount')} {data.get('currency')}")
        return
    if known is None:
        query = "INSERT INTO refunds (id, order_id, payin, amount, state, remote) VALUES (?, ?, ?, ?, 'made', ?)"
        tx.execute(query, (remote, order["id"], data["payin_id"], str(amount), remote))
        before, before_at = "created", 0.0
    else:
        tx.execute("UPDATE refunds SET state = 'made', remote = ? WHERE id = ?", (remote, known["id"]))
        before, before_at = known["status"], known["at"]
    if REFUND_RANKS[status] != REFUND_RANKS[before]:
        newer = REFUND_RANKS[status] > REFUND_RANKS[before]
    else:
        newer = status != before and at > before_at and not mistake("late-refund-failure-ignored")
    if newer:
        tx.execute("UPDATE refunds SET status = ?, at = ? WHERE remote = ?", (status, at, remote))
        if status == "succeeded":
            _book(tx, order["id"], "refund", remote, -amount)
        else:  # it may have succeeded before: the payer's bank can return the money
            tx.execute("DELETE FROM ledger WHERE kind = 'refund' AND reference = ?", (remote,))


def apply_dispute(tx: Books, data: Resource, at: float, event_id: str | None = None) -> None:
    """Take over a dispute's status; the money is lost once, when it is decided."""
    dispute_id, status = str(data.get("id")), data.get("status")
    payin = books.row(tx, "SELECT order_id FROM payins WHERE id = ?", data.get("payin_id"))
    if payin is None or status not in DISPUTE_RANKS:
        log.warning("dispute %s with status %s is not for us", dispute_id, status)
        return
    order = _find(tx, payin["order_id"])
    try:
        amount = money.parse(data.get("amount"), order["currency"])
    except ValueError:
        _review(tx, order["id"], f"{dispute_id} is about {data.get('amount')} {data.get('currency')}")
        return
    if mistake("dispute-booked-per-event"):
        if status in DISPUTE_LOST or event_id is not None:
            _book(tx, order["id"], "dispute", event_id or dispute_id, -amount)
        at = max(at, 0.0)
    known = books.row(tx, "SELECT * FROM disputes WHERE id = ?", dispute_id)
    # A decision can be reopened, and then be another one: among such only the time tells.
    newer = known is None or (status != known["status"] and at > known["at"])
    if known and DISPUTE_RANKS[status] > DISPUTE_RANKS[known["status"]]:
        newer = True
    if not newer:
        return
    query = "INSERT INTO disputes VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = ?, at = ?"
    tx.execute(query, (dispute_id, order["id"], str(amount), status, at, status, at))
    if mistake("dispute-booked-per-event"):
        return
    if status in DISPUTE_LOST:
        _book(tx, order["id"], "dispute", dispute_id, -amount)
    else:
        tx.execute("DELETE FROM ledger WHERE kind = 'dispute' AND reference = ?", (dispute_id,))


# -------------------------------------------------------------------------------------------------------------- refunds


def refund(order_id: str, refund_id: str, amount: object) -> Resource:
    now = books.now()
    with books.transaction() as tx:
        order = _find(tx, order_id)
        known = books.row(tx, "SELECT * FROM refunds WHERE id = ?", refund_id)
        try:
            exact = money.parse(amount, order["currency"])
        except ValueError as error:
            raise Refusal(str(error)) from None
        if known is None:
            payin = _refundable(tx, order, exact)
            text = money.text(exact, order["currency"])
            body = _json_with_amount(text, payin_id=payin, external_identifier=refund_id)
            tx.execute(
                "INSERT INTO refunds (id, order_id, payin, amount, key, key_made, body, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, 'open')",
                (refund_id, order_id, payin, text, payments.new_key(), now, body),
            )
        elif known["order_id"] != order_id or Decimal(known["amount"]) != exact:
            raise Refusal(f"refund {refund_id} exists, and is another one", 409)
        elif known["state"] == "denied":
            tx.execute("UPDATE refunds SET state = 'open' WHERE id = ?", (refund_id,))
    _send_refund(refund_id)
    with books.transaction() as tx:
        row = books.row(tx, "SELECT state, status FROM refunds WHERE id = ?", refund_id)
    if row is not None and row["state"] in {"refused", "denied"}:
        raise Refusal("the payment service refuses the refund")
    return view(order_id) | {"refund": row["status"] if row else None}


def _refundable(tx: Books, order: Resource, amount: Decimal) -> str:
    """Return the pay-in from which so much can be refunded; what is requested already counts as gone."""
    if _open_disputes(tx, order["id"]):
        raise Refusal("the payment is disputed: the money may go back that way", 409)
    query = "SELECT id FROM payins WHERE order_id = ? AND status = 'succeeded'"
    for payin in books.rows(tx, query, order["id"]):
        booked = books.row(tx, "SELECT amount FROM ledger WHERE kind = 'payin' AND reference LIKE ?", f"{payin['id']}%")
        active = "SELECT amount FROM refunds WHERE payin = ? AND state IN ('open', 'made') AND status != 'failed'"
        gone = sum(Decimal(row["amount"]) for row in books.rows(tx, active, payin["id"]))
        gone -= books.total(tx, order["id"], "dispute")
        if mistake("refunds-not-summed"):
            gone = Decimal(0)
        if booked and amount <= Decimal(booked["amount"]) - gone:
            return str(payin["id"])
    raise Refusal("the order has not so much paid money left")


def _send_refund(refund_id: str) -> None:
    now = books.now()
    with books.transaction() as tx:
        row = books.row(tx, "SELECT * FROM refunds WHERE id = ? AND state = 'open'", refund_id)
    if row is None:
        return
    key = row["key"]
    if now - row["key_made"] >= KEY_SECONDS:
        if not _refund_list(row["payin"]):
            return
        with books.transaction() as tx:
            if books.row(tx, "SELECT 1 FROM refunds WHERE id = ? AND state = 'made'", refund_id):
                return  # it was in the list
            key = payments.new_key()
            tx.execute("UPDATE refunds SET key = ?, key_made = ? WHERE id = ?", (key, now, refund_id))
    reply = payments.call("POST", "/refund/refund-creation", key=key, body=row["body"])
    if reply.kind == "ok":
        with books.transaction() as tx:
            apply_refund(tx, reply.data, instant(reply.data.get("updated_at")))
    elif reply.kind == "conflict":
        log.error("refund %s: %s", refund_id, reply.reason)
        _refund_list(row["payin"])
    elif reply.kind in {"refused", "denied"}:
        log.error("refund %s: %s", refund_id, reply.reason)
        with books.transaction() as tx:
            tx.execute("UPDATE refunds SET state = ? WHERE id = ? AND state = 'open'", (reply.kind, refund_id))


def _refund_list(payin_id: str) -> bool:
    found = payments.everything("/refund", payin_id=payin_id)
    with books.transaction() as tx:
        for data in found or []:
            apply_refund(tx, data, instant(data.get("updated_at")))
    return found is not None


# ------------------------------------------------------------------------------------------------------- reconciliation


def refresh(order_id: str) -> None:
    """Read the order's pay-ins that brought no money so far."""
    with books.transaction() as tx:
        query = "SELECT id FROM payins WHERE order_id = ? AND status != 'succeeded'"
        waiting = [row["id"] for row in books.rows(tx, query, order_id)]
    for payin_id in waiting:
        reply = payments.call("GET", f"/pay-in/{payin_id}")
        if reply.kind == "ok" and reply.data.get("id") == payin_id:
            with books.transaction() as tx:
                apply_payin(tx, reply.data, instant(reply.data.get("updated_at")))


def background_jobs() -> None:
    """Go on with what is open, and read what an event may have failed to tell."""
    with books.transaction() as tx:
        attempts = [row["number"] for row in books.rows(tx, "SELECT number FROM attempts WHERE state = 'open'")]
        denied = books.rows(tx, "SELECT number, order_id FROM attempts WHERE state = 'denied'")
        refunds = [row["id"] for row in books.rows(tx, "SELECT id FROM refunds WHERE state = 'open'")]
        all_orders = [row["id"] for row in books.rows(tx, "SELECT id FROM orders")]
    for number in attempts:
        if not mistake("forgets-open-attempts") or number in _open_in_memory:
            _send_deposit(number)
    for refund_id in refunds:
        _send_refund(refund_id)
    if mistake("no-reconciliation"):
        return
    for row in denied:  # an earlier try may have come through after all
        _deposit_made(row["number"], _deposit_of(row["order_id"]))
    for order_id in all_orders:
        refresh(order_id)
    with books.transaction() as tx:
        paid = [row["id"] for row in books.rows(tx, "SELECT id FROM payins WHERE status = 'succeeded'")]
    for payin_id in paid:
        _refund_list(payin_id)
        found = payments.everything("/dispute", payin_id=payin_id)
        with books.transaction() as tx:
            for data in found or []:
                apply_dispute(tx, data, instant(data.get("updated_at")))
