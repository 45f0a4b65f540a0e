"""The JSON Schema that editors complete and check with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from paydouble.scenarios.library import shipped_folder
from paydouble.scenarios.schema import PATH, build, committed
from paydouble.scenarios.steps import PayInStep
from paydouble.yamlfile.schema import attribute_docs, written
from paydouble.yamlfile.tree import read_tree

BROKEN = Path(__file__).parents[2] / "scenarios" / "broken"
VALIDATOR = Draft202012Validator(committed())
# What only the file's text, other keys or other files show.
BEYOND = {"another-name.yaml", "duplicate-key.yaml", "anchor.yaml"}


def _data(path: Path) -> Any:  # noqa: ANN401 - whatever a file holds
    """Return data with Python's own number types, which the validator knows."""
    tree, _ = read_tree(path.read_text("utf-8"), "scenario", "a name")
    return tree and tree.value


def test_the_file_is_that_of_the_models() -> None:
    """After a change of the format, `python tools/reference.py` updates the schema."""
    assert PATH.read_text("utf-8") == written(build())


def test_it_is_a_schema() -> None:
    """It is valid in the dialect that it names."""
    Draft202012Validator.check_schema(committed())

    assert committed()["$schema"] == Draft202012Validator.META_SCHEMA["$id"]


@pytest.mark.parametrize("path", sorted(shipped_folder().rglob("*.yaml")), ids=lambda path: path.stem)
def test_each_shipped_file_is_valid(path: Path) -> None:
    """Editors show no errors in them."""
    assert [error.message for error in VALIDATOR.iter_errors(_data(path))] == []


@pytest.mark.parametrize(
    "name",
    [
        "unknown-key", "misspelt-key-of-a-step", "misspelt-kind-of-step", "step-without-after", "unknown-status",
        "duration-without-unit", "unknown-unit", "unknown-event", "wrong-answers", "match-unknown", "settings-unknown",
        "settings-wrong", "settings-that-choose", "fault-unknown", "fault-misspelt", "fault-without-effect", "limits",
        "currency-in-small-letters", "amount-in-words", "repeat-too-often", "no-name", "no-summary",
    ],
)  # fmt: skip
def test_an_editor_underlines_what_is_wrong(name: str) -> None:
    """The schema refuses the keys, types and ranges that the models refuse."""
    assert not VALIDATOR.is_valid(_data(BROKEN / f"{name}.yaml"))


def test_each_key_is_explained() -> None:
    """Editors show the docstrings under the members in the source."""
    step = committed()["$defs"]["PayInStep"]["properties"]

    assert step["after"]["description"] == "Time since the previous step."
    assert attribute_docs(PayInStep)["to"] == "The new status."
    assert all("description" in member for member in committed()["properties"].values())


def test_it_is_plain_for_every_reader() -> None:
    """It has no titles that repeat keys, no Python-only patterns, and no dangling references."""
    text = PATH.read_text("utf-8")
    definitions = committed()["$defs"]

    assert "?P<" not in text
    assert "discriminator" not in text
    assert all(f'"#/$defs/{name}"' in text for name in definitions)
    assert {part.split('"')[0] for part in text.split("#/$defs/")[1:]} == set(definitions)
    assert committed()["$defs"]["config_RateLimit"]["properties"]["window"]["default"] == "1m"
    assert definitions["WebhookSettings"]["properties"]["schedule"]["default"][:3] == ["0s", "1m", "5m"]
