"""What is wrong with a file, told as a good compiler does: the place, the line, a mark under it, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final, NamedTuple

from paydouble.scenarios.complaints import Complaint

# What YAML takes for the end of a line; `str.splitlines` knows more of them.
_LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# What a terminal shows of one line: a file may hold a megabyte without a line end.
_WIDEST: Final = 120
_SHORTENED: Final = 60
_LIKENESS: Final = 0.65
# Names listed in a sentence; whoever has more reads the reference.
_MOST_NAMES: Final = 16


class Span(NamedTuple):
    """A piece of a line; lines and columns count from 0, as YAML's marks do."""

    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A complaint, and where it stands in a text."""

    span: Span
    complaint: Complaint
    path: str = ""
    """The file, as its caller calls it."""
    source: str = ""
    """The line."""

    @property
    def place(self) -> str:
        """Return file, line and column as editors and terminals take them."""
        return f"{self.path}:{self.span.line + 1}:{self.span.column + 1}"

    @property
    def severity(self) -> str:
        """Return `error` or `warning`."""
        return "warning" if self.complaint.warning else "error"

    @property
    def sentence(self) -> str:
        """Return all of it on one line, without the place."""
        return self.complaint.sentence


def finding(span: Span, message: str, *, advice: str = "") -> Finding:
    """Return a finding about a text that has no data, or none there."""
    return Finding(span, Complaint((), message, advice=advice))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as YAML counts them."""
    return _LINE_END.split(text)


def in_file(findings: Iterable[Finding], path: str, text: str, most: int) -> list[Finding]:
    """Return the first so many findings, in the order of the file, with its name and their lines."""
    lines = lines_of(text)
    return [
        replace(each, path=path, source=lines[each.span.line] if each.span.line < len(lines) else "")
        for each in sorted(findings, key=lambda each: each.span)[:most]
    ]


def render(found: Finding) -> list[str]:
    """Return the lines that show a finding; the first has its place and what is wrong."""
    lines = [f"{found.place}: {found.severity}: {found.complaint.message}"]
    if found.source.strip():
        number = str(found.span.line + 1)
        source, mark = _marked(found.source, found.span)
        lines += [f"  {number} | {source}", f"  {' ' * len(number)} | {mark}"]
    return lines + [f"    = {note}" for note in found.complaint.notes]


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


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the valid name that is most like one, whatever its case, or nothing."""
    known = {each.lower(): each for each in names}
    found = get_close_matches(name[:_SHORTENED].lower(), known, 1, _LIKENESS) if isinstance(name, str) else []
    return known[found[0]] if found else ""
