"""Limits the memory that the bodies of all requests in flight take together."""

from __future__ import annotations

from typing import Final

DEFAULT_MOST: Final = 67_108_864
"""Bytes; as many as the largest body that a sandbox can allow."""


class Bodies:
    """Counts the bytes of bodies that are arriving or being answered."""

    __slots__ = ("most", "used")

    def __init__(self, most: int = DEFAULT_MOST) -> None:
        """Allow at most so many bytes."""
        self.most = most
        self.used = 0

    def reserve(self, count: int) -> bool:
        """Reserve bytes if there is room; returns whether there was."""
        if self.used + count > self.most:
            return False
        self.used += count
        return True

    def release(self, count: int) -> None:
        """Release bytes that were reserved."""
        self.used -= count
