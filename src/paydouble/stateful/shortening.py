"""The search for a shorter play that still shows the same mistake, by leaving things out.

A play of a shop over HTTP can take seconds, so as few plays are tried as the result allows. Large parts are left out
first, where a play is long. Then single things: after a success the search goes on at the same place, since what was
needed before is mostly needed now. It ends after a round in which nothing could be left out, and tries no play twice.
The result is a play from which no single thing can be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from paydouble.stateful.steps import CataloguePlay

Found = TypeVar("Found")
_SMALLEST_PART: Final = 4
"""How many steps are left out at once at the least, before single ones are."""


def shortest(
    play: CataloguePlay, found: Found, attempt: Callable[[CataloguePlay], Found | None]
) -> tuple[CataloguePlay, Found]:
    """Return the shortest play that was reached from `play`, and what it has found.

    `attempt` runs a play. It returns what that has found, or None when it does not show the mistake.
    """
    tried: set[str] = set()

    def shows(candidate: CataloguePlay) -> Found | None:
        if repr(candidate) in tried or not candidate.steps:
            return None
        tried.add(repr(candidate))
        return attempt(candidate)

    size = len(play.steps) // 2
    while size >= _SMALLEST_PART:
        place = 0
        while place < len(play.steps):
            candidate = play._replace(steps=play.steps[:place] + play.steps[place + size :])
            better = shows(candidate)
            if better is None:
                place += size
            else:
                play, found = candidate, better
        size //= 2
    is_shorter = True
    while is_shorter:
        is_shorter = False
        place, candidates = 0, list(play.shorter())
        while place < len(candidates):
            better = shows(candidates[place])
            if better is None:
                place += 1
            else:
                play, found, is_shorter = candidates[place], better, True
                candidates = list(play.shorter())
    return play, found
