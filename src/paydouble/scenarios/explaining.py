"""What is special to the errors of a scenario file: kinds of steps, scripted answers, and alternatives."""

from __future__ import annotations

from typing import Final

from paydouble.core.likeness import nearest
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.schema import committed
from paydouble.scenarios.steps import OTHER_KEYS, PAY_IN_KEYS
from paydouble.yamlfile.diagnostics import Diagnostic, listed
from paydouble.yamlfile.explaining import FileKind, ModelError, named
from paydouble.yamlfile.outline import Outline
from paydouble.yamlfile.places import Place

OUTLINE: Final = Outline(committed)


def _is_tag(location: Place, number: int) -> bool:
    """Return whether a part of pydantic's path is the tag of a step, which follows the step's index."""
    is_text = number > 0 and isinstance(location[number], str)
    return is_text and location[0] == "lifecycle" and isinstance(location[number - 1], int)


def _special(found: ModelError, data: object) -> Diagnostic | None:
    if found.kind == "step_kind":
        return _without_kind(found, data)
    if "answers" in found.place and found.kind in {"literal_error", "int_from_float", "int_parsing", "int_type"}:
        message, expected = f"{named(found.value)} is not an answer", "a status such as 200, or lost for no answer"
        return Diagnostic(found.place, message, expected, nearest(found.value, ["lost"]))
    if found.kind == "string_type" and isinstance(found.value, list) and found.choice:
        advice = "for one of several write {one_of: […]}"
        return Diagnostic(found.place, "expected a text, found a list", advice=advice)
    return None


def _without_kind(found: ModelError, data: object) -> Diagnostic:
    kinds = PAY_IN_KEYS if "pay-in" in found.text else OTHER_KEYS
    if not isinstance(found.value, dict):
        message = f"expected a step such as {{after: 2s, to: …}}, found {named(found.value)}"
        return Diagnostic(found.place, message)
    known = OUTLINE.keys_at(found.place, data)
    for key in found.value:
        near = nearest(key, kinds)
        if key not in known and near:
            message = f"the key {key!r} is not known here"
            return Diagnostic((*found.place, key), message, listed(kinds), near, of_key=True)
    return Diagnostic(found.place, found.text)


SCENARIO: Final = FileKind(
    "scenario", "'name: my-scenario' and 'summary: What happens.'", Scenario, OUTLINE, _special, _is_tag
)
"""Scenario files."""
