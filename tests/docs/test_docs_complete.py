"""Whatever a user can say to the double is written down: routes, settings, faults, keys, commands and options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from pages import DOCS, ROOT
from pydantic import BaseModel

import paydouble
from paydouble.api.operations import OPERATIONS, PREFIX, Operation
from paydouble.cli.main import cli
from paydouble.cli.options import read_mapping
from paydouble.config import Settings, load_settings
from paydouble.conformance import merchant_file
from paydouble.core.errors import STATUS
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.payments.catalogue import catalogue_of
from paydouble.payments.events import EVENT_TYPES
from paydouble.scenarios.schema import build
from paydouble.web.control.calls import ControlRoute
from paydouble.web.control.routes import ROUTES
from paydouble.yamlfile.places import FileModel

REFERENCE = DOCS / "reference"
SOURCE = ROOT / "src" / "paydouble"


def _page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def _section(text: str, heading: str) -> str:
    _, found, rest = text.partition(f"\n## {heading}\n")
    assert found, f"there is no section {heading!r}"
    return rest.partition("\n## ")[0]


def _commands(group: click.Group = cli, above: str = "paydouble") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{above} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{above} {name}")


def _settings(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        options = [field.annotation, *getattr(field.annotation, "__args__", ())]
        inner = next((each for each in options if isinstance(each, type) and issubclass(each, BaseModel)), None)
        if inner is None:
            yield prefix + name
        else:
            yield from _settings(inner, f"{prefix}{name}.")


def _spoken(*places: str, calls: str) -> set[str]:
    """Return the texts that stand as an argument in calls of a name, in some folders of the source."""
    return {
        argument.value
        for place in places
        for path in (SOURCE / place).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == calls
        for argument in node.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


COMMANDS = list(_commands())


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_every_command_and_option(path: str, command: click.Command) -> None:
    """A command has its section, with each option, the variable that sets it and what it does."""
    section = _section(_page("command-line"), path)

    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            row = next(line for line in section.splitlines() if line.startswith(f"| `{parameter.opts[0]}`"))
            assert all(f"`{name}`" in row for name in parameter.opts)
            variables = [parameter.envvar] if isinstance(parameter.envvar, str) else parameter.envvar or ()
            assert all(f"`{name}`" in row for name in variables)
            assert not row.endswith("|  |"), "the option does not say what it does"


def test_every_assumption_has_a_setting_or_a_reason() -> None:
    """Each assumption names the setting that changes it, or says that there is one answer."""
    _, _, tables = _page("settings").partition("## Every assumption")
    rows = [line.strip("|").split("|") for line in tables.splitlines() if line.startswith("| ")]
    decided = {question.strip(): otherwise.strip() for question, _, otherwise in rows if question.strip() != "question"}

    assert len(decided) > 40
    assert [question for question, otherwise in decided.items() if not otherwise] == []
    named = {name for otherwise in decided.values() for name in re.findall(r"^`([a-z_.]+)`|, `([a-z_.]+)`", otherwise)}
    known = {*_settings(), "paths"}
    assert {first or second for first, second in named} <= known | {"notification_url"}


def test_the_catalogue_of_the_page_can_be_read(tmp_path: Path) -> None:
    """The example of the settings page, as the file of --config."""
    _, _, text = _page("settings").partition("<!-- file: paydouble.yaml -->\n```yaml\n")
    (tmp_path / "paydouble.yaml").write_text(text.partition("```")[0])
    catalogue = catalogue_of(load_settings(read_mapping(tmp_path / "paydouble.yaml")).catalogue)

    counter = catalogue.by_choice["CASH", "counter"][0]
    assert (counter.countries, counter.limits["NOK"], counter.limits["USD"]) == (
        ("NO", "SE"),
        (100, 999_950),
        (1, 50_000),
    )
    assert ("PIX", None) not in catalogue.by_choice
    assert (catalogue.digits["XTS"], "BYN" in catalogue.digits) == (4, False)


@pytest.mark.parametrize("name", list(_settings()))
def test_every_setting_and_its_assumption(name: str) -> None:
    """A setting has its row, which leads to the table of assumptions in which it stands."""
    page = _page("settings")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    heading = row.rpartition("](#")[2].partition(")")[0].replace("-", " ")

    tables = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    table = next(each for each in tables if each.splitlines()[0].lower().replace("'", "") == heading)
    assert f"`{name}`" in table


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_control_call(route: ControlRoute) -> None:
    """Method and path, with the members of its body."""
    call = f"| {route.method} `{route.path}` |"
    row = next(line for line in _page("control-api").splitlines() if line.startswith(call))
    payload = route.payload

    if payload is not None and issubclass(payload, BaseModel):
        assert all(f"`{name}" in row for name in payload.model_fields)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation(operation: Operation) -> None:
    """Method and path, and whether they are documented or assumed."""
    row = f"| {operation.name} | {operation.method} `{PREFIX}{operation.path}` | {operation.path_provenance} |"

    assert row in _page("api")


def test_every_event() -> None:
    """Each type of the contract."""
    assert [kind for kind in EVENT_TYPES if f"| {kind} |" not in _page("api")] == []


def test_every_fault() -> None:
    """Each effect of each side; tests of that page look closer."""
    page = _page("faults")

    for side, effects in (("On the API", API_EFFECTS), ("On webhooks", WEBHOOK_EFFECTS)):
        assert [kind for kind in effects if f"\n| `{kind}` |" not in _section(page, side)] == []


def test_every_key_of_scenarios() -> None:
    """Each key of the schema, at whatever depth; those of faults and settings stand on their own pages."""
    schema = build()
    keys = {
        name
        for part in [schema, *schema.get("$defs", {}).values()]
        for name in (part.get("properties", {}) if isinstance(part, dict) else {})
    }
    text = _page("scenarios") + _page("faults") + _page("settings")

    assert len(keys) > 100
    assert sorted(key for key in keys if f"`{key}" not in text and f".{key}`" not in text) == []


def test_every_key_of_merchant_files() -> None:
    """A row for each key of each part of the file."""
    parts = [each for each in vars(merchant_file).values() if isinstance(each, type) and issubclass(each, FileModel)]
    keys = {field.alias or name for part in parts for name, field in part.model_fields.items()}
    page = _page("merchant-file")

    assert {"declined", "texts", "json"} <= keys
    assert sorted(key for key in keys if f"\n| `{key}` |" not in page) == []


def test_every_error_of_our_own() -> None:
    """Codes of control calls and of the API, kinds of failed attempts, and the errors that `verify` raises."""
    page = _page("errors")
    refusals = _section(page, "Refused control calls")
    kinds = _section(page, "Attempts without an answer")

    refused = {text for text in _spoken("web", calls="ControlError") if re.fullmatch(r"[a-z_]+", text)}
    assert len(refused) > 5
    assert sorted(code for code in refused if f"| `{code}` |" not in refusals) == []
    # One more comes from the business itself, in small letters.
    assert set(re.findall(r"^\| \d+ \| `(\w+)` \|", refusals, re.MULTILINE)) == {*refused, "validation_error"}
    attempts = {text for text in _spoken("runtime", calls="AttemptError") if re.fullmatch(r"[a-z_]+", text)}
    sender = (SOURCE / "runtime" / "sender.py").read_text("utf-8")
    attempts |= set(re.findall(r'^    \([\w.]+, "(\w+)", ', sender, re.MULTILINE))
    assert len(attempts) > 8
    assert sorted(kind for kind in attempts if f"| `{kind}` |" not in kinds) == []
    assert [code for code in STATUS if f"| `{code}` |" not in _section(page, "Errors of the API")] == []
    raised = [name for name in paydouble.__all__ if isinstance(getattr(paydouble, name), type)]
    signatures = [name for name in raised if issubclass(getattr(paydouble, name), paydouble.SignatureError)]
    assert len(signatures) == 5
    assert [name for name in signatures if name not in _section(page, "Signatures that do not hold")] == []


def test_every_cause_of_a_bad_signature() -> None:
    """Each slug that `signature check` can print."""
    causes = set().union(*(_spoken("webhooks", calls=name) for name in ("Mistake", "Trial", "Shape")))
    slugs = {text for text in causes if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text)}
    section = _section(_page("errors"), "Causes that `paydouble signature check` finds")

    assert len(slugs) > 35
    assert sorted(slug for slug in slugs if f"| `{slug}` |" not in section) == []


@pytest.mark.parametrize("module", ["paydouble", "paydouble.testing"])
def test_every_name_for_python(module: str) -> None:
    """Each public name of the package stands on the page of Python, or on that of errors."""
    names: list[str] = import_module(module).__all__
    text = _page("python") + _page("errors")

    assert len(names) > 6
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
