"""Each effect that exists has its line in the reference, and tests of its side that arm it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from paydouble.faults.base import Effect
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS, ApiFault, ApiMatch, WebhookFault, WebhookMatch

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "faults.md"
SIDES: dict[str, tuple[str, Mapping[str, type[Effect]]]] = {
    "api": ("## On the API", API_EFFECTS),
    "webhooks": ("## On webhooks", WEBHOOK_EFFECTS),
}
EFFECTS = [(side, kind) for side, (_, effects) in SIDES.items() for kind in effects]


def _rows(heading: str) -> dict[str, str]:
    section = PAGE.read_text("utf-8").partition(f"{heading}\n")[2].partition("\n## ")[0]
    return {line.split("`")[1]: line for line in section.splitlines() if line.startswith("| `")}


def _armed(side: str) -> dict[str, set[str]]:
    """Return the effects that a side's tests spell out as `{"type": …}`, and the files in which they do."""
    found: dict[str, set[str]] = {}
    for path in (TESTS / "faults" / side).glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Dict):
                for name, value in zip(node.keys, node.values, strict=True):
                    if isinstance(name, ast.Constant) and name.value == "type" and isinstance(value, ast.Constant):
                        found.setdefault(str(value.value), set()).add(path.name)
    return found


@pytest.mark.parametrize(("side", "kind"), EFFECTS, ids="-".join)
def test_an_effect_has_its_line(side: str, kind: str) -> None:
    """The line says what is met, each attribute, and the bug that it exposes."""
    heading, effects = SIDES[side]

    row = _rows(heading)[kind]

    assert effects[kind].exposes in row
    for name, field in effects[kind].model_fields.items():
        assert name == "type" or f"`{field.alias or name}`: " in row


@pytest.mark.parametrize(("side", "kind"), EFFECTS, ids="-".join)
def test_an_effect_is_armed_by_a_test(side: str, kind: str) -> None:
    """A test of its side arms it; whether it is met, and not met unless it fires, is checked there for all."""
    assert _armed(side).get(kind), f"no test in tests/faults/{side} arms {kind}"


@pytest.mark.parametrize("model", [ApiFault, WebhookFault, ApiMatch, WebhookMatch], ids=lambda model: model.__name__)
def test_each_member_has_its_line(model: type[ApiFault]) -> None:
    """So have the members of a fault and of its match."""
    text = PAGE.read_text("utf-8")

    assert [name for name in model.model_fields if f"| `{name}` |" not in text] == []
