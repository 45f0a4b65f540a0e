"""Finds out for how long a merchant keeps an order that nobody pays.

Each merchant has a time of its own, and what happens around its end is lost most easily: the payer pays in the last
minute, or the only read that would tell fails. The catalogue names these times by `HoldTime`, and each merchant's own
are put in their place before a play is run, so that reports show times like any other.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Final

from paydouble.core.durations import parse_duration
from paydouble.stateful.driver import MakeMerchant
from paydouble.stateful.merchant import CLOSED, OPEN
from paydouble.stateful.play import Play
from paydouble.stateful.plays.holds import WATCHED
from paydouble.stateful.steps import Hold, step
from paydouble.stateful.verdicts import MerchantBug

_CLICKED: Final = (step("order"), step("pay", 1, scenario="payer-decides"))


def hold_of(
    merchant: MakeMerchant, seed: int = 0, patience_seconds: float = 10.0, until: float | None = None
) -> Hold | None:
    """Return when a merchant gives an order up whose payment waits for its payer; None when it is kept for a day.

    Also None when it is given up within a minute, since then nothing comes just before that time, and when it is not
    found `until` a time of the monotonic clock, in seconds.
    """
    play = Play(merchant, seed=seed, patience_seconds=patience_seconds)
    found = None
    with suppress(MerchantBug):  # the catalogue reports it
        for each in _CLICKED:
            each.take(play)
        found = _watched(play, until) if play.status() in OPEN else None
    play.close()
    return found if found is not None and found.kept else None


def _watched(play: Play, until: float | None) -> Hold | None:
    passed = 0
    for time, every in WATCHED:
        pause = parse_duration(every)
        for _ in range(parse_duration(time) // pause):
            if until is not None and monotonic() >= until:
                return None
            play.wait(every)
            if play.status() in CLOSED:
                return Hold(passed, passed + pause)
            passed += pause
    return None
