"""The receiver of webhooks: verify the bytes, keep the event, acknowledge, and then work on it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any

from bugzoo.shop import Shop
from bugzoo.store import Store
from paydouble.stateful import ServiceLike, Webhook

TOLERANCE = 300
KINDS = {"pay-in": "payin", "refund": "refund", "dispute": "dispute"}


class BadSignature(Exception):
    """The signature does not hold; `status` is what to answer."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Receiver:
    """One endpoint."""

    def __init__(self, service: ServiceLike, store: Store, shop: Shop) -> None:
        self.service = service
        self.store = store
        self.shop = shop

    def receive(self, webhook: Webhook) -> int:
        """Answer a webhook."""
        try:
            self.verify(webhook.body, self.header(webhook.headers))
        except BadSignature as bad:
            return bad.status
        event = self.parse(webhook.body)
        if event is None:
            return 400
        return self.accept(event)

    # Verification

    def header(self, headers: Sequence[tuple[str, str]]) -> str | None:
        """Return the signature header, whatever the case of its name."""
        return next((value for name, value in headers if name.lower() == "x-service-signature"), None)

    def verify(self, body: bytes, header: str | None) -> None:
        """Raise `BadSignature` unless the header signs the body."""
        at, digests = self.read_header(header)
        self.check_time(at)
        expected = self.digest(body, at).encode()
        fits = [hmac.compare_digest(expected, digest.encode()) for digest in digests]
        if not any(fits):
            raise BadSignature(401)

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        """Return the time and the digests."""
        parts = [part.partition("=") for part in (header or "").split(",")]
        at = next((value for name, _, value in parts if name == "t"), "")
        digests = [value for name, _, value in parts if name == "v1"]
        if not (at.isascii() and at.isdecimal()) or not digests:
            raise BadSignature(400)
        return at, digests

    def check_time(self, at: str) -> None:
        """Raise `BadSignature` outside the tolerance."""
        if abs(int(self.service.now()) - int(at)) > TOLERANCE:
            raise BadSignature(400)

    def digest(self, body: bytes, at: str) -> str:
        """Return the digest of the body as it came."""
        return hmac.new(self.service.webhook_secret.encode(), at.encode() + b"." + body, sha256).hexdigest()

    # Events

    def parse(self, body: bytes) -> dict[str, Any] | None:
        """Return the event, or None for what is none."""
        try:
            event = json.loads(body, parse_float=Decimal, parse_int=Decimal)
            _ = event["id"], event["type"], event["data"]["object"]["id"]
        except (ValueError, LookupError, TypeError):
            return None
        assert isinstance(event, dict)
        return event

    def accept(self, event: dict[str, Any]) -> int:
        """Work on an event and note that it was seen, both or neither; returns the status to answer."""
        try:
            with self.store.transaction():
                if self.is_new(event):
                    self.work(event)
                    self.note(event)
        except OSError:
            return 503
        return 200

    def is_new(self, event: dict[str, Any]) -> bool:
        """Return whether an event was not seen before."""
        return self.store.one("select * from seen where event_id = ?", event["id"]) is None

    def note(self, event: dict[str, Any]) -> None:
        """Note that an event was seen."""
        self.store.run("insert into seen values (?, ?)", event["id"], self.service.now())

    def work(self, event: dict[str, Any]) -> None:
        """Do what an event asks for."""
        family, _, _ = event["type"].partition(".")
        kind = KINDS.get(family)
        resource = event["data"]["object"]
        if kind is None or not self.is_ours(event) or "status" not in resource:
            return
        order_id = self.order_of(kind, resource)
        if order_id is not None:
            self.apply(kind, order_id, event)

    def is_ours(self, event: dict[str, Any]) -> bool:
        """Return whether an event is of this environment."""
        return event.get("livemode") is False

    def order_of(self, kind: str, resource: dict[str, Any]) -> str | None:
        """Return the order that an object belongs to, or None when it is nobody's here."""
        if kind == "payin":
            order = self.store.order(resource.get("external_identifier", ""))
            return order["id"] if order else None
        pay_in = self.store.one("select * from objects where id = ?", resource.get("payin_id"))
        return pay_in["order_id"] if pay_in else None

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        """Keep what an event tells, and ship when that is due."""
        self.store.learn(kind, order_id, event["data"]["object"])
        self.shop.ship_what_is_paid(order_id)

    def work_off(self) -> None:
        """Work on what was acknowledged before; everything is worked on at once here."""
