"""The checkout: place an order, pay it, come back from the payment page."""

import json
import time
from typing import TYPE_CHECKING, Any

from . import calls, jobs, money, orders
from .conf import bugs
from .gateway import Lost

if TYPE_CHECKING:
    from .app import Shop

PAID = ("paid", "partly_refunded", "refunded", "charged_back", "review")


class Declined(Exception):
    """The payment service has declined the request."""


def place(shop: "Shop", order_id: str, amount: object, currency: str) -> bool:
    """Store an order. Returns False when the amount is not one of this currency."""
    minor = money.to_minor(amount, currency)
    if minor is None or minor <= 0:
        return False
    with shop.db.transaction():
        shop.db.run(
            "INSERT OR IGNORE INTO orders (id, amount, currency, status, created_at) VALUES (?, ?, ?, 'unpaid', ?)",
            order_id, minor, currency, time.time(),
        )  # fmt: skip
    return True


def pay(shop: "Shop", order_id: str) -> str | None:
    """Answer a click on "pay": return the address of the payment page, or None when there is none (yet).

    Raises Declined when the service has refused this click.
    """
    _settle_old_calls(shop, order_id)
    if "click_not_locked" in bugs:
        found, payin = _present(shop, order_id)
        with shop.db.transaction():
            call_id = found or (None if payin else _add(shop, order_id))
    else:
        with shop.db.transaction():
            found, payin = _present(shop, order_id)
            call_id = found or (None if payin else _add(shop, order_id))
    if call_id is not None:
        outcome = calls.deliver(shop, call_id, calls.CLICK_TRIES, click=True)
        if outcome == "refused":
            raise Declined(order_id)
        payin = shop.db.one(
            "SELECT payins.* FROM payins JOIN calls ON resource_id = payins.id WHERE calls.id = ?", call_id
        )
    if not isinstance(payin, str) and payin is not None and payin["status"] in orders.OPEN_PAYIN:
        return payin["payment_url"] or _payment_url(shop, payin["id"])
    return None


def _present(shop: "Shop", order_id: str) -> tuple[int | None, Any]:
    """Return the call of an order that has no answer, and the pay-in that is open, or "paid"."""
    order = shop.db.one("SELECT * FROM orders WHERE id = ?", order_id)
    if order["status"] in PAID:
        return None, "paid"
    call = shop.db.one(
        "SELECT id FROM calls WHERE kind = 'deposit' AND order_id = ? AND state IN ('new', 'unsure')", order_id
    )
    payin = shop.db.one(
        "SELECT * FROM payins WHERE order_id = ? AND status IN ('created', 'pending', 'processing')", order_id
    )
    return (call["id"] if call else None), payin


def _add(shop: "Shop", order_id: str) -> int:
    order = shop.db.one("SELECT * FROM orders WHERE id = ?", order_id)
    # By hand: json has no exact decimal numbers.
    body = (
        f'{{"amount": {money.to_text(order["amount"], order["currency"])},'
        f' "currency": {json.dumps(order["currency"])}, "external_identifier": {json.dumps(order_id)},'
        ' "payment_method": {"type": "CREDIT_CARD"},'
        ' "customer": {"first_name": "Jo", "last_name": "Mann", "email": "jo@example.org"}}'
    )
    call_id = calls.add(shop, "deposit", order_id, None, "/pay-in/deposit-creation", body)
    shop.orders.refresh(order_id)
    return call_id


def _settle_old_calls(shop: "Shop", order_id: str) -> None:
    """A customer who comes back after a day must not wait for the next job."""
    for call in shop.db.all("SELECT * FROM calls WHERE order_id = ? AND state = 'new'", order_id):
        if calls.key_is_old(call):
            jobs.look_up(shop, call)


def refresh_payin(shop: "Shop", payin_id: str) -> dict[str, Any] | None:
    """Ask the service for one pay-in. Returns it, or None when no good answer came."""
    try:
        thing = shop.gateway.get(f"/pay-in/{payin_id}").data()
    except Lost:
        return None
    if thing is None or thing.get("id") != payin_id:
        return None
    try:
        with shop.db.transaction():
            shop.orders.payin(thing, ask_anyway="return_overwrites" in bugs)
    except orders.Unreadable:
        return None
    return thing


def _payment_url(shop: "Shop", payin_id: str) -> str | None:
    thing = refresh_payin(shop, payin_id)
    return thing.get("payment_url") if thing else None


def come_back(shop: "Shop", order_id: str) -> None:
    """Show the page after the payment: ask the service, since its webhook may not have come yet."""
    for payin in shop.db.all(
        "SELECT id FROM payins WHERE order_id = ? AND status IN ('created', 'pending', 'processing')", order_id
    ):
        refresh_payin(shop, payin["id"])
