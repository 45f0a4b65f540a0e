"""The whole catalogue over the correct merchant: all of it is played, and finds nothing."""

from __future__ import annotations

import pytest
from bugzoo.adapter import ZooMerchant

from paydouble.stateful import catalogue
from paydouble.stateful.catalogue import CatalogueRun
from paydouble.stateful.coverage import Coverage


@pytest.fixture(scope="module")
def covered() -> Coverage:
    """Run the whole catalogue over the correct merchant, once."""
    coverage = Coverage()
    CatalogueRun(ZooMerchant).all(coverage)
    return coverage


def test_the_correct_merchant_passes_the_catalogue(covered: Coverage) -> None:
    """Every play is run, and nothing is found."""
    assert covered.plays + covered.same.total() == len(catalogue.catalogue()) > 500
    assert covered.plays < 0.6 * len(catalogue.catalogue())


def test_every_entry_of_the_vocabulary_acts(covered: Coverage) -> None:
    """On a merchant with all methods nothing is left out, except reads that its lists do not show.

    It makes no refund without a request.
    """
    assert {each.table for each in covered.untried()} <= {"reads", "own refund"}
