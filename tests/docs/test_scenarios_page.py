"""The reference of the scenario format knows every key of every model, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from paydouble.scenarios.library import shipped, shipped_files
from paydouble.scenarios.model import Scenario

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "scenarios.md").read_text("utf-8")
MODES = (DOCS / "reference" / "failure-modes.md").read_text("utf-8")


def _models() -> list[type[BaseModel]]:
    """Return the models that a scenario is made of, each once."""
    found: dict[type[BaseModel], None] = {}
    waiting: list[Any] = [Scenario]
    while waiting:
        each = waiting.pop()
        waiting += getattr(each, "__args__", ())
        if isinstance(each, type) and issubclass(each, BaseModel) and each not in found:
            found[each] = None
            waiting += [field.annotation for field in each.model_fields.values()]
    return list(found)


def _keys(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def _tables() -> list[list[list[str]]]:
    """Return the tables of keys: for each row the key, its value, its default and its meaning."""
    parts = PAGE.split("| key | value | default | meaning |\n|---|---|---|---|\n")[1:]
    return [[_cells(line) for line in part.partition("\n\n")[0].splitlines()] for part in parts]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _documented() -> list[frozenset[str]]:
    return [frozenset(row[0].strip("`") for row in table) for table in _tables()]


@pytest.mark.parametrize("model", _models(), ids=lambda model: model.__name__)
def test_each_model_has_a_table_of_its_keys(model: type[BaseModel]) -> None:
    """No key is undocumented."""
    assert _keys(model) in _documented()


def test_each_table_is_a_models() -> None:
    """No key is documented that there is not."""
    known = {_keys(model) for model in _models()}

    assert [sorted(keys) for keys in _documented() if keys not in known] == []


def test_each_key_is_explained() -> None:
    """It has a value and a meaning, and what is required says so in place of a default."""
    rows = [row for table in _tables() for row in table]

    assert [row for row in rows if len(row) != 4 or not row[1] or not row[3].endswith(".")] == []
    assert {"required", ""} <= {row[2] for row in rows}


def test_each_link_inside_the_page_leads_somewhere() -> None:
    """A heading has the anchor that is linked to."""
    headings = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9_-]", "", heading.lower().replace(" ", "-")) for heading in headings}

    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) - anchors == set()


@pytest.mark.parametrize("name", sorted(shipped_files()))
def test_each_shipped_scenario_is_listed_with_its_summary(name: str) -> None:
    """A person finds it by reading."""
    scenario = shipped(name)

    assert scenario is not None
    assert f"| `{name}` | {scenario.summary} |" in PAGE


def test_each_scenario_of_the_failure_modes_is_shipped() -> None:
    """The table of failure modes names no other."""
    told = re.findall(r"(?:the scenario|a scenario:) (`[a-z0-9`, -]+`)", MODES)
    names = {name for each in told for name in re.findall(r"`([a-z0-9-]+)`", each)}

    assert len(names) >= 25
    assert names - set(shipped_files()) == set()
