"""Seeded random values: each is `hash(seed, purpose, subject, n)`; there is no shared stream.

So one more call somewhere changes no other value, and the same seed gives the same run (assumptions, "Determinism").
"""

from __future__ import annotations

from hashlib import blake2b, shake_128
from typing import Final

from paydouble.core.errors import UsageError

# Generated seeds stay exact in every client: for many of them JSON numbers are binary floats.
MADE_UP_BELOW: Final = 2**53
# Given seeds are signed 64-bit integers, which every answer can show and every request can send.
SEEDS: Final = range(-(2**63), 2**63)


def check_seed(seed: int) -> int:
    """Return the seed; `UsageError` if it is not a signed 64-bit integer."""
    if seed not in SEEDS:
        raise UsageError(f"{seed} is too large; a seed is a whole number from -2^63 to 2^63-1", member="seed")
    return seed


class SeededRandom:
    """The random values of one seed."""

    __slots__ = ("_root", "_start", "seed")

    def __init__(self, seed: int, generation: int = 0) -> None:
        """Take any integer as the seed; each generation of it has other values."""
        self.seed = seed
        self._root = f"{seed}+{generation}" if generation else str(seed)
        self._start = blake2b(self._root.encode() + b"\0", digest_size=24)

    def digest(self, purpose: str, subject: str = "", n: int = 0) -> bytes:
        """Return 24 bytes that only depend on the seed and the arguments."""
        state = self._start.copy()
        state.update(f"{purpose}\0{subject}\0{n}".encode())
        return state.digest()

    def block(self, purpose: str, subject: str, n: int, size: int) -> bytes:
        """Return `size` bytes that only depend on the seed and the arguments; faster than many small values."""
        return shake_128(f"{self._root}\0{purpose}\0{subject}\0{n}".encode()).digest(size)

    def whole(self, purpose: str, subject: str = "", n: int = 0) -> int:
        """Return a whole number below 2^64."""
        return int.from_bytes(self.digest(purpose, subject, n)[:8], "big")

    def made_up_seed(self, subject: str, n: int = 0) -> int:
        """Return a seed below `MADE_UP_BELOW` for something that was given none."""
        return self.whole("sandbox-seed", subject, n) % MADE_UP_BELOW

    def unit(self, purpose: str, subject: str = "", n: int = 0) -> float:
        """Return a number in [0, 1)."""
        return (self.whole(purpose, subject, n) >> 11) / (1 << 53)
