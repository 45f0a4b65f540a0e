"""Every entry of the vocabulary acts in some play on the correct merchant.

`python tests/zoo --correct 1` plays the whole catalogue with it.
"""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest
from bugzoo.adapter import ZooMerchant

from paydouble.stateful import plays
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.coverage import VOCABULARY
from paydouble.stateful.interruptions import KINDS
from paydouble.stateful.provider import PROVIDER_ACTS

# It reads no refunds that it has not made, makes none without a request, and cancels no payment.
NOT_MET = {
    ("reads", "refunds not found yet"),
    *((table, name) for table in ("own refund", "cancellation") for name in VOCABULARY[table]),
}
_OF_INTERRUPTIONS = {"meanwhile", "interrupted webhook", "interrupted job"}


def test_the_name_of_an_interruption_is_no_other_entry() -> None:
    """What a step needs of the adapter is looked up by its arguments, whatever table they are from."""
    others = {name for table, names in VOCABULARY.items() if table not in _OF_INTERRUPTIONS for name in names}

    assert others.isdisjoint(KINDS)


def test_every_section_of_plays_is_in_the_catalogue() -> None:
    """A function of `plays/` that no list names would be played nowhere."""
    modules = [import_module(f"{plays.__name__}.{each.name}") for each in pkgutil.iter_modules(plays.__path__)]
    made = [
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isfunction(each) and inspect.signature(each).return_annotation == "Iterator[CataloguePlay]"
    ]
    sections = [each for each in made if not each.__name__.startswith("_")]

    assert {each.__qualname__ for each in sections} == {each.__qualname__ for each in plays.SECTIONS}
    assert len(plays.SECTIONS) == len(sections) == len(set(plays.SECTIONS))


@pytest.mark.parametrize("act", PROVIDER_ACTS)
def test_an_act_of_the_provider_does_something_in_the_first_play_with_it(act: str) -> None:
    """Many need something before: a dispute that is won, money for a payment that has expired."""
    first = next(play for play in catalogue() if ("provider", act) in play.entries())

    assert ("provider", act) in {(each.table, each.name) for each in CatalogueRun(ZooMerchant).one(first).trials}


def test_every_entry_of_the_vocabulary_acts() -> None:
    """And nothing is found. A play is run when it has an entry that has not acted yet."""
    run = CatalogueRun(ZooMerchant)
    missing = {(table, name) for table, names in VOCABULARY.items() for name in names} - NOT_MET

    for play in catalogue():
        if play.entries() & missing:
            missing -= {(trial.table, trial.name) for trial in run.one(play).trials}

    assert missing == set()
