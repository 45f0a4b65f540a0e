"""What the service writes by hand for speed is what its models, and so its documents, say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from drive import SECOND, Business, deposit_body, settled
from openapi_reader import made, problems

from paydouble.api.operations import OPERATIONS, Operation
from paydouble.core.errors import STATUS
from paydouble.openapi.components import EVENTS, EnvelopeA, EnvelopeB
from paydouble.payments.events import EVENT_TYPES

_BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}
Answer = tuple[str, bytes]
_DEPOSITS = "/pay-in/deposit-creation"


class Api:
    """Calls operations by name; each call gives the name and the answer's body."""

    def __init__(self, business: Business) -> None:
        self.business = business

    def post(self, name: str, body: dict[str, Any] | None = None, of: str = "") -> Answer:
        """Make a POST."""
        return name, self.business.post(_BY_NAME[name].path.replace("{id}", of), body).body

    def get(self, name: str, query: str = "", of: str = "") -> Answer:
        """Make a GET."""
        return name, self.business.get(_BY_NAME[name].path.replace("{id}", of) + query).body

    def ids(self, path: str, status: str = "") -> list[str]:
        """Return the identifiers of a list's items, of one status or of all."""
        items = json.loads(self.business.get(path).body)["data"]["items"]
        return [item["id"] for item in items if not status or item["status"] == status]


def live(business: Business) -> Iterator[Answer]:
    """Use every operation, with and without what is optional."""
    api = Api(business)
    yield from create(api)
    yield api.post("pay-in-cancellation", of=business.deposit())
    business.advance(10 * SECOND)
    for pay_in in api.ids("/pay-in", "succeeded"):
        yield api.post("refund-creation", {"payin_id": pay_in, "amount": 1})
        yield api.post("refund-creation", {"payin_id": pay_in, "reason": "late", "external_identifier": "r"})
    business.advance(10 * SECOND)
    dispute = business.sandbox.open_dispute(business.pay_in(business.paid())).id
    yield api.get("dispute-retrieval", of=dispute)
    yield api.post("dispute-evidence-submission", {"evidence": {"receipt": "signed"}}, of=dispute)
    yield api.post("dispute-acceptance", of=dispute)
    for kind in ("pay-in", "refund", "dispute", "payout", "transaction"):
        yield api.get(f"{kind}-list", "?limit=1")
        yield api.get(f"{kind}-list")
        for each in api.ids(f"/{kind}"):
            yield api.get(f"{kind}-retrieval", of=each)


def create(api: Api) -> Iterator[Answer]:
    """Ask for and create things in currencies with two, no and three decimal places, and with several futures."""
    for amount, currency in ((49.9, "EUR"), (1500, "JPY"), (1.25, "KWD")):
        money = {"amount": amount, "currency": currency}
        order = {**money, "external_identifier": "order-1"}
        beneficiary = {"name": "Ada", "account": "DE02120300000000202051"}
        options = {"return_url": "https://shop.example.test/", "metadata": {"a": "b"}}
        yield api.post("deposit-creation", deposit_body(**money, **options))
        yield api.post("available-payment-methods", money)
        yield api.post("exchange-rates", {"source_currency": currency, "amount": amount})
        yield api.post("payout-initiation", {**order, "beneficiary": beneficiary})
        yield api.post("transaction-creation", {**order, "type": "ADJUSTMENT"})
        yield api.post("transaction-creation", {**order, "type": "ADJUSTMENT", "description": "A correction."})
    yield api.post("available-payment-methods", {"currency": "EUR"})
    yield api.post("exchange-rates", {"source_currency": "EUR", "target_currency": "USD"})
    for scenario in ("card-declined", "refund-fails", "abandoned"):
        customer = {"first_name": "Ada", "last_name": "Byron", "email": f"{scenario}@scenario.test"}
        yield api.post("deposit-creation", deposit_body(customer=customer))


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of an operation's answer, as the document has it."""
    for methods in made()["paths"].values():
        for operation in methods.values():
            if operation["operationId"] == name:
                found: dict[str, Any] = operation["responses"]["200"]["content"]["application/json"]["schema"]
                return found
    raise AssertionError(name)


def test_every_answer_fits_its_model_and_its_schema() -> None:
    """The real answers of all operations have exactly the members that the models and the document name."""
    seen = set()
    for name, body in live(Business()):
        seen.add(name)
        operation, answer = _BY_NAME[name], json.loads(body)
        assert answer["success"] is True, (name, answer)
        items = answer["data"]["items"] if operation.listed else [answer["data"]]
        for item in items:
            operation.answer.model_validate(item)
        assert problems(schema_of(name), answer) == [], name

    assert seen == set(_BY_NAME)


def test_every_event_fits_its_model_and_its_schema() -> None:
    """The real bodies of all event types have exactly the members that the models and the document name."""
    business = Business()
    for _ in live(business):
        pass
    events = business.events()

    for event in events:
        EVENTS[event["type"].partition(".")[0]].model_validate(event)
        webhook = made()["webhooks"][event["type"]]["post"]
        assert problems(webhook["requestBody"]["content"]["application/json"]["schema"], event) == []
    assert {event["type"] for event in events} == set(EVENT_TYPES)


def test_an_operation_says_which_events_it_emits() -> None:
    """The table of operations names every event that a request causes, and no other."""
    business = Business()
    for _ in live(business):
        pass
    journal = business.sandbox.journal
    operation_of = {entry.id: entry.operation for entry in journal.requests.entries}
    caused: dict[str, set[str]] = {name: set() for name in _BY_NAME}
    for event in journal.events.entries:
        if event.request_id is not None:
            caused[operation_of[event.request_id] or ""].add(event.type)

    assert {name: set(operation.emits) for name, operation in _BY_NAME.items()} == caused


def test_an_event_does_not_fit_another_webhook() -> None:
    """The schema of a webhook is that of its own type alone."""
    business = Business()
    business.deposit()
    webhook = made()["webhooks"]["pay-in.pending"]["post"]

    found = problems(webhook["requestBody"]["content"]["application/json"]["schema"], business.events()[0])

    assert found == ["$.type: 'pay-in.pending' was expected"]


@pytest.mark.parametrize("envelope", ["A", "B"])
def test_every_error_fits_its_envelope(envelope: str) -> None:
    """Every code of the status table, in either envelope, has exactly the members that the document names."""
    model = EnvelopeA if envelope == "A" else EnvelopeB
    business = Business(envelope=envelope)
    key = "00000000-0000-4000-8000-000000000001"
    business.post(_DEPOSITS, deposit_body(), key=key)
    replies = [
        business.post(_DEPOSITS, deposit_body(amount=1), key=key),
        business.post(_DEPOSITS, {}),
        business.post(_DEPOSITS, deposit_body(), key="no key"),
        business.post(_DEPOSITS, deposit_body(currency="XXX")),
        business.get("/pay-in/payin_unknown"),
    ]
    forbidden = Business(envelope=envelope, permissions=[])
    replies.append(forbidden.get("/pay-in"))
    limited = Business(envelope=envelope, rate_limit={"limit": 0})
    replies.append(limited.get("/pay-in"))

    for reply in replies:
        answer = json.loads(reply.body)
        model.model_validate(answer)
        assert problems({"$ref": f"#/components/schemas/Envelope{envelope}"}, answer) == []
    edge = {STATUS[code] for code in ("UNAUTHORIZED", "INTERNAL_ERROR")}  # no sandbox answers these: see the examples
    assert {reply.status for reply in replies} == set(STATUS.values()) - edge


def test_a_stranger_is_refused_in_the_default_envelope() -> None:
    """A 401 comes from the edge, so it wears envelope A."""
    reply = settled(Business().request("GET", "/pay-in", authorization=None))

    assert reply.status == 401
    EnvelopeA.model_validate_json(reply.body)
