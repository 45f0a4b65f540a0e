"""What happens without the merchant's code.

That is declines, disputes, refunds on the provider's own pages, late money, late failures of refunds, and what a payer
does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from paydouble.core.errors import ApiError, IllegalTransition, UsageError
from paydouble.payments.lifecycle import DISPUTE, PAID, PAY_IN, REFUND, REFUNDED, first, unfinished
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.scenarios.play import PayerAction
from paydouble.stateful.expected import ExpectedState, Order, expected_state, refundable

ProviderAct = Callable[[Sandbox, Order, ExpectedState], str | None]
"""Acts on an order; returns a description, or None when the order has nothing to act on."""


def carried_out(act: ProviderAct, box: Sandbox, order: Order) -> str | None:
    """Let an act happen to an order; returns a description, or None when it cannot happen now."""
    try:
        return act(box, order, expected_state(box, order))
    except (ApiError, IllegalTransition, UsageError):
        return None


def _fails(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    for pay_in in state.pay_ins:
        if pay_in.status in unfinished(PAY_IN):
            box.force_transition(pay_in, "failed")
            return "the provider declines the payment"
    return None


def _succeeds(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    for pay_in in state.pay_ins:
        if pay_in.status in unfinished(PAY_IN):
            box.force_transition(pay_in, PAID)
            return "the provider confirms the payment"
    return None


def _refund(part: int, words: str) -> ProviderAct:
    def act(box: Sandbox, order: Order, state: ExpectedState) -> str | None:
        amount = min(state.paid[0].amount // part, refundable(state)) if state.paid else 0
        if amount <= 0 or order.refunded_elsewhere:
            return None
        order.refunded_elsewhere.add(box.open_refund(state.paid[0], amount=amount).id)
        return words

    return act


def _dispute(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    if not state.paid or state.disputes:
        return None
    box.open_dispute(state.paid[0])
    return "the payer disputes the payment"


def _dispute_half(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    if not state.paid or state.disputes:
        return None
    box.open_dispute(state.paid[0], amount=state.paid[0].amount // 2)
    return "the payer disputes a half of the payment"


def _dispute_older(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    # A merchant may know the newest payment of an order only.
    if len(state.paid) < 2 or state.disputes:  # noqa: PLR2004 - an older one and a newer one
        return None
    box.open_dispute(state.paid[-1])
    return "the payer disputes the older one of two payments"


def _another_dispute(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    # Several may be open together, as long as they are about no more than the payment.
    for pay_in in state.paid:
        disputed = [each.amount for each in state.disputes if each.payin_id == pay_in.id and each.status != "won"]
        rest = min(pay_in.amount - sum(disputed), pay_in.amount // 2)
        if disputed and rest > 0:
            box.open_dispute(pay_in, amount=rest)
            return "the payer disputes the payment once more, about another part"
    return None


def _decide(box: Sandbox, state: ExpectedState, to: str, words: str) -> str | None:
    for dispute in state.disputes:
        if dispute.status in unfinished(DISPUTE):
            box.force_transition(dispute, to)
            return words
    return None


def _reopen(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
    for dispute in state.disputes:
        if dispute.status == "won":
            box.force_transition(dispute, first(DISPUTE), force=True)
            return "the dispute that was won is opened again"
    return None


def _late_money(box: Sandbox, order: Order, state: ExpectedState) -> str | None:
    # A payer whose card was declined may take another one on the same page.
    for ended, words in (("cancelled", "had expired"), ("failed", "had failed")):
        for pay_in in state.pay_ins:
            if pay_in.status == ended:
                order.paid_late.add(pay_in.id)
                box.force_transition(pay_in, PAID, force=True)
                return f"money arrives for the payment that {words}"
    return None


def _refund_fails(states: Collection[str], words: str) -> ProviderAct:
    def act(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
        for refund in state.refunds:
            if refund.status in states:
                box.force_transition(refund, "failed", force=True)
                return words
        return None

    return act


def _payer(done: PayerAction, words: str) -> ProviderAct:
    def act(box: Sandbox, _: Order, state: ExpectedState) -> str | None:
        for pay_in in state.pay_ins:
            if box.scripts.awaited(pay_in) is not None:
                box.payer_acts(pay_in, done)
                return words
        return None

    return act


PAYER_ACTS: Final[Mapping[str, ProviderAct]] = MappingProxyType(
    {
        "pays": _payer(PayerAction(action="pay"), "the payer pays"),
        "is declined": _payer(PayerAction(action="decline"), "the payer's bank declines"),
        "gives up": _payer(PayerAction(action="abandon"), "the payer gives up"),
    }
)
"""Each acts on an order whose payment waits for its payer and returns a description, or None when none waits."""
PROVIDER_ACTS: Final[Mapping[str, ProviderAct]] = MappingProxyType(
    {
        "fails": _fails,
        "succeeds": _succeeds,
        # The merchant's staff can also refund there, so its code hears of it by an event.
        "refund": _refund(1, "the merchant's staff refunds the payment on the provider's own pages"),
        "refund half": _refund(2, "the merchant's staff refunds a half of the payment on the provider's own pages"),
        "dispute": _dispute,
        "dispute half": _dispute_half,
        "older payment disputed": _dispute_older,
        "another dispute": _another_dispute,
        "dispute under review": lambda box, _, state: _decide(
            box, state, "under_review", "the dispute is under review"
        ),
        "dispute won": lambda box, _, state: _decide(box, state, "won", "the dispute is won"),
        "dispute lost": lambda box, _, state: _decide(box, state, "lost", "the dispute is lost"),
        # The merchant can accept a dispute on the provider's own pages, so its code hears of it by an event.
        "dispute accepted": lambda box, _, state: _decide(
            box, state, "accepted", "the merchant's staff accepts the dispute"
        ),
        "dispute reopened": _reopen,
        "late money": _late_money,
        "refund fails": _refund_fails(unfinished(REFUND), "the newest refund that is under way fails"),
        "refund fails late": _refund_fails(
            {REFUNDED}, "the refund that had succeeded fails, as the bank sends it back"
        ),
    }
)
"""Each acts on an order and returns a description, or None when the order has nothing to act on."""


def _disputed_elsewhere(box: Sandbox, pay_in: PayIn) -> None:
    box.force_transition(pay_in, PAID, force=True)
    box.open_dispute(pay_in)


def _refunded_elsewhere(box: Sandbox, pay_in: PayIn) -> None:
    box.force_transition(pay_in, PAID, force=True)
    box.open_refund(pay_in, amount=pay_in.amount // 2)


ACTS_ELSEWHERE: Final[Mapping[str, tuple[str, Callable[[Sandbox, PayIn], None]]]] = MappingProxyType(
    {
        "none": ("", lambda _box, _pay_in: None),
        "disputed": ("each is paid and disputed", _disputed_elsewhere),
        "refunded": ("each is paid, and a half of it is refunded", _refunded_elsewhere),
    }
)
"""What becomes of the payments that another system of the same business takes: in words, and what does it."""


class Beyond(NamedTuple):
    """An act of which the contract says nothing, and which other services do."""

    setting: str
    """The attribute of an adapter with which it is not played when that is False."""
    note: str
    """What the reader of a report with it should know."""


BEYOND_THE_CONTRACT: Final[Mapping[str, Beyond]] = MappingProxyType(
    {
        "refund fails late": Beyond(
            "refunds_can_fail_late",
            "The contract does not say that a refund can fail after it has succeeded, and other services do it. For a"
            " shop that knows of refunds that fail before they succeed, and need not know this, set"
            " refunds_can_fail_late to false.",
        ),
        "dispute reopened": Beyond(
            "disputes_can_reopen",
            "The contract does not say that a dispute that was won can be opened again, and banks do it. For a shop"
            " that need not know this, set disputes_can_reopen to false.",
        ),
    }
)
"""What comes only to a merchant that has to understand it."""
OF_REFUNDS: Final = frozenset({"refund", "refund half"})
"""What comes only to a merchant that refunds: one without refunds need not understand their events."""
