"""Seeded random values, which only depend on their purpose, subject and number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.errors import UsageError
from paydouble.core.seeded_random import MADE_UP_BELOW, SEEDS, SeededRandom, check_seed

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
calls = st.tuples(words, words, st.integers(0, 10**6))


@given(st.integers(), calls, st.lists(calls, max_size=5))
def test_other_values_change_nothing(seed: int, call: tuple[str, str, int], others: list[tuple[str, str, int]]) -> None:
    """A value is the same alone, after any others, and in another process with the same seed."""
    alone = SeededRandom(seed).digest(*call)
    randomness = SeededRandom(seed)

    for other in others:
        randomness.digest(*other)
        randomness.whole(*other)

    assert randomness.digest(*call) == alone


@given(st.integers(), calls, calls)
def test_different_arguments_give_different_values(
    seed: int, one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    """Two values are equal exactly when purpose, subject and number are."""
    randomness = SeededRandom(seed)

    assert (randomness.digest(*one) == randomness.digest(*other)) == (one == other)


@given(st.integers(), st.integers(), calls)
def test_seeds_differ(seed: int, another: int, call: tuple[str, str, int]) -> None:
    """The same value of two seeds is equal exactly when the seeds are."""
    assert (SeededRandom(seed).whole(*call) == SeededRandom(another).whole(*call)) == (seed == another)


@given(st.integers(), calls)
def test_numbers_stay_in_their_range(seed: int, call: tuple[str, str, int]) -> None:
    """A whole number is below 2^64 and a unit in [0, 1)."""
    randomness = SeededRandom(seed)

    assert 0 <= randomness.whole(*call) < 2**64
    assert 0 <= randomness.unit(*call) < 1


def test_units_are_spread_evenly() -> None:
    """Ten thousand units are spread about equally over ten equal intervals."""
    randomness = SeededRandom(7)
    boxes = [0] * 10

    for number in range(10_000):
        boxes[int(randomness.unit("spread", n=number) * 10)] += 1

    assert all(850 < count < 1150 for count in boxes)


def test_a_seed_means_the_same_in_every_version() -> None:
    """The values of a seed are fixed, because recorded runs must replay in later versions."""
    assert SeededRandom(1).whole("id", "payin", 1) == 8_796_877_847_812_344_788


@given(st.integers(), calls, calls, st.integers(16, 400))
def test_blocks_depend_on_their_arguments(
    seed: int, one: tuple[str, str, int], other: tuple[str, str, int], size: int
) -> None:
    """A block has the requested size, is the beginning of a longer one, and differs for other arguments."""
    randomness = SeededRandom(seed)

    block = randomness.block(*one, size)

    assert (len(block), block) == (size, SeededRandom(seed).block(*one, size + 1)[:size])
    assert (block == randomness.block(*other, size)) == (one == other)


@given(st.integers(), words, st.integers(0, 10**6))
def test_a_generated_seed_can_be_sent_back(seed: int, subject: str, n: int) -> None:
    """It is exact as a binary float, and is an allowed seed."""
    made_up = SeededRandom(seed).made_up_seed(subject, n)

    assert 0 <= made_up < MADE_UP_BELOW
    assert check_seed(made_up) == made_up


@given(st.integers(), st.integers(0, 5), st.integers(0, 5), calls)
def test_each_generation_has_other_values(seed: int, one: int, other: int, call: tuple[str, str, int]) -> None:
    """Generation 0 is that of the seed alone."""
    first, second = SeededRandom(seed, one), SeededRandom(seed, other)

    assert (first.digest(*call) == second.digest(*call)) == (one == other)
    assert (first.block(*call, 24) == second.block(*call, 24)) == (one == other)
    assert SeededRandom(seed, 0).digest(*call) == SeededRandom(seed).digest(*call)


@pytest.mark.parametrize("seed", [SEEDS.start - 1, SEEDS.stop])
def test_a_seed_beyond_64_bits_is_refused(seed: int) -> None:
    """The limits are those of a signed 64-bit integer."""
    with pytest.raises(UsageError, match="is too large"):
        check_seed(seed)
