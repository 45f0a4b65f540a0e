"""What is wrong with a file, printed like a compiler's message: place, line, a mark under it, and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from paydouble.yamlfile.places import Place

# The line ends of YAML; `str.splitlines` splits at more.
_LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# Characters of a line that are printed: a file may have a megabyte without a line end.
_WIDEST: Final = 72
# Names listed in a sentence; the reference has the others.
_MOST_NAMES: Final = 16


class Span(NamedTuple):
    """A part of a line; lines and columns count from 0, like YAML's marks."""

    line: int
    column: int
    length: int


NOWHERE: Final = Span(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about a file; a warning is about something that is valid and probably not intended.

    An error in the data has a `place`, and gets its `span` once the text is known. An error in the YAML text has a
    `span` and no `place`.
    """

    place: Place
    message: str
    """What is wrong."""
    expected: str = ""
    """What is valid there."""
    meant: str = ""
    """The nearest name or value that is valid."""
    advice: str = ""
    """How to fix it, where that is not obvious."""
    of_key: bool = False
    """Whether it is about the key at its place, and not about the value."""
    absent: str = ""
    """The key that is missing from the mapping at its place."""
    warning: bool = False
    span: Span = NOWHERE
    path: str = ""
    """The path of the file, as the caller gave it."""
    source: str = ""
    """The text of the line."""

    @property
    def member(self) -> str:
        """Return the dotted path of the member that it is about."""
        return ".".join(map(str, (*self.place, self.absent) if self.absent else self.place))

    @property
    def position(self) -> str:
        """Return `file:line:column`, which editors and terminals understand."""
        return f"{self.path}:{self.span.line + 1}:{self.span.column + 1}"

    @property
    def severity(self) -> str:
        """Return `error` or `warning`."""
        return "warning" if self.warning else "error"

    @property
    def notes(self) -> list[str]:
        """Return what helps to fix it, one sentence each."""
        notes = [f"expected {self.expected}"] if self.expected else []
        notes += [f"did you mean {self.meant!r}?"] if self.meant else []
        return notes + ([self.advice] if self.advice else [])

    @property
    def sentence(self) -> str:
        """Return message and notes on one line, without the place."""
        return "; ".join([self.message, *self.notes])


def of_text(span: Span, message: str, *, advice: str = "") -> Diagnostic:
    """Return a diagnostic about the YAML text at a span."""
    return Diagnostic((), message, advice=advice, span=span)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, split at YAML's line ends."""
    return _LINE_END.split(text)


def in_file(found: Iterable[Diagnostic], path: str, text: str, most: int) -> list[Diagnostic]:
    """Return the first `most` diagnostics in the order of the file, with its path and their lines filled in."""
    lines = lines_of(text)
    return [
        replace(each, path=path, source=lines[each.span.line] if each.span.line < len(lines) else "")
        for each in sorted(found, key=lambda each: each.span)[:most]
    ]


def render(found: Diagnostic) -> list[str]:
    """Return the lines to print for a diagnostic; the first has the position and the message."""
    lines = [f"{found.position}: {found.severity}: {found.message}"]
    if found.source.strip():
        number = str(found.span.line + 1)
        source, mark = _marked(found.source, found.span)
        lines += [f"  {number} | {source}", f"  {' ' * len(number)} | {mark}"]
    return lines + [f"    = {note}" for note in found.notes]


def _marked(source: str, span: Span) -> tuple[str, str]:
    first = max(0, span.column - _WIDEST // 2) if len(source) > _WIDEST else 0
    # Control characters would shift the mark, or reach the terminal.
    shown = "".join(each if each.isprintable() else " " if each == "\t" else "�" for each in source)[first:]
    if len(shown) > _WIDEST:
        shown = f"{shown[:_WIDEST]}…"
    column = span.column - first
    length = max(1, min(span.length, len(shown) - column))
    return shown.rstrip(), " " * column + "^" * length


def listed(names: Iterable[str]) -> str:
    """Return names joined as in a sentence: `a, b or c`."""
    every = list(names)
    if len(every) > _MOST_NAMES:
        return f"{', '.join(every[:_MOST_NAMES])} or {len(every) - _MOST_NAMES} more"
    return " or ".join([", ".join(every[:-1]), every[-1]]) if len(every) > 1 else "".join(every)
