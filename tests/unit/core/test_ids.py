"""Identifiers and references (assumptions I1 and I2)."""

import re
from itertools import pairwise
from math import gcd

from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.ids import Ids
from paydouble.core.seeded_random import SeededRandom

seeds = st.integers(0, 2**64 - 1)


@given(seeds, st.sampled_from(["payin", "refund", "dispute", "payout", "txn", "evt", "req"]))
def test_an_id_is_its_prefix_and_24_characters_of_base_62(seed: int, prefix: str) -> None:
    """The form is that of assumption I1."""
    assert re.fullmatch(f"{prefix}_[0-9A-Za-z]{{24}}", Ids(SeededRandom(seed)).make(prefix))


@given(seeds)
def test_a_reference_can_be_read_out(seed: int) -> None:
    """A reference is short, in groups of four, without characters that look or sound similar."""
    reference = Ids(SeededRandom(seed)).reference("PAY")

    assert re.fullmatch(r"PAY-[2-9A-HJ-KM-NP-TV-Z]{4}-[2-9A-HJ-KM-NP-TV-Z]{4}", reference)


def test_no_two_are_equal() -> None:
    """Twenty thousand ids of two prefixes, and as many references, are all different."""
    ids = Ids(SeededRandom(3))
    count = 20_000

    made = {ids.make(prefix) for _ in range(count) for prefix in ("payin", "evt")}
    references = {ids.reference("PAY") for _ in range(count)}

    assert (len(made), len(references)) == (2 * count, count)


@given(seeds)
def test_references_meet_every_code_before_one_comes_again(seed: int) -> None:
    """The step is coprime to the number of references, so none repeats within 30^8 of them."""
    ids = Ids(SeededRandom(seed))

    assert gcd(ids._step, 30**8) == 1  # noqa: SLF001 - nobody can make 656 billion references in a test


def test_ids_are_not_in_the_order_of_time() -> None:
    """Sorting by id does not give the order of creation, in either direction."""
    ids = Ids(SeededRandom(5))

    made = [ids.make("evt") for _ in range(1000)]
    rises = sum(one < other for one, other in pairwise(made))

    assert 400 < rises < 600


@given(seeds, st.lists(st.sampled_from(["evt", "req", "PAY", "REF"]), max_size=20))
def test_the_nth_of_a_prefix_is_always_the_same(seed: int, others: list[str]) -> None:
    """Other ids made in between change no id and no reference."""
    expected = [Ids(SeededRandom(seed)).make("payin"), Ids(SeededRandom(seed)).reference("DSP")]
    ids = Ids(SeededRandom(seed))

    for prefix in others:
        ids.reference(prefix) if prefix.isupper() else ids.make(prefix)

    assert [ids.make("payin"), ids.reference("DSP")] == expected


def test_counting_can_go_on_from_earlier_ids() -> None:
    """After a partial reset the named prefixes continue; the others start again."""
    earlier = Ids(SeededRandom(5))
    first = [earlier.make("evt"), earlier.make("payin")]
    ids = Ids(SeededRandom(5))

    ids.go_on_from(earlier, "evt")

    assert ids.make("evt") == earlier.make("evt") != first[0]
    assert ids.make("payin") == first[1]


@given(seeds, st.integers(0, 70))
def test_counting_goes_on_wherever_it_was(seed: int, count: int) -> None:
    """Ids are generated in blocks; continuing inside a block, or at its end, skips and repeats none."""
    whole = Ids(SeededRandom(seed))
    expected = [whole.make("evt") for _ in range(count + 3)]
    earlier = Ids(SeededRandom(seed))
    before = [earlier.make("evt") for _ in range(count)]
    ids = Ids(SeededRandom(seed))

    ids.go_on_from(earlier, "evt")

    assert before + [ids.make("evt") for _ in range(3)] == expected


@given(seeds)
def test_references_go_in_steps_of_one_size(seed: int) -> None:
    """As numbers in the base of their alphabet, each is the previous one plus the step, modulo their count."""
    digits = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
    ids = Ids(SeededRandom(seed))
    made = [ids.reference("PAY").removeprefix("PAY-").replace("-", "") for _ in range(50)]

    places = [sum(digits.index(each) * 30**at for at, each in enumerate(reversed(text))) for text in made]

    step = ids._step  # noqa: SLF001 - the step whose size another test judges
    assert {(later - earlier) % 30**8 for earlier, later in pairwise(places)} == {step}


def test_both_halves_of_a_reference_change() -> None:
    """Half a reference is enough to tell it from the next ones."""
    ids = Ids(SeededRandom(1))
    made = [ids.reference("PAY").split("-") for _ in range(50)]

    assert all(one[1] != other[1] and one[2] != other[2] for one, other in pairwise(made))
