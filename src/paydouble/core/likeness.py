"""The name that somebody who has misspelt one may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

LIKENESS: Final = 0.6
# A longer name is compared by its beginning; the comparison takes time in proportion to the square of the length.
_LONGEST: Final = 60
# A shorter beginning begins too much.
_SHORTEST: Final = 4


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the name that is most like another, or nothing; neither case nor hyphens and underscores count.

    One that begins with the whole of it is taken for it when there is no other: `after` is `after_commit`.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only for those who have misspelt one

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
