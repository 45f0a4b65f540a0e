"""Identifiers and references (assumptions I1 and I2)."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final

from paydouble.core.draws import Draws

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# One byte of the digest makes one character. 256 is no multiple of 62, so the first eight characters are slightly
# more likely; 142 bits remain, and nobody guards anything with these.
_TO_BASE62: Final = bytes(ord(_BASE62[byte % 62]) for byte in range(256))
# No 0, 1, I, L, O or U: a reference is read out over the telephone.
_READABLE: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = tuple(f"{a}{b}" for a in _READABLE for b in _READABLE)
_PAIR_COUNT: Final = len(_PAIRS)
_REFERENCES: Final = _PAIR_COUNT**4


class Ids:
    """Makes the identifiers of one sandbox; the n-th of a prefix is always the same for the same seed."""

    __slots__ = ("_begun", "_counts", "_draws", "_factor", "_offset")

    def __init__(self, draws: Draws) -> None:
        """Take the sandbox's draws."""
        self._draws = draws
        self._counts: Counter[str] = Counter()
        # The hash of everything but the number: three ids are made for every deposit.
        self._begun: dict[str, blake2b] = {}
        self._offset = draws.whole("reference-offset") % _REFERENCES
        # Coprime to 2, 3 and 5, the primes of 30^8: n -> n * factor + offset then meets every reference once.
        self._factor = (draws.whole("reference-factor") % (_REFERENCES // 30)) * 30 + 7

    def go_on_from(self, earlier: Ids, *prefixes: str) -> None:
        """Go on counting these prefixes where earlier ids stopped, since some of those are still in use."""
        for prefix in prefixes:
            self._counts[prefix] = earlier._counts[prefix]

    def make(self, prefix: str) -> str:
        """Return the next id of a prefix, such as `payin_` and 24 characters."""
        self._counts[prefix] = n = self._counts[prefix] + 1
        begun = self._begun.get(prefix)
        if begun is None:
            begun = self._begun[prefix] = self._draws.begin("id", prefix)
        state = begun.copy()
        state.update(b"%d" % n)
        return f"{prefix}_{state.digest().translate(_TO_BASE62).decode()}"

    def derive(self, prefix: str, subject: str, n: int) -> str:
        """Return an id that belongs to a subject; it is not counted, so that the ids after it stay as they were."""
        return f"{prefix}_{self._draws.digest(f'derived-{prefix}', subject, n).translate(_TO_BASE62).decode()}"

    def reference(self, prefix: str) -> str:
        """Return the next readable reference of a prefix, such as `PAY-7Q4M-2KXD`; no two are equal."""
        self._counts[prefix] = n = self._counts[prefix] + 1
        rest, d = divmod((n * self._factor + self._offset) % _REFERENCES, _PAIR_COUNT)
        rest, c = divmod(rest, _PAIR_COUNT)
        a, b = divmod(rest, _PAIR_COUNT)
        return f"{prefix}-{_PAIRS[a]}{_PAIRS[b]}-{_PAIRS[c]}{_PAIRS[d]}"
