"""Scenarios read from files, plain data or text."""

from pathlib import Path
from typing import Any

import pytest

from paydouble.core.errors import UsageError
from paydouble.core.json_text import Number
from paydouble.scenarios.reading import check_file, parse_scenario, parse_text, read_scenario, read_text
from paydouble.yamlfile.diagnostics import render
from paydouble.yamlfile.tree import LARGEST_TEXT

GOOD = "name: mine\nsummary: My own.\nlifecycle: {}\n"


def test_a_text_is_the_object_that_it_describes() -> None:
    """Both ways give the same scenario."""
    assert parse_text(GOOD) == parse_scenario({"name": "mine", "summary": "My own.", "lifecycle": {}})


def test_a_byte_order_mark_is_ignored() -> None:
    """A byte order mark at the start of a file is ignored."""
    assert parse_text(f"\ufeff{GOOD}") == parse_text(GOOD)


@pytest.mark.parametrize(
    ("text", "member", "message"),
    [
        ("a: b: c", "yaml", "line 1, column 5: a value cannot be a key of another value on the same line; put a text"),
        (f"{GOOD}deposit: &x {{}}\n", "yaml", "line 4, column 10: the anchor &x is not allowed; remove it"),
        (f"{GOOD}---\n{GOOD}", "yaml", "line 4, column 1: a second document begins here; a file has one"),
        ("name: \x07", "yaml", "line 1, column 7: the character U+0007 is not allowed in a YAML file; write it"),
        ("name: \ud800", "yaml", "line 1, column 7: the character U+D800 is not allowed in a YAML file"),
        ("x" * (LARGEST_TEXT + 1), "yaml", f"line 1, column 1: this is larger than {LARGEST_TEXT} bytes"),
        ("", "yaml", "line 1, column 1: there is no scenario in here; a scenario begins with 'name: my-scenario'"),
        ("- mine", "yaml", "line 1, column 1: expected a mapping with name and summary, found a list"),
        ("name: mine\nlifecycle: {}", "summary", "the key 'summary' is missing; summary: one or two sentences"),
        (f"{GOOD}colour: red\n", "colour", "the key 'colour' is not known here; expected match, "),
        (f"{GOOD[:-3]}{{pay_in: 7}}\n", "lifecycle.pay_in", "expected a list, found the number 7; begin each"),
        (
            f"{GOOD[:-3]}\n  pay_in:\n    - {{after: 1s, to: penidng}}\n",
            "lifecycle.pay_in.0.to",
            (
                "'penidng' is not valid here; expected created, pending, processing, succeeded, failed or cancelled; "
                "did you mean 'pending'? (at line 5, column 23 of the YAML text)"
            ),
        ),
    ],
)
def test_a_text_that_is_no_scenario_is_refused_at_its_place(text: str, member: str, message: str) -> None:
    """The error names the member, and the line and column."""
    with pytest.raises(UsageError) as caught:
        parse_text(text)

    assert (caught.value.member, caught.value.message[: len(message)]) == (member, message)


@pytest.mark.parametrize(
    ("data", "member", "message"),
    [
        ({"lifecycle": {"payin": []}}, "lifecycle.payin", "the key 'payin' is not known here; expected pay_in, refund"),
        (
            {"lifecycle": {"pay_in": [{"repeat": 2, "steps": [{"after": 5, "to": "failed"}]}]}},
            "lifecycle.pay_in.0.steps.0.after",
            "a duration is a text with a unit, such as '2s' or '1h30m', not 5",
        ),
        (
            {"lifecycle": {"pay_in": [{"after": "1s", "dispute": {"amount": Number("1e999999999")}}]}},
            "lifecycle.pay_in.0.dispute.amount",
            "1E+999999999 is not an amount; write a number such as 45.00",
        ),
        ({"summary": None}, "summary", "expected a text, found nothing"),
        ({"faults": [{"effect": {"type": "drop", "x": 1}}]}, "faults.0.effect.x", "the key 'x' is not known here"),
    ],
)
def test_a_bad_object_is_refused_at_its_member(data: dict[str, Any], member: str, message: str) -> None:
    """An error in plain data has no line and column, but a member."""
    with pytest.raises(UsageError) as caught:
        parse_scenario({"name": "mine", "summary": "x", **data})

    assert (caught.value.member, caught.value.message[: len(message)]) == (member, message)


def test_what_is_no_mapping_is_refused() -> None:
    """A list is not a scenario."""
    with pytest.raises(UsageError, match=r"^expected a mapping with name and summary, found a list$"):
        parse_scenario([])


def test_a_file_is_read(tmp_path: Path) -> None:
    """An error has file, line and column, and says how to fix it."""
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, "utf-8")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(f"{GOOD}expct: []\n", "utf-8")

    assert read_scenario(path) == parse_text(GOOD)
    with pytest.raises(UsageError) as caught:
        read_scenario(wrong)

    expected = "the key 'expct' is not known here; expected match, settings, deposit, faults, merchant, answers, expect"
    assert str(caught.value) == f"{wrong}:4:1: {expected} or cases; did you mean 'expect'?"


def test_a_file_is_checked_as_a_whole(tmp_path: Path) -> None:
    """Errors of the scenario as a whole are found too, and a name that differs from the file's."""
    path = tmp_path / "mien.yaml"
    path.write_text(f"{GOOD}expect: [pay-in.failed]\n", "utf-8")

    reading = check_file(path)

    assert [render(each) for each in reading.diagnostics] == [
        [
            f"{path}:1:7: error: the scenario's name is 'mine', but its file's is 'mien'",
            "  1 | name: mine",
            "    |       ^^^^",
            "    = did you mean 'mien'?",
            "    = both must have the same name",
        ],
        [
            f"{path}:4:10: error: pay-in.failed never comes here",
            "  4 | expect: [pay-in.failed]",
            "    |          ^^^^^^^^^^^^^",
            "    = expected pay-in.created or pay-in.cancelled",
        ],
    ]
    assert reading.wrong
    assert reading.value is not None


def test_a_warning_is_no_error(tmp_path: Path) -> None:
    """A file with warnings only is valid."""
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, "utf-8")

    reading = check_file(path)

    assert [each.severity for each in reading.diagnostics] == ["warning"]
    assert not reading.wrong


def test_what_is_refused_as_yaml_is_reported_once() -> None:
    """A value that is refused as YAML has no other errors, but the keys beside it may."""
    reading = read_text("name: mine\nsummary: *x\ndeposit: {amount: 010, expires_in: 3}\n")

    assert [each.sentence.partition(";")[0] for each in reading.diagnostics] == [
        "the alias *x is not allowed",
        "010 begins with 0, and YAML parsers disagree about such numbers",
        "the number 3 is too small",
    ]


def test_nothing_can_be_added_to_what_has_no_tree() -> None:
    """A text that is not YAML has no members, so no diagnostics about members."""
    reading = read_text("a: [")

    reading.report([])

    assert len(reading.diagnostics) == 1
