"""The pictures of the README: a command takes them, and the README shows all of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import chromium

ROOT = Path(__file__).parents[2]
SHOWN = re.findall(r"docs/pictures/([a-z-]+\.png)", (ROOT / "README.md").read_text("utf-8"))


def test_the_command_takes_the_pictures_of_the_readme(tmp_path: Path) -> None:
    """Each page in both themes, none of them large."""
    environment = {**os.environ, "CHROMIUM": chromium.executable()}

    subprocess.run(
        [sys.executable, "tools/pictures.py", str(tmp_path)], cwd=ROOT, env=environment, check=True, timeout=120
    )

    taken = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(taken) == sorted(SHOWN) == sorted(path.name for path in (ROOT / "docs" / "pictures").iterdir())
    assert max(taken.values()) < 300_000
