"""What goes wrong in the receiver of webhooks."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any

from bugzoo.receiver import BadSignature, Receiver
from bugzoo.registry import mistake
from bugzoo.shop import Shop
from bugzoo.store import RANK, Row, Store
from paydouble.stateful import Webhook


@mistake(49)
class NoVerification(Receiver):
    """Verifies nothing."""

    def verify(self, body: bytes, header: str | None) -> None:
        return


@mistake(49)
class VerifiesWhatIsSigned(Receiver):
    """Verifies only when there is a header."""

    def verify(self, body: bytes, header: str | None) -> None:
        if header:
            super().verify(body, header)


@mistake(50)
class VerifiesItsOwnJson(Receiver):
    """Verifies JSON that it has serialised itself."""

    def digest(self, body: bytes, at: str) -> str:
        with suppress(ValueError):
            body = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
        return super().digest(body, at)


@mistake(51)
class AsciiOnly(Receiver):
    """Breaks on names that are not ASCII."""

    def digest(self, body: bytes, at: str) -> str:
        return super().digest(body.decode("ascii").encode(), at)


@mistake(52)
class FloatsFromJson(Store):
    """Reads amounts as binary floats."""

    def learn(self, kind: str, order_id: str, resource: Row) -> bool:
        return super().learn(kind, order_id, {**resource, "amount": Decimal(float(resource["amount"]))})


@mistake(53)
class NeedsAHeader(Receiver):
    """Answers 500 to a missing header."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        assert header is not None
        return super().read_header(header)


@mistake(53)
class NeedsAGoodHeader(Receiver):
    """Answers 500 to a header that it cannot read."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        if header is None:
            raise BadSignature(400)
        parts = dict(part.split("=", 1) for part in header.split(","))
        return parts["t"], [part[3:] for part in header.split(",") if part.startswith("v1=")]


@mistake(53)
class ComparesTexts(Receiver):
    """Answers 500 to a header that is not ASCII."""

    def verify(self, body: bytes, header: str | None) -> None:
        at, digests = self.read_header(header)
        self.check_time(at)
        if not any(hmac.compare_digest(self.digest(body, at), digest) for digest in digests):
            raise BadSignature(401)


@mistake(54)
class NoTolerance(Receiver):
    """Has no tolerance: any age will do."""

    def check_time(self, at: str) -> None:
        return


@mistake(54)
class NarrowTolerance(Receiver):
    """Has a tolerance of a minute."""

    def check_time(self, at: str) -> None:
        if abs(int(self.service.now()) - int(at)) > 60:
            raise BadSignature(400)


@mistake(57)
class FirstDigestOnly(Receiver):
    """Reads only the first v1."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        at, digests = super().read_header(header)
        return at, digests[:1]


@mistake(59)
class TakesV0(Receiver):
    """Accepts a v0."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        return super().read_header(header.replace("v0=", "v1=") if header else header)


@mistake(34)
class OneSpelling(Receiver):
    """Knows its header in one spelling only."""

    def header(self, headers: Sequence[tuple[str, str]]) -> str | None:
        return dict(headers).get("X-Service-Signature")


class ShipsPerEvent(Receiver):
    """Base: ships whenever an event says that an order is paid, rather than when it becomes so."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        self.store.learn(kind, order_id, event["data"]["object"])
        if event["type"] == "pay-in.succeeded":
            self.store.run("update orders set shipped = shipped + 1 where id = ?", order_id)


class LeavesShippingToWebhooks(Shop):
    """Base: only the webhook ships."""

    def look_up(self, order_id: str) -> bool:
        order = self.store.order(order_id)
        found = super().look_up(order_id)
        if order is not None:
            self.store.run("update orders set shipped = ? where id = ?", order["shipped"], order_id)
        return found


@mistake(60, shop_part=LeavesShippingToWebhooks)
class ActsTwice(ShipsPerEvent):
    """Ships for each copy of an event."""

    def is_new(self, event: dict[str, Any]) -> bool:
        return True

    def note(self, event: dict[str, Any]) -> None:
        return


@mistake(62, shop_part=LeavesShippingToWebhooks)
class ForgetsEvents(ShipsPerEvent):
    """Forgets after a day which events it has seen."""

    def is_new(self, event: dict[str, Any]) -> bool:
        self.store.run("delete from seen where at < ?", self.service.now() - 86_400)
        return super().is_new(event)


@mistake(64, shop_part=LeavesShippingToWebhooks)
class TrustsEventIds(ShipsPerEvent):
    """Ships again for the same fact under a new id."""


@mistake(61)
class LooksThenInserts(Receiver):
    """Lets two copies of an event race: looks first, and inserts later."""

    def accept(self, event: dict[str, Any]) -> int:
        if self.is_new(event):
            self.store.checkpoint()
            with self.store.transaction():
                self.work(event)
                self.note(event)
        return 200


@mistake(63, test="a_death_over_the_webhook", shop_part=LeavesShippingToWebhooks)
class SeenBeforeDone(Receiver):
    """Marks an event as seen before the work is done."""

    def accept(self, event: dict[str, Any]) -> int:
        if self.is_new(event):
            with self.store.transaction():
                self.note(event)
            with self.store.transaction():
                self.work(event)
        return 200


@mistake(73, test="a_database_that_fails", shop_part=LeavesShippingToWebhooks)
class SwallowsErrors(Receiver):
    """Swallows its own exception and answers 200."""

    def accept(self, event: dict[str, Any]) -> int:
        try:
            return super().accept(event)
        except Exception:  # noqa: BLE001 - that is the mistake
            return 200


@mistake(74, test="a_restart_after_the_answer", shop_part=LeavesShippingToWebhooks)
class WorksLater(Receiver):
    """Answers first, and loses the work when it is restarted."""

    def __init__(self, *parts: Any) -> None:  # noqa: ANN401 - those of a receiver
        super().__init__(*parts)
        self.queue: list[dict[str, Any]] = []

    def accept(self, event: dict[str, Any]) -> int:
        self.queue.append(event)
        return 200

    def work_off(self) -> None:
        while self.queue:
            super().accept(self.queue.pop(0))


class Overwrites(Store):
    """Base: the latest to come is taken for the latest."""

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return True


@mistake(65)
class CreatedResets(Store):
    """Begins anew at an object's created event, even after its last one."""

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return status == "created" or super().is_newer(old, status, updated_at)


@mistake(66)
class OlderOverwrites(Overwrites):
    """Lets an older event overwrite a final state."""


@mistake(67)
class TimeAlone(Store):
    """Orders versions by their time alone."""

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        return updated_at > str(old["updated_at"])


@mistake(68)
class ReplyOverwrites(Shop):
    """Lets the reply overwrite what the webhook has told before it."""

    def on_made(self, order: Row, made: dict[str, Any]) -> None:
        self.store.run("delete from objects where id = ?", made["id"])
        super().on_made(order, made)


@mistake(70)
class RefusesUnknownTypes(Receiver):
    """Answers 400 to events that do not concern it."""

    def accept(self, event: dict[str, Any]) -> int:
        known = event["type"].partition(".")[2] in {*RANK, "updated", "closed"}
        return super().accept(event) if known else 400


@mistake(71)
class StrictEvents(Receiver):
    """Breaks on unknown members of an event."""

    def parse(self, body: bytes) -> dict[str, Any] | None:
        event = super().parse(body)
        if event is None or any(name.startswith("x_") for name in (*event, *event["data"]["object"])):
            return None
        return event


@mistake(29)
class KnowsAllStates(Store):
    """Breaks on an unknown status."""

    def learn(self, kind: str, order_id: str, resource: Row) -> bool:
        _ = RANK[resource["status"]]
        return super().learn(kind, order_id, resource)


@mistake(30)
class RetriesDeclines(Receiver):
    """Pays again by itself when a payment was declined."""

    def __init__(self, *parts: Any) -> None:  # noqa: ANN401 - those of a receiver
        super().__init__(*parts)
        self.declined: list[str] = []

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        super().apply(kind, order_id, event)
        if event["type"] == "pay-in.failed":
            self.declined.append(order_id)

    def accept(self, event: dict[str, Any]) -> int:
        self.declined.clear()
        status = super().accept(event)
        for order_id in self.declined:
            self.shop.pay(order_id)
        return status


@mistake(75)
class RefusesOldEvents(Receiver):
    """Refuses an event that was made long ago, though it was signed just now."""

    def accept(self, event: dict[str, Any]) -> int:
        made = datetime.fromisoformat(event["created_at"]).timestamp()
        return 400 if self.service.now() - made > 3600 else super().accept(event)


@mistake(79)
class WantsACookie(Receiver):
    """Has a login wall before the endpoint."""

    def receive(self, webhook: Webhook) -> int:
        return super().receive(webhook) if "Cookie" in dict(webhook.headers) else 403


@mistake(81)
class CrashesOnRubbish(Receiver):
    """Answers 500 to a signed body that is no JSON."""

    def parse(self, body: bytes) -> dict[str, Any] | None:
        json.loads(body)
        return super().parse(body)


@mistake(82)
class AnyEnvironment(Receiver):
    """Takes an event of the other environment."""

    def is_ours(self, event: dict[str, Any]) -> bool:
        return True


@mistake(82)
class KnowsEveryOrder(Receiver):
    """Breaks on an event of another business."""

    def order_of(self, kind: str, resource: dict[str, Any]) -> str | None:
        if kind == "payin":
            order = self.store.order(resource["external_identifier"])
            assert order is not None
            return str(order["id"])
        return super().order_of(kind, resource)


@mistake(84)
class LaterBodyWins(Receiver):
    """Takes another body under a known id for a correction."""

    def accept(self, event: dict[str, Any]) -> int:
        if not self.is_new(event) and self.is_ours(event):
            resource = event["data"]["object"]
            self.store.run("update objects set amount = ? where id = ?", str(resource["amount"]), resource["id"])
        return super().accept(event)
