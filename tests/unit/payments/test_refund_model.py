"""Refunds against ten lines of arithmetic: what is refunded and pending never exceeds what was paid."""

import pytest
from benches import advance, bench, deposit
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.payments.lifecycle import REFUND
from paydouble.payments.resources import PayIn, Refund

states = st.sampled_from(sorted(REFUND))


class RefundsAgainstArithmetic(RuleBasedStateMachine):
    """One paid pay-in, and anything that can be done to its refunds."""

    pay_in: PayIn

    def __init__(self) -> None:
        super().__init__()
        self.sandbox = bench(url=None)
        self.refunds: list[Refund] = []
        self.model: list[tuple[int, str]] = []

    def rest(self) -> int:
        """Return what the model says is left."""
        return self.pay_in.amount - sum(amount for amount, status in self.model if status != "failed")

    @initialize(amount=st.integers(1, 100))
    def pay(self, amount: int) -> None:
        """A pay-in succeeds."""
        self.pay_in = deposit(self.sandbox, amount)
        advance(self.sandbox, 6_000)

    @rule(amount=st.none() | st.integers(-1, 110))
    def refund(self, amount: int | None) -> None:
        """A refund is taken when it is more than nothing and no more than the rest."""
        wanted = self.rest() if amount is None else amount
        count = len(self.sandbox.journal.events.entries)
        if 0 < wanted <= self.rest():
            self.refunds.append(self.ask(amount))
            self.model.append((wanted, "created"))
        else:
            with pytest.raises(ApiError) as caught:
                self.ask(amount)
            assert caught.value.code == "VALIDATION_ERROR"
            assert len(self.sandbox.journal.events.entries) == count

    def ask(self, amount: int | None) -> Refund:
        """Ask for a refund."""
        return self.sandbox.create_refund(self.pay_in, amount=amount, reason=None, external_identifier=None)

    @precondition(lambda self: bool(self.refunds))
    @rule(data=st.data(), to=states, force=st.booleans())
    def move(self, data: st.DataObject, to: str, force: bool) -> None:
        """A refund moves along its table, or anywhere by force, unless there is no money left for it."""
        index = data.draw(st.integers(0, len(self.refunds) - 1))
        amount, status = self.model[index]
        affordable = status != "failed" or to == "failed" or amount <= self.rest()
        if (force or to in REFUND[status]) and affordable:
            self.sandbox.force_transition(self.refunds[index], to, force=force)
            self.model[index] = (amount, to)
        else:
            with pytest.raises(IllegalTransition):
                self.sandbox.force_transition(self.refunds[index], to, force=force)

    @invariant()
    def they_agree(self) -> None:
        """The books are the model's, and never give back more than was paid."""
        assert [(refund.amount, refund.status) for refund in self.refunds] == self.model
        assert self.pay_in.amount - self.pay_in.refund_reserved == self.rest()
        assert 0 <= self.pay_in.refund_reserved <= self.pay_in.amount


test_refunds_behave_like_arithmetic = RefundsAgainstArithmetic.TestCase
RefundsAgainstArithmetic.TestCase.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
