"""The control table and its OpenAPI document are put together from the modules of the nouns, and none is forgotten."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pkgutil import iter_modules

import paydouble.web.control
from paydouble.web.control.openapi import COMPONENTS, document
from paydouble.web.control.routes import NOUNS, ROUTES


def test_each_noun_is_in_the_table() -> None:
    """A module with calls of its own is reached."""
    names = [each.name for each in iter_modules(paydouble.web.control.__path__)]
    modules = [import_module(f"paydouble.web.control.{name}") for name in names]

    nouns = [module.NOUN for module in modules if hasattr(module, "NOUN")]

    assert [noun for noun in nouns if noun not in NOUNS] == []
    assert len(nouns) == len(NOUNS)


def test_each_call_of_a_sandbox_has_a_heading() -> None:
    """A call without one would be listed with those of the server."""
    paths = document()["paths"]
    tags = {call["operationId"]: call["tags"][0] for path in paths.values() for call in path.values()}

    assert [name for name, tag in tags.items() if tag == "server"] == ["health", "metrics", "unclaimed-request-list"]
    assert [row.name for row in ROUTES if row.name not in tags] == []


def test_each_schema_is_there_and_is_referred_to() -> None:
    """The answers' components are complete, and none is left over."""
    made = document()
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(made)))

    assert referred - set(made["components"]["schemas"]) == set()
    assert set(COMPONENTS) - referred == set()
