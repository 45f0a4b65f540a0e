"""Reads scenarios from files, texts and mappings."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from paydouble.config import explain
from paydouble.core.errors import UsageError
from paydouble.scenarios.explaining import SCENARIO
from paydouble.scenarios.model import Scenario
from paydouble.yamlfile import reading as files
from paydouble.yamlfile.diagnostics import Diagnostic
from paydouble.yamlfile.explaining import diagnostics_of
from paydouble.yamlfile.reading import Reading

M = TypeVar("M", bound=BaseModel)


def read_file(path: Path) -> Reading[Scenario]:
    """Read a file; a file that cannot be read, or is not text, gets a diagnostic too."""
    return files.read_file(path, SCENARIO)


def read_text(text: str, path: str = "") -> Reading[Scenario]:
    """Read a YAML text; `path` is only used in diagnostics."""
    return files.read_text(text, SCENARIO, path)


def check_file(path: Path) -> Reading[Scenario]:
    """Read a file and check its scenario as a whole too; the diagnostics then include warnings."""
    from paydouble.scenarios.rules import check_scenario  # noqa: PLC0415 - a server does without these checks

    reading = read_file(path)
    if reading.value is not None:
        found = check_scenario(reading.value)
        if reading.value.name != path.stem:
            message = f"the scenario's name is {reading.value.name!r}, but its file's is {path.stem!r}"
            found.append(Diagnostic(("name",), message, meant=path.stem, advice="both must have the same name"))
        reading.report(found)
    return reading


def read_scenario(path: Path) -> Scenario:
    """Return the scenario of a file; `UsageError` has the first error and its position."""
    return files.first_of(read_file(path))


def parse_text(text: str) -> Scenario:
    """Return the scenario of a YAML text; `UsageError` has the first error, its member, line and column."""
    reading = read_text(text)
    if reading.value is None:
        first = reading.diagnostics[0]
        where = f"line {first.span.line + 1}, column {first.span.column + 1}"
        message = f"{first.sentence} (at {where} of the YAML text)" if first.member else f"{where}: {first.sentence}"
        raise UsageError(message, member=first.member or "yaml")
    return reading.value


def parse_scenario(data: object) -> Scenario:
    """Return the scenario of a plain mapping; `UsageError` has the first error and its member."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        first = diagnostics_of(error, data, SCENARIO)[0]
        raise UsageError(first.sentence, member=first.member) from None


def validated(model: type[M], data: object) -> M:
    """Return a model of plain data; `UsageError` has the first error and its member."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        place, message = explain(error, model)
        raise UsageError(message, member=place) from None
