"""The page of plays has the whole vocabulary."""

from __future__ import annotations

from pathlib import Path

from paydouble.stateful.coverage import VOCABULARY

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "plays.md"


def test_each_name_of_a_trouble_is_on_the_page() -> None:
    """A table that is new in the vocabulary needs a section in `tools/reference_plays.py`."""
    page = PAGE.read_text()

    assert [(table, name) for table, names in VOCABULARY.items() for name in names if f"`{name}`" not in page] == []
