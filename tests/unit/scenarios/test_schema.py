"""The JSON Schema by which editors complete and underline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from paydouble.scenarios.library import shipped_folder
from paydouble.scenarios.schema import PATH, attribute_docs, build, committed, written
from paydouble.scenarios.steps import PayInStep
from paydouble.scenarios.tree import read_tree

BROKEN = Path(__file__).parents[2] / "scenarios" / "broken"
VALIDATOR = Draft202012Validator(committed())
# What only the file's text, other keys or other files show.
BEYOND = {"another-name.yaml", "duplicate-key.yaml", "anchor.yaml"}


def _data(path: Path) -> Any:  # noqa: ANN401 - whatever a file holds
    """Return what a validator can take: it knows a number by Python's own types."""
    tree, _ = read_tree(path.read_text("utf-8"))
    return tree and tree.value


def test_the_file_is_that_of_the_models() -> None:
    """Whoever changes the format writes the schema anew: `python tools/reference.py`."""
    assert PATH.read_text("utf-8") == written(build())


def test_it_is_a_schema() -> None:
    """Of the dialect that it names."""
    Draft202012Validator.check_schema(committed())

    assert committed()["$schema"] == Draft202012Validator.META_SCHEMA["$id"]


@pytest.mark.parametrize("path", sorted(shipped_folder().rglob("*.yaml")), ids=lambda path: path.stem)
def test_each_shipped_file_is_valid(path: Path) -> None:
    """An editor underlines nothing in them."""
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
    """What the models refuse by key, type or range the schema refuses as well."""
    assert not VALIDATOR.is_valid(_data(BROKEN / f"{name}.yaml"))


def test_each_key_is_explained() -> None:
    """The texts under the members in the source are what an editor shows."""
    step = committed()["$defs"]["PayInStep"]["properties"]

    assert step["after"]["description"] == "Time since the step before it."
    assert attribute_docs(PayInStep)["to"] == "The status that it takes."
    assert all("description" in member for member in committed()["properties"].values())


def test_it_is_plain_for_every_reader() -> None:
    """No titles that repeat keys, no groups that only Python's patterns have, no references into nothing."""
    text = PATH.read_text("utf-8")
    definitions = committed()["$defs"]

    assert "?P<" not in text
    assert "discriminator" not in text
    assert all(f'"#/$defs/{name}"' in text for name in definitions)
    assert {part.split('"')[0] for part in text.split("#/$defs/")[1:]} == set(definitions)
    assert committed()["$defs"]["config_RateLimit"]["properties"]["window"]["default"] == "1m"
    assert definitions["WebhookSettings"]["properties"]["schedule"]["default"][:3] == ["0s", "1m", "5m"]
