"""Known failures: broken clauses that do not fail a build. One that is kept again has to be removed from the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, Field

from paydouble.conformance.run import CLAUSES, Result
from paydouble.core.likeness import hint
from paydouble.yamlfile import schema as schemas
from paydouble.yamlfile.explaining import FileKind
from paydouble.yamlfile.outline import Outline
from paydouble.yamlfile.places import FileModel
from paydouble.yamlfile.reading import first_of, read_file


def _clause(name: str) -> str:
    if name not in CLAUSES:
        message = f"{name!r} is not a clause{hint(name, CLAUSES)}"
        raise ValueError(message)
    return name


class ExpectedFile(FileModel):
    """Clauses that are known to be broken."""

    known: dict[Annotated[str, AfterValidator(_clause)], str] = Field(default_factory=dict)
    """The id of a clause → why it may stay broken for now."""


def _schema() -> dict[str, Any]:
    return schemas.document("Known failures", schemas.definitions_of([ExpectedFile]), "ExpectedFile")


EXPECTED: Final = FileKind("file of known failures", "'known: {W6.2: …}'", ExpectedFile, Outline(_schema))


class Expected(NamedTuple):
    """What a file of known failures says about the results of a run."""

    known: Mapping[str, str]
    """The broken clauses that are known → why."""
    surprises: tuple[str, ...]
    """The clauses that the file calls broken, and that were kept."""


def read_expected(path: Path) -> Mapping[str, str]:
    """Return the known failures of a file; `UsageError` has the first error with line and column."""
    return first_of(read_file(path, EXPECTED)).known


def compare(known: Mapping[str, str], results: Sequence[Result]) -> Expected:
    """Compare results with the known failures."""
    broken = {each.clause.id for each in results if each.verdict == "broken"}
    kept = (each.clause.id for each in results if each.verdict == "kept")
    return Expected(
        {name: why for name, why in known.items() if name in broken}, tuple(name for name in kept if name in known)
    )
