"""The environment of the programs that tools and tests start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def prepare() -> None:
    """Set this process's environment, which the programs inherit."""
    # The tools of this virtual environment come before those of the caller's PATH.
    own, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")
    if path.split(os.pathsep)[0] != own:
        os.environ["PATH"] = f"{own}{os.pathsep}{path}"
    # Where the caller forbids bytecode, each of the many programs would compile what it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / ".cache" / "pycache")
