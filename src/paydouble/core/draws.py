"""Randomness that shifts nothing: each draw is `hash(seed, purpose, subject, n)`, never a shared stream.

Adding a call somewhere therefore changes no other draw, and the same seed gives the same run (assumptions,
"Determinism").
"""

from __future__ import annotations

from hashlib import blake2b, shake_128


class Draws:
    """All draws of one seed."""

    __slots__ = ("_start", "seed")

    def __init__(self, seed: int) -> None:
        """Take the seed, any integer."""
        self.seed = seed
        self._start = blake2b(str(seed).encode() + b"\0", digest_size=24)

    def digest(self, purpose: str, subject: str = "", n: int = 0) -> bytes:
        """Return 24 bytes that depend on nothing but the seed and the arguments."""
        state = self._start.copy()
        state.update(f"{purpose}\0{subject}\0{n}".encode())
        return state.digest()

    def block(self, purpose: str, subject: str, n: int, size: int) -> bytes:
        """Return so many bytes that depend on nothing else, for who needs many small draws and must be quick."""
        return shake_128(f"{self.seed}\0{purpose}\0{subject}\0{n}".encode()).digest(size)

    def whole(self, purpose: str, subject: str = "", n: int = 0) -> int:
        """Return a whole number below 2^64."""
        return int.from_bytes(self.digest(purpose, subject, n)[:8], "big")

    def unit(self, purpose: str, subject: str = "", n: int = 0) -> float:
        """Return a number in [0, 1)."""
        return (self.whole(purpose, subject, n) >> 11) / (1 << 53)
