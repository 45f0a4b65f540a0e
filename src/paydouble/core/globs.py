"""Texts in which `*` stands for any run of characters, and nothing else is special."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    first, *rest = map(re.escape, pattern.split("*"))
    if not rest:
        return re.compile(first)
    # What stands between two stars may as well be found where it comes first. Never looked for again (`(?>`), a text
    # that does not fit takes no longer than one that does, however many stars there are.
    between = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return re.compile(f"{first}{between}.*{rest[-1]}", re.DOTALL)


def matcher(pattern: str) -> Callable[[str], object]:
    """Return what is true of the texts that are of a pattern; for who asks often."""
    return _compiled(pattern).fullmatch


def beginning(pattern: str) -> str:
    """Return what every text of a pattern begins with."""
    return pattern.partition("*")[0]


def fits(value: str, pattern: str) -> bool:
    """Return whether a whole text is of a pattern."""
    return _compiled(pattern).fullmatch(value) is not None
