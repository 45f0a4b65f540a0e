"""What a terminal can show: colours and the signs of a timeline, with plain words where it cannot."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

_SIGNS = "✓✗→–…"


class Terminal:
    """Standard output, as far as it can go."""

    def __init__(self, *, no_color: bool = False, stream: TextIO | None = None) -> None:
        """Use colour on a terminal unless it is refused (`no_color`, or NO_COLOR set to anything)."""
        out = sys.stdout if stream is None else stream
        self._colour = out.isatty() and not no_color and not os.environ.get("NO_COLOR")
        signs = _can_print(out, _SIGNS)
        self.good = "✓" if signs else "ok"
        self.bad = "✗" if signs else "NO"
        self.arrow = "→" if signs else "->"
        self.dash = "–" if signs else "-"
        self.dots = "…" if signs else "..."

    def say(self, text: str = "") -> None:
        """Print a line."""
        click.echo(text, color=self._colour)

    def green(self, text: str) -> str:
        """Return text that says that something is right."""
        return self._style(text, fg="green")

    def red(self, text: str) -> str:
        """Return text that says that something is wrong."""
        return self._style(text, fg="red")

    def bold(self, text: str) -> str:
        """Return text that is a heading."""
        return self._style(text, bold=True)

    def dim(self, text: str) -> str:
        """Return text that is by the way."""
        return self._style(text, dim=True)

    def _style(self, text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
        return click.style(text, fg=fg, bold=bold, dim=dim) if self._colour else text


def _can_print(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
