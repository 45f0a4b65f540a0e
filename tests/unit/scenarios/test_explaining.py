"""What is said of errors that the corpus of broken files does not have."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from paydouble.core.errors import UsageError
from paydouble.core.json_text import Number
from paydouble.scenarios.explaining import diagnostics_of, named
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.outline import keys_at, required_at
from paydouble.scenarios.reading import parse_scenario, validated


def _told(data: Any, model: Any = Scenario) -> list[str]:  # noqa: ANN401 - whatever a caller sends
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(model).validate_python(data)
    return [each.sentence for each in diagnostics_of(caught.value, data)]


def test_what_nobody_foresaw_is_told_all_the_same() -> None:
    """In pydantic's words, where there are none of ours."""
    assert _told({"a": "x"}, dict[str, date]) == [
        "input should be a valid date or datetime, input is too short",
    ]


def test_a_long_value_is_named_in_part() -> None:
    """A message can be read, however long the value is."""
    (told,) = _told({"name": "a", "summary": "x", "lifecycle": {"pay_in": [{"after": "z" * 9_999, "to": "failed"}]}})

    assert told.startswith("'zzzz")
    assert len(told) < 200


def test_a_list_in_a_value_is_named() -> None:
    """What is no part of a sentence is called what it is."""
    assert _told({"name": "a", "summary": "x", "match": {"amount": [1]}}) == ["a list is not a number"]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "nothing"),
        (True, "true"),
        (7, "the number 7"),
        (Number("49.90"), "the number 49.90"),
        ("x", "'x'"),
        ("x" * 41, f"'{'x' * 40}…'"),
        ([], "a list"),
        ({}, "a mapping"),
    ],
)
def test_a_value_is_named_as_in_a_file(value: object, name: str) -> None:
    """Not as in Python."""
    assert named(value) == name


def test_the_outline_knows_what_could_stand_where() -> None:
    """By the place alone, or by what stands there; a place that cannot be has no keys."""
    assert list(keys_at(("lifecycle", "pay_in", 0, "dispute"), {})) == ["amount", "reason"]
    assert required_at(("merchant", 3), {}) == ["after"]
    assert keys_at(("nowhere", "at", "all"), {}) == {}
    assert "sigma" in keys_at(("faults", 0, "effect", "lognormal"), {"faults": [{"effect": {"type": "latency"}}]})


@pytest.mark.parametrize(
    ("fault", "has_phase"),
    [
        ({"on": "webhooks", "effect": {"type": "connection_reset"}}, False),
        ({"on": "api", "effect": {"type": "connection_reset"}}, True),
        ({"effect": {"type": "drop"}}, False),
        ({"effect": {"type": "lost_record"}}, True),
    ],
)
def test_the_outline_knows_which_fault_is_meant(fault: dict[str, Any], has_phase: bool) -> None:
    """By its side, or by the type of its effect."""
    assert ("phase" in keys_at(("faults", 0), {"faults": [fault]})) == has_phase


def test_another_model_is_refused_at_its_member() -> None:
    """The bodies of control calls are told as everywhere."""
    with pytest.raises(UsageError, match=r"^name: is missing$"):
        validated(Scenario, {"summary": "x"})


@pytest.mark.parametrize("answer", [{}, {"status": 200}, True, "x", 7])
def test_a_union_that_takes_no_mapping_complains_of_one(answer: object) -> None:
    """Whatever stands where an answer belongs is told of, once, at its place."""
    with pytest.raises(UsageError) as caught:
        parse_scenario({"name": "mine", "summary": "x", "answers": [200, answer]})

    assert caught.value.member == "answers.1"
