"""Hunts that are the same whatever else is loaded.

Hypothesis also draws constants that it finds in the modules of the project which happen to be imported. A test run
imports others than `make zoo` does, and in another order each time, so the same seed would hunt differently there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

_NONE = Constants()


@contextmanager
def steady() -> Iterator[None]:
    """Draw no constants of the project inside the block."""
    providers.CONSTANTS_CACHE.cache.clear()
    with patch.object(providers, "_get_local_constants", lambda: _NONE):
        yield
    providers.CONSTANTS_CACHE.cache.clear()
