"""Randomness that shifts nothing: each draw is `hash(seed, purpose, subject, n)`, never a shared stream.

Adding a call somewhere therefore changes no other draw, and the same seed gives the same run (assumptions,
"Determinism").
"""

from __future__ import annotations

from hashlib import blake2b


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

    def begin(self, purpose: str, subject: str) -> blake2b:
        """Return the hash of a draw up to its number; `digest` is what it becomes with the number added."""
        state = self._start.copy()
        state.update(f"{purpose}\0{subject}\0".encode())
        return state

    def whole(self, purpose: str, subject: str = "", n: int = 0) -> int:
        """Return a whole number below 2^64."""
        return int.from_bytes(self.digest(purpose, subject, n)[:8], "big")

    def unit(self, purpose: str, subject: str = "", n: int = 0) -> float:
        """Return a number in [0, 1)."""
        return (self.whole(purpose, subject, n) >> 11) / (1 << 53)
