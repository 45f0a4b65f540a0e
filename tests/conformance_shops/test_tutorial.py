"""The tutorial on a shop in another language is played in this repository, as it stands."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from language_shops import ROOT, environment
from pages import shape

PAGE = ROOT / "docs" / "tutorial" / "any-language.md"
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def alone() -> Iterator[None]:
    """Wait until no other run of the tests on this computer uses the port of the page."""
    with (Path(tempfile.gettempdir()) / f"paydouble-tutorial-{os.getuid()}.turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


@pytest.mark.timeout(600)  # npm may install the shop's packages first, and another run may go first
@pytest.mark.usefixtures("alone")
def test_each_block_prints_what_the_page_says(tmp_path: Path) -> None:
    """Its commands are typed in a clone, one block after the other."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    own = {**environment("express"), "SHOP_DATA": str(tmp_path), "NO_COLOR": "1"}
    assert len(BLOCKS) == 3
    for block in BLOCKS:
        commands = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
        expected = "".join(f"{line}\n" for line in block.splitlines() if not line.startswith("$ "))
        done = subprocess.run(
            ["/bin/sh", "-c", "\n".join(commands)],
            cwd=ROOT,
            env=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
            check=False,
        )
        assert shape(expected).fullmatch(done.stdout), done.stdout
