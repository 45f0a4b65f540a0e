"""What we ship: the wheel holds what it must, and the image builds, runs, turns healthy and stops."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from outcome import Outcome, Verdict, failed, ok, run_command, skipped

IMAGE = "paydouble:proof"
# Builds and runs the image without a daemon, where the repository is checked out beside it.
PROOF = Path("../shared/tools/prove-image")


def check_wheel() -> Outcome:
    """Build the wheel with the locked build backend and look inside."""
    with tempfile.TemporaryDirectory(dir=".cache") as folder:
        build = [
            "uv",
            "build",
            "--quiet",
            "--wheel",
            "--no-build-isolation",
            "--python",
            sys.executable,
            "--out-dir",
            folder,
        ]
        if (built := run_command(build)).verdict is Verdict.FAILED:
            return built
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            held = set(wheel.namelist())
    library = {
        f"paydouble/scenarios/library/{path.relative_to('scenarios')}" for path in Path("scenarios").rglob("*.yaml")
    }
    wanted = {"paydouble/__init__.py", "paydouble/py.typed"} | library
    if missing := sorted(wanted - held):
        return failed("the wheel lacks files; see [tool.hatch.build] in pyproject.toml", "\n".join(missing))
    if not library:
        return failed("there is no scenario in scenarios/ to ship")
    return ok(f"{len(held)} files, {len(library)} scenarios")


def check_image() -> Outcome:
    """Prove the image with the tool for that, or build it with a container daemon, or say why neither is possible."""
    if PROOF.is_file():
        return run_command(["bash", str(PROOF), ".", IMAGE])
    if not shutil.which("docker"):
        return skipped("no docker here")
    if run_command(["docker", "info"]).verdict is Verdict.FAILED:
        return skipped("docker is installed, but its daemon does not answer")
    if (built := run_command(["docker", "build", "--quiet", "--tag", IMAGE, "."])).verdict is Verdict.FAILED:
        return built
    return run_command(["docker", "run", "--rm", "--read-only", "--cap-drop=ALL", IMAGE, "version"])
