"""What differs between two JSON objects."""

from __future__ import annotations

import pytest

from paydouble.core import json_text
from paydouble.web.inspector.differences import differences


def rows(before: str, after: str) -> list[tuple[str, str | None, str | None]]:
    """Return the differences between two JSON texts."""
    found = differences(json_text.loads(before.encode()), json_text.loads(after.encode()))
    return [(each.member, each.before, each.after) for each in found]


@pytest.mark.parametrize(("old", "new"), [("1", "true"), ("false", "0"), ("[[1]]", "[[true]]"), ("1", '"1"')])
def test_values_of_different_types_differ(old: str, new: str) -> None:
    """A number is not a boolean, at any depth of a list."""
    assert rows(f'{{"a": {old}}}', f'{{"a": {new}}}') == [("a", old, new)]
    assert rows(f'{{"a": [{{"b": {old}}}]}}', f'{{"a": [{{"b": {new}}}]}}') == [
        ("a", f'[{{"b":{old}}}]', f'[{{"b":{new}}}]')
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("1", "1.0"), ("null", "null"), ("true", "true"), ('{"b": 1, "c": 2}', '{"c": 2, "b": 1}')]
)
def test_the_same_value_does_not_differ(old: str, new: str) -> None:
    """However it is written."""
    assert rows(f'{{"a": {old}}}', f'{{"a": {new}}}') == []
    assert rows(f'{{"a": [{old}]}}', f'{{"a": [{new}]}}') == []


def test_members_that_are_absent_differ_from_null() -> None:
    """And those of inner objects have their path."""
    assert rows('{"a": {"b": null, "c": 1}}', '{"a": {"c": true, "d": [1]}}') == [
        ("a.b", "null", None),
        ("a.c", "1", "true"),
        ("a.d", None, "[1]"),
    ]
    assert rows('{"a": [1]}', '{"a": [1, 2]}') == [("a", "[1]", "[1,2]")]
    assert rows('{"a": [{"b": 1}]}', '{"a": [{"c": 1}]}') == [("a", '[{"b":1}]', '[{"c":1}]')]
