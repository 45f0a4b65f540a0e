"""What happened to a pay-in, as a scenario that does it again."""

from __future__ import annotations

import pytest
from drive import Business

from paydouble.payments.resources import PayIn
from paydouble.sandbox.recorded import recorded_name, recorded_scenario, recorded_steps
from paydouble.scenarios.reading import parse_text


def played(business: Business, **changes: object) -> PayIn:
    """Make a deposit and let its scenario play for a day."""
    made = business.deposit(**changes)
    business.advance(by=86_400_000)
    return business.pay_in(made)


def test_a_payment_is_told_as_a_scenario_that_does_it_again() -> None:
    """Played by another business, it has the same transitions."""
    business = Business()
    first = played(business)
    text = recorded_scenario(business.sandbox, first)
    again = Business()
    again.sandbox.scenarios.upload(parse_text(text))
    again.sandbox.activate_scenario(recorded_name(first))
    second = played(again)

    steps = recorded_steps(business.sandbox, first)
    assert [step["to"] for step in steps] == ["pending", "processing", "succeeded"]
    assert recorded_steps(again.sandbox, second) == steps


def test_force_and_failure_are_part_of_it() -> None:
    """A payment that failed says why, and what its lifecycle does not have is forced."""
    business = Business()
    pay_in = played(business)
    business.sandbox.force_transition(pay_in, "failed", force=True)
    steps = recorded_steps(business.sandbox, pay_in)

    assert steps[-1]["force"] is True
    assert steps[-1]["failure"]["code"] == "declined"
    assert parse_text(recorded_scenario(business.sandbox, pay_in)).lifecycle.pay_in


def test_faults_are_part_of_it() -> None:
    """They are written as in a scenario file."""
    business = Business()
    pay_in = played(business)
    fault = {"on": "api", "effect": {"type": "latency", "fixed": "1s"}, "times": 1}

    assert len(parse_text(recorded_scenario(business.sandbox, pay_in, [fault])).faults) == 1


@pytest.mark.parametrize("order", ["ORDER 17/b", "…", "x" * 128, '"\\: #{'])
def test_any_order_makes_a_name(order: str) -> None:
    """The file can be read, whatever the order is called."""
    business = Business()
    pay_in = played(business, external_identifier=order)
    scenario = parse_text(recorded_scenario(business.sandbox, pay_in))

    assert scenario.name == recorded_name(pay_in)
