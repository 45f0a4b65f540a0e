"""Scenarios written as YAML, the way people write it."""

from __future__ import annotations

import pytest

from paydouble.core.json_text import Number
from paydouble.scenarios.library import shipped, shipped_files
from paydouble.scenarios.reading import parse_scenario, parse_text
from paydouble.scenarios.writing import plain, write_scenario

TRAPS = [
    "on",
    "NO",
    "010",
    "1e3",
    "0o17",
    "0x1F",
    "12:30:00",
    "2026-01-01",
    "~",
    "",
    ".5",
    "1_000",
    "&a",
    "*a",
    "a: b",
    "é",
]


@pytest.mark.parametrize("name", sorted(shipped_files()))
def test_what_is_written_is_read_again(name: str) -> None:
    """A scenario written as text or as plain data is the same when read again."""
    scenario = shipped(name)
    assert scenario is not None

    assert parse_text(write_scenario(scenario)) == scenario
    assert parse_scenario(plain(scenario)) == scenario


@pytest.mark.parametrize("trap", TRAPS)
def test_a_text_stays_a_text(trap: str) -> None:
    """Texts that a YAML 1.1 or 1.2 reader would take for something else are quoted."""
    scenario = parse_scenario({"name": "mine", "summary": "x", "deposit": {"metadata": {trap or "key": trap}}})

    assert parse_text(write_scenario(scenario)) == scenario


def test_it_is_written_as_a_person_would() -> None:
    """Only given keys are written, numbers keep their digits, and a step is on one line."""
    text = (
        "name: mine\n"
        "summary: My own.\n"
        "deposit: {amount: 49.90, currency: EUR}\n"
        "lifecycle:\n"
        "  pay_in:\n"
        "  - {after: 2s, to: pending}\n"
        "  - after: 1h30m\n"
        "    when: {refund: none}\n"
        "    then:\n"
        "    - {after: 1s, to: failed}\n"
        "    else:\n"
        "    - {after: 1s, to: processing}\n"
        "expect: [pay-in.created]\n"
    )

    assert write_scenario(parse_text(text)) == text


def test_plain_data_holds_exact_numbers() -> None:
    """A fraction keeps its digits, and a whole number is an int."""
    scenario = parse_text("name: mine\nsummary: x\ndeposit: {amount: 49.90}\nmatch: {amount: 5}\n")

    amounts = plain(scenario)["deposit"]["amount"], plain(scenario)["match"]["amount"]

    assert [(type(each), each.lexeme) for each in amounts] == [(Number, "49.90"), (Number, "5")]
