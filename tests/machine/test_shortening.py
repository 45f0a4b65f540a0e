"""The search for a shorter play: what it reaches, and how few plays it takes."""

from __future__ import annotations

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from paydouble.stateful.shortening import shortest
from paydouble.stateful.steps import CataloguePlay, Step, step

_STEPS = st.builds(
    lambda name, options: step(name, **dict.fromkeys(options, True)),
    st.sampled_from(("order", "wait", "restart", "jobs")),
    st.sets(st.sampled_from(("later", "twice"))),
)


@given(st.lists(_STEPS, min_size=1, max_size=24).map(tuple), st.data())
def test_what_is_needed_is_left_and_no_more(steps: tuple[Step, ...], data: st.DataObject) -> None:
    """However long the play is, it takes a number of plays that grows with its length, not with its square."""
    needed = sorted(data.draw(st.sets(st.integers(0, len(steps) - 1), min_size=1)))
    marked = tuple(each._replace(arguments=(place,)) for place, each in enumerate(steps))
    plays: list[CataloguePlay] = []

    def attempt(play: CataloguePlay) -> int | None:
        plays.append(play)
        left = {each.arguments[0] for each in play.steps}
        return len(left) if left.issuperset(needed) else None

    play, found = shortest(CataloguePlay(marked, dialect="201"), 0, attempt)

    assert play == CataloguePlay(tuple(Step(steps[place].command, (place,)) for place in needed))
    assert found in {0, len(needed)}
    things = len(steps) + sum(len(each.options) for each in steps) + 1
    assert len(plays) <= 3 * things


@given(st.lists(_STEPS, min_size=1, max_size=12).map(tuple), st.integers(2, 5))
def test_nothing_more_can_be_left_out(steps: tuple[Step, ...], divisor: int) -> None:
    """Whatever the mistake needs; and no play is tried twice."""
    plays: list[CataloguePlay] = []

    def shows(play: CataloguePlay) -> bool:
        # A rule with no sense in it: what may be left out depends on everything else.
        return crc32(repr(play).encode()) % divisor == 0

    def attempt(play: CataloguePlay) -> bool | None:
        plays.append(play)
        return shows(play) or None

    play, _ = shortest(CataloguePlay(steps, dialect="201"), True, attempt)

    assert not [each for each in play.shorter() if each.steps and shows(each)]
    assert len(set(map(repr, plays))) == len(plays)
