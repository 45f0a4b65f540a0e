"""The pages of the documentation that are shipped with the package, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

FOLDERS: Final = ("tutorial", "how-to", "reference", "explanation")
"""The folders of `docs/` that are shipped."""


@cache
def shipped_pages() -> Mapping[str, Path]:
    """Return the pages by their path below `docs/`, such as `reference/faults.md`."""
    packaged = Path(__file__).parent / "docs"
    root = packaged if packaged.is_dir() else Path(__file__).parents[3] / "docs"
    found = (path for folder in FOLDERS for path in sorted((root / folder).glob("*.md")))
    return {path.relative_to(root).as_posix(): path for path in found}
