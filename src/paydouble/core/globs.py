"""Patterns in which `*` matches any characters, and no other character is special."""

from __future__ import annotations

from collections.abc import Callable


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a compiled matcher of whole texts, for repeated use."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern.__eq__
    *between, last = rest
    shortest = len(first) + len(last)

    def matches(text: str) -> bool:
        if len(text) < shortest or not text.startswith(first) or not text.endswith(last):
            return False
        # The first occurrence of each part is always right, because it leaves the most text for the others. Each part
        # is searched once, so the time is linear in the text and the pattern, with any number of stars.
        at, end = len(first), len(text) - len(last)
        for part in between:
            found = text.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    return matches


def beginning(pattern: str) -> str:
    """Return the literal prefix of a pattern, up to its first star."""
    return pattern.partition("*")[0]


def fits(value: str, pattern: str) -> bool:
    """Return whether a pattern matches a whole text."""
    return matcher(pattern)(value)
