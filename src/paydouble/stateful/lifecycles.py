"""What can become of a paid order: refunds, a cancellation and a dispute with its decisions, in every order.

Merchants break where two of these meet: an order is cancelled while its payment is disputed, or a refund fails after a
dispute has taken the same money. Nobody knows in advance which two, so every sequence of a length is here in which each
act can have an effect. An act needs some facts of the order and must not find others, and it changes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from paydouble.stateful.steps import Step, step

_DISPUTED: Final = "was disputed"
_OPEN: Final = "has an open dispute"
_WON: Final = "has a dispute that was won"
_PART_HELD: Final = "has money that a dispute holds or took"
_ALL_HELD: Final = "has no other money"
_CANCELLED: Final = "is cancelled"
_REFUND: Final = "has a refund"
_ALL_ASKED: Final = "all of its money was asked back"


class _Act(NamedTuple):
    step: Step
    needs: frozenset[str]
    forbids: frozenset[str]
    gives: frozenset[str]
    takes: frozenset[str]


def _act(
    taken: Step,
    needs: Collection[str] = (),
    forbids: Collection[str] = (),
    gives: Collection[str] = (),
    takes: Collection[str] = (),
) -> _Act:
    return _Act(taken, frozenset(needs), frozenset(forbids), frozenset(gives), frozenset(takes))


_ACTS: Final = (
    _act(step("refund", 1, "half"), forbids=[_ALL_ASKED, _ALL_HELD], gives=[_REFUND]),
    _act(step("refund", 1, "all"), forbids=[_ALL_ASKED, _PART_HELD], gives=[_REFUND, _ALL_ASKED]),
    # The service refuses it, and the merchant may decline it or wait.
    _act(step("refund", 1, "half"), needs=[_ALL_HELD], forbids=[_ALL_ASKED]),
    _act(step("refund", 1, "all"), needs=[_PART_HELD], forbids=[_ALL_ASKED], gives=[_ALL_ASKED]),
    # Many merchants give the money back by themselves.
    _act(step("cancel", 1), forbids=[_CANCELLED, _PART_HELD], gives=[_CANCELLED, _REFUND]),
    _act(step("cancel", 1), needs=[_PART_HELD], forbids=[_CANCELLED], gives=[_CANCELLED]),
    _act(step("provider", "dispute", 1), forbids=[_DISPUTED], gives=[_DISPUTED, _OPEN, _PART_HELD, _ALL_HELD]),
    _act(step("provider", "dispute half", 1), forbids=[_DISPUTED], gives=[_DISPUTED, _OPEN, _PART_HELD]),
    _act(step("provider", "dispute won", 1), needs=[_OPEN], gives=[_WON], takes=[_OPEN, _PART_HELD, _ALL_HELD]),
    _act(step("provider", "dispute lost", 1), needs=[_OPEN], takes=[_OPEN]),
    _act(step("provider", "dispute reopened", 1), needs=[_WON], gives=[_OPEN, _PART_HELD], takes=[_WON]),
    _act(step("provider", "refund fails late", 1), needs=[_REFUND], takes=[_REFUND]),
)


def lifecycles(length: int, facts: frozenset[str] = frozenset()) -> Iterator[tuple[Step, ...]]:
    """Yield every sequence of so many acts on order 1, which is paid; `facts` are what it has by then."""
    if not length:
        yield ()
        return
    for act in _ACTS:
        if act.needs <= facts and not act.forbids & facts:
            for rest in lifecycles(length - 1, facts - act.takes | act.gives):
                yield (act.step, *rest)


def on_order(act: Step, number: int) -> Step:
    """Return an act of a lifecycle on another order."""
    return act._replace(arguments=tuple(number if each == 1 else each for each in act.arguments))
