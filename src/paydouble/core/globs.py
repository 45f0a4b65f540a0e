"""Texts in which `*` stands for any run of characters, and nothing else is special."""

from __future__ import annotations

from collections.abc import Callable


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a whole text is of a pattern; for a pattern that is asked often."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern.__eq__
    *between, last = rest
    shortest = len(first) + len(last)

    def takes(text: str) -> bool:
        if len(text) < shortest or not text.startswith(first) or not text.endswith(last):
            return False
        # What stands between two stars may be taken where it comes first: that leaves the most for the rest. Each
        # part is looked for once, so the time grows with the text and the pattern, however many stars there are.
        at, end = len(first), len(text) - len(last)
        for part in between:
            found = text.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    return takes


def beginning(pattern: str) -> str:
    """Return what every text of a pattern begins with."""
    return pattern.partition("*")[0]


def fits(value: str, pattern: str) -> bool:
    """Return whether a whole text is of a pattern."""
    return matcher(pattern)(value)
