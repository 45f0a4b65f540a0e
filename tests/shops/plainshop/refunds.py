"""Refunds, in whole or in part."""

import json
import sqlite3
from typing import TYPE_CHECKING

from . import calls, money
from .conf import bugs

if TYPE_CHECKING:
    from .app import Shop


class Declined(Exception):
    """The refund is not possible, or the payment service has declined it."""


def refund(shop: "Shop", order_id: str, refund_id: str, amount: object) -> None:
    """Refund an amount of an order. The same refund_id again is the same refund. Raises Declined."""
    order = shop.db.one("SELECT * FROM orders WHERE id = ?", order_id)
    if order is None:
        raise Declined("there is no such order")
    minor = money.to_minor(amount, order["currency"])
    if minor is None or minor <= 0:
        raise Declined("not an amount of this currency")
    with shop.db.transaction():
        row = shop.db.one("SELECT * FROM refunds WHERE id = ?", refund_id)
        if row is not None and row["status"] == "refused":
            shop.db.run("DELETE FROM refunds WHERE id = ?", refund_id)
            row = None
        if row is None:
            call_id: int | None = _add(shop, order, refund_id, minor)
        else:
            call = shop.db.one(
                "SELECT id FROM calls WHERE kind = 'refund' AND subject = ? AND state IN ('new', 'unsure')", refund_id
            )
            call_id = call["id"] if call else None
    if call_id is None:
        return
    outcome = calls.deliver(shop, call_id, calls.CLICK_TRIES, click=True)
    if outcome == "refused":
        raise Declined("the payment service has declined the refund")
    if outcome == "new" and "refund_row_deleted" in bugs:
        with shop.db.transaction():
            shop.db.run("DELETE FROM refunds WHERE id = ? AND service_id IS NULL", refund_id)
            shop.db.run("UPDATE calls SET state = 'dead' WHERE id = ? AND state = 'new'", call_id)
        raise Declined("the payment service does not answer, please try again")


def _add(shop: "Shop", order: sqlite3.Row, refund_id: str, minor: int) -> int:
    """Store a refund and its call; within a transaction. Raises Declined."""
    payin = shop.db.one(
        "SELECT * FROM payins WHERE order_id = ? AND status = 'succeeded' AND amount = ? AND currency = ?"
        " ORDER BY created_at LIMIT 1",
        order["id"], order["amount"], order["currency"],
    )  # fmt: skip
    if payin is None:
        raise Declined("the order is not paid")
    rest = payin["amount"] - _taken(shop, payin["id"])
    if minor > rest:
        raise Declined("more than is left of the payment")
    shop.db.run(
        "INSERT INTO refunds (id, payin_id, amount, status, updated_at) VALUES (?, ?, ?, 'asked', 0)",
        refund_id, payin["id"], minor,
    )  # fmt: skip
    amount = f'"amount": {money.to_text(minor, order["currency"])}, '
    if minor == rest and "rest_by_omission" in bugs:
        amount = ""  # the service refunds the rest when no amount is given
    body = f'{{"payin_id": {json.dumps(payin["id"])}, {amount}"external_identifier": {json.dumps(refund_id)}}}'
    return calls.add(shop, "refund", order["id"], refund_id, "/refund/refund-creation", body)


def _taken(shop: "Shop", payin_id: str) -> int:
    """Return what refunds and disputes take, or may take, of a payment."""
    taken = 0
    for row in shop.db.all("SELECT * FROM refunds WHERE payin_id = ?", payin_id):
        taken += row["amount"] if row["status"] not in ("failed", "refused") else 0
    for row in shop.db.all("SELECT * FROM disputes WHERE payin_id = ?", payin_id):
        taken += row["amount"] if row["status"] != "won" else 0
    return taken
