"""Scenarios that arrive over the wire: a JSON object, or the text of one YAML document."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from paydouble.config import explain
from paydouble.core.errors import UsageError
from paydouble.scenarios.model import Scenario

M = TypeVar("M", bound=BaseModel)
LARGEST_TEXT: Final = 2**20
"""Bytes of a YAML text."""
DEEPEST: Final = 50
"""Levels of a YAML text; a scenario has five, and whoever builds a tree must not run out of stack."""


def parse_scenario(data: object) -> Scenario:
    """Return the scenario of a plain mapping; `UsageError` names the member that is wrong."""
    return validated(Scenario, data)


def validated(model: type[M], data: object) -> M:
    """Return a model of plain data; `UsageError` names the member that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        place, message = explain(error)
        raise UsageError(message, member=place) from None


def parse_text(text: str) -> Scenario:
    """Return the scenario of a YAML text; `UsageError` names the member that is wrong, its line and its column."""
    import yaml  # noqa: PLC0415 - a server that creates no deposit yet starts without it

    if len(text.encode()) > LARGEST_TEXT:
        raise UsageError(f"is larger than {LARGEST_TEXT} bytes", member="yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_shape(yaml.parse(text, Loader=loader))
        node = yaml.compose(text, Loader=loader)
        data = yaml.load(text, Loader=loader)  # noqa: S506 - both are safe loaders
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark or error.context_mark)
        raise UsageError(f"{place}: {error.problem or error.context}", member="yaml") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        raise UsageError(f"is not YAML: {' '.join(str(error).split())}", member="yaml") from None
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        place, message = explain(error)
        mark = _find(node, error.errors(include_url=False, include_context=False)[0]["loc"])
        raise UsageError(f"{message} (at {_place(mark)} of the YAML text)", member=place or "yaml") from None


def _check_shape(events: Any) -> None:  # noqa: ANN401 - PyYAML has no types
    import yaml  # noqa: PLC0415 - see `parse_text`

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            # A few lines of aliases can stand for more than any memory holds.
            place = _place(event.start_mark)
            raise UsageError(f"{place}: aliases are not taken; write it out", member="yaml")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise UsageError(f"{_place(event.start_mark)}: is nested more than {DEEPEST} deep", member="yaml")


def _find(node: Any, path: tuple[int | str, ...]) -> Any:  # noqa: ANN401 - PyYAML has no types
    """Return the mark of the deepest node on a path; a member that is missing has its owner's."""
    import yaml  # noqa: PLC0415 - see `parse_text`

    for part in path:
        if isinstance(node, yaml.MappingNode):
            below = next((value for key, value in node.value if key.value == part), None)
        else:
            below = node.value[part] if isinstance(node, yaml.SequenceNode) and isinstance(part, int) else None
        if below is None:
            break
        node = below
    return None if node is None else node.start_mark


def _place(mark: Any) -> str:  # noqa: ANN401 - PyYAML has no types
    return "line 1, column 1" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
