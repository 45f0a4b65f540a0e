"""A test that hangs fails by itself: the tests after it run, and the report is written."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HANGING = """
import asyncio
import threading

import pytest

def test_in_a_lock():
    threading.Event().wait()

async def test_in_the_event_loop():
    await asyncio.Event().wait()

def test_in_a_thread_that_is_waited_for():
    done = threading.Event()
    thread = threading.Thread(target=done.wait, daemon=True)
    thread.start()
    thread.join()

@pytest.mark.timeout(60)  # it is as quick as the machine is
def test_after_them():
    pass
"""


def test_only_the_test_that_hangs_fails(tmp_path: Path) -> None:
    """Wherever it waits in the main thread, with the settings of this repository."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    options: dict[str, Any] = pyproject["tool"]["pytest"]["ini_options"]
    kept = {name: value for name, value in options.items() if name.startswith(("timeout", "asyncio", "faulthandler"))}
    lines = [f"{name} = {value}" for name, value in {**kept, "timeout": 0.5}.items()]
    (tmp_path / "pytest.ini").write_text("\n".join(["[pytest]", *lines]), "utf-8")
    (tmp_path / "test_hanging.py").write_text(HANGING, "utf-8")

    plugins = ["-pno:randomly", "-pno:xdist", "-pno:schemathesis", "-pno:hypothesispytest", "-pno:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.stdout.rstrip().splitlines()[-1].startswith("======"), done.stdout
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("Failed: Timeout") >= 3, done.stdout
