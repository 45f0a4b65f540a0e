"""Identifiers and references (assumptions I1 and I2)."""

from __future__ import annotations

from typing import Final

from paydouble.core.seeded_random import SeededRandom

DEFAULT_ID: Final = "default"
"""The id of the sandbox that a server has from its start, and of one that nobody named."""
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# One byte of the digest makes one character. 256 is not a multiple of 62, so the first eight characters are slightly
# more likely; 142 bits remain, and nothing is protected by these ids.
_TO_BASE62: Final = bytes(ord(_BASE62[byte % 62]) for byte in range(256))
# No 0, 1, I, L, O or U: references are read out over the telephone.
_READABLE: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = tuple(f"{a}{b}" for a in _READABLE for b in _READABLE)
_PAIR_COUNT: Final = len(_PAIRS)
_HALF: Final = _PAIR_COUNT**2
_REFERENCES: Final = _HALF**2
_LENGTH: Final = 24
_BLOCK: Final = 32


class Ids:
    """The identifiers of one sandbox; the n-th of a prefix is always the same for the same seed."""

    __slots__ = ("_drawn", "_offset", "_places", "_random", "_ready", "_step")

    def __init__(self, randomness: SeededRandom) -> None:
        """Take the seeded randomness of the sandbox."""
        self._random = randomness
        self._drawn: dict[str, int] = {}
        """Blocks generated so far, by prefix."""
        self._ready: dict[str, list[str]] = {}
        """The remaining ids of the latest block, by prefix; the next one is last."""
        self._places: dict[str, int] = {}
        self._offset = randomness.whole("reference-offset") % _REFERENCES
        # Coprime to 2, 3 and 5, the primes of 30^8, so steps of this size reach every reference once.
        self._step = (randomness.whole("reference-factor") % (_REFERENCES // 30)) * 30 + 7

    def go_on_from(self, earlier: Ids, *prefixes: str) -> None:
        """Continue these prefixes where earlier ids stopped, because some of those are still in use."""
        for prefix in prefixes:
            self._drawn[prefix] = earlier._drawn.get(prefix, 0)
            self._ready[prefix] = list(earlier._ready.get(prefix, ()))

    def make(self, prefix: str) -> str:
        """Return the next id of a prefix, such as `payin_` and 24 characters."""
        ready = self._ready.get(prefix)
        return ready.pop() if ready else self._draw(prefix).pop()

    def derive(self, prefix: str, subject: str, n: int) -> str:
        """Return an id derived from a subject; it is not counted, so later ids stay the same."""
        return f"{prefix}_{self._random.digest(f'derived-{prefix}', subject, n).translate(_TO_BASE62).decode()}"

    def _draw(self, prefix: str) -> list[str]:
        # Ids are generated in blocks, because every deposit needs three.
        number = self._drawn.get(prefix, 0)
        drawn = self._random.block("id", prefix, number, _BLOCK * _LENGTH).translate(_TO_BASE62).decode()
        self._drawn[prefix] = number + 1
        # Reversed, because `pop` takes the last one.
        last = (_BLOCK - 1) * _LENGTH
        ready = [f"{prefix}_{drawn[start : start + _LENGTH]}" for start in range(last, -1, -_LENGTH)]
        self._ready[prefix] = ready
        return ready

    def reference(self, prefix: str) -> str:
        """Return the next readable reference of a prefix, such as `PAY-7Q4M-2KXD`; no two are equal."""
        place = (self._places.get(prefix, self._offset) + self._step) % _REFERENCES
        self._places[prefix] = place
        high, low = divmod(place, _HALF)
        return f"{prefix}-{_quadruple(high)}-{_quadruple(low)}"


def _quadruple(number: int) -> str:
    return _PAIRS[number // _PAIR_COUNT] + _PAIRS[number % _PAIR_COUNT]
