"""Every fault that a page shows can be armed as it stands there: as JSON, as an effect alone, or in Python."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, pages

from paydouble.core.errors import UsageError
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS, parse_fault
from paydouble.testing.handles import declare

EFFECTS = {*API_EFFECTS, *WEBHOOK_EFFECTS}
PAGES = [*pages(), ROOT / "README.md", *sorted((ROOT / "guides").rglob("README.md"))]
_EFFECT = re.compile(rf'"type": *"({"|".join(sorted(EFFECTS))})"')
_CALL = re.compile(r'faults\.add\((?=["{])')


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects that stand anywhere in a text."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := text.find("{", at)) >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        yield found
        at = end


def _inside(value: object) -> Iterator[dict[str, Any]]:
    """Yield an object and every object inside it."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _inside(each)


def _in_json(text: str) -> list[dict[str, Any]]:
    """Return the declarations of a page's JSON; an effect that stands alone is one of a fault that says no more."""
    found = []
    for top in _objects(text):
        effects = [each["effect"] for each in _inside(top) if isinstance(each.get("effect"), dict)]
        found += [each for each in _inside(top) if isinstance(each.get("effect"), dict)]
        found += [{"effect": each} for each in _inside(top) if each.get("type") in EFFECTS and each not in effects]
    return found


def _in_python(text: str) -> list[dict[str, Any]]:
    """Return the declarations of a page's calls of `faults.add`; what is no literal there is left out."""
    found = []
    for match in _CALL.finditer(text):
        call = _parsed(text[match.start() :])
        members = {}
        for keyword in call.keywords:
            if keyword.arg is not None:
                with contextlib.suppress(ValueError):  # what is no literal is a test's own
                    members[keyword.arg] = ast.literal_eval(keyword.value)
        found.append(declare(ast.literal_eval(call.args[0]), members))
    return found


def _parsed(text: str) -> ast.Call:
    """Return the call with which a text begins."""
    for end in (found.end() for found in re.finditer(r"\)", text)):
        try:
            tree = ast.parse(text[:end], mode="eval").body
        except SyntaxError:
            continue
        assert isinstance(tree, ast.Call)
        return tree
    raise AssertionError(text[:80])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_fault_on_a_page_can_be_armed(page: Path) -> None:
    """And none is overlooked: each name of an effect in JSON belongs to a fault that is read."""
    text = page.read_text("utf-8")
    in_json, in_python = _in_json(text), _in_python(text)

    for declaration in (*in_json, *in_python):
        parse_fault({"id": "f", **declaration})
    assert len(in_json) == len(_EFFECT.findall(text)), in_json
    assert len(in_python) == len(_CALL.findall(text))


def test_faults_are_shown_where_they_are_looked_for() -> None:
    """The readers above find what there is: in shell commands and tables, and in Python."""
    shown = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}

    json_pages = {name for name, text in shown.items() if _in_json(text)}
    python_pages = {name for name, text in shown.items() if _in_python(text)}
    assert json_pages >= {"README.md", "docs/how-to/test-webhooks.md", "docs/reference/failure-modes.md"}
    assert python_pages >= {"README.md", "docs/reference/python.md", "guides/from-mocks/README.md"}


@pytest.mark.parametrize("text", ['`{"type": "latency", "fixd": "1s"}`', 'faults.add("latency", fixd="1s")'])
def test_a_fault_that_cannot_be_armed_is_found(text: str) -> None:
    """On a page as on any other."""
    (declaration,) = _in_json(text) + _in_python(text)

    with pytest.raises(UsageError, match="fixd"):
        parse_fault(declaration)
