"""Which text of a request's target is kept."""

from __future__ import annotations

import sys

import pytest
from drive import API, DEPOSITS, Business, deposit_body


def test_the_target_of_an_operation_is_kept_once() -> None:
    """Thousands of requests of a journal share the text of a path without variables."""
    business = Business()
    business.deposit()
    business.post(DEPOSITS, deposit_body(external_identifier="order-2"))
    first, second = business.sandbox.journal.requests.entries

    assert first.target == API + DEPOSITS
    assert first.target is second.target


@pytest.mark.parametrize("authorization", [None, ""])
@pytest.mark.parametrize("path", ["/pay-in/payin_{}", "/nothing/{}", "/pay-in?external_identifier={}"])
def test_what_a_caller_asks_for_does_not_stay_for_good(path: str, authorization: str | None) -> None:
    """Since Python 3.12 nothing that is interned is ever given back, so no text of a caller's may be."""
    target = path.format("never-seen-before")
    kept = Business()
    kept.get(target, authorization=authorization)

    same = API + path.format("never-seen-before")

    assert sys.intern(same) is same
