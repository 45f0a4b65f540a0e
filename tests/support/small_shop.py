"""A correct shop in a few dictionaries, which keep what a database keeps; its parts can be replaced."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from paydouble import SignatureError, verify
from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook

KEY_SECONDS = 20 * 3600
# After so long an error that is stored under a key is looked up.
PATIENCE_SECONDS = 900
LONGEST_PAUSE = 300.0
RANK = {
    **dict.fromkeys(("created", "needs_response"), 0),
    **dict.fromkeys(("pending", "under_review"), 1),
    "processing": 2,
    **dict.fromkeys(("cancelled", "won", "succeeded"), 3),
    **dict.fromkeys(("failed", "lost", "accepted"), 4),
}
LOST = ("lost", "accepted")


class Unknown(Exception):
    """Nobody knows what became of a request."""


class Limited(Unknown):
    """The service takes no requests for now."""


class Declined(Exception):
    """The service has said no."""


def rank(resource: Mapping[str, Any]) -> int:
    """Return how far along its life an object is; one of an unknown status is under way."""
    return RANK.get(resource["status"], RANK["pending"])


@dataclass
class Wish:
    """A deposit or a refund that is wanted: `open` until the service has answered, then `made` or `refused`."""

    order_id: str
    key: str
    body: bytes
    since: float
    state: str = "open"


@dataclass
class SmallOrder:
    """An order."""

    id: str
    amount: Decimal
    currency: str
    wish: Wish | None = None
    refunds: dict[str, Wish] = field(default_factory=dict)
    shipped: int = 0
    is_busy: bool = False


class SmallShop(Merchant):
    """Learns from replies, webhooks and reads; retries with growing pauses; asks about everything in its job."""

    pauses: tuple[float, ...] = (1, 2, 4)

    def __init__(self, service: ServiceLike) -> None:
        """Start with no orders."""
        super().__init__(service)
        credentials = f"{service.business_key}:{service.business_secret}".encode()
        self.headers = {"Authorization": "Basic " + base64.b64encode(credentials).decode()}
        self.orders: dict[str, SmallOrder] = {}
        self.versions: dict[str, dict[str, Any]] = {}
        self.keys_made = 0

    # Orders

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Note an order."""
        self.orders[order_id] = SmallOrder(order_id, amount, currency)

    def of(self, order_id: str, kind: str, *statuses: str) -> list[dict[str, Any]]:
        """Return the newest versions of an order's objects, in some states or in any."""
        return [
            each
            for each in self.versions.values()
            if each["object"] == kind
            and self.order_of(each) == order_id
            and (not statuses or each["status"] in statuses)
        ]

    def order_of(self, resource: Mapping[str, Any]) -> str | None:
        """Return the order that an object belongs to, as far as it is known."""
        if resource["object"] == "payin":
            return resource.get("external_identifier")
        pay_in = self.versions.get(resource.get("payin_id", ""), {})
        return pay_in.get("external_identifier")

    def order_status(self, order_id: str) -> str:
        """Return the status of an order, from the newest versions of its objects."""
        order, pay_ins = self.orders[order_id], self.of(order_id, "payin")
        if self.of(order_id, "payin", "succeeded"):
            return self.status_of_paid(order)
        if any(rank(each) < RANK["succeeded"] for each in pay_ins):
            return "pending"
        if order.wish and order.wish.state == "open":
            return "pending"
        if order.wish and order.wish.state == "refused":
            return "failed"
        return str(pay_ins[-1]["status"]) if pay_ins else "unpaid"

    def status_of_paid(self, order: SmallOrder) -> str:
        """Return the status of an order for which money has come."""
        paid = self.of(order.id, "payin", "succeeded")
        came = sum(each["amount"] for each in paid)
        if came != order.amount or any(each["currency"] != order.currency for each in paid):
            return "review"
        if self.of(order.id, "dispute", *LOST):
            return "charged_back"
        gone = sum(each["amount"] for each in self.of(order.id, "refund", "succeeded"))
        return "paid" if not gone else "partly_refunded" if gone < came else "refunded"

    def balance(self, order_id: str) -> Decimal:
        """Return what is left of an order's money."""
        came, back, lost = (
            sum((each["amount"] for each in self.of(order_id, kind, *statuses)), Decimal(0))
            for kind, statuses in (("payin", ("succeeded",)), ("refund", ("succeeded",)), ("dispute", LOST))
        )
        return max(Decimal(0), came - back - lost)

    def shipments(self, order_id: str) -> int:
        """Return how often an order was fulfilled."""
        return self.orders[order_id].shipped

    def learn(self, resource: dict[str, Any]) -> None:
        """Keep a version of an object, unless a newer one is known, and ship what is paid."""
        order_id = self.order_of(resource)
        if order_id not in self.orders:
            return
        self.service.checkpoint()
        old = self.versions.get(resource["id"])
        if old is None or self.is_newer(resource, old):
            self.versions[resource["id"]] = resource
        order = self.orders[order_id]
        if self.order_status(order_id) in {"paid", "partly_refunded"} and not order.shipped and self.ships_now(order):
            order.shipped += 1

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        """Return whether one version is newer than another; money that has come stays."""
        if resource["object"] == "payin" and "succeeded" in {resource["status"], old["status"]}:
            return bool(old["status"] != "succeeded")
        return (resource["updated_at"], rank(resource)) > (old["updated_at"], rank(old))

    def ships_now(self, order: SmallOrder) -> bool:  # noqa: ARG002 - for shops that decide by it
        """Return whether a paid order is fulfilled at this moment."""
        return True

    # Paying

    def pay(self, order_id: str) -> None:
        """Begin a payment, or continue the one whose outcome is unknown."""
        order = self.orders[order_id]
        if order.is_busy or not self.may_be_paid(order):
            return
        order.is_busy = True
        try:
            if order.wish is None or order.wish.state != "open":
                body = json.dumps(
                    {
                        "amount": "\0",
                        "currency": order.currency,
                        "external_identifier": order_id,
                        "payment_method": {"type": "CREDIT_CARD"},
                        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
                    }
                ).replace('"\\u0000"', str(order.amount))
                order.wish = self.wish(order_id, body)
            self.send_first(order.wish, "/pay-in/deposit-creation")
        finally:
            order.is_busy = False

    def may_be_paid(self, order: SmallOrder) -> bool:
        """Return whether a click begins or continues a payment."""
        has_open = order.wish is not None and order.wish.state == "open"
        return has_open or self.order_status(order.id) in {"unpaid", "failed", "cancelled"}

    def wish(self, order_id: str, body: str) -> Wish:
        """Return a wish with a key of its own."""
        self.keys_made += 1
        key = str(uuid.UUID(bytes=sha256(str(self.keys_made).encode()).digest()[:16], version=4))
        return Wish(order_id, key, body.encode(), self.service.now())

    def send_first(self, wish: Wish, path: str) -> None:
        """Send a wish for the first time."""
        self.send(wish, path)

    def send(self, wish: Wish, path: str) -> None:
        """Send a wish, unless the service may have forgotten its key; then what there is decides."""
        if self.service.now() - wish.since > KEY_SECONDS:
            if not self.ask(wish.order_id):
                return
            if wish.state == "open":
                wish.state = "refused"
            return
        try:
            made = self.post(path, wish)
        except Declined:
            wish.state = "refused"
        except Limited:
            pass  # the job tries again
        except Unknown:
            if self.service.now() - wish.since > PATIENCE_SECONDS and self.ask(wish.order_id) and wish.state == "open":
                wish.state = "refused"
        else:
            self.learn(made)
            wish.state = "made"

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Send a request until an answer settles it."""
        headers = {**self.headers, "Idempotency-Key": wish.key, "Content-Type": "application/json"}
        status = 0
        for pause in (*self.pauses, 0.0):
            try:
                answer = self.service.call("POST", f"/api/v1{path}", headers, wish.body)
            except OSError:
                self.service.sleep(pause)
                continue
            status = answer.status
            if answer.status in {400, 422}:
                raise Declined
            if answer.status in {200, 201}:
                made = self.data(answer.body)
                if made is not None:
                    return made
            if 400 <= answer.status < 429:
                raise Unknown  # such as 401: the job tries again
            self.service.sleep(self.until_reset(answer.headers) if answer.status == 429 else pause)
        raise Limited if status == 429 else Unknown

    def until_reset(self, headers: Mapping[str, str]) -> float:
        """Return the seconds to wait after a 429, whose reset has one of three units."""
        try:
            reset = float(headers["X-RateLimit-Reset"])
        except (KeyError, ValueError):
            return 2.0
        now = self.service.now()
        wait = reset / 1000 - now if reset > 1e11 else reset - now if reset > 1e8 else reset
        return min(max(wait + 1, 1.0), LONGEST_PAUSE)

    def data(self, body: bytes) -> dict[str, Any] | None:
        """Return what an answer holds; None when it cannot be read."""
        try:
            data = json.loads(body, parse_float=Decimal, parse_int=Decimal)["data"]
        except (ValueError, KeyError, TypeError):
            return None
        return data if isinstance(data, dict) else None

    # Refunds

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Give money back; the same id is the same refund."""
        order = self.orders[order_id]
        if refund_id not in order.refunds:
            paid = self.of(order_id, "payin", "succeeded")
            left = self.balance(order_id) - self.promised(order)
            if len(paid) != 1 or self.order_status(order_id) not in {"paid", "partly_refunded"} or amount > left:
                raise Refused
            body = f'{{"payin_id": "{paid[0]["id"]}", "amount": {amount}, "external_identifier": "{refund_id}"}}'
            order.refunds[refund_id] = self.wish(order_id, body)
        wish = order.refunds[refund_id]
        if wish.state == "open" and not order.is_busy:
            order.is_busy = True
            try:
                self.send_first(wish, "/refund/refund-creation")
            finally:
                order.is_busy = False

    def promised(self, order: SmallOrder) -> Decimal:
        """Return the money of refunds that are under way, also of those that may have been made."""
        made = self.of(order.id, "refund")
        under_way = sum(each["amount"] for each in made if each["status"] in {"created", "processing"})
        told = {each.get("external_identifier") for each in made}
        unanswered = [
            json.loads(wish.body, parse_float=Decimal)["amount"]
            for refund_id, wish in order.refunds.items()
            if wish.state == "open" and refund_id not in told
        ]
        return Decimal(under_way) + sum(unanswered, Decimal(0))

    # Asking

    def list(self, path: str) -> list[dict[str, Any]]:
        """Return a list of the service, the oldest first."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            try:
                answer = self.service.call("GET", f"/api/v1{path}&limit=100{cursor}", self.headers)
            except OSError:
                raise Unknown from None
            page = self.data(answer.body) if answer.status == 200 else None
            if page is None:
                raise Unknown
            found += page["items"]
            if self.is_last(page):
                return found[::-1]
            cursor = f"&cursor={page['next_cursor']}"

    def is_last(self, page: Mapping[str, Any]) -> bool:
        """Return whether a list ends with a page."""
        return not page.get("next_cursor")

    def ask(self, order_id: str) -> bool:
        """Learn all that the service has of an order; returns whether it answered."""
        order = self.orders[order_id]
        try:
            pay_ins = self.list(f"/pay-in?external_identifier={order_id}")
            children = [
                child
                for pay_in in pay_ins
                for kind in ("refund", "dispute")
                for child in self.list(f"/{kind}?payin_id={pay_in['id']}")
            ]
        except Unknown:
            return False
        for each in (*pay_ins, *children):
            is_new = each["id"] not in self.versions
            self.learn(each)
            wish = order.wish if each["object"] == "payin" else order.refunds.get(each.get("external_identifier", ""))
            if is_new and wish is not None and wish.state == "open":
                wish.state = "made"
        return True

    def wishes(self, order: SmallOrder) -> Iterator[tuple[Wish, str]]:
        """Yield what is wanted of the service for an order, each with its path."""
        if order.wish is not None:
            yield order.wish, "/pay-in/deposit-creation"
        for each in order.refunds.values():
            yield each, "/refund/refund-creation"

    def tick(self) -> None:
        """Send what is open, and ask about every order."""
        for order in self.orders.values():
            for wish, path in self.wishes(order):
                if wish.state == "open":
                    self.send(wish, path)
            if order.wish is not None:
                self.ask(order.id)

    # Webhooks

    def receive(self, webhook: Webhook) -> int:
        """Verify an event, and work on it when it is about an order of this shop."""
        headers = {name.lower(): value for name, value in webhook.headers}
        try:
            verify(
                webhook.body,
                headers.get("x-service-signature"),
                self.service.webhook_secret,
                now=int(self.service.now()),
            )
        except SignatureError:
            return 401
        try:
            event = json.loads(webhook.body, parse_float=Decimal, parse_int=Decimal)
            is_known = event["type"].partition(".")[0] in {"pay-in", "refund", "dispute"} and event["livemode"] is False
            order_id = self.order_of(event["data"]["object"]) if is_known else None
        except (ValueError, LookupError, TypeError, AttributeError):
            return 400
        return self.handle(order_id, event) if order_id in self.orders else 200

    def handle(self, order_id: str, event: dict[str, Any]) -> int:  # noqa: ARG002 - for shops that ask about it
        """Work on an event about an order, and return the status to answer."""
        self.learn(event["data"]["object"])
        return 200
