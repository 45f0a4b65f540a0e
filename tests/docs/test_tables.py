"""A row of a table is one line: what a docstring has on its next line would end the table."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_row_is_a_line(page: Path) -> None:
    """What begins as a row ends as one."""
    fenced = False
    broken = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and line.startswith("| ") and not line.rstrip().endswith("|"):
            broken.append(f"{page.relative_to(ROOT)}:{number}")

    assert broken == []
