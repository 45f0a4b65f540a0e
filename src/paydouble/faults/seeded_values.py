"""The draws of a fault. Apart from the effects, whose models a server without faults never loads."""

from __future__ import annotations

from typing import NamedTuple

from paydouble.core.seeded_random import SeededRandom


class SeededValues(NamedTuple):
    """The draws of one firing: the same for the same seed, fault and number of firing."""

    randomness: SeededRandom
    fault_id: str
    number: int
    subject: str = ""
    """What the draws depend on in place of the fault's id, when they do."""

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
