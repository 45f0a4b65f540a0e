"""Texts in which `*` stands for any run of characters, and nothing else is special."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def matcher(pattern: str) -> Callable[[str], object]:
    """Return what is true of the texts that are of a pattern; for who asks often."""
    return _compiled(pattern).fullmatch


def fits(value: str, pattern: str) -> bool:
    """Return whether a whole text is of a pattern."""
    return _compiled(pattern).fullmatch(value) is not None
