"""POST requests to the payment service: stored with key and body, sent, sent again, settled.

States of a call:
  new      to be sent, or sent without a clear answer; jobs send it again
  unsure   the last answer was a refusal, but an earlier send has no answer; only a click sends it again
  done     the service has made the resource
  refused  the service has declined it, and no other send is open
  dead     given up: its key is no longer valid, and the service does not have the resource
"""

import datetime as dt
import sqlite3
import time
import uuid
from typing import TYPE_CHECKING

from .conf import bugs
from .gateway import Lost, Unexpected, wait_of

if TYPE_CHECKING:
    from .app import Shop

KEY_LIFE = dt.timedelta(hours=23)  # an hour less than the service's, for clocks that differ
LONGEST_SLEEP = 10.0  # in a click
CLICK_TRIES = 4
LISTS_LAG = 3600.0  # seconds after which a list of the service has to show what was made


def new_key(kind: str, order_id: str) -> str:
    """Return the key of a new call."""
    if "key_from_order" in bugs and kind == "deposit":
        # The same order always gives the same key, so no click can make two.
        name = uuid.uuid5(uuid.NAMESPACE_URL, order_id)
        return str(uuid.UUID(bytes=name.bytes, version=4))
    return str(uuid.uuid4())


def add(shop: "Shop", kind: str, order_id: str, subject: str | None, path: str, body: str) -> int:
    """Store a call; within a transaction. Returns its number."""
    now = time.time()
    shop.db.run(
        "INSERT INTO calls (kind, order_id, subject, path, key, body, state, created_at, next_try_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 'new', ?, ?)",
        kind, order_id, subject, path, new_key(kind, order_id), body, now, now + 60,
    )  # fmt: skip
    return int(shop.db.one("SELECT last_insert_rowid()")[0])


def key_is_old(call: sqlite3.Row) -> bool:
    """Return whether the service may have forgotten the key of a call."""
    age = dt.timedelta(seconds=time.time() - call["created_at"])
    if "age_wraps" in bugs:
        return age.seconds >= KEY_LIFE.total_seconds()
    return age >= KEY_LIFE


def deliver(shop: "Shop", call_id: int, tries: int, click: bool) -> str:
    """Send a call until it is settled, at most `tries` times. Returns its state."""
    for number in range(tries):
        with shop.db.transaction():
            call = shop.db.one("SELECT * FROM calls WHERE id = ?", call_id)
            if call is None or call["state"] not in (("new", "unsure") if click else ("new",)):
                return str(call["state"]) if call else "dead"
            if key_is_old(call):
                return str(call["state"])
            now = time.time()
            shop.db.run(
                "UPDATE calls SET state = 'new', open_sends = open_sends + 1, tries = tries + 1,"
                " last_sent_at = ?, next_try_at = ? WHERE id = ?",
                now, now + pause_after(call["tries"]), call_id,
            )  # fmt: skip
        try:
            reply = shop.gateway.post(call["path"], call["key"], call["body"])
        except Unexpected:
            return _refuse(shop, call_id)
        except Lost:
            reply = None
        wait = float(2**number)
        if reply is not None:
            data = reply.data()
            if data is not None and shop.settle(call_id, data):
                return "done"
            if reply.refused():
                return _refuse(shop, call_id)
            if reply.limited():
                asked = wait_of(reply)
                _limited(shop, call_id, asked, wait)
                wait = max(wait, asked or 0.0)
                if wait > LONGEST_SLEEP:
                    return "new"
        if number + 1 < tries:
            time.sleep(wait)
    return "new"


def pause_after(tries: int) -> float:
    """Return the seconds until a job sends a call again."""
    return min(3600.0, 60.0 * 2.0 ** min(tries, 10))


def _refuse(shop: "Shop", call_id: int) -> str:
    """Note that the service has declined a call: it is closed, unless another send has no answer. Returns its state."""
    with shop.db.transaction():
        call = shop.db.one("SELECT * FROM calls WHERE id = ?", call_id)
        if call is None or call["state"] not in ("new", "unsure"):
            return str(call["state"]) if call else "dead"
        others = call["open_sends"] - 1
        if "refusal_forgets_lost" in bugs:
            others = 0
        shop.db.run("UPDATE calls SET open_sends = ? WHERE id = ?", others, call_id)
        if others:
            shop.db.run("UPDATE calls SET state = 'unsure' WHERE id = ?", call_id)
        else:
            close(shop, call, "refused")
        shop.refresh(call["order_id"])
    return "unsure" if others else "refused"


def close(shop: "Shop", call: sqlite3.Row, state: str) -> None:
    """End a call without a resource; within a transaction."""
    shop.db.run("UPDATE calls SET state = ? WHERE id = ?", state, call["id"])
    if call["kind"] == "refund":
        shop.db.run("UPDATE refunds SET status = 'refused' WHERE id = ? AND service_id IS NULL", call["subject"])


def _limited(shop: "Shop", call_id: int, asked: float | None, backoff: float) -> None:
    """A limited request was not worked on; it is sent again when the service allows it."""
    with shop.db.transaction():
        call = shop.db.one("SELECT * FROM calls WHERE id = ?", call_id)
        due: float | None = time.time() + max(pause_after(call["tries"] - 1) if asked is None else asked, backoff)
        if asked is None and "null_next_try" in bugs:
            due = None
        shop.db.run("UPDATE calls SET open_sends = open_sends - 1, next_try_at = ? WHERE id = ?", due, call_id)
