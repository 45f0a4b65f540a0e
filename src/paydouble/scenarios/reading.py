"""Files and texts that hold a scenario: everything that is wrong with one is found at once, each at its place."""

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
# What YAML 1.2 has no place for: control characters, halves of surrogate pairs.
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Reading:
    """What became of a text: a scenario, or findings; and where it has which key."""

    path: str
    text: str = ""
    tree: Node | None = None
    scenario: Scenario | None = None
    findings: list[Diagnostic] = field(default_factory=list)
    """In the order of the text; errors alone, unless rules have been asked as well."""

    @property
    def wrong(self) -> bool:
        """Return whether anything is wrong, warnings aside."""
        return any(not each.warning for each in self.findings)

    def report(self, found: Iterable[Diagnostic]) -> None:
        """Take what is wrong with the scenario as a whole, or with it among others."""
        if self.tree is not None:
            self.add([_located(each, self.tree) for each in found])

    def add(self, found: list[Diagnostic]) -> None:
        """Take findings, and put all into the order of the text."""
        self.findings = in_file([*self.findings, *found], self.path, self.text, MOST_DIAGNOSTICS)


def read_file(path: Path) -> Reading:
    """Return what became of a file; that it cannot be read, or is no text, is a finding too."""
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
        reading.add([of_text(span, found, advice="save it as UTF-8, if it is a text")])
        return reading


def read_text(text: str, path: str = "") -> Reading:
    """Return what became of a text."""
    reading = Reading(path, text.removeprefix("\ufeff"))
    if len(reading.text.encode(errors="surrogatepass")) > LARGEST_TEXT:
        reading.text = ""
        reading.add([of_text(NOWHERE, _TOO_LARGE)])
        return reading
    unprintable = _UNPRINTABLE.search(reading.text)
    if unprintable:
        message = f"the character U+{ord(unprintable[0]):04X} cannot stand in a YAML file"
        advice = 'in double quotes it is written "\\u…"; is this a text at all?'
        reading.add([of_text(_end_of(reading.text[: unprintable.start()]), message, advice=advice)])
        return reading
    reading.tree, found = read_tree(reading.text)
    if reading.tree is not None:
        found += _validate(reading, reading.tree, found)
    reading.add(found)
    return reading


def _validate(reading: Reading, tree: Node, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Keep the scenario of a tree, if nothing is wrong with it; returns what the models find."""
    try:
        scenario = Scenario.model_validate(tree.value)
    except ValidationError as error:
        # What is refused as YAML already has no value that the models could judge.
        refused = {each.span[:2] for each in found}
        told = [_located(each, tree) for each in diagnostics_of(error, tree.value)]
        return [each for each in told if each.span[:2] not in refused]
    reading.scenario = None if found else scenario
    return []


def _end_of(text: str) -> Span:
    """Return the place of the first character behind a text."""
    lines = lines_of(text)
    return Span(len(lines) - 1, len(lines[-1]), 1)


def check_file(path: Path) -> Reading:
    """Return what became of a file, with what is wrong with its scenario as a whole, warnings included."""
    from paydouble.scenarios.rules import broken  # noqa: PLC0415 - a server trusts a file that its models take

    reading = read_file(path)
    if reading.scenario is not None:
        found = broken(reading.scenario)
        if reading.scenario.name != path.stem:
            message = f"the scenario is called {reading.scenario.name!r}, its file {path.stem!r}"
            found.append(Diagnostic(("name",), message, meant=path.stem, advice="they share their name"))
        reading.report(found)
    return reading


def _located(diagnostic: Diagnostic, tree: Node) -> Diagnostic:
    node = tree.find(diagnostic.place)
    return replace(diagnostic, span=node.key if diagnostic.of_key and node.key else node.shown)


def read_scenario(path: Path) -> Scenario:
    """Return the scenario of a file; `UsageError` says what is wrong first, and where."""
    reading = read_file(path)
    if reading.scenario is None:
        first = reading.findings[0]
        raise UsageError(first.sentence, member=first.position)
    return reading.scenario


def parse_text(text: str) -> Scenario:
    """Return the scenario of a YAML text; `UsageError` names the member that is wrong, its line and its column."""
    reading = read_text(text)
    if reading.scenario is None:
        first = reading.findings[0]
        where = f"line {first.span.line + 1}, column {first.span.column + 1}"
        message = f"{first.sentence} (at {where} of the YAML text)" if first.member else f"{where}: {first.sentence}"
        raise UsageError(message, member=first.member or "yaml")
    return reading.scenario


def parse_scenario(data: object) -> Scenario:
    """Return the scenario of a plain mapping; `UsageError` names the member that is wrong."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        first = diagnostics_of(error, data)[0]
        raise UsageError(first.sentence, member=first.member) from None


def validated(model: type[M], data: object) -> M:
    """Return a model of plain data; `UsageError` names the member that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        place, message = explain(error, model)
        raise UsageError(message, member=place) from None
