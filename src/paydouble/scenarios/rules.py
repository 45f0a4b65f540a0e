"""Checks of a whole scenario: steps that can never happen, events that can never come, amounts that fit no currency.

What cannot be intended is an error; what is valid but probably not intended is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from paydouble.core.money import MINOR_DIGITS, to_minor
from paydouble.payments.events import EVENT_TYPES, reported_state
from paydouble.payments.lifecycle import DISPUTE, PAY_IN, REFUND, finals, first
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Action, Answer, Deposit, Expected, ExpectedEvent
from paydouble.scenarios.reachability import Reach
from paydouble.yamlfile.diagnostics import Diagnostic, listed
from paydouble.yamlfile.places import Place

_CLOSED: Final = frozenset(finals(DISPUTE))
_DEFAULT_AMOUNT: Final = Decimal("49.90")
_REFUSED: Final = range(400, 500)


@dataclass(frozen=True, slots=True)
class _Play:
    """One way to play the scenario: its own, or one of its cases."""

    place: Place
    deposit: Deposit
    has_deposit: bool
    """Whether the deposit is its own, and not the scenario's."""
    merchant: tuple[Action, ...]
    answers: tuple[Answer, ...]
    expect: tuple[Expected, ...]


def check_scenario(scenario: Scenario) -> list[Diagnostic]:
    """Return what is wrong with a scenario as a whole, in no particular order."""
    scripts = scenario.lifecycle
    pay_in, refund, dispute = Reach("payin", "pay-in"), Reach("refund", "refund"), Reach("dispute", "dispute")
    pay_in.along(scripts.pay_in, ("lifecycle", "pay_in"), frozenset({first(PAY_IN)}))
    refund.along(scripts.refund or (), ("lifecycle", "refund"), frozenset({first(REFUND)}))
    dispute.along(scripts.dispute, ("lifecycle", "dispute"), frozenset({first(DISPUTE)}))
    found = [each for reach in (pay_in, refund, dispute) for each in reach.diagnostics.values()]
    if scripts.refund is None:
        refund.seen |= {"processing", "succeeded"}
    found += _doubles(scenario)
    for play in _plays(scenario):
        found += _amounts(play)
        found += _events(play, pay_in, refund, dispute, scripted=bool(scripts.dispute))
        found += _without_dispute(play, pay_in)
        found += _without_payer(play, pay_in)
    if "expect" not in scenario.model_fields_set and not scenario.cases:
        advice = "list the expected events; `check --play` then reports when they do not come"
        found.append(Diagnostic((), "nothing is expected", advice=advice, warning=True, absent="expect"))
    return found


def _plays(scenario: Scenario) -> Iterator[_Play]:
    first = scenario.deposit or Deposit()
    yield _Play((), first, scenario.deposit is not None, scenario.merchant, scenario.answers or (), scenario.expect)
    for number, case in enumerate(scenario.cases):
        has_own = case.deposit is not None
        yield _Play(("cases", number), case.deposit or first, has_own, case.merchant, case.answers or (), case.expect)


def _doubles(scenario: Scenario) -> Iterator[Diagnostic]:
    names = [case.name for case in scenario.cases]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield Diagnostic(("cases", number, "name"), f"another case is called {name!r} already")


def _amounts(play: _Play) -> Iterator[Diagnostic]:
    if any(isinstance(answer, int) and answer in _REFUSED for answer in play.answers):
        return  # the refusal of the deposit may be what is tested
    if play.has_deposit:
        yield from _amount(play.deposit, play.deposit, (*play.place, "deposit"))
    for number, action in enumerate(play.merchant):
        if action.deposit is not None:
            yield from _amount(action.deposit, play.deposit, (*play.place, "merchant", number, "deposit"))


def _amount(deposit: Deposit, first: Deposit, place: Place) -> Iterator[Diagnostic]:
    currency = deposit.currency if "currency" in deposit.model_fields_set else first.currency
    amount = deposit.amount if deposit.amount is not None else first.amount
    if currency not in MINOR_DIGITS:
        yield Diagnostic((*place, "currency"), f"{currency} is not a currency in circulation")
        return
    what = "the default amount 49.90" if amount is None else f"the amount {amount}"
    try:
        if to_minor(_DEFAULT_AMOUNT if amount is None else amount, MINOR_DIGITS[currency]) <= 0:
            yield Diagnostic((*place, "amount"), f"{what} cannot be paid: it is not more than 0")
    except ValueError as error:
        yield Diagnostic((*place, "amount"), f"{what} does not fit {currency}: it {error}")


def _events(play: _Play, pay_in: Reach, refund: Reach, dispute: Reach, *, scripted: bool) -> Iterator[Diagnostic]:
    done = {action.kind for action in play.merchant}
    # Every pay-in can expire, or be cancelled by the merchant.
    possible = _types_of("pay-in", pay_in.seen | {"created", "cancelled"})
    if pay_in.opens_refund or "refund" in done:
        possible |= _types_of("refund", refund.seen | {"created"})
    if pay_in.opens_dispute:
        possible.add("dispute.created")
        if "evidence" in done or dispute.seen - _CLOSED:
            possible.add("dispute.updated")
        if "accept" in done or dispute.seen & _CLOSED or not scripted:
            possible.add("dispute.closed")
    for number, expected in enumerate(play.expect):
        event = expected.event if isinstance(expected, ExpectedEvent) else expected
        if event not in possible:
            place = (*play.place, "expect", number)
            place = (*place, "event") if isinstance(expected, ExpectedEvent) else place
            can = listed(each for each in EVENT_TYPES if each in possible)
            yield Diagnostic(place, f"{event} never comes here", can)


def _types_of(family: str, states: set[str]) -> set[str]:
    """Return the types of a family's events that report one of these states."""
    return {kind for kind in EVENT_TYPES if kind.startswith(f"{family}.") and reported_state(kind) in states}


def _without_dispute(play: _Play, pay_in: Reach) -> Iterator[Diagnostic]:
    if pay_in.opens_dispute:
        return
    for number, action in enumerate(play.merchant):
        if action.kind in {"evidence", "accept"}:
            yield Diagnostic(
                (*play.place, "merchant", number, action.kind),
                "there is never a dispute here",
                advice="add a step such as {after: 30d, dispute: {}} after the pay-in has succeeded",
                of_key=True,
            )


def _without_payer(play: _Play, pay_in: Reach) -> Iterator[Diagnostic]:
    if pay_in.awaits_payer:
        return
    for number, action in enumerate(play.merchant):
        if action.payer is not None:
            yield Diagnostic(
                (*play.place, "merchant", number, "payer"),
                "nothing waits for the payer here",
                advice="add the step {await: payer} to the script of the pay-in",
                of_key=True,
            )
