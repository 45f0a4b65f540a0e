"""How much memory the bodies of all requests that are under way may take together."""

from __future__ import annotations

from typing import Final

DEFAULT_MOST: Final = 67_108_864
"""Bytes; as much as the largest body that a sandbox can allow."""


class Bodies:
    """The bytes of bodies that are arriving or being answered."""

    __slots__ = ("most", "used")

    def __init__(self, most: int = DEFAULT_MOST) -> None:
        """Hold at most so many bytes."""
        self.most = most
        self.used = 0

    def take(self, count: int) -> bool:
        """Hold some more bytes, unless there is no room; returns whether there was."""
        if self.used + count > self.most:
            return False
        self.used += count
        return True

    def give_back(self, count: int) -> None:
        """Hold some bytes no more."""
        self.used -= count
