"""The environment of the programs that the tools start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def prepare() -> None:
    """Set this process's environment, which the programs inherit."""
    # The tools of this virtual environment come before those of the caller's PATH.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # Where the caller forbids bytecode, each of the many programs that tests start would compile what it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / ".cache" / "pycache")
