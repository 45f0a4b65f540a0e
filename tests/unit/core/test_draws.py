"""Draws that depend on nothing but what they are for."""

from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.draws import Draws

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
calls = st.tuples(words, words, st.integers(0, 10**6))


@given(st.integers(), calls, st.lists(calls, max_size=5))
def test_other_draws_shift_nothing(seed: int, call: tuple[str, str, int], others: list[tuple[str, str, int]]) -> None:
    """A draw is the same alone, after any other draws, and in another process with the same seed."""
    alone = Draws(seed).digest(*call)
    draws = Draws(seed)

    for other in others:
        draws.digest(*other)
        draws.whole(*other)

    assert draws.digest(*call) == alone


@given(st.integers(), calls, calls)
def test_different_draws_differ(seed: int, one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    """Two draws are equal exactly when purpose, subject and number are."""
    draws = Draws(seed)

    assert (draws.digest(*one) == draws.digest(*other)) == (one == other)


@given(st.integers(), st.integers(), calls)
def test_seeds_differ(seed: int, another: int, call: tuple[str, str, int]) -> None:
    """The same draw of two seeds is equal exactly when the seeds are."""
    assert (Draws(seed).whole(*call) == Draws(another).whole(*call)) == (seed == another)


@given(st.integers(), calls)
def test_numbers_stay_in_their_range(seed: int, call: tuple[str, str, int]) -> None:
    """A whole number is below 2^64 and a unit in [0, 1)."""
    draws = Draws(seed)

    assert 0 <= draws.whole(*call) < 2**64
    assert 0 <= draws.unit(*call) < 1


def test_units_are_spread_evenly() -> None:
    """Ten thousand units fall into ten equal boxes about equally often."""
    draws = Draws(7)
    boxes = [0] * 10

    for number in range(10_000):
        boxes[int(draws.unit("spread", n=number) * 10)] += 1

    assert all(850 < count < 1150 for count in boxes)


def test_a_seed_means_the_same_for_ever() -> None:
    """The draw of a seed is fixed: recorded runs must still replay with the next version."""
    assert Draws(1).whole("id", "payin", 1) == 8_796_877_847_812_344_788


@given(st.integers(), calls, calls, st.integers(16, 400))
def test_blocks_are_draws_too(seed: int, one: tuple[str, str, int], other: tuple[str, str, int], size: int) -> None:
    """A block has the size that was asked for, begins like a longer one, and is another one for another draw."""
    draws = Draws(seed)

    block = draws.block(*one, size)

    assert (len(block), block) == (size, Draws(seed).block(*one, size + 1)[:size])
    assert (block == draws.block(*other, size)) == (one == other)
