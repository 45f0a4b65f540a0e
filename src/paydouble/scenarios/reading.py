"""Reads scenarios from files, texts and mappings; all errors of a file are found in one pass, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from paydouble.config import explain
from paydouble.core.errors import UsageError
from paydouble.core.files import read_regular
from paydouble.scenarios.diagnostics import NOWHERE, Diagnostic, Span, in_file, lines_of, of_text
from paydouble.scenarios.explaining import MOST_DIAGNOSTICS, diagnostics_of
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.tree import LARGEST_TEXT, Node, read_tree

M = TypeVar("M", bound=BaseModel)
_TOO_LARGE: Final = f"this is larger than {LARGEST_TEXT} bytes"
# Not allowed in YAML 1.2: control characters, and halves of surrogate pairs.
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Reading:
    """The result of reading a text: a scenario or diagnostics, and the tree with the places of all keys."""

    path: str
    text: str = ""
    tree: Node | None = None
    scenario: Scenario | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    """In the order of the text; warnings are among them only after `check_file`."""

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


def read_file(path: Path) -> Reading:
    """Read a file; a file that cannot be read, or is not text, gets a diagnostic too."""
    reading = Reading(str(path))
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
        return read_text(content.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        span = _end_of(content[: error.start].decode("utf-8"))
        found = f"byte {error.start + 1} of this file, 0x{content[error.start]:02x}, is not UTF-8"
        reading.add([of_text(span, found, advice="if it is a text, save it as UTF-8")])
        return reading


def read_text(text: str, path: str = "") -> Reading:
    """Read a YAML text; `path` is only used in diagnostics."""
    reading = Reading(path, text.removeprefix("\ufeff"))
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
    reading.tree, found = read_tree(reading.text)
    if reading.tree is not None:
        found += _validate(reading, reading.tree, found)
    reading.add(found)
    return reading


def _validate(reading: Reading, tree: Node, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Keep the scenario of a tree if nothing is wrong with it; return the errors that the models find."""
    try:
        scenario = Scenario.model_validate(tree.value)
    except ValidationError as error:
        # A place with a YAML error has no value that the models could check.
        refused = {each.span[:2] for each in found}
        located = [_located(each, tree) for each in diagnostics_of(error, tree.value)]
        return [each for each in located if each.span[:2] not in refused]
    reading.scenario = None if found else scenario
    return []


def _end_of(text: str) -> Span:
    """Return the span of the character after a text."""
    lines = lines_of(text)
    return Span(len(lines) - 1, len(lines[-1]), 1)


def check_file(path: Path) -> Reading:
    """Read a file and check its scenario as a whole too; the diagnostics then include warnings."""
    from paydouble.scenarios.rules import check_scenario  # noqa: PLC0415 - a server does without these checks

    reading = read_file(path)
    if reading.scenario is not None:
        found = check_scenario(reading.scenario)
        if reading.scenario.name != path.stem:
            message = f"the scenario's name is {reading.scenario.name!r}, but its file's is {path.stem!r}"
            found.append(Diagnostic(("name",), message, meant=path.stem, advice="both must have the same name"))
        reading.report(found)
    return reading


def _located(diagnostic: Diagnostic, tree: Node) -> Diagnostic:
    node = tree.find(diagnostic.place)
    return replace(diagnostic, span=node.key if diagnostic.of_key and node.key else node.shown)


def read_scenario(path: Path) -> Scenario:
    """Return the scenario of a file; `UsageError` has the first error and its position."""
    reading = read_file(path)
    if reading.scenario is None:
        first = reading.diagnostics[0]
        raise UsageError(first.sentence, member=first.position)
    return reading.scenario


def parse_text(text: str) -> Scenario:
    """Return the scenario of a YAML text; `UsageError` has the first error, its member, line and column."""
    reading = read_text(text)
    if reading.scenario is None:
        first = reading.diagnostics[0]
        where = f"line {first.span.line + 1}, column {first.span.column + 1}"
        message = f"{first.sentence} (at {where} of the YAML text)" if first.member else f"{where}: {first.sentence}"
        raise UsageError(message, member=first.member or "yaml")
    return reading.scenario


def parse_scenario(data: object) -> Scenario:
    """Return the scenario of a plain mapping; `UsageError` has the first error and its member."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        first = diagnostics_of(error, data)[0]
        raise UsageError(first.sentence, member=first.member) from None


def validated(model: type[M], data: object) -> M:
    """Return a model of plain data; `UsageError` has the first error and its member."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        place, message = explain(error, model)
        raise UsageError(message, member=place) from None
