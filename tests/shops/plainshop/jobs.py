"""What cron runs: resend, reconcile, mails."""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import calls, orders
from .conf import bugs
from .gateway import Lost, wait_of

if TYPE_CHECKING:
    from .app import Shop

SWEEP_EACH = 3600.0
SWEEP_BACK = 90 * 86400.0
PAGE = 50
log = logging.getLogger(__name__)


class NoAnswer(Exception):
    """A list could not be read to its end. `wait` is in seconds, None when the service did not say."""

    def __init__(self, wait: float | None = None) -> None:
        self.wait = wait


def run_all(shop: "Shop") -> None:
    """Run each job once."""
    resend(shop)
    reconcile(shop)
    send_mails(shop)


def resend(shop: "Shop") -> None:
    """Send the calls again that have no answer, while their keys are valid, and look up the others."""
    due = shop.db.all(
        "SELECT * FROM calls WHERE (state = 'new' AND next_try_at <= ?) OR state = 'unsure' ORDER BY id", time.time()
    )
    for call in due:
        if call["state"] == "unsure" or calls.key_is_old(call):
            look_up(shop, call)
            continue
        state = calls.deliver(shop, call["id"], 1, click=False)
        if "resend_stops_at_first" in bugs and state == "new":
            log.warning("the payment service does not answer; the rest has to wait")
            break
        if "missing_means_dead" in bugs and state == "new":
            look_up(shop, call)


def pages(shop: "Shop", path: str, **query: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the pages of a list. Raises NoAnswer."""
    cursor = None
    while True:
        try:
            reply = shop.gateway.get(path, limit=PAGE, cursor=cursor, **query)
        except Lost:
            raise NoAnswer from None
        data = reply.data()
        if data is None or not isinstance(data.get("items"), list):
            raise NoAnswer(wait_of(reply) if reply.limited() else None)
        yield [item for item in data["items"] if isinstance(item, dict)]
        cursor = data.get("next_cursor")
        if not cursor:
            return


def look_up(shop: "Shop", call: sqlite3.Row) -> None:
    """Find out by the service's lists what became of a call that cannot be sent again."""
    if call["kind"] == "deposit":
        path, query = "/pay-in", {"external_identifier": call["order_id"]}
    else:
        refund = shop.db.one("SELECT * FROM refunds WHERE id = ?", call["subject"])
        if refund is None:
            return
        path, query = "/refund", {"payin_id": refund["payin_id"]}
    now = time.time()
    if now < shop.value("lookup_after"):
        return
    try:
        found = [item for page in pages(shop, path, **query) for item in page]
    except NoAnswer as error:
        _read_failed(shop, "lookup", error)
        return
    shop.set_values(lookup_after=0.0, lookup_fails=0.0)
    for item in found:
        take(shop, path, item)
    with shop.db.transaction():
        call = shop.db.one("SELECT * FROM calls WHERE id = ?", call["id"])
        if call["state"] not in ("new", "unsure"):
            return
        if now - (call["last_sent_at"] or 0.0) < calls.LISTS_LAG and "missing_means_dead" not in bugs:
            return
        if call["kind"] == "refund" and call["state"] == "new" and "missing_means_dead" not in bugs:
            # It was promised, and it was never made: ask again, as a new request.
            calls.close(shop, call, "dead")
            shop.db.run("UPDATE refunds SET status = 'asked' WHERE id = ?", call["subject"])
            calls.add(shop, "refund", call["order_id"], call["subject"], call["path"], call["body"])
            return
        calls.close(shop, call, "refused" if call["state"] == "unsure" else "dead")
        shop.orders.refresh(call["order_id"])


def _read_failed(shop: "Shop", name: str, error: NoAnswer) -> None:
    """Put off the next read: the pauses grow."""
    fails = shop.value(f"{name}_fails")
    wait = max(60.0 * 2 ** min(fails, 6), error.wait or 0.0)
    shop.set_values(**{f"{name}_fails": fails + 1, f"{name}_after": time.time() + wait})


KNOWN = {
    "/pay-in": "SELECT 1 FROM payins WHERE id = ? AND status = ? AND updated_at = ?",
    "/refund": "SELECT 1 FROM refunds WHERE service_id = ? AND status = ? AND updated_at = ?",
    "/dispute": "SELECT 1 FROM disputes WHERE id = ? AND status = ? AND updated_at = ?",
}


def take(shop: "Shop", path: str, item: dict[str, Any]) -> bool:
    """Take one resource of a list. Returns whether something was new."""
    takers: dict[str, Callable[[dict[str, Any]], bool]] = {
        "/pay-in": shop.orders.payin,
        "/refund": shop.orders.refund,
        "/dispute": shop.orders.dispute,
    }
    try:
        if shop.db.one(KNOWN[path], item.get("id"), item.get("status"), orders.instant(item.get("updated_at"))):
            return False
        if path == "/pay-in" and not shop.db.one("SELECT 1 FROM orders WHERE id = ?", item.get("external_identifier")):
            return False
        with shop.db.transaction():
            return takers[path](item)
    except orders.Unreadable as error:
        log.warning("unreadable item of %s: %s", path, error)
        return False


def reconcile(shop: "Shop") -> None:
    """Read what the service has, for webhooks that never came."""
    now = time.time()
    if now < shop.value("sweep_after"):
        return
    sql = "SELECT min(created_at) AS oldest FROM orders WHERE created_at > ? AND id IN (SELECT order_id FROM calls)"
    if "sweep_skips_closed" in bugs:
        sql += " AND status NOT IN ('failed', 'cancelled')"
    oldest = shop.db.one(sql, now - SWEEP_BACK)["oldest"]
    if oldest is None:
        return
    try:
        for path in ("/pay-in", "/refund", "/dispute"):
            _sweep(shop, path, oldest)
    except NoAnswer as error:
        _read_failed(shop, "sweep", error)
        return
    shop.set_values(sweep_after=now + SWEEP_EACH, sweep_fails=0.0)


def _sweep(shop: "Shop", path: str, oldest: float) -> None:
    """Take the resources of a list, newest first, until they are older than the oldest order."""
    for page in pages(shop, path):
        news = 0
        for item in page:
            if path == "/pay-in" and "sweep_skips_closed" in bugs and _closed(shop, item):
                continue
            news += take(shop, path, item)
        if "sweep_stops_at_known" in bugs and not news:
            return
        try:
            if page and orders.instant(page[-1].get("created_at")) / 1e6 < oldest - 3600:
                return
        except orders.Unreadable:
            pass


def _closed(shop: "Shop", item: dict[str, Any]) -> bool:
    order = shop.db.one("SELECT status FROM orders WHERE id = ?", item.get("external_identifier"))
    return order is not None and order["status"] in ("failed", "cancelled")


def send_mails(shop: "Shop") -> None:
    """Send the mails that wait. One whose sending was interrupted is not sent twice."""
    for mail in shop.db.all("SELECT * FROM mails WHERE sent_at IS NULL"):
        with shop.db.transaction():
            mine = shop.db.run("UPDATE mails SET sent_at = ? WHERE id = ? AND sent_at IS NULL", time.time(), mail["id"])
        if mine:
            shop.mailer(mail["order_id"], mail["kind"])
