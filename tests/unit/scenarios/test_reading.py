"""Scenarios that arrive as plain data or as text."""

import pytest

from paydouble.core.errors import UsageError
from paydouble.scenarios.reading import DEEPEST, LARGEST_TEXT, parse_scenario, parse_text

GOOD = "name: mine\nsummary: My own.\nlifecycle: {}\n"


def test_a_text_is_the_object_that_it_describes() -> None:
    """Both ways give the same scenario."""
    assert parse_text(GOOD) == parse_scenario({"name": "mine", "summary": "My own.", "lifecycle": {}})


@pytest.mark.parametrize(
    ("text", "member", "message"),
    [
        ("a: b: c", "yaml", "line 1, column 5: "),
        ("a: &x 1\nb: *x", "yaml", "line 2, column 4: aliases are not taken; write it out"),
        ("a: *x", "yaml", "line 1, column 4: aliases are not taken; write it out"),
        (f"{GOOD}---\n{GOOD}", "yaml", "line 4, column 1: but found another document"),
        ("a: !!python/object:os.system {}", "yaml", "line 1, column 4: could not determine a constructor"),
        ("name: 2026-13-45", "yaml", "is not YAML: month must be in 1..12"),
        ("name: \x07", "yaml", "is not YAML: "),
        ("[" * (DEEPEST + 1), "yaml", f"line 1, column {DEEPEST + 1}: is nested more than {DEEPEST} deep"),
        ("x" * (LARGEST_TEXT + 1), "yaml", f"is larger than {LARGEST_TEXT} bytes"),
        ("", "yaml", "Input should be a valid dictionary or instance of Scenario (at line 1, column 1 of the YAML"),
        (
            "- mine",
            "yaml",
            "Input should be a valid dictionary or instance of Scenario (at line 1, column 1 of the YAML",
        ),
        ("name: mine\nlifecycle: {}", "summary", "Field required (at line 1, column 1 of the YAML text)"),
        (
            f"{GOOD[:-3]}\n  pay_in:\n    - {{after: 1s, to: paid}}\n",
            "lifecycle.pay_in.0.to",
            "Input should be 'created'",
        ),
        (f"{GOOD}colour: red\n", "colour", "this member is not known (at line 4, column 9 of the YAML text)"),
        (f"{GOOD[:-3]}{{pay_in: 7}}\n", "lifecycle.pay_in", "Input should be a valid tuple (at line 3, column 21"),
    ],
)
def test_a_text_that_is_no_scenario_is_refused_at_its_place(text: str, member: str, message: str) -> None:
    """The refusal names the member, and the line and column of what is wrong with it."""
    with pytest.raises(UsageError) as caught:
        parse_text(text)

    assert (caught.value.member, caught.value.message[: len(message)]) == (member, message)


def test_a_bad_object_is_refused_at_its_member() -> None:
    """Plain data has no lines, but members."""
    with pytest.raises(UsageError) as caught:
        parse_scenario({"name": "mine", "summary": "x", "lifecycle": {"payin": []}})

    assert str(caught.value) == "lifecycle.payin: this member is not known"
