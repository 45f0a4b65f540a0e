"""A guide in a folder of its own, as somebody who has copied it would change and run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from children import Run

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "guides"
# What guides need of the many plugins here: the others cost each run a second.
_PLUGINS = ("xdist", "asyncio", "anyio", "aiohttp", "hypothesispytest")
_UNWANTED = ("schemathesis", "pytest_cov", "randomly", "timeout", "cacheprovider", "xdist.looponfail")
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "PYTEST_", "PAYDOUBLE_"))
}


class Guide:
    """A copy of one guide."""

    def __init__(self, folder: Path) -> None:
        """Use the copy in a folder."""
        self.folder = folder

    def change(self, file: str, old: str, new: str) -> None:
        """Put one text in another's place; it must be there exactly once."""
        path = self.folder / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{path.name} has {text.count(old)} times {old!r}"
        path.write_text(text.replace(old, new), "utf-8")

    def mend(self) -> None:
        """Put the mended shop in the broken one's place."""
        (self.folder / "shop_mended.py").replace(self.folder / "shop.py")

    def pytest(self, *arguments: str, plugins: Sequence[str] = ()) -> Run:
        """Run its tests, with every warning an error, and only the plugins that it needs beside paydouble's own."""
        off = [f"-pno:{name}" for name in _PLUGINS if name not in plugins] + [f"-pno:{name}" for name in _UNWANTED]
        done = self.run([sys.executable, "-m", "pytest", "-Werror", *off, *arguments])
        last = done.stdout.rstrip().rpartition("\n")[2]
        counts = {name.rstrip("s"): int(count) for count, name in re.findall(r"(\d+) (passed|failed|errors?)", last)}
        return Run(done.stdout + done.stderr, counts)

    def run(self, command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in its folder."""
        return subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
            env={**_ENVIRONMENT, **environment},
        )
