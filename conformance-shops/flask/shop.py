"""A shop on Flask: the pages its customers and its staff use, and the webhook endpoint."""

import hashlib
import hmac
import json
import logging
import queue
import re
import threading
import time
from decimal import Decimal
from typing import Any

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue

import books
import orders
import payments
import settings
from settings import mistake

TOLERANCE_SECONDS = 300

log = logging.getLogger("shop.webhooks")
app = Flask(__name__)

_seen_in_memory: set[str] = set()  # these two only for mistakes
_later: queue.Queue[dict[str, Any]] = queue.Queue()


@app.errorhandler(orders.Refusal)
def refused(refusal: orders.Refusal) -> ResponseReturnValue:
    return jsonify(error=str(refusal)), refusal.status


def _input() -> dict[str, Any]:
    content = json.loads(request.get_data(), parse_float=Decimal)
    if not isinstance(content, dict):
        raise orders.Refusal("send a JSON object", 400)
    return content


@app.get("/health")
def health() -> ResponseReturnValue:
    return jsonify(status="ok")


@app.post("/test/orders")
def place_order() -> ResponseReturnValue:
    order = _input()
    orders.place(str(order["id"]), order["amount"], str(order["currency"]))
    return jsonify(orders.view(str(order["id"]))), 201


@app.get("/test/orders/<order_id>")
def show_order(order_id: str) -> ResponseReturnValue:
    return jsonify(orders.view(order_id))


@app.post("/test/orders/<order_id>/pay")
@app.post("/test/orders/<order_id>/retry")
def pay(order_id: str) -> ResponseReturnValue:
    return jsonify(orders.pay(order_id))


@app.post("/test/orders/<order_id>/return")
def customer_returns(order_id: str) -> ResponseReturnValue:
    orders.refresh(order_id)  # that the payer is back proves nothing
    return jsonify(orders.view(order_id))


@app.post("/test/orders/<order_id>/refunds")
def refund(order_id: str) -> ResponseReturnValue:
    wanted = _input()
    return jsonify(orders.refund(order_id, str(wanted["id"]), wanted["amount"])), 201


@app.post("/test/tick")
def tick() -> ResponseReturnValue:
    orders.background_jobs()
    return jsonify(status="ok")


@app.post("/test/reset")
def reset() -> ResponseReturnValue:
    books.reset()
    payments.forget_limit()
    return jsonify(status="ok")


@app.post("/test/time")
def set_time() -> ResponseReturnValue:
    books.set_time(_input().get("now"))
    return jsonify(status="ok")


# ------------------------------------------------------------------------------------------------------------- webhooks


@app.post("/webhooks/payments")
def webhook() -> ResponseReturnValue:
    body = request.get_data()
    if len(body) > 65_535 and mistake("payload-too-long"):
        raise OverflowError("the payload does not fit into its column")
    if mistake("seen-before-verified"):
        found = re.search(rb'"id":\s*"(evt_[^"]*)"', body)
        with books.transaction() as tx:
            if found and tx.execute("INSERT OR IGNORE INTO events VALUES (?)", (found[1].decode(),)).rowcount == 0:
                return jsonify(status="seen")
    if (problem := _problem_of_signature(request.headers.get("X-Service-Signature", ""), body)) is not None:
        log.warning("webhook refused: %s", problem[0])
        return jsonify(error=problem[0]), problem[1]
    try:
        event = json.loads(body, parse_float=Decimal)
        data = event["data"]["object"]
        event_id, kind = str(event["id"]), str(event["type"])
    except (ValueError, TypeError, KeyError, RecursionError):
        log.warning("an event that cannot be read")  # it will not become readable: do not ask for it again
        return jsonify(status="ignored")
    log.info("event %s %s (request %s)", event_id, kind, event.get("request_id"))
    if not isinstance(data, dict) or (
        event.get("livemode") is not settings.LIVEMODE and not mistake("livemode-ignored")
    ):
        return jsonify(status="ignored")
    if mistake("acknowledge-before-work"):
        _later.put(event)
    else:
        _process(event)
    return jsonify(status="ok")


def _problem_of_signature(header: str, body: bytes) -> tuple[str, int] | None:
    """Return what is wrong and the status to answer; None when the delivery is the service's."""
    parts = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    digests = [value for name, _, value in parts if name == "v1"]  # two while the secret is rotated
    if len(times) != 1 or not digests or not re.fullmatch(r"[0-9]{1,15}", times[0]):
        return "the signature is missing or malformed", 400
    if abs(books.now() - int(times[0])) > TOLERANCE_SECONDS and not mistake("timestamp-not-checked"):
        return "the signature's time is too far from now", 400
    if mistake("reserialised-body"):
        body = json.dumps(json.loads(body), separators=(",", ":")).encode()
    expected = hmac.new(settings.WEBHOOK_SECRET, f"{times[0]}.".encode() + body, hashlib.sha256).hexdigest()
    if mistake("short-signature-accepted"):
        same = [all(a == b for a, b in zip(expected, digest, strict=False)) for digest in digests]
    elif mistake("digests-compared-as-texts"):
        same = [hmac.compare_digest(expected, digest) for digest in digests]
    else:
        same = [hmac.compare_digest(expected.encode(), digest.encode()) for digest in digests]
    return None if any(same) else ("the signature does not match", 401)


def _process(event: dict[str, Any]) -> None:
    """Write the event's effect and that it has been seen, both or neither."""
    data, event_id, kind = event["data"]["object"], str(event["id"]), str(event["type"])
    seen = event_id
    if mistake("dedup-by-type"):
        seen = f"{data.get('payin_id') or data.get('id')} {kind}"
    with books.transaction() as tx:
        if mistake("dedup-in-memory"):
            if event_id in _seen_in_memory:
                return
            _seen_in_memory.add(event_id)
        elif mistake("seen-before-verified"):
            pass
        elif tx.execute("INSERT OR IGNORE INTO events VALUES (?)", (seen,)).rowcount == 0:
            return
        at = orders.instant(event.get("created_at"))
        family, _, suffix = kind.partition(".")
        if family == "pay-in" and suffix == data.get("status"):
            orders.apply_payin(tx, data, at, event_id)
        elif family == "refund" and suffix == data.get("status"):
            orders.apply_refund(tx, data, at)
        elif family == "dispute":
            orders.apply_dispute(tx, data, at, event_id)
        else:
            log.warning("event %s %s with status %s is not for us", event_id, kind, data.get("status"))


def _work() -> None:  # only for a mistake
    while True:
        event = _later.get()
        time.sleep(0.3)  # as busy as a worker may be
        _process(event)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    books.make_tables()
    threading.Thread(target=_work, daemon=True).start()
    app.run(host="127.0.0.1", port=settings.PORT, threaded=True)
