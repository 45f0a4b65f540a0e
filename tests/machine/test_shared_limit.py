"""Which requests come too early for a merchant that stops all of them at a 429."""

from __future__ import annotations

import pytest

from paydouble.guards.rate_limit import RESET
from paydouble.journal import RequestEntry
from paydouble.stateful.shared_limit import SharedLimit

REFUSED = ("POST", "/api/v1/pay-in/deposit-creation", "key-1")
OTHER = ("GET", "/api/v1/dispute", None)
START = 1_767_225_600_000


def limited(reset: str) -> tuple[SharedLimit, list[str]]:
    """Return a limit that the second of three operations has met at `START`, and what breaks it."""
    limit = SharedLimit()
    broken: list[str] = []
    limit.on_broken = broken.append
    entry = RequestEntry("req_1", START, REFUSED[0], REFUSED[1], None, b"", b"", 429, answer_headers=((RESET, reset),))
    limit.note(REFUSED, entry, now=START, operation=2, latest=3)
    return limit, broken


@pytest.mark.parametrize(
    ("operation", "at_ms", "is_broken"),
    [(1, 0, False), (3, 100, False), (2, 0, True), (4, 0, True), (4, 3_999, True), (4, 4_000, False)],
)
def test_a_call_that_was_under_way_need_not_know_of_it(operation: int, at_ms: int, is_broken: bool) -> None:
    """The one that has met it knows, and so does each later one; the reset may have been rounded down by a second."""
    limit, broken = limited("5")

    limit.check(OTHER, START + at_ms, operation)

    assert bool(broken) == is_broken


def test_a_repetition_breaks_it_and_a_new_process_does_not() -> None:
    """The report says both requests."""
    limit, broken = limited("5")

    limit.check(REFUSED, START + 1_000, 4)
    limit.forget()
    limit.check(REFUSED, START + 1_000, 5)

    sent = "POST /api/v1/pay-in/deposit-creation"
    assert broken == [f"sends {sent} 1 s after a 429 to {sent} that asked for 5 s"]


@pytest.mark.parametrize("reset", ["soon", "-3", ""])
def test_a_reset_that_cannot_be_read_asks_for_no_pause(reset: str) -> None:
    """The pause is the merchant's own then."""
    limit, broken = limited(reset)

    limit.check(OTHER, START, 4)

    assert broken == []
