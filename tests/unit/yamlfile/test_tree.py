"""The values of a YAML text, and their places."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from paydouble.core.json_text import Number
from paydouble.yamlfile.diagnostics import Span
from paydouble.yamlfile.tree import Node, read_tree


def _read(text: str) -> Node:
    tree, findings = read_tree(text, "list", "a dash")
    assert findings == []
    assert tree is not None
    return tree


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("on", "on"),
        ("NO", "NO"),
        ("y", "y"),
        ("12:30:00", "12:30:00"),
        ("190:20:30", "190:20:30"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("1_000", "1_000"),
        ("0b101", "0b101"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
        ("5s", "5s"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("Null", None),
        ("nUll", "nUll"),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("'7'", "7"),
        ('"true"', "true"),
        ("''", ""),
    ],
)
def test_a_word_means_what_yaml_1_2_says(word: str, value: Any) -> None:  # noqa: ANN401 - what a word can mean
    """YAML 1.1's words for true, dates and base sixty are texts, and so is everything in quotes."""
    read = _read(f"a: {word}\n").value["a"]

    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("word", "lexeme"),
    [
        ("49.90", "49.90"),
        ("-0.50", "-0.50"),
        ("1.250", "1.250"),
        ("4.99e1", "4.99e1"),
        ("+.5", "0.5"),
        ("5.", "5"),
        ("1e3", "1e3"),
        ("+1.50", "1.50"),
    ],
)
def test_a_number_with_a_fraction_keeps_its_digits(word: str, lexeme: str) -> None:
    """It is exact, and keeps its JSON spelling."""
    read = _read(f"a: {word}\n").value["a"]

    assert isinstance(read, Number)
    assert (read.lexeme, read) == (lexeme, Decimal(word))


@pytest.mark.parametrize("word", ["1e99999999999999999999", ".5e99999999999999999999", "1e41", "1e-41", "9" * 41])
def test_a_number_out_of_range_is_refused(word: str) -> None:
    """A short text cannot make a number that fills the memory."""
    _, findings = read_tree(f"a: {word}\n", "list", "a dash")

    assert [finding.sentence for finding in findings] == ["this number is out of range; put a text in quotes"]


def test_each_part_has_its_place() -> None:
    """Keys and values have lines, columns and lengths; a block is marked by its key."""
    tree = _read("a: 'x'\nb:\n  - {c: 1,\n     d: 2}\n  - [e]\nf:\n")

    assert tree.find(("a",)).span == Span(0, 3, 3)
    assert tree.find(("b",)).shown == Span(1, 0, 1)
    assert tree.find(("b", 0)).shown == Span(2, 4, 1)
    assert tree.find(("b", 0, "d")).key == Span(3, 5, 1)
    assert tree.find(("b", 1)).shown == Span(4, 4, 3)
    assert tree.find(("f",)).shown == Span(5, 0, 1)
    assert tree.shown == Span(0, 0, 1)


def test_a_place_that_is_not_there_is_the_nearest_above_it() -> None:
    """The place of a missing part is that of the mapping or list around it."""
    tree = _read("a:\n  b: 1\n")

    assert tree.find(("a", "c", 3)) is tree.children["a"]


@pytest.mark.parametrize("text", ["[]", "{}", "- []\n- {}\n", "x: |\n  lines\n  of text\n"])
def test_what_is_empty_or_long_has_a_place(text: str) -> None:
    """Every value has a span to mark."""
    assert _read(text).shown.length >= 1


def test_a_key_in_quotes_may_be_empty() -> None:
    """JSON has such members."""
    assert _read("'': 1\n").value == {"": 1}


def test_keys_are_texts() -> None:
    """A key is a text, even a word that is a number or constant as a value."""
    assert _read("{1: a, true: b, null: c, on: d}").value == {"1": "a", "true": "b", "null": "c", "on": "d"}


def test_what_stands_side_by_side_is_not_deep() -> None:
    """Only nesting is limited, not length."""
    assert len(_read("- [{}, {a: []}]\n" * 200).value) == 200
