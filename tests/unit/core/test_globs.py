"""Patterns in which only the star is special."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.globs import fits, matcher


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("order-17", "order-*", True),
        ("order-", "order-*", True),
        ("an order-1", "order-*", False),
        ("a.b", "a.b*", True),
        ("axb", "a.b*", False),
        ("pay-in.created", "*.created", True),
        ("a\nb", "a*b", True),
        ("", "*", True),
        ("[a]?", "[a]?", True),
        ("abc", "*b*", True),
        ("Order", "order*", False),
    ],
)
def test_a_star_is_any_run(value: str, pattern: str, *, expected: bool) -> None:
    """`*` matches any characters, or none; every other character matches itself, case included."""
    assert fits(value, pattern) is expected
    assert bool(matcher(pattern)(value)) is expected


@given(st.text(), st.text(), st.text())
def test_the_parts_around_a_star_must_match(before: str, between: str, after: str) -> None:
    """A pattern of a text's own beginning and end matches it."""
    pattern = f"{before.replace('*', '')}*{after.replace('*', '')}"

    assert fits(f"{before.replace('*', '')}{between}{after.replace('*', '')}", pattern)


few = st.text(st.sampled_from("ab*"), max_size=8)


@given(st.text(st.sampled_from("ab"), max_size=8), few)
def test_any_number_of_stars_is_as_in_a_shell(value: str, pattern: str) -> None:
    """`fnmatch` agrees on patterns without its other special characters."""
    assert fits(value, pattern) == fnmatchcase(value, pattern)


def test_many_stars_take_no_longer() -> None:
    """A text that nearly matches is refused quickly, although there are very many ways to split it."""
    assert not fits("a" * 5_000, "a*" * 60 + "b")
    assert not fits("a" * 5_000, "*" * 60 + "b")
