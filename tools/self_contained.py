"""One file that is the whole command: `python tools/self_contained.py dist/paydouble.pyz`.

It holds the wheel and the locked dependencies, and needs a Python of the version and platform on which it was made.
At its first start it unpacks itself below `~/.shiv`, since compiled modules cannot be imported from an archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import clean_room
from outcome import Outcome, Verdict, failed, ok, run_command
from paydouble.version import __version__


def make(environment: Path, target: Path) -> Outcome:
    """Write the file from an environment in which the wheel and its dependencies are installed."""
    (packages,) = environment.glob("lib/python*/site-packages")
    entry = ["--entry-point", "paydouble.__main__:main", "--python", "/usr/bin/env python3"]
    options = ["--compressed", "--reproducible", "--site-packages", str(packages), "--output-file", str(target)]
    return run_command([sys.executable, "-m", "shiv", *entry, *options])


def check(file: Path, folder: Path) -> Outcome:
    """Start the file where nothing else is installed: its version, and the demo with a real server."""
    for arguments in (["version"], ["demo"]):
        done = subprocess.run(
            [sys.executable, "-I", str(file.resolve()), *arguments],
            check=False,
            cwd=folder,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "SHIV_ROOT": str(folder.resolve() / "unpacked")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            return failed(f"{file.name} {arguments[0]} ended with {done.returncode}", done.stdout)
        if arguments == ["version"] and __version__ not in done.stdout:
            return failed(f"{file.name} says it is {done.stdout.strip()!r}, not {__version__}")
    return ok(f"{file.stat().st_size / 1e6:.0f} MB in one file")


def main(target: Path) -> int:
    """Build the wheel, write the file, and try it."""
    with tempfile.TemporaryDirectory(dir=".cache") as name:
        folder = Path(name)
        environment = folder / "environment"
        target.parent.mkdir(parents=True, exist_ok=True)
        steps: list[Callable[[], Outcome]] = [
            lambda: clean_room.build(folder),
            lambda: clean_room.install(clean_room.wheel_in(folder), environment),
            lambda: make(environment, target),
            lambda: check(target, folder),
        ]
        for step in steps:
            done = step()
            if done.verdict is not Verdict.OK:
                print(done.reason, done.output, sep="\n")
                return 1
    print(f"{target} is written, and plays the demo where nothing else is installed.")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
