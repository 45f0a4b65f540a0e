"""The JSON Schema of the format: editors complete and check with it, and misspelt keys are compared with its keys.

`scenario.schema.json` beside this file is the committed result of `build()`, so reading it builds no models.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel

from paydouble.core.durations import PATTERN, format_duration

PATH: Final = Path(__file__).with_name("scenario.schema.json")
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_DEFINED: Final = "#/$defs/"
_DURATIONS: Final = ["250ms", "2s", "5m", "1h30m", "3d"]
_DURATION: Final = rf"^\s*{PATTERN}\s*$"


@cache
def committed() -> dict[str, Any]:
    """Return the schema from the committed file."""
    schema: dict[str, Any] = orjson.loads(PATH.read_bytes())
    return schema


def build() -> dict[str, Any]:
    """Build the schema from the models and the attribute docstrings of their members."""
    from pydantic.json_schema import models_json_schema  # noqa: PLC0415 - only needed to write the file

    from paydouble.config import CatalogueSettings, Settings  # noqa: PLC0415
    from paydouble.faults.model import ApiFault, WebhookFault  # noqa: PLC0415
    from paydouble.scenarios.model import NOT_FOR_SCENARIOS, Scenario  # noqa: PLC0415

    models: tuple[type[BaseModel], ...] = (Scenario, Settings, ApiFault, WebhookFault)
    _, made = models_json_schema([(model, "validation") for model in models], ref_template=f"{_DEFINED}{{model}}")
    definitions: dict[str, Any] = {_short(name): _tidy(each) for name, each in made["$defs"].items()}
    for model in with_members(models):
        # Models of the same name have their module in front.
        name = model.__name__ if model.__name__ in definitions else _short(f"{model.__module__}.{model.__name__}")
        for member, text in attribute_docs(model).items():
            if member in model.model_fields:
                key = model.model_fields[member].alias or member
                definitions[name]["properties"][key]["description"] = " ".join(text.split())
    # These two have their own parsers, for which pydantic has no schema.
    members = definitions["Scenario"]["properties"]
    members["settings"] |= {"anyOf": [{"$ref": f"{_DEFINED}Settings"}, {"type": "null"}]}
    for name in NOT_FOR_SCENARIOS:
        del definitions["Settings"]["properties"][name]
    for model in with_members([CatalogueSettings]):
        del definitions[model.__name__]
    faults = [{"$ref": f"{_DEFINED}{name}"} for name in ("ApiFault", "WebhookFault")]
    members["faults"] |= {"type": "array", "items": {"anyOf": faults}}
    top = definitions.pop("Scenario")
    return {"$schema": DIALECT, "title": "A scenario", **top, "$defs": dict(sorted(definitions.items()))}


def with_members(models: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """Return the models and all models that their members refer to, each once."""
    found: dict[type[BaseModel], None] = {}
    waiting: list[Any] = list(models)
    while waiting:
        each = waiting.pop()
        waiting += getattr(each, "__args__", ())
        waiting += [each.__value__] if hasattr(each, "__value__") else []
        if isinstance(each, type) and issubclass(each, BaseModel) and each not in found:
            found[each] = None
            waiting += [field.annotation for field in each.model_fields.values()]
    return list(found)


def _tidy(part: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a part of pydantic's schema without what does not help a writer, and corrected for what a file holds."""
    if isinstance(part, list):
        return [_tidy(each) for each in part]
    if not isinstance(part, dict):
        return part
    made: dict[str, Any] = {}
    for name, each in part.items():
        made |= _tidy_member(name, each, part)
    if part.get("examples") == _DURATIONS:
        made["pattern"] = _DURATION
    if "type" in made.get("properties", {}) and "const" in made["properties"]["type"]:
        # The models have a default for it, but effects are told apart by their type.
        made["required"] = ["type", *made.get("required", [])]
    return made


def _tidy_member(name: str, value: Any, part: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    match name:
        case "title" | "discriminator":
            return {}
        case "properties":
            return {name: {key: _tidy(each) for key, each in value.items()}}
        case "default":
            return _default(value, part)
        case "pattern":
            # Only Python knows named groups.
            return {name: re.sub(r"\?P<\w+>", "", value)}
        case "$ref":
            return {name: f"{_DEFINED}{_short(value.removeprefix(_DEFINED))}"}
        case _:
            return {name: _tidy(value)}


def _default(value: Any, part: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    """Return a default as it is written in a file; none for null, an empty list or a mapping."""
    if value is None or isinstance(value, dict) or value == []:
        return {}
    if part.get("examples") == _DURATIONS:
        value = format_duration(value)
    elif isinstance(value, list) and part["items"].get("examples") == _DURATIONS:
        value = [format_duration(each) for each in value]
    return {"default": value}


def _short(name: str) -> str:
    """Return the name of a definition without its package: `config_RateLimit`."""
    return "_".join(name.replace("__", ".").split(".")[-2:])


def written(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2).decode() + "\n"


def attribute_docs(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring under each member of a model in the source, including the members of its bases."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            found |= _own_docs(each)
    return found


@cache
def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - getsource of a class is one
    found: dict[str, str] = {}
    for member, text in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(member, ast.AnnAssign)
            and isinstance(member.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[member.target.id] = str(text.value.value)
    return found
