"""The JSON Schema of a kind of file, from its models: editors complete and check with it, and errors name its keys.

The committed result is a file beside the models (`committed`), so reading it builds no models.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel

from paydouble.core.durations import PATTERN, format_duration

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_DEFINED: Final = "#/$defs/"
_DURATIONS: Final = ["250ms", "2s", "5m", "1h30m", "3d"]
_DURATION: Final = rf"^\s*{PATTERN}\s*$"


@cache
def committed(path: Path) -> dict[str, Any]:
    """Return the schema of a committed file."""
    schema: dict[str, Any] = orjson.loads(path.read_bytes())
    return schema


def definitions_of(models: Sequence[type[BaseModel]]) -> dict[str, Any]:
    """Return the schema of each model and of those inside it, with the docstrings of members as descriptions.

    The names are those of the models; models of the same name have their module in front.
    """
    from pydantic.json_schema import models_json_schema  # noqa: PLC0415 - only needed to write a file

    _, made = models_json_schema([(model, "validation") for model in models], ref_template=f"{_DEFINED}{{model}}")
    definitions: dict[str, Any] = {_short(name): _tidy(each) for name, each in made["$defs"].items()}
    for model in with_members(models):
        name = definition_name(model, definitions)
        for member, text in attribute_docs(model).items():
            if member in model.model_fields:
                key = model.model_fields[member].alias or member
                definitions[name]["properties"][key]["description"] = text
    return definitions


def definition_name(model: type[BaseModel], definitions: dict[str, Any]) -> str:
    """Return the name of a model's definition."""
    return model.__name__ if model.__name__ in definitions else _short(f"{model.__module__}.{model.__name__}")


def reference_to(name: str) -> dict[str, str]:
    """Return the reference to a definition."""
    return {"$ref": f"{_DEFINED}{name}"}


def document(title: str, definitions: dict[str, Any], top: str) -> dict[str, Any]:
    """Return the schema of a file whose outermost model has the definition `top`."""
    rest = {name: each for name, each in sorted(definitions.items()) if name != top}
    return {"$schema": DIALECT, "title": title, **definitions[top], "$defs": rest}


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
    """Return the docstring under each member of a model in the source, on one line; bases are included."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            found |= _own_docs(each)
    return found


@cache
def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    body = _classes(model.__module__)[model.__name__].body
    found: dict[str, str] = {}
    for member, text in pairwise(body):
        if (
            isinstance(member, ast.AnnAssign)
            and isinstance(member.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[member.target.id] = " ".join(str(text.value.value).split())
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Return the classes of a module in the source; `inspect.getsource` of each class would parse it for each."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {each.name: each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
