"""What a user gets: distributions built like a release, and an environment with nothing but the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from outcome import Outcome, Verdict, failed, ok, run_command, skipped

RUNTIME_LOCK = "requirements-runtime.lock"
# uv's output when a registry cannot be reached; any other error is a failure.
UNREACHABLE = ("Failed to fetch", "error sending request", "dns error", "Network connectivity")


def build(folder: Path) -> Outcome:
    """Build the sdist, and the wheel from it, in a folder, with the locked build backend."""
    done = run_command(
        ["uv", "build", "--quiet", "--no-build-isolation", "--python", sys.executable, f"--out-dir={folder}"]
    )
    if done.verdict is Verdict.FAILED or all(any(folder.glob(end)) for end in ("*.whl", "*.tar.gz")):
        return done
    return failed(f"uv build left no sdist and wheel, but {sorted(path.name for path in folder.iterdir())}")


def wheel_in(folder: Path) -> Path:
    """Return the one wheel that `build` made."""
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Outcome:
    """Create an environment in a folder with the locked dependencies and the wheel, and nothing else."""
    python = f"--python={interpreter(folder)}"
    for command in (
        ["venv", f"--python={sys.executable}", str(folder)],
        ["pip", "sync", python, "--require-hashes", RUNTIME_LOCK],
        ["pip", "install", python, "--no-deps", str(wheel)],
        ["pip", "check", python],
    ):
        if (done := run_uv(*command)).verdict is not Verdict.OK:
            return done
    return ok()


def run_uv(*command: str) -> Outcome:
    """Run uv from its cache, which is enough after `make setup`, otherwise with the network; a skip without either."""
    if run_command(["uv", "--quiet", "--offline", *command]).verdict is Verdict.OK:
        return ok()
    done = run_command(["uv", "--quiet", *command])
    if done.verdict is Verdict.FAILED and any(sign in done.output for sign in UNREACHABLE):
        return skipped(f"uv {command[0]} {command[1]} wants a package registry, which does not answer")
    return done


def interpreter(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder.resolve() / "bin" / "python"


def run_in(folder: Path, *arguments: str) -> Outcome:
    """Run the environment's `paydouble` outside the repository, without the caller's environment variables."""
    command = [str(interpreter(folder)), "-I", "-m", "paydouble", *arguments]
    done = subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        return failed(
            f"paydouble {' '.join(arguments)} ended with {done.returncode} where only the wheel is", done.stdout
        )
    return Outcome(Verdict.OK, output=done.stdout)
