"""The page of the command line, made from the commands themselves; `tools/reference.py` writes it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import click

from paydouble.cli.main import COMMANDS, cli

_KINDS = {"text": "text", "integer": "whole number", "float": "number", "path": "path"}


def command_line_page() -> str:
    """Return the page."""
    sections = "\n\n".join(_section(path, command) for path, command in commands())
    rows = "\n".join(f"| [`paydouble {name}`](#paydouble-{name}) | {text} |" for name, (_, text) in COMMANDS.items())
    return f"""# Command line

`paydouble --help` and `paydouble COMMAND --help` say the same. [Errors](errors.md) lists the exit statuses and
the error messages.

| command | what it does |
|---|---|
{rows}

An option of `paydouble serve` can be given in three places; the first one that has it is used: the command line, the environment,
the file that `--config` names. That file is YAML with an option's name as the key (`port: 8080`), and besides `settings:`, a
mapping of [settings](settings.md), and `paths:`, the paths of assumed operations by name. An option that may be repeated is a list
there; in the environment blanks separate them, and folders colons. A flag is `1` or `true` in the environment.

{sections}
"""


def commands(group: click.Group = cli, above: str = "paydouble") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its full name; a group's commands follow it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None  # noqa: S101 - the group has just listed it
        yield f"{above} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}")


def _section(path: str, command: click.Command) -> str:
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    words = [path, *(["[OPTION]…"] if options else []), *map(_argument, arguments)]
    if isinstance(command, click.Group):
        words = [path, "COMMAND"]
    parts = [f"## {path}", _prose(command), f"```text\n{' '.join(words)}\n```"]
    if options:
        head = "| option | value | default | environment | meaning |\n|---|---|---|---|---|"
        parts.append("\n".join([head, *map(_row, options)]))
    return "\n\n".join(parts)


def _argument(argument: click.Argument) -> str:
    if isinstance(argument.type, click.Choice):
        return "|".join(argument.type.choices)
    return argument.make_metavar(click.Context(click.Command("any")))


def _prose(command: click.Command) -> str:
    parts = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):  # preformatted lines
            parts.append("```text\n" + textwrap.dedent(paragraph.removeprefix("\b\n")) + "\n```")
        else:
            parts.append(" ".join(paragraph.split()))
    return "\n\n".join(parts)


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    several = "; may be repeated" if option.multiple else ""
    meaning = " ".join((option.help or _untold(option)).split())
    # A computed default is part of the help text, because click does not know it.
    text, _, computed = meaning.partition("  [default: ")
    text, _, computed = meaning.partition(" [default: ") if not computed else (text, "", computed)
    default = computed.rstrip("]") or _default(option)
    variables = [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()
    variable = ", else ".join(f"`{name}`" for name in variables)
    return f"| {names} | {_kind(option)}{several} | {default} | {variable} | {text.replace('|', chr(92) + '|')} |"


def _untold(option: click.Option) -> str:
    return "Form of what is printed." if "--format" in option.opts else ""


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    if option.is_flag or option.multiple or option.default is None or "Sentinel" in type(option.default).__name__:
        return ""
    return f"`{option.default}`"


def _kind(option: click.Option) -> str:
    kind: Any = option.type
    if option.is_flag:
        return "flag"
    if isinstance(kind, click.Choice):
        return " \\| ".join(f"`{choice}`" for choice in kind.choices)
    if isinstance(kind, click.IntRange | click.FloatRange):
        name = "whole number" if isinstance(kind, click.IntRange) else "number"
        low = "" if kind.min is None else f" {'above' if kind.min_open else 'from'} {kind.min}"
        return f"{name}{low}" + ("" if kind.max is None else f" to {kind.max}")
    return option.metavar or _KINDS.get(kind.name, kind.name)
