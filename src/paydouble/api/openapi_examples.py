"""The document's examples: not made up, but what the pipeline answers to one short story with a fixed seed and clock.

Amounts are chosen without trailing zeros, since a tool that reads the document and writes it again may drop them;
on the wire they keep their currency's digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import orjson
from multidict import CIMultiDict

from paydouble.api.openapi_errors import example_name
from paydouble.api.operations import OPERATIONS, PREFIX, Operation
from paydouble.api.pipeline import Pipeline
from paydouble.api.values import Reply, Request
from paydouble.config import RateLimit, Settings
from paydouble.core.clock import Clock
from paydouble.guards.credentials import basic_header
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Registry, Sandbox
from paydouble.sandbox.business import Identity
from paydouble.webhooks.signing import sign

Json = dict[str, Any]
KEY: Final = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"
_START: Final = 1_767_258_000_000  # 2026-01-01T09:00:00Z
_BY_NAME: Final[dict[str, Operation]] = {operation.name: operation for operation in OPERATIONS}
DEPOSIT: Final[Json] = {
    "amount": 49.95,
    "currency": "EUR",
    "external_identifier": "order-17",
    "payment_method": {"type": "CREDIT_CARD"},
    "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
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


class _World:
    """One sandbox whose clock stands, and its pipeline."""

    def __init__(self, settings: Settings) -> None:
        identity = Identity("examples", 1, "sandbox_key", "sandbox_secret", "whsec_sandbox")
        self.sandbox = Sandbox(
            identity,
            settings,
            lambda: Clock(lambda: 0, start=_START, mode="manual"),
            checkout_base="http://127.0.0.1:8080/_paydouble/checkout/",
        )
        registry = Registry()
        registry.add(self.sandbox)
        self.pipeline = Pipeline(registry, OPERATIONS, defaults=settings, seed=1)
        self.authorization = basic_header("sandbox_key", "sandbox_secret")
        self._keys = 0

    def advance(self, seconds: int) -> None:
        """Let time pass, and fire what is due."""
        self.sandbox.clock.jump(self.sandbox.now + seconds * 1000)
        self.sandbox.tick()

    def request(self, name: str, payload: Json | None = None, *, of: str = "", query: str = "") -> Request:
        """Return a request of an operation, with a key of its own."""
        operation = _BY_NAME[name]
        self._keys += 1
        headers = CIMultiDict({"Authorization": self.authorization, "Content-Type": "application/json"})
        if operation.method == "POST":
            headers["Idempotency-Key"] = f"{self._keys:08x}{KEY[8:]}"
        body = b"" if payload is None else orjson.dumps(payload)
        return Request(operation.method, PREFIX + operation.path.replace("{id}", of) + query, headers, body)

    def send(self, request: Request) -> Json:
        """Return the body of the answer."""
        reply = self.pipeline.handle(request)
        if not isinstance(reply, Reply):  # pragma: no cover - nothing is ever in flight at a standing clock
            message = "an example was left in flight"
            raise TypeError(message)
        body: Json = orjson.loads(reply.body)
        return body


@cache
def examples() -> Examples:
    """Return all examples, the same in every process."""
    made = Examples()
    _lives(made)
    for envelope in ("A", "B"):
        _errors(made, Settings(envelope=envelope))
    return made


def _lives(made: Examples) -> None:
    world = _World(Settings())

    def call(name: str, payload: Json | None = None, *, of: str = "", query: str = "") -> str:
        answer = world.send(world.request(name, payload, of=of, query=query))
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
    world.advance(10)
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
    world.advance(10)
    call("refund-retrieval", of=refund)
    call("refund-list")
    _disputes(world, call, paid)
    for event in world.sandbox.journal.events.entries:
        made.events.setdefault(event.type, orjson.loads(event.body))
        signature = sign(event.body, "whsec_sandbox", event.created_at // 1000)
        made.signatures.setdefault(event.type, signature)


def _disputes(world: _World, call: Any, paid: str) -> None:  # noqa: ANN401 - the story's own function
    pay_in = world.sandbox.ledger.get(PayIn, paid)
    contested = world.sandbox.open_dispute(pay_in).id
    call("dispute-evidence-submission", {"evidence": {"receipt": "Signed by A. Lovelace on 3 January."}}, of=contested)
    call("dispute-acceptance", {}, of=contested)
    call("dispute-retrieval", of=contested)
    call("dispute-list")


def _errors(made: Examples, settings: Settings) -> None:
    world = _World(settings)
    sandbox = world.sandbox

    def keep(code: str, body: Json) -> None:
        made.errors[example_name(code, settings.envelope)] = body

    request = world.request("deposit-creation", DEPOSIT)
    world.send(request)
    request.body = orjson.dumps({**DEPOSIT, "amount": 1})
    keep("IDEMPOTENCY_CONFLICT", world.send(request))
    keep("INVALID_INPUT", world.send(world.request("deposit-creation", {"currency": "EUR"})))
    keep("NOT_FOUND", world.send(world.request("pay-in-retrieval", of="payin_unknown")))
    keep("VALIDATION_ERROR", world.send(world.request("deposit-creation", {**DEPOSIT, "currency": "XXX"})))
    request = world.request("deposit-creation", DEPOSIT)
    request.headers = CIMultiDict(Authorization=world.authorization)
    keep("INVALID_IDEMPOTENCY_KEY", world.send(request))
    world.authorization = basic_header("sandbox_key", "wrong")
    keep("UNAUTHORIZED", world.send(world.request("pay-in-list")))
    world.authorization = basic_header("sandbox_key", "sandbox_secret")
    sandbox.apply(settings.model_copy(update={"permissions": ()}))
    keep("FORBIDDEN", world.send(world.request("pay-in-list")))
    sandbox.apply(settings.model_copy(update={"rate_limit": RateLimit(limit=0)}))
    keep("RATE_LIMITED", world.send(world.request("pay-in-list")))
    failed = world.pipeline.internal_error()
    keep("INTERNAL_ERROR", orjson.loads(failed.body))
