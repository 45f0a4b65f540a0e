"""Verification: counting what matches, and explaining what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.verification import Criterion, Expectation, agrees, verify, verify_sequence

Record = Mapping[str, Any]


def criteria(wanted: Mapping[str, Any], *, costly: tuple[str, ...] = ()) -> list[Criterion[Record]]:
    """Return what a match asks, reading the members of plain mappings."""
    return [
        Criterion(name, value, lambda record, name=name: record.get(name), name in costly)  # type: ignore[misc]
        for name, value in wanted.items()
    ]


AGREEMENTS = [
    ("abc", "abc", True),
    ("abc", "abd", False),
    ("a*c", "abbc", True),
    ("a*c", "abcd", False),
    ("*", None, False),
    ("*", 5, False),
    (5, 5, True),
    (5, 5.0, True),
    (5, "5", False),
    (True, True, True),
    (True, 1, False),
    (1, True, False),
    (False, 0, False),
    (None, None, True),
    (None, 0, False),
    ({"a": 1}, {"a": 1, "b": 2}, True),
    ({"a": {"b": "x*"}}, {"a": {"b": "xy", "c": 0}}, True),
    ({"a": None}, {}, False),
    ({}, {"a": 1}, True),
    ({"a": 1}, [1], False),
    ([1, "b*"], [1, "bc"], True),
    ([1], [1, 2], False),
    ([1], 1, False),
    ([True], [1], False),
]


@pytest.mark.parametrize(("wanted", "got", "expected"), AGREEMENTS)
def test_values_agree_member_by_member(wanted: object, got: object, expected: bool) -> None:
    """Texts take `*`, objects are partial, lists are whole, and true is not 1."""
    assert agrees(wanted, got) is expected


EXPECTATIONS = [
    (Expectation(), "at least 1", {0: False, 1: True, 2: True}),
    (Expectation(count=1), "exactly 1", {0: False, 1: True, 2: False}),
    (Expectation(count=0), "exactly 0", {0: True, 1: False}),
    (Expectation(at_least=2), "at least 2", {1: False, 2: True, 3: True}),
    (Expectation(at_most=1), "at most 1", {0: True, 1: True, 2: False}),
    (Expectation(at_least=1, at_most=2), "at least 1 and at most 2", {0: False, 1: True, 2: True, 3: False}),
]


@pytest.mark.parametrize(("expectation", "words", "verdicts"), EXPECTATIONS)
def test_an_expectation_says_itself_and_judges(expectation: Expectation, words: str, verdicts: dict[int, bool]) -> None:
    """At least one is expected when nothing is said; the words say what is."""
    assert expectation.text() == words
    assert {count: expectation.met(count) for count in verdicts} == verdicts


def test_the_nearest_misses_come_first_and_say_why() -> None:
    """Those that miss by the fewest members come first, the latest first among equals, three at most."""
    records = [
        {"id": 1, "a": 0, "b": 0, "c": 0},
        {"id": 2, "a": 1, "b": 1, "c": 0},
        {"id": 3, "a": 1, "b": 0, "c": 0},
        {"id": 4, "a": 1, "b": 0, "c": 1},
        {"id": 5, "a": 0, "b": 0, "c": 0},
    ]

    verdict = verify(records, criteria({"a": 1, "b": 1, "c": 1}), Expectation())

    assert (verdict.passed, verdict.count, verdict.expected) == (False, 0, "at least 1")
    assert [(miss.record["id"], miss.differences) for miss in verdict.closest] == [
        (4, (("b", 1, 0),)),
        (2, (("c", 1, 0),)),
        (3, (("b", 1, 0), ("c", 1, 0))),
    ]


def test_a_costly_criterion_is_explained_too_and_read_only_when_the_cheap_ones_hold() -> None:
    """A body is looked at where everything else fits, and in what is explained."""
    read: list[int] = []

    def body(record: Record) -> object:
        read.append(record["id"])
        return record["body"]

    wanted = [Criterion("body", {"x": 1}, body, costly=True), *criteria({"a": 1})]
    records = [{"id": number, "a": number % 2, "body": {"x": 2}} for number in range(100)]

    verdict = verify(records, wanted, Expectation())

    assert [(miss.record["id"], miss.differences) for miss in verdict.closest] == [
        (number, (("body.x", 1, 2),)) for number in (99, 97, 95)
    ]
    assert set(read[:50]) == set(range(1, 100, 2))


def test_too_many_leave_nothing_to_explain() -> None:
    """What matches is no near miss, so a count that is too high has only the others."""
    verdict = verify([{"a": 1}, {"a": 1}, {"a": 2}], criteria({"a": 1}), Expectation(at_most=1))

    assert (verdict.passed, verdict.count) == (False, 2)
    assert [miss.differences for miss in verdict.closest] == [(("a", 1, 2),)]


def test_many_matches_do_not_crowd_out_the_near_misses() -> None:
    """When there are matches, but too few, the explanation still shows what else came close."""
    verdict = verify([{"a": 1}, *[{"a": 0}] * 20], criteria({"a": 0}), Expectation(count=21))

    assert (verdict.count, [miss.differences for miss in verdict.closest]) == (20, [(("a", 0, 1),)])


def test_a_sequence_is_met_in_its_order_with_others_between() -> None:
    """Each step is looked for behind the one before."""
    records = [{"a": letter} for letter in "xaybz"]

    verdict = verify_sequence(records, [criteria({"a": letter}) for letter in "ab"])

    assert (verdict.passed, verdict.count, verdict.expected) == (True, 2, "2 in this order")


def test_a_sequence_that_breaks_off_says_where() -> None:
    """The missing step is named, and explained by what came behind the last one that was met."""
    records = [{"a": letter} for letter in "bac"]

    verdict = verify_sequence(records, [criteria({"a": letter}, costly=("a",)) for letter in "ab"])

    assert (verdict.passed, verdict.count) == (False, 1)
    assert verdict.expected == "2 in this order; number 2 is missing"
    assert [miss.differences for miss in verdict.closest] == [(("a", "b", "c"),)]


@given(
    records=st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.sampled_from(["x", "xy", "z"])})),
    a=st.none() | st.integers(0, 2),
    b=st.none() | st.sampled_from(["x", "x*", "*"]),
    count=st.none() | st.integers(0, 3),
)
def test_the_count_is_that_of_plain_counting(
    records: list[Record], a: int | None, b: str | None, count: int | None
) -> None:
    """The verdict is what counting by hand says, whichever criteria are costly."""
    wanted = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
    fits = {None: ("x", "xy", "z"), "x": ("x",), "x*": ("x", "xy"), "*": ("x", "xy", "z")}[b]
    expected = sum(1 for record in records if a in (None, record["a"]) and record["b"] in fits)

    verdict = verify(records, criteria(wanted, costly=("b",)), Expectation(count))

    assert verdict.count == expected
    assert verdict.passed is (expected >= 1 if count is None else expected == count)
    assert all(miss.differences for miss in verdict.closest)
    assert len(verdict.closest) == (0 if verdict.passed else min(3, len(records) - expected))
