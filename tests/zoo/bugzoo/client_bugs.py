"""What goes wrong in the client of the API."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bugzoo.client import ATTEMPTS, Client, Declined, Unknown
from bugzoo.registry import mistake
from bugzoo.shop import Shop
from bugzoo.store import Row
from paydouble.stateful import Answer


class SaysFailed(Shop):
    """Tells the customer at once that the payment has failed, and stays with it."""

    def status(self, order_id: str) -> str:
        order = self.store.order(order_id)
        return "failed" if order and order["refused"] else super().status(order_id)

    def on_declined(self, order: Row) -> None:
        self.store.run("update orders set refused = 1 where id = ?", order["id"])


@mistake(1, shop_part=SaysFailed)
class GivesUp(Client):
    """Takes the first lost request for a failed payment."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        try:
            return super().send(method, path, key, body)
        except ConnectionError:
            if method == "GET":
                raise
            raise Declined from None


@mistake(4, shop_part=SaysFailed)
class FailsOn500(Client):
    """Takes a 500 for a failure of the payment."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        answer = super().send(method, path, key, body)
        if answer.status >= 500 and method == "POST":
            raise Declined
        return answer


@mistake(7, shop_part=SaysFailed)
class FailsOnHalfAReply(Client):
    """Takes a truncated reply for a failure."""

    def outcome(self, answer: Answer) -> dict[str, Any]:
        try:
            return super().outcome(answer)
        except Unknown:
            raise Declined from None


class KeyByLuck(Client):
    """Base: takes a new key when the last attempt ended in a certain way."""

    last: object = None

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        try:
            answer = super().send(method, path, key, body)
        except OSError as error:
            self.last = error
            raise
        self.last = answer.status
        return answer

    def key_for(self, key: str, attempt: int) -> str:
        if not attempt or not self.wants_new_key():
            return key
        return str(uuid.UUID(int=uuid.UUID(key).int ^ attempt))

    def wants_new_key(self) -> bool:
        raise NotImplementedError


@mistake(2)
class NewOrderNumberOnRetry(Client):
    """Retries as a payment of another order number."""

    def body_for(self, body: bytes, attempt: int) -> bytes:
        document = json.loads(body, parse_float=str, parse_int=str)
        if not attempt or "external_identifier" not in document:
            return body
        name = document["external_identifier"].encode()
        return body.replace(b'"' + name + b'"', b'"' + name + b'-retry"')

    def key_for(self, key: str, attempt: int) -> str:
        return str(uuid.UUID(int=uuid.UUID(key).int ^ attempt))


@mistake(3)
class NewKeyWhenTheReplyIsLost(KeyByLuck):
    """Retries as a new payment when the connection broke."""

    def wants_new_key(self) -> bool:
        return isinstance(self.last, ConnectionError)


@mistake(6)
class NewKeyAfterTimeout(KeyByLuck):
    """Takes a new key after its own timeout."""

    def wants_new_key(self) -> bool:
        return isinstance(self.last, TimeoutError)


@mistake(10)
class NewKeyAfter5xx(KeyByLuck):
    """Takes a new key on each retry of a 5xx."""

    def wants_new_key(self) -> bool:
        return isinstance(self.last, int) and self.last >= 500


@mistake(27)
class NewKeyAfter429(KeyByLuck):
    """Takes a new key after a 429."""

    def wants_new_key(self) -> bool:
        return self.last == 429


@mistake(5)
class ParsesEverything(Client):
    """Crashes on a proxy's HTML page."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        answer = super().send(method, path, key, body)
        json.loads(answer.body)
        return answer


@mistake(8)
class NoTimeout(Client):
    """Has no timeout."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        headers = {"Authorization": self.authorization, "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        return self.service.call(method, "/api/v1" + path, headers, body, timeout=None)


class Forever(Client):
    """Base: sends again whatever a status is in `again`, without an end."""

    again: frozenset[int] = frozenset()
    pause_seconds = 1.0

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        while True:
            answer = super().send(method, path, key, body)
            if answer.status not in self.again:
                return answer
            self.service.sleep(self.pause_seconds)


@mistake(9)
class RetriesForEver(Forever):
    """Retries a stored 500 without end."""

    again = frozenset({500})


@mistake(19)
class LoopsOnConflict(Forever):
    """Sends again and again at a 409, without a pause."""

    again = frozenset({409})
    pause_seconds = 0.0


@mistake(31)
class LoopsOn401(Forever):
    """Loops on a 401."""

    again = frozenset({401})


@mistake(11)
class BodyDrifts(Client):
    """Sends the same key with a body that drifts."""

    def body_for(self, body: bytes, attempt: int) -> bytes:
        return body[:-1] + b', "metadata": {"attempt": "%d"}}' % attempt


@mistake(13)
class SerialisesAnew(Client):
    """Serialises the body anew on a retry."""

    def body_for(self, body: bytes, attempt: int) -> bytes:
        return body.replace(b", ", b",") if attempt else body


@mistake(20)
class NoBackOff(Client):
    """Retries without any pause."""

    def post(self, path: str, key: str, body: bytes) -> dict[str, Any]:
        for _ in range(ATTEMPTS):
            try:
                answer = self.send("POST", path, key, body)
            except OSError:
                continue
            if answer.status == 429:
                self.service.sleep(self.pause(answer, 0))
            elif answer.status < 500:
                return self.outcome(answer)
        raise Unknown


@mistake(21)
class ResetIsADelay(Client):
    """Takes the reset for a number of seconds to wait."""

    def pause(self, answer: Answer, attempt: int) -> float:
        return float(answer.headers.get("X-RateLimit-Reset", "1")) if self.readable(answer) else 1.0

    def readable(self, answer: Answer) -> bool:
        """Return whether there is a number."""
        return str(answer.headers.get("X-RateLimit-Reset", "")).lstrip("-").isdecimal()


@mistake(21)
class ResetIsAnInstant(ResetIsADelay):
    """Takes the reset for an instant in seconds, and so milliseconds for the far future."""

    def pause(self, answer: Answer, attempt: int) -> float:
        if not self.readable(answer):
            return 1.0
        return max(1.0, float(answer.headers["X-RateLimit-Reset"]) - self.service.now() + 1)


@mistake(22)
class WaitsForThePast(ResetIsADelay):
    """Takes a reset in the past for a delay, which is negative."""

    def pause(self, answer: Answer, attempt: int) -> float:
        if not self.readable(answer):
            return 1.0
        return float(answer.headers["X-RateLimit-Reset"]) - self.service.now()


@mistake(23)
class NeedsRateHeaders(Client):
    """Cannot do with a 429 that has no headers."""

    def pause(self, answer: Answer, attempt: int) -> float:
        try:
            return min(300.0, max(6.0, float(answer.headers["X-RateLimit-Reset"]) - self.service.now()))
        except ValueError:
            return 1.0


@mistake(23)
class NeedsNumbers(Client):
    """Cannot do with malformed headers."""

    def pause(self, answer: Answer, attempt: int) -> float:
        if "X-RateLimit-Reset" not in answer.headers:
            return 1.0
        return min(300.0, max(6.0, float(answer.headers["X-RateLimit-Reset"]) - self.service.now()))


@mistake(24)
class BelievesRemaining(Client):
    """Believes that there are requests left."""

    def pause(self, answer: Answer, attempt: int) -> float:
        remaining = str(answer.headers.get("X-RateLimit-Remaining", "0"))
        return 0.0 if remaining not in {"0", ""} and remaining.isdecimal() else super().pause(answer, attempt)


@mistake(28)
class OneEnvelope(Client):
    """Parses one of the two error envelopes only."""

    def code(self, answer: Answer) -> str:
        document = self.parse(answer.body)
        return f"{document['error']['code']} {document['request_id']}"


CODES = {code: code for code in ("INVALID_INPUT", "INVALID_IDEMPOTENCY_KEY", "VALIDATION_ERROR")}


@mistake(29)
class KnowsAllCodes(Client):
    """Breaks on an unknown error code."""

    def code(self, answer: Answer) -> str:
        code = str(self.parse(answer.body)["error"]["code"])
        return CODES[code.upper().replace("INVALID_REQUEST", "INVALID_INPUT")]


@dataclass
class PayInData:
    """A pay-in, member by member."""

    id: str
    object: str
    reference: str
    external_identifier: str
    amount: Decimal
    currency: str
    status: str
    payment_method: dict[str, str]
    customer: dict[str, str]
    created_at: str
    updated_at: str
    payment_url: str
    expires_at: str
    return_url: str | None
    metadata: dict[str, str]
    failure: dict[str, str] | None = None


@mistake(29)
class KnowsAllMembers(Client):
    """Breaks on an unknown member of an answer."""

    def outcome(self, answer: Answer) -> dict[str, Any]:
        made = super().outcome(answer)
        return vars(PayInData(**made)) if made.get("object") == "payin" else made


@mistake(32)
class FollowsRedirects(Client):
    """Sends its credentials along to another host."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        answer = super().send(method, path, key, body)
        if answer.status in {307, 308}:
            return self.service.call(method, answer.headers["Location"], {"Authorization": self.authorization}, body)
        return answer
