"""SeededRandom that depend on nothing but what they are for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.errors import UsageError
from paydouble.core.seeded_random import MADE_UP_BELOW, SEEDS, SeededRandom, check_seed

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
calls = st.tuples(words, words, st.integers(0, 10**6))


@given(st.integers(), calls, st.lists(calls, max_size=5))
def test_other_draws_shift_nothing(seed: int, call: tuple[str, str, int], others: list[tuple[str, str, int]]) -> None:
    """A draw is the same alone, after any other randomness, and in another process with the same seed."""
    alone = SeededRandom(seed).digest(*call)
    randomness = SeededRandom(seed)

    for other in others:
        randomness.digest(*other)
        randomness.whole(*other)

    assert randomness.digest(*call) == alone


@given(st.integers(), calls, calls)
def test_different_draws_differ(seed: int, one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    """Two draws are equal exactly when purpose, subject and number are."""
    randomness = SeededRandom(seed)

    assert (randomness.digest(*one) == randomness.digest(*other)) == (one == other)


@given(st.integers(), st.integers(), calls)
def test_seeds_differ(seed: int, another: int, call: tuple[str, str, int]) -> None:
    """The same draw of two seeds is equal exactly when the seeds are."""
    assert (SeededRandom(seed).whole(*call) == SeededRandom(another).whole(*call)) == (seed == another)


@given(st.integers(), calls)
def test_numbers_stay_in_their_range(seed: int, call: tuple[str, str, int]) -> None:
    """A whole number is below 2^64 and a unit in [0, 1)."""
    randomness = SeededRandom(seed)

    assert 0 <= randomness.whole(*call) < 2**64
    assert 0 <= randomness.unit(*call) < 1


def test_units_are_spread_evenly() -> None:
    """Ten thousand units fall into ten equal boxes about equally often."""
    randomness = SeededRandom(7)
    boxes = [0] * 10

    for number in range(10_000):
        boxes[int(randomness.unit("spread", n=number) * 10)] += 1

    assert all(850 < count < 1150 for count in boxes)


def test_a_seed_means_the_same_for_ever() -> None:
    """The draw of a seed is fixed: recorded runs must still replay with the next version."""
    assert SeededRandom(1).whole("id", "payin", 1) == 8_796_877_847_812_344_788


@given(st.integers(), calls, calls, st.integers(16, 400))
def test_blocks_are_draws_too(seed: int, one: tuple[str, str, int], other: tuple[str, str, int], size: int) -> None:
    """A block has the size that was asked for, begins like a longer one, and is another one for another draw."""
    randomness = SeededRandom(seed)

    block = randomness.block(*one, size)

    assert (len(block), block) == (size, SeededRandom(seed).block(*one, size + 1)[:size])
    assert (block == randomness.block(*other, size)) == (one == other)


@given(st.integers(), words, st.integers(0, 10**6))
def test_a_made_up_seed_can_be_given_back(seed: int, subject: str, n: int) -> None:
    """It is exact in clients that keep numbers as binary floats, and one that may be given."""
    made_up = SeededRandom(seed).made_up_seed(subject, n)

    assert 0 <= made_up < MADE_UP_BELOW
    assert check_seed(made_up) == made_up


@given(st.integers(), st.integers(0, 5), st.integers(0, 5), calls)
def test_each_generation_draws_other_values(seed: int, one: int, other: int, call: tuple[str, str, int]) -> None:
    """The first is that of the seed alone."""
    first, second = SeededRandom(seed, one), SeededRandom(seed, other)

    assert (first.digest(*call) == second.digest(*call)) == (one == other)
    assert (first.block(*call, 24) == second.block(*call, 24)) == (one == other)
    assert SeededRandom(seed, 0).digest(*call) == SeededRandom(seed).digest(*call)


@pytest.mark.parametrize("seed", [SEEDS.start - 1, SEEDS.stop])
def test_a_seed_that_no_answer_could_show_is_refused(seed: int) -> None:
    """The bounds are those of a signed 64-bit integer."""
    with pytest.raises(UsageError, match="is too large"):
        check_seed(seed)
