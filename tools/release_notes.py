"""Prints the section of CHANGELOG.md about a release: `python tools/release_notes.py TAG`, with a tag such as `v1.2.3`.

The exit status is 1, with one line, if the tag is not the version of the code, or the changelog has no section for it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from paydouble.version import __version__

CHANGELOG = Path("CHANGELOG.md")
FRAGMENTS = Path("changelog.d")


def notes(tag: str, changelog: str, waiting: list[str]) -> str:
    """Return the section of a tag's version; `ValueError` says what to do first."""
    if tag != f"v{__version__}":
        raise ValueError(f"the tag {tag} is not v{__version__}, the version in src/paydouble/version.py; tag that")
    gather = f"run: .venv/bin/towncrier build --version {__version__}"
    if waiting:
        raise ValueError(f"changelog.d still holds {', '.join(waiting)}; {gather}")
    found = re.search(rf"^## {re.escape(__version__)} .*\n(?s:(.+?))(?=^## |\Z)", changelog, re.MULTILINE)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md says nothing of {__version__}; {gather}")
    return found[1].strip() + "\n"


if __name__ == "__main__":
    left = sorted(path.name for path in FRAGMENTS.glob("+*.md"))
    try:
        print(notes(sys.argv[1], CHANGELOG.read_text("utf-8"), left), end="")
    except ValueError as problem:
        sys.exit(f"release notes: {problem}")
