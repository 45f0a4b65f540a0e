"""A line on the terminal that says how far the catalogue is, where there is a terminal."""

from __future__ import annotations

import sys
from typing import Final

_EVERY: Final = 25


class Progress:
    """Writes one line and rewrites it; nothing where standard error is not a terminal, as in CI."""

    def __init__(self, name: str) -> None:
        """Take the name that the line begins with."""
        self._name = name
        stream = sys.__stderr__
        self._stream = stream if stream is not None and stream.isatty() else None

    def __call__(self, number: int, total: int) -> None:
        """Say that so many plays are done."""
        if self._stream is not None and (number % _EVERY == 0 or number == total):
            self._stream.write(f"\r{self._name}: {number} of {total} plays of the catalogue")
            self._stream.write("\n" if number == total else "")
            self._stream.flush()
