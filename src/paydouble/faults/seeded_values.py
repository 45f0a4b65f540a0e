"""The seeded random values of one firing.

This is a module of its own so that a server without faults does not load the models of the effects.
"""

from __future__ import annotations

from typing import NamedTuple

from paydouble.core.seeded_random import SeededRandom


class SeededValues(NamedTuple):
    """Random values that are the same for the same seed, fault and number of the match."""

    randomness: SeededRandom
    fault_id: str
    number: int
    subject: str = ""
    """What the values depend on instead of the fault's id; empty for the id."""

    def unit(self, purpose: str) -> float:
        """Return a number in [0, 1)."""
        return self.randomness.unit(f"fault-{purpose}", self.subject or self.fault_id, self.number)

    def order(self, purpose: str, count: int) -> list[int]:
        """Return a permutation of 0 … count - 1."""
        subject = self.subject or self.fault_id
        keys = [self.randomness.whole(f"fault-{purpose}-{index}", subject, self.number) for index in range(count)]
        return sorted(range(count), key=keys.__getitem__)

    def text(self, purpose: str) -> str:
        """Return 48 hexadecimal digits."""
        return self.randomness.digest(f"fault-{purpose}", self.subject or self.fault_id, self.number).hex()
