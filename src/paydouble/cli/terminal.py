"""What a terminal can show: colours and the signs of a timeline, with plain words where it cannot.

Everything that commands print passes through here, line by line: values from outside (a name, a path, an answer, a
body) reach the terminal without control characters.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Final, TextIO

import click

from paydouble.core.errors import PaydoubleError
from paydouble.core.printable import printable, printable_json

WIDTH: Final = 80
"""Columns that everything is laid out for."""
_SIGNS: Final = "✓✗→–…"
# What `Terminal` itself puts around a text, and nothing else.
_STYLES: Final = re.compile("(\x1b\\[(?:0|1|2|31|32)m)")


class Unwritable(PaydoubleError):
    """Standard output takes nothing more, such as on a full disk."""


class Terminal:
    """Standard output, with colours and signs where it supports them."""

    def __init__(self, *, no_color: bool = False, stream: TextIO | None = None) -> None:
        """Use colour on a terminal unless it is refused (`no_color`, or NO_COLOR set to anything)."""
        out = sys.stdout if stream is None else stream
        self._colour = out.isatty() and not no_color and not os.environ.get("NO_COLOR")
        self._encoding = _encoding(out)
        self.width = shutil.get_terminal_size((WIDTH, 24)).columns if out.isatty() else None
        """Columns of a terminal; None for a file or a pipe, whose lines are never folded."""
        signs = _can_print(out, _SIGNS)
        self.good = "✓" if signs else "ok"
        self.bad = "✗" if signs else "NO"
        self.arrow = "→" if signs else "->"
        self.dash = "–" if signs else "-"
        self.dots = "…" if signs else "..."

    def say(self, text: str = "") -> None:
        """Print a line."""
        _echo(self.shown(text), color=self._colour)

    def begin(self, text: str) -> None:
        """Print the beginning of a line, or more of it; `say` ends it."""
        _echo(self.shown(text), color=self._colour, nl=False)

    def say_prose(self, text: str, *, first: str = "", style: Callable[[str], str] | None = None) -> None:
        """Print a text in lines of 80 columns at most, the later ones indented like the text after `first`."""
        for line in self.prose(text, first=first):
            self.say(style(line) if style is not None else line)

    def prose(self, text: str, *, first: str = "") -> list[str]:
        """Return the lines of `say_prose`, without a style."""
        indent = " " * len(first)
        return textwrap.wrap(
            printable(text), WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
        )

    def shown(self, line: str) -> str:
        """Return a line as it can be printed: no control character but those of this terminal's own styles."""
        if not self._colour:
            return _encodable(printable(line), self._encoding)
        parts = _STYLES.split(line)
        safe = "".join(part if at % 2 else printable(part) for at, part in enumerate(parts))
        return _encodable(safe, self._encoding)

    def json(self, text: str) -> str:
        """Return a JSON text as it can be printed, with the same meaning."""
        return printable_json(text, ascii_only=not self._encoding.lower().startswith("utf"))

    def fold(self, head: str, parts: Sequence[str], indent: int) -> list[str]:
        """Return parts behind a head as a line, or as several where a terminal is too narrow for one."""
        lines = [head]
        for part in parts:
            longer = f"{lines[-1]}  {part}"
            if self.width is None or len(click.unstyle(longer)) <= self.width:
                lines[-1] = longer
            else:
                lines[-1] = lines[-1].rstrip()
                lines.append(" " * indent + part)
        return lines

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
        """Return text of less importance."""
        return self._style(text, dim=True)

    def _style(self, text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
        text = printable(text)
        return click.style(text, fg=fg, bold=bold, dim=dim) if self._colour else text


def say(*lines: str, err: bool = False) -> None:
    """Print lines without colours, by default to standard output."""
    encoding = _encoding(sys.stderr if err else sys.stdout)
    for line in lines:
        _echo(_encodable(printable(line), encoding), err=err)


def say_json(text: str) -> None:
    """Print a JSON document, line ends included."""
    encoding = _encoding(sys.stdout)
    _echo(printable_json(text, ascii_only=not encoding.lower().startswith("utf")))


def say_exactly(text: str) -> None:
    """Print a text for another program, as it is."""
    _echo(text)


def count(number: int, what: str) -> str:
    """Return `1 event` or `2 events`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _echo(text: str, *, err: bool = False, color: bool | None = None, nl: bool = True) -> None:
    try:
        click.echo(text, err=err, color=color, nl=nl)
    except BrokenPipeError:
        raise  # the reader has closed the pipe, which is no failure
    except OSError as error:
        raise Unwritable(f"the output cannot be written ({(error.strerror or str(error)).lower()})") from None


def _encoding(stream: TextIO | None) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _encodable(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _can_print(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
