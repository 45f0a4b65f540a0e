"""Reads files, texts and mappings; all errors of a file are found in one pass, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from paydouble.core.errors import UsageError
from paydouble.core.files import read_regular
from paydouble.yamlfile.diagnostics import NOWHERE, Diagnostic, Span, in_file, lines_of, of_text
from paydouble.yamlfile.explaining import MOST_DIAGNOSTICS, FileKind, diagnostics_of
from paydouble.yamlfile.tree import LARGEST_TEXT, Node, read_tree

M = TypeVar("M", bound=BaseModel)
_TOO_LARGE: Final = f"this is larger than {LARGEST_TEXT} bytes"
# Not allowed in YAML 1.2: control characters, halves of surrogate pairs, and three others. A class of the rest would
# take as long to compile as a file takes to read.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


@dataclass(slots=True)
class Reading(Generic[M]):
    """The result of reading a text: its model or diagnostics, and the tree with the places of all keys."""

    kind: FileKind[M]
    path: str
    text: str = ""
    tree: Node | None = None
    value: M | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """In the order of the text."""

    @property
    def wrong(self) -> bool:
        """Return whether there is an error; warnings do not count."""
        return any(not each.warning for each in self.diagnostics)

    def report(self, found: Iterable[Diagnostic]) -> None:
        """Add diagnostics that have a place in the data, and give them their span in the text."""
        if self.tree is not None:
            self.add([_located(each, self.tree) for each in found])

    def add(self, found: list[Diagnostic]) -> None:
        """Add diagnostics, and sort all by their place in the text."""
        self.diagnostics = in_file([*self.diagnostics, *found], self.path, self.text, MOST_DIAGNOSTICS)


def read_file(path: Path, kind: FileKind[M]) -> Reading[M]:
    """Read a file; a file that cannot be read, or is not text, gets a diagnostic too."""
    reading = Reading(kind, str(path))
    try:
        content = read_regular(path, LARGEST_TEXT + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        reason = getattr(error, "strerror", None) or str(error)
        reading.add([of_text(NOWHERE, f"this cannot be read ({reason[:1].lower()}{reason[1:]})")])
        return reading
    if len(content) > LARGEST_TEXT:
        reading.add([of_text(NOWHERE, _TOO_LARGE)])
        return reading
    try:
        return read_text(content.decode("utf-8"), kind, str(path))
    except UnicodeDecodeError as error:
        span = _end_of(content[: error.start].decode("utf-8"))
        found = f"byte {error.start + 1} of this file, 0x{content[error.start]:02x}, is not UTF-8"
        reading.add([of_text(span, found, advice="if it is a text, save it as UTF-8")])
        return reading


def read_text(text: str, kind: FileKind[M], path: str = "") -> Reading[M]:
    """Read a YAML text; `path` is only used in diagnostics."""
    reading = Reading(kind, path, text.removeprefix("\ufeff"))
    if len(reading.text.encode(errors="surrogatepass")) > LARGEST_TEXT:
        reading.text = ""
        reading.add([of_text(NOWHERE, _TOO_LARGE)])
        return reading
    unprintable = _UNPRINTABLE.search(reading.text)
    if unprintable:
        message = f"the character U+{ord(unprintable[0]):04X} is not allowed in a YAML file"
        advice = 'write it as "\\u…" in double quotes; or is this not a text file?'
        reading.add([of_text(_end_of(reading.text[: unprintable.start()]), message, advice=advice)])
        return reading
    reading.tree, found = read_tree(reading.text, kind.noun, kind.beginning)
    if reading.tree is not None:
        found += _validate(reading, reading.tree, found)
    reading.add(found)
    return reading


def _validate(reading: Reading[M], tree: Node, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Keep the model of a tree if nothing is wrong with it; return the errors that the models find."""
    try:
        value = reading.kind.model.model_validate(tree.value)
    except ValidationError as error:
        # A place with a YAML error has no value that the models could check.
        refused = {each.span[:2] for each in found}
        located = [_located(each, tree) for each in diagnostics_of(error, tree.value, reading.kind)]
        return [each for each in located if each.span[:2] not in refused]
    reading.value = None if found else value
    return []


def _end_of(text: str) -> Span:
    """Return the span of the character after a text."""
    lines = lines_of(text)
    return Span(len(lines) - 1, len(lines[-1]), 1)


def _located(diagnostic: Diagnostic, tree: Node) -> Diagnostic:
    node = tree.find(diagnostic.place)
    return replace(diagnostic, span=node.key if diagnostic.of_key and node.key else node.shown)


def first_of(reading: Reading[M]) -> M:
    """Return the model of a file; `UsageError` has the first error and its position."""
    if reading.value is None:
        first = reading.diagnostics[0]
        raise UsageError(first.sentence, member=first.position)
    return reading.value
