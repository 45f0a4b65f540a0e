"""What is wrong with a file, shown as a compiler shows it: the place, the line, a mark under it, and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from paydouble.scenarios.base import Place

# What YAML takes for the end of a line; `str.splitlines` knows more of them.
_LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# What a terminal shows of one line: a file may hold a megabyte without a line end.
_WIDEST: Final = 72
# Names listed in a sentence; whoever has more reads the reference.
_MOST_NAMES: Final = 16


class Span(NamedTuple):
    """A piece of a line; lines and columns count from 0, as YAML's marks do."""

    line: int
    column: int
    length: int


NOWHERE: Final = Span(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong with a file, or in a warning: that may not be meant.

    What is wrong with the data has a `place` in it, and a `span` once the text is known. What is wrong with the text,
    as YAML, has a span alone.
    """

    place: Place
    message: str
    """What is wrong."""
    expected: str = ""
    """What could stand there."""
    meant: str = ""
    """The nearest name or value that is valid."""
    advice: str = ""
    """How to fix it, where that is not plain."""
    of_key: bool = False
    """Whether it is about the key at its place rather than about the value."""
    absent: str = ""
    """The key that should stand in the mapping at its place."""
    warning: bool = False
    span: Span = NOWHERE
    path: str = ""
    """The file, as its caller calls it."""
    source: str = ""
    """The line."""

    @property
    def member(self) -> str:
        """Return the path of the member that it is about."""
        return ".".join(map(str, (*self.place, self.absent) if self.absent else self.place))

    @property
    def position(self) -> str:
        """Return file, line and column as editors and terminals take them."""
        return f"{self.path}:{self.span.line + 1}:{self.span.column + 1}"

    @property
    def severity(self) -> str:
        """Return `error` or `warning`."""
        return "warning" if self.warning else "error"

    @property
    def notes(self) -> list[str]:
        """Return what helps to fix it, a sentence each."""
        notes = [f"expected {self.expected}"] if self.expected else []
        notes += [f"did you mean {self.meant!r}?"] if self.meant else []
        return notes + ([self.advice] if self.advice else [])

    @property
    def sentence(self) -> str:
        """Return all of it on one line, without the place."""
        return "; ".join([self.message, *self.notes])


def of_text(span: Span, message: str, *, advice: str = "") -> Diagnostic:
    """Return a diagnostic about a text that has no data, or none there."""
    return Diagnostic((), message, advice=advice, span=span)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as YAML counts them."""
    return _LINE_END.split(text)


def in_file(found: Iterable[Diagnostic], path: str, text: str, most: int) -> list[Diagnostic]:
    """Return the first so many diagnostics, in the order of the file, with its name and their lines."""
    lines = lines_of(text)
    return [
        replace(each, path=path, source=lines[each.span.line] if each.span.line < len(lines) else "")
        for each in sorted(found, key=lambda each: each.span)[:most]
    ]


def render(found: Diagnostic) -> list[str]:
    """Return the lines that show a diagnostic; the first has its place and what is wrong."""
    lines = [f"{found.position}: {found.severity}: {found.message}"]
    if found.source.strip():
        number = str(found.span.line + 1)
        source, mark = _marked(found.source, found.span)
        lines += [f"  {number} | {source}", f"  {' ' * len(number)} | {mark}"]
    return lines + [f"    = {note}" for note in found.notes]


def _marked(source: str, span: Span) -> tuple[str, str]:
    first = max(0, span.column - _WIDEST // 2) if len(source) > _WIDEST else 0
    # What is no character of a terminal's line would break the mark, or do worse.
    shown = "".join(each if each.isprintable() else " " if each == "\t" else "�" for each in source)[first:]
    if len(shown) > _WIDEST:
        shown = f"{shown[:_WIDEST]}…"
    column = span.column - first
    length = max(1, min(span.length, len(shown) - column))
    return shown.rstrip(), " " * column + "^" * length


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence lists what is possible."""
    every = list(names)
    if len(every) > _MOST_NAMES:
        return f"{', '.join(every[:_MOST_NAMES])} or {len(every) - _MOST_NAMES} more"
    return " or ".join([", ".join(every[:-1]), every[-1]]) if len(every) > 1 else "".join(every)
