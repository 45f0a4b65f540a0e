"""The scenarios that are shipped: read from YAML the first time one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from paydouble.config import explain
from paydouble.core.errors import UsageError
from paydouble.scenarios.model import Scenario


def shipped_folder() -> Path:
    """Return the folder of the shipped files: inside the wheel, or at the top of a checkout."""
    packaged = Path(__file__).parent / "library"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "scenarios"


def read_scenario(path: Path) -> Scenario:
    """Return the scenario of a file; `UsageError` says what is wrong and where."""
    import yaml  # noqa: PLC0415 - a server that creates no deposit yet starts without it

    try:
        data = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        return Scenario.model_validate(data)
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", member=str(path)) from None
    except ValidationError as error:
        place, message = explain(error)
        raise UsageError(message, member=f"{path}: {place}" if place else str(path)) from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: bytes that are not UTF-8, a date that is none
        raise UsageError(f"is not YAML: {' '.join(str(error).split())}", member=str(path)) from None


@cache
def names() -> tuple[str, ...]:
    """Return the names of the shipped scenarios without reading them: a file is called like its scenario."""
    return tuple(sorted(path.stem for path in shipped_folder().rglob("*.yaml")))


@cache
def library() -> Mapping[str, Scenario]:
    """Return the shipped scenarios by name."""
    return read_folder(shipped_folder())


def read_folder(folder: Path) -> dict[str, Scenario]:
    """Return the scenarios of a folder and those below it, by name; `UsageError` names a file that is wrong."""
    found: dict[str, Scenario] = {}
    for path in sorted(folder.rglob("*.yaml")):
        scenario = read_scenario(path)
        if scenario.name != path.stem:
            raise UsageError(
                f"is called {scenario.name!r} inside; file and scenario share their name", member=str(path)
            )
        found[scenario.name] = scenario
    return found
