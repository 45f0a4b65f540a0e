"""The merchant of a scenario: it makes the calls of the file in order, and repeats those that fail.

As the contract asks (section 5), a repeated call has the same idempotency key. The merchant knows a pay-in by the
answer to its deposit. Where that was lost, it looks for the order before it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

from orjson import Fragment

from paydouble.payments.resources import Document
from paydouble.rehearsal.calls import PATHS, Answer, Call, Response, encoded, parse
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Action, Case, Deposit, DepositCustomer, DepositMethod, PayerAction, RefundWish

MOST_REPEATS: Final = 5
"""How often a call that fails is repeated (`Action`)."""
PAUSE_MS: Final = 1_000
_USUAL_AMOUNT: Final = "49.90"


class Stage(Protocol):
    """What a merchant acts on."""

    def send(self, call: Call) -> Response:
        """Make a call, and deliver what it causes at once."""

    def answered(self, answer: Answer) -> None:
        """Record the answer to a call."""

    def wait(self, milliseconds: int) -> None:
        """Move the sandbox's clock."""

    def latest_dispute(self, pay_in_id: str) -> str | None:
        """Return the id of the pay-in's latest dispute, which a merchant knows from its dashboard."""

    def payer(self, pay_in_id: str, done: PayerAction) -> None:
        """Let the payer of a pay-in act, or record why the payer cannot."""

    def remark(self, text: str) -> None:
        """Record what the merchant could not do."""


class Merchant:
    """One merchant and its one order."""

    def __init__(  # noqa: PLR0913 - what differs between merchants
        self,
        stage: Stage,
        scenario: Scenario,
        case: Case | None = None,
        *,
        make_key: Callable[[int], str],
        order: str = "order-1",
        email: str | None = None,
        paths: Mapping[str, str] = PATHS,
    ) -> None:
        """Act on a stage as the scenario says, or one of its cases.

        `make_key` returns the idempotency key of the n-th operation. `order` is used where the file names none, `email`
        for every customer.
        """
        self._stage = stage
        self._first = (case.deposit if case else None) or scenario.deposit or Deposit()
        self._actions: Sequence[Action] = case.merchant if case else scenario.merchant
        self._make_key = make_key
        self._email = email
        self._paths = paths
        self._operations = 0
        self.order = self._first.external_identifier or order
        """The order of its latest deposit."""
        self.pay_in: str | None = None
        """The id of its latest pay-in, as far as it knows."""
        self.answers: list[Answer] = []

    def act(self) -> None:
        """Make the deposit, then do everything else at its time."""
        self._deposit(self._first)
        for action in self._actions:
            self._stage.wait(action.after)
            self._do(action)

    def _do(self, action: Action) -> None:
        match action.kind:
            case "deposit":
                assert action.deposit is not None  # noqa: S101 - its kind says so
                changes = {name: getattr(action.deposit, name) for name in action.deposit.model_fields_set}
                self._deposit(self._first.model_copy(update=changes))
            case "retrieve" if self.pay_in is None:
                self._look_up()
            case "evidence" | "accept":
                self._respond(action)
            case _ if self._knows():
                self._about_pay_in(action)

    def _deposit(self, wanted: Deposit) -> None:
        body = self._deposit_body(wanted)
        self.order, self.pay_in = body["external_identifier"], None
        answer = self._post("deposit-creation", body, about=f"{_written(wanted)} {wanted.currency}")
        if answer.data is not None:
            self.pay_in = answer.data["id"]

    def _about_pay_in(self, action: Action) -> None:
        assert self.pay_in is not None  # noqa: S101 - the caller has checked
        match action.kind:
            case "retrieve":
                self._get("pay-in-retrieval", self._path("pay-in-retrieval", self.pay_in))
            case "payer":
                assert action.payer is not None  # noqa: S101 - its kind says so
                self._stage.payer(self.pay_in, action.payer)
            case "cancel":
                self._post("pay-in-cancellation", {}, object_id=self.pay_in)
            case _:
                assert action.refund is not None  # noqa: S101 - its kind says so
                self._refund(self.pay_in, action.refund)

    def _refund(self, pay_in: str, wish: RefundWish) -> None:
        body: Document = {"payin_id": pay_in}
        if wish.amount is not None:
            body["amount"] = Fragment(format(wish.amount, "f"))
        if wish.reason is not None:
            body["reason"] = wish.reason
        self._post("refund-creation", body, about="the rest" if wish.amount is None else format(wish.amount, "f"))

    def _respond(self, action: Action) -> None:
        if not self._knows():
            return
        dispute = self._stage.latest_dispute(self.pay_in or "")
        if dispute is None:
            what = "hand in evidence against" if action.kind == "evidence" else "accept"
            self._stage.remark(f"there is no dispute to {what}")
        elif action.evidence is not None:
            self._post("dispute-evidence-submission", {"evidence": action.evidence}, object_id=dispute)
        else:
            self._post("dispute-acceptance", {}, object_id=dispute)

    def _knows(self) -> bool:
        """Return whether there is a pay-in to act on; a merchant whose answer was lost looks it up first."""
        if self.pay_in is None:
            self._look_up()
        if self.pay_in is None:
            self._stage.remark(f"there is no pay-in for {self.order}")
        return self.pay_in is not None

    def _look_up(self) -> None:
        query = f"external_identifier={quote(self.order, safe='')}&limit=1"
        answer = self._get("pay-in-list", f"{self._path('pay-in-list')}?{query}", about=self.order)
        found: list[Document] = answer.data["items"] if answer.data is not None else []
        if found:
            self.pay_in = found[0]["id"]

    def _deposit_body(self, wanted: Deposit) -> Document:
        method = wanted.payment_method or DepositMethod()
        customer = wanted.customer or DepositCustomer()
        body: Document = {
            "amount": Fragment(_written(wanted)),
            "currency": wanted.currency,
            "external_identifier": wanted.external_identifier or self.order,
            "payment_method": method.model_dump(exclude_none=True),
            "customer": {**customer.model_dump(), **({"email": self._email} if self._email else {})},
        }
        given = {name: value for name, value in wanted if name not in body and value is not None}
        return {**body, **given}

    def _path(self, operation: str, object_id: str = "") -> str:
        return self._paths[operation].replace("{id}", object_id)

    def _get(self, operation: str, path: str, about: str = "") -> Answer:
        return self._insist(Call(operation, "GET", path, about=about))

    def _post(self, operation: str, body: dict[str, Any], *, object_id: str = "", about: str = "") -> Answer:
        self._operations += 1
        key = self._make_key(self._operations)
        return self._insist(Call(operation, "POST", self._path(operation, object_id), encoded(body), key, about))

    def _insist(self, call: Call) -> Answer:
        """Make a call, and again with the same key while it fails; returns the last answer."""
        answer = self._once(call)
        for _ in range(MOST_REPEATS):
            if not answer.failed:
                break
            self._stage.wait(PAUSE_MS)
            answer = self._once(call)
        return answer

    def _once(self, call: Call) -> Answer:
        answer = parse(call, self._stage.send(call))
        self.answers.append(answer)
        self._stage.answered(answer)
        return answer


def _written(wanted: Deposit) -> str:
    return _USUAL_AMOUNT if wanted.amount is None else format(wanted.amount, "f")
