"""A test run of a merchant's, started by one of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """What came of a child run."""

    text: str
    counts: dict[str, int]
    """How many passed, failed, and so on."""


Child = Callable[..., Run]
