"""Which scenario `trigger` is to play: one that the server knows, or a file that it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from paydouble.cli.trigger_server import Box, Document
from paydouble.core.errors import UsageError
from paydouble.core.likeness import nearest
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Case
from paydouble.scenarios.reading import parse_scenario, read_file, read_scenario

# What the server says about a scenario, beside what stands in its file.
_NOT_ITS_OWN: Final = frozenset({"source", "active"})


def find_scenario(box: Box, wanted: str) -> Scenario:
    """Return a scenario by name or path, which a deposit in the sandbox can choose by its e-mail from now on.

    `UsageError` when there is none, when its file is wrong, or when the sandbox would play another one anyway.
    """
    known: dict[str, Document] = {each["name"]: each for each in box.control("GET", "/scenarios?limit=1000")["items"]}
    path = Path(wanted)
    named = path.suffix not in {".yaml", ".yml"} and path.name == wanted
    scenario = _named(box, wanted, known) if named else read_scenario(path)
    active = next((name for name, each in known.items() if each["active"]), scenario.name)
    if active != scenario.name:
        raise UsageError(
            f"sandbox {box.id} plays {active} for every new pay-in; deactivate it first: "
            f"DELETE /_paydouble/sandboxes/{box.id}/scenarios/active"
        )
    if not named:
        box.control("POST", "/scenarios", {"yaml": read_file(path).text})
    return scenario


def find_case(scenario: Scenario, name: str | None) -> Case | None:
    """Return a case by name, or None for the scenario itself."""
    found = next((case for case in scenario.cases if case.name == name), None)
    if name is not None and found is None:
        there = ", ".join(repr(case.name) for case in scenario.cases) or "none"
        raise click.UsageError(f"--case: {scenario.name} has no case {name!r}; there are: {there}.")
    return found


def _named(box: Box, name: str, known: dict[str, Document]) -> Scenario:
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near!r}?" if near else "list them with: paydouble scenario list"
        raise UsageError(f"the server knows no scenario {name!r}; {hint}")
    told = box.control("GET", f"/scenarios/{name}")
    return parse_scenario({member: value for member, value in told.items() if member not in _NOT_ITS_OWN})
