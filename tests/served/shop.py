"""A small shop in a process of its own: `python shop.py PORT FILE`. Plain `http.server` and `urllib`, nothing else.

It takes a base URL and keeps its orders in a file. `/test/…` is for the adapter of the tests. The time and its pauses
are those of the service's clock, at `clock_url`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime
from decimal import Decimal
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT, FILE = int(sys.argv[1]), Path(sys.argv[2])
KEY_SECONDS = 23 * 3600
ENDED = {"failed", "cancelled"}
RANKS = ("created", "needs_response", "pending", "under_review", "processing", "failed", "cancelled", "succeeded")
RANK = {status: number for number, status in enumerate(RANKS)} | dict.fromkeys(("won", "lost", "accepted"), 9)
Order = dict[str, Any]

config: dict[str, Any] = {}
orders: dict[str, Order] = {}
seen: list[str] = []
paying: set[str] = set()
cached: set[str] = set()
writing = threading.RLock()
# A new process goes by the computer's clock.
clock = {"ahead": 0.0}


class Unknown(Exception):
    """Nobody knows what became of a request."""


def save() -> None:
    """Write everything down, as a whole."""
    with writing:
        new = FILE.with_suffix(".new")
        new.write_text(json.dumps({"config": config, "orders": orders, "seen": seen}))
        new.replace(FILE)


# The service


def ask(url: str, body: bytes | None = None, headers: dict[str, str] | None = None, timeout: float = 30.0) -> Any:
    """Return status, headers and text of an answer."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def now() -> float:
    """Return the time of the play, or of this computer, which a test can shift."""
    if not config["clock_url"]:
        return time.time() + clock["ahead"]
    return datetime.fromisoformat(json.loads(ask(config["clock_url"])[2])["now"]).timestamp()


def sleep(seconds: float) -> None:
    """Let time pass."""
    if not config["clock_url"]:
        time.sleep(seconds * config.get("pause_scale", 1))
    else:
        ask(config["clock_url"] + "/advance", json.dumps({"by": f"{int(seconds * 1000)}ms"}).encode())


def checkpoint() -> None:
    """Mark a point at which the process can be killed, between two writes."""
    if config["clock_url"] and ask(config["clock_url"] + "/checkpoint", b"")[0] == 503:
        raise OSError("the disk is full")


def call(path: str, key: str = "", body: bytes | None = None) -> Any:
    """Send a request until it is answered; returns the data, or None when it was refused for good."""
    credentials = base64.b64encode(f"{config['key']}:{config['secret']}".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}", **({"Idempotency-Key": key} if key else {})}
    for attempt in range(config.get("tries", 5)):
        if attempt:
            sleep(2.0 ** (attempt - 1))
        if config.get("mistake") == "new key" and key:
            headers["Idempotency-Key"] = new_key(key, attempt)
        try:
            status, answered, text = ask(config["url"] + path, body, headers, config["timeout"])
        except (OSError, HTTPException):
            continue
        if status == 429:
            sleep(pause(answered.get("X-RateLimit-Reset")))
        elif status in {400, 422}:
            return None
        elif status in {200, 201}:
            try:
                return json.loads(text, parse_float=Decimal)["data"]
            except (ValueError, KeyError, TypeError):
                raise Unknown from None
        elif status < 500:
            break
    raise Unknown


def pause(reset: str | None) -> float:
    """Return how long to wait after a 429."""
    try:
        at = float(reset or "")
    except ValueError:
        return 1.0
    wait = at / 1000 - now() if at > 1e11 else at - now() if at > 1e8 else at
    return min(max(wait + 1, 1.0), 300.0)


def new_key(purpose: str, attempt: int) -> str:
    """Return a UUID that is the same for the same purpose, so that a play can be repeated."""
    return str(uuid.UUID(bytes=hashlib.sha256(f"{purpose} {attempt}".encode()).digest()[:16], version=4))


# Orders


def objects(order: Order, kind: str) -> list[dict[str, Any]]:
    """Return what belongs to an order."""
    return [each for each in order["objects"].values() if each["kind"] == kind]


def status_of(order: Order) -> str:
    """Return what is shown for an order."""
    pay_ins = objects(order, "pay-in")
    paid = [each for each in pay_ins if each["status"] == "succeeded"]
    if paid:
        came = sum(Decimal(each["amount"]) for each in paid)
        if came != Decimal(order["amount"]) or any(each["currency"] != order["currency"] for each in paid):
            return "review"
        lost = any(each["status"] in {"lost", "accepted"} for each in objects(order, "dispute"))
        return "charged_back" if lost else "paid"
    if order["cancelled"]:
        return "cancelled"
    if any(each["status"] not in ENDED for each in pay_ins):
        return "pending"
    if pay_ins:
        return str(pay_ins[-1]["status"])
    return "failed" if order["refused"] else "unpaid"


def learn(order: Order, kind: str, shown: dict[str, Any]) -> None:
    """Keep a version of an object, unless a newer one is known."""
    if shown["status"] not in RANK:
        return
    with writing:
        old = order["objects"].get(shown["id"])
        if old is None or (old["updated_at"], RANK[old["status"]]) < (shown["updated_at"], RANK[shown["status"]]):
            members = {name: str(shown[name]) for name in ("status", "amount", "currency", "updated_at")}
            order["objects"][shown["id"]] = {"kind": kind, **members}
        if status_of(order) == "paid" and not order["shipped"]:
            order["shipped"] = 1
        save()


def look_up(order: Order) -> bool:
    """Ask the service about an order; returns whether one of its payments is, or may be, under way or paid."""
    try:
        found = call(f"/pay-in?external_identifier={order['id']}&limit=100")["items"]
        for each in reversed(found):
            order["pay_in"] = each["id"]
            learn(order, "pay-in", each)
            if each["status"] == "succeeded":
                for dispute in call(f"/dispute?payin_id={each['id']}&limit=100")["items"]:
                    old = order["objects"].get(dispute["id"])
                    if old and old["updated_at"] == dispute["updated_at"]:
                        old["updated_at"] = ""  # the service knows best what came last within one instant
                    learn(order, "dispute", dispute)
    except (Unknown, TypeError):
        return True
    return any(each["status"] not in ENDED for each in found)


def is_old(order: Order) -> bool:
    """Return whether the service may have forgotten the key of an order."""
    return bool(order["key"]) and now() - order["tried_at"] > KEY_SECONDS


def begin(order: Order) -> None:
    """Give an order a key and a body, and keep both before anything is sent."""
    made = order["objects"].get(order["pay_in"])
    if order["key"] and not order["refused"] and not (made and made["status"] in ENDED) and not is_old(order):
        return
    order["attempt"] += 1
    body = {"currency": order["currency"], "external_identifier": order["id"]}
    body |= {"payment_method": {"type": "CREDIT_CARD"}}
    body |= {"customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}}
    order |= {
        "key": new_key(order["id"], order["attempt"]),
        "body": json.dumps(body)[:-1] + f', "amount": {order["amount"]}}}',
        "tried_at": now(),
        "pay_in": "",
        "refused": 0,
    }
    save()


def send(order: Order) -> None:
    """Send the deposit of an order."""
    begin(order)
    key = order["key"]
    try:
        made = call("/pay-in/deposit-creation", key, order["body"].encode())
    except Unknown:
        look_up(order)
        return
    if made is not None:
        order["pay_in"] = made["id"]
        learn(order, "pay-in", made)
    elif not look_up(order) and order["key"] == key:
        order["refused"] = 1
        save()


def pay(order: Order) -> None:
    """The customer clicks; a second click while the first is worked on does nothing."""
    checkpoint()
    with writing:
        if order["id"] in paying or order["cancelled"] or status_of(order) not in {"unpaid", *ENDED}:
            return
        paying.add(order["id"])
    try:
        if config.get("by_job") and not order["key"]:
            begin(order)
        elif not (is_old(order) and look_up(order)):
            send(order)
    finally:
        paying.discard(order["id"])


def is_over(order: Order) -> bool:
    """Return whether an order is old enough to be closed without its money."""
    seconds = config.get("closes_after")
    is_old = bool(seconds) and now() - order["placed_at"] > seconds
    return is_old and status_of(order) in {"unpaid", "pending", *ENDED}


def cancel(order: Order) -> bool:
    """Cancel what is not paid; when its money comes all the same, it is taken up again. Returns whether it was done."""
    with writing:
        if status_of(order) in {"paid", "review", "charged_back"}:
            return False
        order["cancelled"] = 1
        save()
    return True


def reconcile() -> None:
    """Ask about every order for which something was sent, and send again what never arrived."""
    for order in tuple(orders.values()):
        if is_over(order):
            order["cancelled"] = 1
            save()
        elif order["key"] and not look_up(order) and not order["refused"] and not objects(order, "pay-in"):
            send(order)


# Webhooks


def refusal(header: str, body: bytes) -> int:
    """Return the status with which a webhook is refused: 400 for its header or its age, 401 for its digest; else 0."""
    parts = [part.partition("=") for part in header.split(",")]
    at = next((value for name, _, value in parts if name == "t"), "")
    digests = [value for name, _, value in parts if name == "v1" and value]
    if not (at.isascii() and at.isdecimal() and len(at) < 20 and digests) or abs(now() - int(at)) > 300:
        return 400
    expected = hmac.new(config["webhook_secret"].encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
    good = any(hmac.compare_digest(expected.encode(), each.encode("utf-8", "replace")) for each in digests)
    return 0 if good else 401


def is_known(event_id: str) -> bool:
    """Return whether an event was seen before."""
    if config.get("mistake") == "a cache outlives the reset":
        is_cached = event_id in cached
        cached.add(event_id)
        return is_cached
    return event_id in seen


def receive(header: str, body: bytes) -> int:
    """Take a webhook; returns the status of the answer."""
    refused = 0 if config.get("mistake") == "believes everybody" else refusal(header, body)
    if refused:
        return refused
    try:
        event = json.loads(body, parse_float=Decimal)
        shown, kind = event["data"]["object"], event["type"].partition(".")[0]
        if is_known(event["id"]) or event.get("livemode") is not False or "status" not in shown:
            return 200
        if kind == "pay-in":
            order = orders.get(shown.get("external_identifier"))
        elif kind == "dispute":
            order = next((each for each in orders.values() if shown.get("payin_id") in each["objects"]), None)
        else:
            order = None
    except (ValueError, LookupError, TypeError, RecursionError):
        return 400
    if order is not None:
        seen.append(event["id"])
        if config.get("mistake") == "notes first":
            save()
        checkpoint()
        learn(order, kind, shown)
        checkpoint()
    return 200


def for_tests(what: list[str], body: bytes) -> tuple[int, object]:
    """Do what only a test asks for; returns the status and the body of the answer."""
    match what:
        case ["reset"]:
            for kept in (orders, seen, paying, config):
                kept.clear()
            config.update(json.loads(body))
            save()
        case ["orders"]:
            # The shop makes an id where the test gives none.
            order = {"id": f"own-{len(orders) + 1}", **json.loads(body)}
            orders[order["id"]] = order | dict.fromkeys(("key", "body", "pay_in"), "")
            orders[order["id"]] |= {
                "attempt": 0,
                "tried_at": 0,
                "refused": 0,
                "shipped": 0,
                "objects": {},
                "cancelled": 0,
                "placed_at": now() if config.get("closes_after") else 0,
            }
            save()
            return 200, {"order": {"id": order["id"], "seen": True}}
        case ["refuse", status]:
            return int(status), None
        case ["tick"]:
            reconcile()
        case ["time"]:
            clock["ahead"] = json.loads(body)["unix"] - time.time()
    return 200, None


class Handler(BaseHTTPRequestHandler):
    """The shop's own HTTP."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Show an order."""
        if self.path == "/health":
            self.answer(200)
            return
        order = orders[self.path.rpartition("/")[2]]
        self.answer(200, {"status": status_of(order), "shipped": order["shipped"]})

    def do_POST(self) -> None:
        """Do something."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        match self.path.strip("/").split("/"):
            case ["webhooks"]:
                self.answer(receive(self.headers.get("X-Service-Signature", ""), body))
                return
            case ["test", *what]:
                self.answer(*for_tests(what, body))
                return
            case ["orders", order_id, "pay"]:
                pay(orders[order_id])
            case ["orders", order_id, "cancel"]:
                self.answer(200 if cancel(orders[order_id]) else 409)
                return
            case ["orders", order_id, "return"]:
                look_up(orders[order_id])
        self.answer(200)

    def answer(self, status: int, shown: object = None) -> None:
        """Answer."""
        body = json.dumps(shown).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if FILE.exists():
    kept = json.loads(FILE.read_text())
    config |= kept["config"]
    orders |= kept["orders"]
    seen += kept["seen"]
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
