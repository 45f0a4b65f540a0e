"""Any scenario that the models allow can be written, checked and drawn; it ends, and only sends documented events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generated_scenarios import LIVELY, SCENARIOS
from generated_steps import SHAPED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paydouble.core import json_text
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.lifecycle import TABLES
from paydouble.rehearsal import Rehearsal, rehearse
from paydouble.scenarios.drawing import draw
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import parse_scenario, parse_text
from paydouble.scenarios.rules import check_scenario
from paydouble.scenarios.steps import AwaitPayer, BranchStep, RepeatStep, Step, TransitionStep
from paydouble.scenarios.writing import plain, write_scenario
from paydouble.yamlfile.schema import with_members

SCRIPTS = {"payin": "pay_in", "refund": "refund", "dispute": "dispute"}
Arrow = tuple[str, str, str]
"""Kind of object, from, to."""
many = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])


def test_every_model_is_generated() -> None:
    """A new kind of step, or another new model of the format, needs a strategy."""
    assert [model.__name__ for model in with_members([Scenario]) if model not in SHAPED] == []


@many
@given(SCENARIOS)
def test_what_is_written_is_read_again(scenario: Scenario) -> None:
    """A scenario written as text or as plain data is the same when read again."""
    assert parse_text(write_scenario(scenario)) == scenario
    assert parse_scenario(plain(scenario)) == scenario


@many
@given(st.one_of(LIVELY, LIVELY, SCENARIOS))
def test_played_it_ends_and_stays_within_the_contract(scenario: Scenario) -> None:
    """No timer is left, each event is documented, and each transition is in its table or was forced."""
    for case in (None, *scenario.cases):
        rehearsal = rehearse(scenario, case=case)

        assert rehearsal.idle
        assert len(rehearsal.sandbox.timers) == 0
        assert {event.type for event in rehearsal.sandbox.journal.events.entries} <= set(EVENT_TYPES)
        assert set(_arrows(rehearsal)) - _legal() <= _forced(scenario)


@settings(many, max_examples=40)
@given(LIVELY)
def test_played_twice_it_is_the_same(scenario: Scenario) -> None:
    """All random values come from the seed."""
    assert rehearse(scenario, seed=3).record() == rehearse(scenario, seed=3).record()


@settings(many, max_examples=60)
@given(SCENARIOS)
def test_it_can_be_checked_and_drawn(scenario: Scenario) -> None:
    """The checks never raise, and each drawing shows something."""
    assert all(diagnostic.sentence for diagnostic in check_scenario(scenario))
    assert draw(scenario)
    assert draw(scenario, "mermaid")


@settings(many, max_examples=60)
@given(LIVELY)
def test_the_result_of_a_play_is_never_called_impossible(scenario: Scenario) -> None:
    """A scenario that expects the events and answers of a play passes the checks."""
    rehearsal = rehearse(scenario)
    brought = {
        "expect": tuple(arrival.type for arrival in rehearsal.arrivals),
        "answers": tuple(answer.status for answer in rehearsal.answers),
        "cases": (),
    }

    diagnostics = check_scenario(scenario.model_copy(update=brought))

    assert [each for each in diagnostics if each.place[:1] in {("expect",), ("answers",)} and not each.warning] == []


def _arrows(rehearsal: Rehearsal) -> Iterator[Arrow]:
    """Yield the changes of status in the events."""
    for event in rehearsal.sandbox.journal.events.entries:
        data = json_text.loads(event.body)["data"]
        before = data["previous_attributes"].get("status")
        if before is not None:
            yield data["object"]["object"], before, data["object"]["status"]


def _legal() -> set[Arrow]:
    return {
        (kind, state, to) for kind, table in TABLES.items() for state, following in table.items() for to in following
    }


def _forced(scenario: Scenario) -> set[Arrow]:
    """Return all transitions that a scenario may force: to the status of a forced step, from any status."""
    return {
        (kind, state, step.to)
        for kind, script in SCRIPTS.items()
        for step in _flat(getattr(scenario.lifecycle, script) or ())
        if isinstance(step, TransitionStep) and step.force
        for state in TABLES[kind]
    }


def _flat(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, BranchStep):
            yield from _flat((*step.then, *step.otherwise))
        elif isinstance(step, RepeatStep):
            yield from _flat(step.steps)
        elif isinstance(step, AwaitPayer):
            yield from _flat([each for side in step.sides.values() for each in side])
