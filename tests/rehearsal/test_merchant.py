"""The merchant of a scenario: what it sends, when, and what it makes of the answers."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from rehearsals import scenario

from paydouble.api.schemas import DepositRequest
from paydouble.rehearsal.calls import Answer, Call, Response
from paydouble.rehearsal.merchant import Merchant
from paydouble.scenarios.play import Deposit, PayerAction

LOST = Response(None, why="reset")


def ok(**data: Any) -> Response:  # noqa: ANN401 - JSON is any
    """Return a good answer."""
    return Response(200, json.dumps({"success": True, "data": data}).encode())


def error(status: int, code: str = "VALIDATION_ERROR") -> Response:
    """Return a refusal."""
    return Response(status, json.dumps({"success": False, "error": {"code": code, "message": "No."}}).encode())


class Scripted:
    """A stage that gives the answers that it was told to give, and writes down what is done on it."""

    def __init__(self, *answers: Response, dispute: str | None = None) -> None:
        self.to_come = list(answers)
        self.calls: list[Call] = []
        self.done: list[str] = []
        self._dispute = dispute

    def send(self, call: Call) -> Response:
        """Write the call down; the next answer, or a pay-in."""
        self.calls.append(call)
        self.done.append(f"{call.method} {call.path}")
        return self.to_come.pop(0) if self.to_come else ok(id="payin_1", status="created")

    def answered(self, answer: Answer) -> None:
        """Write the status down."""
        self.done.append(f"got {answer.status}")

    def wait(self, milliseconds: int) -> None:
        """Write the time down."""
        self.done.append(f"waits {milliseconds}")

    def payer(self, pay_in_id: str, done: PayerAction) -> None:
        """Write down what the payer does."""
        self.done.append(f"the payer of {pay_in_id}: {done.action}")

    def latest_dispute(self, pay_in_id: str) -> str | None:
        """Return the dispute, if there is one, and whose it is."""
        return self._dispute and f"{self._dispute} of {pay_in_id}"

    def remark(self, text: str) -> None:
        """Write the remark down."""
        self.done.append(text)

    def bodies(self) -> list[Any]:
        """Return the bodies of the calls, parsed."""
        return [json.loads(call.body, parse_float=Decimal) for call in self.calls if call.body]


def acted(stage: Scripted, **members: Any) -> Merchant:  # noqa: ANN401 - JSON is any
    """Let a merchant act on a stage, its keys being numbers, and return it."""
    merchant = Merchant(stage, scenario(**members), make_key=lambda number: f"key-{number}")
    merchant.act()
    return merchant


def test_a_deposit_that_is_left_out_has_values_that_work() -> None:
    """Without a word in the file it is 49.90 EUR by card."""
    stage = Scripted()

    acted(stage)

    assert stage.calls[0].body.startswith(b'{"amount":49.90,"currency":"EUR"')
    assert stage.bodies() == [
        {
            "amount": Decimal("49.90"),
            "currency": "EUR",
            "external_identifier": "order-1",
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
    ]


def test_a_deposit_is_as_the_file_wants_it() -> None:
    """Every member that is given goes out, the amount to the digit."""
    stage = Scripted()
    wanted = {
        "amount": Decimal("1.250"),
        "currency": "KWD",
        "country": "KW",
        "external_identifier": "order-17",
        "payment_method": {"type": "CREDIT_CARD", "code": "visa"},
        "customer": {"email": "bob@example.test"},
        "expires_in": 60,
        "metadata": {"cart": "9"},
    }

    acted(stage, deposit=wanted)

    assert stage.calls[0].body.startswith(b'{"amount":1.250,')
    assert stage.bodies()[0] == {
        **wanted,
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "bob@example.test"},
    }


def test_a_file_can_give_every_member_of_a_deposit() -> None:
    """Except the two that name the merchant's own addresses; each is as in the API, with a default."""
    addresses = {"notification_url", "return_url"}

    assert set(Deposit.model_fields) == set(DepositRequest.model_fields) - addresses


def test_another_deposit_is_as_the_first_but_for_what_it_says() -> None:
    """It has a key of its own, and the order of the first: a double click."""
    stage = Scripted()

    acted(stage, deposit={"amount": 5}, merchant=[{"after": "1s", "deposit": {"metadata": {"second": "yes"}}}])

    first, second = stage.bodies()
    assert second == {**first, "metadata": {"second": "yes"}}
    assert [call.key for call in stage.calls] == ["key-1", "key-2"]


def test_each_action_has_its_time_and_its_call() -> None:
    """The first counts from the answer to the deposit, each other one from the end of the one before it."""
    stage = Scripted(dispute="dispute_1")

    acted(
        stage,
        merchant=[
            {"after": "1s", "retrieve": True},
            {"after": "2s", "cancel": True},
            {"after": "3s", "refund": {"amount": Decimal("5.00"), "reason": "broken"}},
            {"after": "4s", "refund": {}},
            {"after": "5s", "evidence": {"tracking": "JD01"}},
            {"after": "6s", "accept": True},
        ],
    )

    assert [each for each in stage.done if not each.startswith("got")] == [
        "POST /pay-in/deposit-creation",
        "waits 1000",
        "GET /pay-in/payin_1",
        "waits 2000",
        "POST /pay-in/payin_1/cancellation",
        "waits 3000",
        "POST /refund/refund-creation",
        "waits 4000",
        "POST /refund/refund-creation",
        "waits 5000",
        "POST /dispute/dispute_1 of payin_1/evidence-submission",
        "waits 6000",
        "POST /dispute/dispute_1 of payin_1/acceptance",
    ]
    assert stage.bodies()[1:] == [
        {},
        {"payin_id": "payin_1", "amount": Decimal("5.00"), "reason": "broken"},
        {"payin_id": "payin_1"},
        {"evidence": {"tracking": "JD01"}},
        {},
    ]


@pytest.mark.parametrize("failure", [LOST, error(500), error(503), error(429), Response(200, b"{cut")])
def test_what_fails_is_sent_again_with_the_same_key(failure: Response) -> None:
    """A lost reply, a 5xx, a 429 and a reply that cannot be read are tried again a second later, byte for byte."""
    stage = Scripted(failure, failure)

    merchant = acted(stage)

    assert len(set(stage.calls)) == 1
    assert [each for each in stage.done if each.startswith("waits")] == ["waits 1000"] * 2
    assert [answer.status for answer in merchant.answers][2:] == [200]
    assert merchant.pay_in == "payin_1"


def test_it_gives_up_after_five_repeats() -> None:
    """Six calls of one deposit, and no seventh."""
    stage = Scripted(*[LOST] * 9)

    merchant = acted(stage)

    assert [answer.status for answer in merchant.answers] == ["lost"] * 6
    assert merchant.pay_in is None


@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_refusal_is_not_sent_again(status: int) -> None:
    """What is wrong stays wrong."""
    merchant = acted(Scripted(error(status)))

    assert [(answer.status, answer.summary, answer.message) for answer in merchant.answers] == [
        (status, "VALIDATION_ERROR", "No.")
    ]


def test_a_refusal_without_a_known_envelope_is_a_status_all_the_same() -> None:
    """A proxy's page or somebody else's JSON says no more than its status."""
    for body in (b"<html>", b"[]", b'{"error":"no"}'):
        merchant = acted(Scripted(Response(404, body)))

        assert [(answer.status, answer.summary, answer.message) for answer in merchant.answers] == [(404, "", "")]


def test_a_pay_in_that_it_knows_nothing_of_is_looked_up_by_its_order() -> None:
    """One more call, and then what it wanted."""
    stage = Scripted(*[LOST] * 6, ok(items=[{"id": "payin_7"}]))

    acted(stage, deposit={"external_identifier": "a/b"}, merchant=[{"after": "1s", "cancel": True}])

    assert [call.path for call in stage.calls[6:]] == [
        "/pay-in?external_identifier=a%2Fb&limit=1",
        "/pay-in/payin_7/cancellation",
    ]


@pytest.mark.parametrize("found", [ok(items=[]), error(404)])
def test_to_retrieve_what_it_knows_nothing_of_is_to_look_it_up(found: Response) -> None:
    """The look-up itself is the call, whether or not it finds anything."""
    stage = Scripted(*[LOST] * 6, found)

    acted(stage, merchant=[{"after": "1s", "retrieve": True}])

    assert [call.operation for call in stage.calls[6:]] == ["pay-in-list"]


def test_a_deposit_that_is_refused_leaves_it_without_a_pay_in() -> None:
    """What it does next is not about the one before."""
    stage = Scripted(ok(id="payin_1", status="created"), error(422), ok(items=[{"id": "payin_9"}]))

    acted(stage, merchant=[{"after": "1s", "deposit": {}}, {"after": "1s", "cancel": True}])

    assert stage.calls[-1].path == "/pay-in/payin_9/cancellation"


@pytest.mark.parametrize("action", [{"refund": {}}, {"accept": True}])
def test_without_a_pay_in_there_is_nothing_to_act_on(action: dict[str, Any]) -> None:
    """It says so, and goes on."""
    stage = Scripted(error(422), ok(items=[]))

    acted(stage, merchant=[{"after": "1s", **action}])

    assert stage.done[-1] == "there is no pay-in for order-1"


@pytest.mark.parametrize(
    ("action", "remark"),
    [
        ({"evidence": {"a": "b"}}, "there is no dispute to hand in evidence against"),
        ({"accept": True}, "there is no dispute to accept"),
    ],
)
def test_without_a_dispute_there_is_nothing_to_answer(action: dict[str, Any], remark: str) -> None:
    """It says so, and goes on."""
    stage = Scripted()

    acted(stage, merchant=[{"after": "1s", **action}])

    assert stage.done[-1] == remark


def test_a_case_has_its_own_deposit_and_actions() -> None:
    """Those of the scenario are not played; its deposit is, where the case has none."""
    life = scenario(
        deposit={"amount": 5},
        merchant=[{"after": "1s", "cancel": True}],
        cases=[
            {"name": "as it is", "expect": []},
            {
                "name": "another",
                "deposit": {"amount": 7},
                "merchant": [{"after": "1s", "retrieve": True}],
                "expect": [],
            },
        ],
    )

    stages = [Scripted() for _ in life.cases]
    for stage, case in zip(stages, life.cases, strict=True):
        Merchant(stage, life, case, make_key=str).act()

    assert [[call.operation for call in stage.calls] for stage in stages] == [
        ["deposit-creation"],
        ["deposit-creation", "pay-in-retrieval"],
    ]
    assert [stage.bodies()[0]["amount"] for stage in stages] == [5, 7]


def test_the_caller_chooses_order_and_email() -> None:
    """The order stands where the file has none, the e-mail in every case."""
    stage = Scripted()
    life = scenario(deposit={"customer": {"email": "bob@example.test"}})

    Merchant(stage, life, make_key=str, order="mine", email="tried@scenario.test").act()

    body = stage.bodies()[0]
    assert (body["external_identifier"], body["customer"]["email"]) == ("mine", "tried@scenario.test")


def test_a_payer_acts_on_the_merchants_pay_in() -> None:
    """It is no call of the merchant, and has no key."""
    stage = Scripted(ok(id="payin_7"))

    acted(stage, merchant=[{"after": "1s", "payer": {"action": "pay"}}])

    assert stage.done[-2:] == ["waits 1000", "the payer of payin_7: pay"]
    assert len(stage.calls) == 1
