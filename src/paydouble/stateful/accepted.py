"""Findings that the merchant's owner knows and accepts.

A sentence says what went wrong and not why, so two causes can have the same one. A condition on the steps of the play
tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from paydouble.core.errors import UsageError
from paydouble.core.printable import printable


class Accepted(NamedTuple):
    """Why a finding is accepted, and in which plays."""

    because: str
    """The reason, for the summary of a run."""
    after: str = ""
    """A regular expression that is searched in the steps of the play until then, as a report numbers them under `What
    happened`, one a line. A `.` matches the end of a line too: `late.*is disputed`. Empty for all plays."""


Accepts = Mapping[str, str | Accepted]
"""A regular expression that is searched in the sentence of a finding → why it is accepted."""


class AcceptedFindings:
    """Tells which findings are accepted."""

    def __init__(self, accepts: Accepts) -> None:
        """`UsageError` when a text is no regular expression."""
        self._each: Final = [
            (pattern, _compiled(pattern), _compiled(each.after, re.DOTALL)) for pattern, each in _complete(accepts)
        ]

    def of(self, sentence: str, steps: Sequence[str]) -> str | None:
        """Return the first key of `accepts` that matches a finding after these steps; None when there is none."""
        told = "\n".join(steps)
        matches = (key for key, found, after in self._each if found.search(sentence) and after.search(told))
        return next(matches, None)


def described(accepts: Accepts) -> Iterator[tuple[str, str, str]]:
    """Yield each key of `accepts`, the same with its condition in words, and the reason."""
    for pattern, each in _complete(accepts):
        after = f" after '{printable(each.after)}'" if each.after else ""
        yield pattern, f"'{printable(pattern)}'{after}", each.because


def _complete(accepts: Accepts) -> Iterator[tuple[str, Accepted]]:
    for pattern, each in accepts.items():
        yield pattern, Accepted(each) if isinstance(each, str) else each


def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise UsageError(
            f"accepts has {pattern!r}, which is no regular expression: {error}; see the syntax of Python's re"
        ) from None
