"""Suggestions for misspelt names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

LIKENESS: Final = 0.6
# Only this many characters are compared, because the comparison takes quadratic time.
_LONGEST: Final = 60
# A shorter prefix is the beginning of too many names.
_SHORTEST: Final = 4


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the most similar of some names, or an empty text; case, hyphens and underscores do not count.

    If none is similar, a name that begins with the text is returned, if it is the only one: `after_commit` for `after`.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for a misspelt name

    if not isinstance(name, str):
        return ""
    squeezed = {_squeeze(each): each for each in names}
    wanted = _squeeze(name[:_LONGEST])
    if found := get_close_matches(wanted, squeezed, 1, LIKENESS):
        return squeezed[found[0]]
    longer = [each for plain, each in squeezed.items() if len(wanted) >= _SHORTEST and plain.startswith(wanted)]
    return longer[0] if len(longer) == 1 else ""


def hint(name: object, names: Iterable[str]) -> str:
    """Return what to add to a sentence about an unknown name: `; did you mean 'times'?`, or nothing."""
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""


def _squeeze(name: str) -> str:
    return re.sub("[-_]", "", name.lower())
