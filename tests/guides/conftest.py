"""Copies of the guides."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from guide_copies import GUIDES, Guide


@pytest.fixture
def guide(tmp_path: Path) -> Callable[[str], Guide]:
    """Give what copies a guide, so that it can be changed and run."""

    def copy(name: str) -> Guide:
        left_behind = shutil.ignore_patterns("node_modules", "__pycache__", ".*")
        return Guide(Path(shutil.copytree(GUIDES / name, tmp_path / name, ignore=left_behind)))

    return copy
