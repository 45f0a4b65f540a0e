"""The document's examples: what the API answers to a fixed list of calls, with a fixed seed and clock.

The amounts have no trailing zeros, since a tool that reads the document and writes it again may drop them. On the wire
they keep their currency's digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import orjson
from multidict import CIMultiDict

from paydouble.api.operations import OPERATIONS, Operation
from paydouble.api.schemas import STAND_IN_CUSTOMER
from paydouble.api.values import Request
from paydouble.config import RateLimit, Settings
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import InProcess
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.resources import PayIn
from paydouble.webhooks.signing import sign

Json = dict[str, Any]
KEY: Final = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"
_START_MS: Final = 1_767_258_000_000  # 2026-01-01T09:00:00Z
_BY_NAME: Final[dict[str, Operation]] = {operation.name: operation for operation in OPERATIONS}
DEPOSIT: Final[Json] = {
    "amount": 49.95,
    "currency": "EUR",
    "external_identifier": "order-17",
    "payment_method": {"type": "CREDIT_CARD"},
    "customer": dict(STAND_IN_CUSTOMER),
}


@dataclass(slots=True)
class Examples:
    """What was sent and answered, by operation; event bodies and signatures, by type; error bodies, by example name."""

    requests: dict[str, Json] = field(default_factory=dict)
    answers: dict[str, Json] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    events: dict[str, Json] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Json] = field(default_factory=dict)


class _Business:
    """A business in this process; a call of it is named by its operation."""

    def __init__(self, settings: Settings) -> None:
        self.core = InProcess(settings, seed=1, start=_START_MS, notification_url=None)
        self.sandbox = self.core.sandbox
        self.sandbox.checkout_base = "http://127.0.0.1:8080/_paydouble/checkout/"
        self.authorization = self.core.authorization
        self._keys = 0

    def request(self, name: str, payload: Json | None = None, *, of: str = "", query: str = "") -> Request:
        """Return a request to an operation, with its own idempotency key."""
        operation = _BY_NAME[name]
        self._keys += 1
        body = b"" if payload is None else orjson.dumps(payload)
        path = operation.path.replace("{id}", of) + query
        headers = {"Authorization": self.authorization}
        return self.core.request(operation.method, path, body, headers=headers, key=f"{self._keys:08x}{KEY[8:]}")

    def send(self, request: Request) -> Json:
        """Return the body of the answer."""
        body: Json = orjson.loads(self.core.handle(request).body)
        return body


def example_name(code: str, envelope: str) -> str:
    """Return the name of an error's example in `components/examples`."""
    return f"{code}.{envelope}"


@cache
def examples() -> Examples:
    """Return all examples, the same in every process."""
    made = Examples()
    _answers(made)
    for envelope in ("A", "B"):
        _errors(made, Settings(envelope=envelope))
    return made


def _answers(made: Examples) -> None:
    shop = _Business(Settings())

    def call(name: str, payload: Json | None = None, *, of: str = "", query: str = "") -> str:
        answer = shop.send(shop.request(name, payload, of=of, query=query))
        if payload is not None:
            made.requests.setdefault(name, payload)
        if of:
            made.ids.setdefault(name, of)
        made.answers.setdefault(name, answer)
        return str(answer["data"].get("id", ""))

    def deposit(scenario: str) -> str:
        customer = {**DEPOSIT["customer"], "email": f"{scenario}@scenario.test"}
        return call("deposit-creation", {**DEPOSIT, "external_identifier": scenario, "customer": customer})

    call("exchange-rates", {"source_currency": "EUR", "target_currency": "USD", "amount": 49.95})
    call("available-payment-methods", {"currency": "EUR", "country": "DE", "amount": 49.95})
    paid = call("deposit-creation", DEPOSIT)
    deposit("card-declined")
    unlucky = deposit("refund-fails")
    call("pay-in-cancellation", {}, of=deposit("abandoned"))
    payout = {key: DEPOSIT[key] for key in ("amount", "currency")}
    beneficiary = {"name": "Ada Lovelace", "account": "DE02120300000000202051"}
    paid_out = call("payout-initiation", {**payout, "external_identifier": "salary-3", "beneficiary": beneficiary})
    booked = call(
        "transaction-creation",
        {"type": "ADJUSTMENT", **payout, "external_identifier": "correction-2", "description": "A correction."},
    )
    shop.core.advance(by=10_000)
    call("pay-in-retrieval", of=paid)
    call("pay-in-list", query="?limit=2")
    call("payout-retrieval", of=paid_out)
    call("payout-list")
    call("transaction-retrieval", of=booked)
    call("transaction-list")
    refund = call(
        "refund-creation",
        {"payin_id": paid, "amount": 20.25, "reason": "One of two returned.", "external_identifier": "return-5"},
    )
    call("refund-creation", {"payin_id": unlucky})
    shop.core.advance(by=10_000)
    call("refund-retrieval", of=refund)
    call("refund-list")
    _disputes(shop, call, paid)
    _events(made, shop)


def _events(made: Examples, shop: _Business) -> None:
    happened = {event.type: event for event in reversed(shop.sandbox.journal.events.entries)}
    for kind in EVENT_TYPES:
        # For an event that did not happen above, the example is a test webhook.
        event = happened.get(kind) or shop.sandbox.send_test_webhook(kind)
        made.events[kind] = orjson.loads(event.body)
        made.signatures[kind] = sign(event.body, shop.core.identity.webhook_secret, event.created_at // 1000)


def _disputes(shop: _Business, call: Any, paid: str) -> None:  # noqa: ANN401 - the function of `_answers`
    pay_in = shop.sandbox.ledger.get(PayIn, paid)
    contested = shop.sandbox.open_dispute(pay_in).id
    call("dispute-evidence-submission", {"evidence": {"receipt": "Signed by A. Lovelace on 3 January."}}, of=contested)
    call("dispute-acceptance", {}, of=contested)
    call("dispute-retrieval", of=contested)
    call("dispute-list")


def _errors(made: Examples, settings: Settings) -> None:
    shop = _Business(settings)
    sandbox = shop.sandbox

    def keep(code: str, body: Json) -> None:
        made.errors[example_name(code, settings.envelope)] = body

    request = shop.request("deposit-creation", DEPOSIT)
    shop.send(request)
    request.body = orjson.dumps({**DEPOSIT, "amount": 1})
    keep("IDEMPOTENCY_CONFLICT", shop.send(request))
    keep("INVALID_INPUT", shop.send(shop.request("deposit-creation", {"currency": "EUR"})))
    keep("NOT_FOUND", shop.send(shop.request("pay-in-retrieval", of="payin_unknown")))
    keep("VALIDATION_ERROR", shop.send(shop.request("deposit-creation", {**DEPOSIT, "currency": "XXX"})))
    request = shop.request("deposit-creation", DEPOSIT)
    request.headers = CIMultiDict(Authorization=shop.authorization)
    keep("INVALID_IDEMPOTENCY_KEY", shop.send(request))
    shop.authorization = basic_header("sandbox_key", "wrong")
    keep("UNAUTHORIZED", shop.send(shop.request("pay-in-list")))
    shop.authorization = shop.core.authorization
    sandbox.apply(settings.model_copy(update={"permissions": ()}))
    keep("FORBIDDEN", shop.send(shop.request("pay-in-list")))
    sandbox.apply(settings.model_copy(update={"rate_limit": RateLimit(limit=0)}))
    keep("RATE_LIMITED", shop.send(shop.request("pay-in-list")))
    failed = shop.core.pipeline.internal_error()
    keep("INTERNAL_ERROR", orjson.loads(failed.body))
