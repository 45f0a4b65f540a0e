"""What no key shows by itself: steps that can never be taken, events that can never come, amounts that fit no currency.

An error is what cannot be meant; a warning is what may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from paydouble.core.money import MINOR_DIGITS, to_minor
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.lifecycle import DISPUTE, PAY_IN, REFUND, finals, first
from paydouble.scenarios.base import Place
from paydouble.scenarios.diagnostics import Diagnostic, listed
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Action, Answer, Deposit, Expected, ExpectedEvent
from paydouble.scenarios.reachability import Reach

_CLOSED: Final = frozenset(finals(DISPUTE))
_DEFAULT_AMOUNT: Final = Decimal("49.90")
_REFUSED: Final = range(400, 500)


@dataclass(frozen=True, slots=True)
class _TryOut:
    """The scenario's own way to be tried out, or one of its cases."""

    place: Place
    deposit: Deposit
    has_deposit: bool
    """Whether the deposit is its own."""
    merchant: tuple[Action, ...]
    answers: tuple[Answer, ...]
    expect: tuple[Expected, ...]


def broken(scenario: Scenario) -> list[Diagnostic]:
    """Return what is wrong with a scenario as a whole."""
    life = scenario.lifecycle
    pay_in, refund, dispute = Reach("payin", "pay-in"), Reach("refund", "refund"), Reach("dispute", "dispute")
    pay_in.along(life.pay_in, ("lifecycle", "pay_in"), frozenset({first(PAY_IN)}))
    refund.along(life.refund or (), ("lifecycle", "refund"), frozenset({first(REFUND)}))
    dispute.along(life.dispute, ("lifecycle", "dispute"), frozenset({first(DISPUTE)}))
    found = [each for walk in (pay_in, refund, dispute) for each in walk.diagnostics.values()]
    if life.refund is None:
        refund.seen |= {"processing", "succeeded"}
    found += _doubles(scenario)
    for tried in _try_outs(scenario):
        found += _amounts(tried)
        found += _events(tried, pay_in, refund, dispute, scripted=bool(life.dispute))
        found += _without_dispute(tried, pay_in)
    if "expect" not in scenario.model_fields_set and not scenario.cases:
        advice = "with the events that are to come, `check --play` tells when they do not"
        found.append(Diagnostic((), "nothing is expected", advice=advice, warning=True, absent="expect"))
    return found


def _try_outs(scenario: Scenario) -> Iterator[_TryOut]:
    first = scenario.deposit or Deposit()
    yield _TryOut((), first, scenario.deposit is not None, scenario.merchant, scenario.answers or (), scenario.expect)
    for number, case in enumerate(scenario.cases):
        has_own = case.deposit is not None
        yield _TryOut(("cases", number), case.deposit or first, has_own, case.merchant, case.answers or (), case.expect)


def _doubles(scenario: Scenario) -> Iterator[Diagnostic]:
    names = [case.name for case in scenario.cases]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield Diagnostic(("cases", number, "name"), f"another case is called {name!r} already")


def _amounts(tried: _TryOut) -> Iterator[Diagnostic]:
    if any(isinstance(answer, int) and answer in _REFUSED for answer in tried.answers):
        return  # it may be the point that the deposit is refused
    if tried.has_deposit:
        yield from _amount(tried.deposit, tried.deposit, (*tried.place, "deposit"))
    for number, action in enumerate(tried.merchant):
        if action.deposit is not None:
            yield from _amount(action.deposit, tried.deposit, (*tried.place, "merchant", number, "deposit"))


def _amount(deposit: Deposit, first: Deposit, place: Place) -> Iterator[Diagnostic]:
    currency = deposit.currency if "currency" in deposit.model_fields_set else first.currency
    amount = deposit.amount if deposit.amount is not None else first.amount
    if currency not in MINOR_DIGITS:
        yield Diagnostic((*place, "currency"), f"{currency} is no currency in circulation")
        return
    what = "the amount 49.90, taken when none is given," if amount is None else f"the amount {amount}"
    try:
        if to_minor(_DEFAULT_AMOUNT if amount is None else amount, MINOR_DIGITS[currency]) <= 0:
            yield Diagnostic((*place, "amount"), f"{what} is nothing that can be paid")
    except ValueError as error:
        yield Diagnostic((*place, "amount"), f"{what} does not fit {currency}: it {error}")


def _events(tried: _TryOut, pay_in: Reach, refund: Reach, dispute: Reach, *, scripted: bool) -> Iterator[Diagnostic]:
    done = {action.kind for action in tried.merchant}
    # Every pay-in can expire, or be cancelled by the merchant.
    possible = {"pay-in.created", "pay-in.cancelled", *(f"pay-in.{status}" for status in pay_in.seen)}
    if pay_in.opens_refund or "refund" in done:
        possible |= {"refund.created", *(f"refund.{status}" for status in refund.seen)}
    if pay_in.opens_dispute:
        possible.add("dispute.created")
        if "evidence" in done or dispute.seen - _CLOSED:
            possible.add("dispute.updated")
        if "accept" in done or dispute.seen & _CLOSED or not scripted:
            possible.add("dispute.closed")
    for number, expected in enumerate(tried.expect):
        event = expected.event if isinstance(expected, ExpectedEvent) else expected
        if event not in possible:
            place = (*tried.place, "expect", number)
            place = (*place, "event") if isinstance(expected, ExpectedEvent) else place
            can = listed(each for each in EVENT_TYPES if each in possible)
            yield Diagnostic(place, f"{event} never comes here", can)


def _without_dispute(tried: _TryOut, pay_in: Reach) -> Iterator[Diagnostic]:
    if pay_in.opens_dispute:
        return
    for number, action in enumerate(tried.merchant):
        if action.kind in {"evidence", "accept"}:
            yield Diagnostic(
                (*tried.place, "merchant", number, action.kind),
                "no dispute ever arrives here",
                advice="begin one with a step such as {after: 30d, dispute: {}}, once the pay-in has succeeded",
                of_key=True,
            )
