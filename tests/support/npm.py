"""Packages of npm for tests: installed once, at pinned versions and digests, into `.cache` of the clone."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

_CACHE = Path(__file__).parents[2] / ".cache"
_SECONDS = 150


def install(name: str, package: str, lock: str) -> Path:
    """Return the folder that has `node_modules` as a package.json and its lock want them.

    The test is skipped where there is no Node, or the packages cannot be had.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip(f"node and npm are not installed here; {name} needs them")
    folder = _CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as turn:  # parallel test processes take turns
        fcntl.flock(turn, fcntl.LOCK_EX)
        installed = folder / "installed-lock.json"  # written last, so that a broken installation is made anew
        if not installed.exists() or installed.read_text("utf-8") != lock:
            (folder / "package.json").write_text(package, "utf-8")
            (folder / "package-lock.json").write_text(lock, "utf-8")
            options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", f"--cache={folder / 'npm'}"]
            command = [npm, "ci", *options]
            try:
                subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=True)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"npm could not install what {name} needs: {error.stderr.strip()[-300:]}")
            except subprocess.TimeoutExpired:
                pytest.skip(f"npm could not install what {name} needs within {_SECONDS} s")
            installed.write_text(lock, "utf-8")
    return folder
