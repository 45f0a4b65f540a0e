"""In which order the events of a window are sent."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.plans import Reordering, Strategy
from paydouble.faults.seeded_values import SeededValues

STRATEGIES = get_args(Strategy)


def _reordering(strategy: Strategy, window: int = 5, order: tuple[int, ...] = (3, 1, 2, 5, 4)) -> Reordering:
    chosen = order if strategy == "permutation" else ()
    seeded = SeededValues(SeededRandom(1), "fault-1", 1)
    return Reordering("fault-1", strategy, window, chosen, 1000, each_object=True, seeded=seeded)


@given(
    strategy=st.sampled_from(STRATEGIES),
    count=st.integers(0, 12),
    order=st.permutations(range(1, 9)),
)
def test_any_arrangement_is_a_permutation(strategy: Strategy, count: int, order: list[int]) -> None:
    """However many events there are in the end, each is sent exactly once."""
    reordering = _reordering(strategy, 8, tuple(order))

    assert sorted(reordering.arrange(count)) == list(range(count))


@pytest.mark.parametrize(
    ("strategy", "count", "expected"),
    [
        ("reverse", 5, [4, 3, 2, 1, 0]),
        ("reverse", 0, []),
        ("swap", 5, [1, 0, 3, 2, 4]),
        ("swap", 1, [0]),
        ("permutation", 5, [2, 0, 1, 4, 3]),
        ("permutation", 2, [0, 1]),
        ("permutation", 3, [2, 0, 1]),
    ],
)
def test_an_arrangement_names_places(strategy: Strategy, count: int, expected: list[int]) -> None:
    """The places are those in which the events were made; a window that is not full skips missing places."""
    assert _reordering(strategy).arrange(count) == expected


def test_a_shuffle_depends_on_its_seeded_values() -> None:
    """The same seeded values give the same order, the next firing another one."""
    orders = [
        Reordering(
            "f", "shuffle", 8, (), 0, each_object=True, seeded=SeededValues(SeededRandom(seed), "f", number)
        ).arrange(8)
        for seed, number in ((1, 1), (1, 1), (1, 2), (2, 1))
    ]

    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) == 3
