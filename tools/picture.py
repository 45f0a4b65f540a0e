"""Draws the picture of the README: `paydouble demo` in a terminal. `python tools/picture.py` writes it.

    python tools/picture.py [--check]

With `--check` it only compares the picture with the demo's output; the duration of the run is left out of both.
"""

from __future__ import annotations

import inspect
import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "demo.svg"
WIDTH = 80
# The template would fetch its font from a third-party server; the reader's monospace font is used instead.
_TEMPLATE: str = inspect.signature(Console.export_svg).parameters["code_format"].default
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*|<!--.*?-->\s*", "", _TEMPLATE, flags=re.DOTALL).replace(
    "Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono"
)


def record() -> str:
    """Return the demo's output to a terminal, with colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    environment.pop("NO_COLOR", None)
    program = [sys.executable, "-m", "paydouble", "demo"]
    written = bytearray()
    with subprocess.Popen(program, stdout=theirs, env=environment) as process:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the process has closed its terminal
                break
            if not part:
                break
            written += part
    os.close(ours)
    if process.returncode != 0:
        raise SystemExit(f"picture: the demo ended with status {process.returncode}")
    text = written.decode().replace("\r\n", "\n")
    return re.sub(r" in [0-9.]+ s of real time", "", text)


def draw(text: str) -> str:
    """Return an SVG of terminal output."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text))
    return console.export_svg(title="paydouble demo", code_format=FORMAT, unique_id="demo")


def main() -> int:
    """Write the picture, or with `--check` compare it."""
    picture = draw(record())
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(picture, "utf-8")
        return 0
    if PICTURE.is_file() and PICTURE.read_text("utf-8") == picture:
        return 0
    print("docs/demo.svg does not show what `paydouble demo` prints; run `python tools/picture.py`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
