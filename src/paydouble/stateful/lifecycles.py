"""What can become of a paid order: refunds, a cancellation and a dispute with its decisions, in every order.

Merchants break where two of these meet: an order is cancelled while its payment is disputed, or a refund fails after a
dispute has taken the same money. Nobody knows in advance which two, so every sequence of a length is here in which each
act can have an effect. An act needs some facts of the order and must not find others, and it changes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
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
    is_variant: bool = False
    """Whether it brings events of the same kinds as an act before it, or none."""

    def is_possible(self, facts: frozenset[str]) -> bool:
        """Return whether it can have an effect where these facts are given."""
        return self.needs <= facts and not self.forbids & facts


def _act(
    taken: Step,
    needs: Collection[str] = (),
    forbids: Collection[str] = (),
    gives: Collection[str] = (),
    takes: Collection[str] = (),
) -> _Act:
    return _Act(taken, frozenset(needs), frozenset(forbids), frozenset(gives), frozenset(takes))


def _variant(taken: Step, **facts: Collection[str]) -> _Act:
    return _act(taken, **facts)._replace(is_variant=True)


def _acts(order: int) -> tuple[_Act, ...]:
    return (
        _act(step("refund", order, "half"), forbids=[_ALL_ASKED, _ALL_HELD], gives=[_REFUND]),
        _variant(step("refund", order, "all"), forbids=[_ALL_ASKED, _PART_HELD], gives=[_REFUND, _ALL_ASKED]),
        # The service refuses it, and the merchant may decline it or wait.
        _variant(step("refund", order, "half"), needs=[_ALL_HELD], forbids=[_ALL_ASKED]),
        _variant(step("refund", order, "all"), needs=[_PART_HELD], forbids=[_ALL_ASKED], gives=[_ALL_ASKED]),
        # Many merchants give the money back by themselves.
        _act(step("cancel", order), forbids=[_CANCELLED, _PART_HELD], gives=[_CANCELLED, _REFUND]),
        _variant(step("cancel", order), needs=[_PART_HELD], forbids=[_CANCELLED], gives=[_CANCELLED]),
        _act(step("provider", "dispute", order), forbids=[_DISPUTED], gives=[_DISPUTED, _OPEN, _PART_HELD, _ALL_HELD]),
        _variant(step("provider", "dispute half", order), forbids=[_DISPUTED], gives=[_DISPUTED, _OPEN, _PART_HELD]),
        _act(step("provider", "dispute won", order), needs=[_OPEN], gives=[_WON], takes=[_OPEN, _PART_HELD, _ALL_HELD]),
        _act(step("provider", "dispute lost", order), needs=[_OPEN], takes=[_OPEN]),
        _variant(step("provider", "dispute reopened", order), needs=[_WON], gives=[_OPEN, _PART_HELD], takes=[_WON]),
        _act(step("provider", "refund fails late", order), needs=[_REFUND], takes=[_REFUND]),
    )


# In sequences they would do little that the others do not.
_FURTHER_ACTS: Final = (
    _variant(step("provider", "dispute under review"), needs=[_OPEN]),
    _variant(step("provider", "dispute accepted"), needs=[_OPEN], takes=[_OPEN]),
    _variant(step("provider", "another dispute"), needs=[_PART_HELD], forbids=[_ALL_HELD]),
    # Of the merchant's staff, on the provider's own pages.
    _act(step("provider", "refund half"), forbids=[_ALL_ASKED, _ALL_HELD], gives=[_REFUND]),
    _variant(step("provider", "refund"), forbids=[_ALL_ASKED, _PART_HELD], gives=[_REFUND, _ALL_ASKED]),
)


@cache
def lifecycles(length: int, order: int = 1) -> tuple[tuple[Step, ...], ...]:
    """Return every sequence of so many acts on an order that is paid."""
    return tuple(_sequences(_acts(order), length, frozenset()))


@cache
def ways_to_each_act(*, variants: bool = True) -> tuple[tuple[Step, ...], ...]:
    """Return a shortest sequence to each act on an order that is paid, which ends with it.

    Without `variants` there is one act for each kind of event that tells of a change.
    """
    found: dict[_Act, tuple[Step, ...]] = {}
    ways: list[tuple[tuple[Step, ...], frozenset[str]]] = [((), frozenset())]
    # Each way is as long as the one before or longer, so the first to an act is a shortest one.
    for before, facts in ways:
        for act in (*_acts(1), *_FURTHER_ACTS):
            if act not in found and act.is_possible(facts):
                found[act] = (*before, act.step)
                ways.append((found[act], facts - act.takes | act.gives))
    return tuple(way for act, way in found.items() if variants or not act.is_variant)


def _sequences(acts: tuple[_Act, ...], length: int, facts: frozenset[str]) -> Iterator[tuple[Step, ...]]:
    if not length:
        yield ()
        return
    for act in acts:
        if act.is_possible(facts):
            for rest in _sequences(acts, length - 1, facts - act.takes | act.gives):
                yield (act.step, *rest)
