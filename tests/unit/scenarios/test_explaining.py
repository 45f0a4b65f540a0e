"""Messages for errors that the corpus of broken files does not contain."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from paydouble.core.errors import UsageError
from paydouble.core.json_text import Number
from paydouble.scenarios.explaining import OUTLINE, SCENARIO
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import parse_scenario, validated
from paydouble.yamlfile.explaining import diagnostics_of, named


def _sentences(data: Any, model: Any = Scenario) -> list[str]:  # noqa: ANN401 - whatever a caller sends
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(model).validate_python(data)
    return [each.sentence for each in diagnostics_of(caught.value, data, SCENARIO)]


def test_an_unknown_kind_of_error_is_reported_in_pydantics_words() -> None:
    """An error without a sentence of ours has pydantic's."""
    assert _sentences({"a": "x"}, dict[str, date]) == [
        "input should be a valid date or datetime, input is too short",
    ]


def test_a_long_value_is_named_in_part() -> None:
    """A message stays short, however long the value is."""
    (sentence,) = _sentences(
        {"name": "a", "summary": "x", "lifecycle": {"pay_in": [{"after": "z" * 9_999, "to": "failed"}]}}
    )

    assert sentence.startswith("'zzzz")
    assert len(sentence) < 200


def test_a_list_in_a_value_is_named() -> None:
    """A list is called a list instead of being printed."""
    assert _sentences({"name": "a", "summary": "x", "match": {"amount": [1]}}) == ["a list is not a number"]


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
    """A value is named in YAML's terms, not in Python's."""
    assert named(value) == name


def test_the_outline_has_the_keys_of_a_place() -> None:
    """The keys depend on the place and on its data; a place that does not exist has none."""
    assert list(OUTLINE.keys_at(("lifecycle", "pay_in", 0, "dispute"), {})) == ["amount", "reason"]
    assert OUTLINE.required_at(("merchant", 3), {}) == ["after"]
    assert OUTLINE.keys_at(("nowhere", "at", "all"), {}) == {}
    assert "sigma" in OUTLINE.keys_at(
        ("faults", 0, "effect", "lognormal"), {"faults": [{"effect": {"type": "latency"}}]}
    )


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
    """The keys of a fault depend on `on`, or on the type of its effect."""
    assert ("phase" in OUTLINE.keys_at(("faults", 0), {"faults": [fault]})) == has_phase


def test_another_model_is_refused_at_its_member() -> None:
    """The bodies of control calls get the same messages."""
    with pytest.raises(UsageError, match=r"^name: is missing$"):
        validated(Scenario, {"summary": "x"})


@pytest.mark.parametrize("answer", [{}, {"status": 200}, True, "x", 7])
def test_a_mapping_in_a_union_of_scalars_is_reported_once(answer: object) -> None:
    """Any invalid answer is reported once, at its place."""
    with pytest.raises(UsageError) as caught:
        parse_scenario({"name": "mine", "summary": "x", "answers": [200, answer]})

    assert caught.value.member == "answers.1"
