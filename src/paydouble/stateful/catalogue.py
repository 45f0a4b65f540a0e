"""The catalogue: a fixed list of short plays, derived from the vocabulary, that the machine runs before its hunt.

Each entry of the vocabulary is played alone, in the shortest play in which it can matter: a trouble of a POST in one
payment, a disturbed webhook in one payment with its events, a forged webhook before and after the money. Combinations
follow where one trouble hides what another does; each says why. The first turn has each entry alone at each place of a
payment's life and one of each combination, and the variants follow in further turns, so that each kind of mistake has
its chance early. A turn begins with each act by itself and without trouble, and with what may charge twice. Then what
is alone and the first combinations of all sections take turns: a slow shop never comes to the end of what is alone
(decision 0035). Both come in the order of what a mistake costs: forged payments, double or missing fulfilment, refunds
and disputes, then everything else.

Not every play is run on every merchant: `equivalence.py` decides which would show nothing new.

The plays are in `plays/`, by their subject. Nothing there names an entry of the vocabulary where all entries of its
table are meant, so a new one is played without a change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import IntEnum, auto
from functools import cache
from itertools import count, zip_longest
from typing import Final

from paydouble.stateful.coverage import COMMANDS
from paydouble.stateful.interruptions import BEFORE_COMMIT, BEFORE_REQUEST, KINDS, Act
from paydouble.stateful.plays import SECTIONS, acts, deposits
from paydouble.stateful.plays.parts import POINTS, WORK_OFF
from paydouble.stateful.steps import CataloguePlay, Step

# In so many turns all shapes of plays are gone through, so that each kind of mistake has its chance early.
_TURNS: Final = 12
_MANY: Final = 20
_FIRST_POINTS: Final = 5
_INTERRUPTIONS: Final = COMMANDS["interrupted webhook"] | COMMANDS["interrupted job"]
_DEAREST: Final = frozenset({acts.basics, deposits.charges})
"""The sections of acts without trouble, and of what may charge twice."""
# So many combinations of each section come among what is alone.
_FIRST_COMBINATIONS: Final = 6
# A place in a payment's life, and what is played there; the place is None where it does not matter.
_Content = tuple[Hashable, Hashable]


class _Rank(IntEnum):
    """What a play is for the order of a turn."""

    DEAREST = auto()
    ALONE = auto()
    AT_A_NUMBER = auto()
    """New by the number of its point alone."""
    COMBINED = auto()
    LONG = auto()


_Shape = tuple[Hashable, frozenset[_Content]]


@cache
def catalogue() -> tuple[CataloguePlay, ...]:
    """Return all plays, none twice, in turns.

    The first turn has one of each shape, every entry of the vocabulary and every price alone at each place, and every
    interruption at each of the first points.
    """
    played: set[Hashable] = set()
    shapes: dict[_Shape, list[CataloguePlay]] = {}
    known: set[_Content] = set()
    places: dict[_Shape, tuple[_Rank, int]] = {}
    for section in SECTIONS:
        combinations: defaultdict[_Rank, Iterator[int]] = defaultdict(count)
        for play in section():
            if (play.dialect, play.steps) in played:
                continue
            played.add((play.dialect, play.steps))
            # A play with something new is in the first turn, as a shape of its own.
            new = _contents(play) - known
            known |= new
            shape = _shape(play), frozenset(new)
            if shape not in shapes:
                # Of the combinations one of each section comes first, then the next ones.
                rank = _rank(play, shape[1], is_dearest=section in _DEAREST)
                places[shape] = rank, next(combinations[rank]) if play.reason else 0
            shapes.setdefault(shape, []).append(play)
    return tuple(
        play
        for turn in range(_TURNS)
        for shape in _in_order(places)
        for play in shapes[shape][_share(turn, shapes[shape]) : _share(turn + 1, shapes[shape])]
    )


def _in_order(places: Mapping[_Shape, tuple[_Rank, int]]) -> list[_Shape]:
    """Return the shapes of a turn in their order, from the rank of each, and its number among those of its section."""
    ranked: dict[_Rank, list[_Shape]] = {rank: [] for rank in _Rank}
    for shape in sorted(places, key=lambda shape: places[shape]):
        ranked[places[shape][0]].append(shape)
    combined = ranked[_Rank.COMBINED]
    first = [shape for shape in combined if places[shape][1] < _FIRST_COMBINATIONS]
    mixed = [shape for pair in zip_longest(ranked[_Rank.ALONE], first) for shape in pair if shape is not None]
    later = combined[len(first) :]
    return [*ranked[_Rank.DEAREST], *mixed, *ranked[_Rank.AT_A_NUMBER], *later, *ranked[_Rank.LONG]]


def _share(turn: int, plays: Sequence[CataloguePlay]) -> int:
    # One in the first turn; a shape with few plays has them all in the next ones.
    if not turn or turn == _TURNS:
        return len(plays) if turn else 0
    return min(len(plays), 1 + (turn - 1) * (1 + len(plays) // _TURNS))


def _shape(play: CataloguePlay) -> Hashable:
    return play.reason, play.dialect == "plain", tuple((each.command, *dict(each.options)) for each in play.steps)


def _rank(play: CataloguePlay, new: frozenset[_Content], *, is_dearest: bool) -> _Rank:
    if _is_long(play):
        return _Rank.LONG
    if play.reason:
        return _Rank.COMBINED
    # What is new by the number of its point alone comes after all that is new by an entry, or by a point with a name.
    numbered = any(isinstance(content, Step) and not _is_early(content) for _, content in new)
    if numbered and len(new) == 1:
        return _Rank.AT_A_NUMBER
    return _Rank.DEAREST if is_dearest else _Rank.ALONE


def _is_early(interruption: Step) -> bool:
    # A second click is what customers do most, and costs most.
    what, at, *_ = interruption.arguments
    is_click = what in KINDS and KINDS[what].act is Act.CLICK and interruption.command == "pay"
    return isinstance(at, str) or (is_click and at < _FIRST_POINTS)


def _sends(meanwhile: str) -> bool:
    return meanwhile in KINDS and KINDS[meanwhile].sends


def _is_long(play: CataloguePlay) -> bool:
    """Return whether a play has so many orders that a shop over HTTP takes as long for it as for a hundred others."""
    crowds = [each.arguments for each in play.steps if each.command in {"crowd", "other_system"}]
    # Without a number it is more than a page of a list holds.
    is_crowd = any(not arguments or arguments[0] > _MANY for arguments in crowds)
    return is_crowd or sum(each.command == "order" for each in play.steps) > _MANY


def _contents(play: CataloguePlay) -> set[_Content]:
    tried = [*_points(play)]
    points: set[_Content] = {(None, point) for point in tried}
    if any(point.arguments[1] == BEFORE_COMMIT for point in tried):
        return points  # few merchants have such a point, so it stands for nothing else
    # Alone, an entry matters at each place of a payment's life: a forgery before the money as well as after it.
    place = None if play.reason else (_shape(play), play.dialect)
    prices = [each.arguments for each in play.steps if each.command == "order"]
    # In a combination nothing is new that was played alone.
    places = {place, None}
    of_entries = {(each, content) for each in places for content in (*play.entries(), *prices)}
    return of_entries | points


def _points(play: CataloguePlay) -> Iterator[Step]:
    """Yield the interruptions of a play, each with its point of the merchant's code.

    A race shows at one point, and nobody knows at which. So what may make a merchant send a second request, such as a
    second click, counts by each point, and what else comes meanwhile by each point with a name. What a kill in a click
    or a refund has done shows in what comes after it, so each such play counts by all of its commands; and so does a
    kill of a job at its request, and one in the work on a webhook, where no read heals what it has done before somebody
    looks.
    """
    commands = tuple(each.command for each in play.steps)
    for each in play.steps:
        meanwhile, at = (dict(each.options).get(name, 0) for name in ("meanwhile", "at"))
        if each.command in _INTERRUPTIONS and each.arguments[-1] in {BEFORE_COMMIT, BEFORE_REQUEST, *POINTS}:
            yield each
            is_named = isinstance(each.arguments[-1], str)
            if each.arguments[0] == "dies" and (is_named or WORK_OFF in play.steps):
                yield Step(each.command, (*each.arguments, commands))
        elif meanwhile == "dies" and not play.reason:
            yield Step(each.command, (meanwhile, at, commands))
        elif isinstance(at, str) or (_sends(meanwhile) and not play.reason):
            yield Step(each.command, (meanwhile, at))
