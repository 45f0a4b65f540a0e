"""A refusal as a line: the command that was called, what is wrong, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from paydouble.scenarios.library import UnusableFiles


class Called(NamedTuple):
    """The command that a call names."""

    path: str
    """The words that a person would type to call it again."""
    command: click.Command
    rest: Sequence[str]
    """The arguments after them."""


def find_called(root: click.Command, arguments: Sequence[str]) -> Called:
    """Return the command that a call has reached, however far it came before it was refused.

    Errors do not always have it: click leaves it out while it parses, and errors from below the command line know no
    commands.
    """
    path, command, rest = "paydouble", root, list(arguments)
    while rest and isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest[0])
        if found is None:
            break
        path, command = f"{path} {rest.pop(0)}", found
    return Called(path, command, rest)


def write_refusal(error: Exception, called: Called) -> list[str]:
    """Return one line that says why a call was refused, or one line for each of several files."""
    if isinstance(error, UnusableFiles):
        first, *others = error.problems
        return [f"{called.path}: {first}", *others]
    return [_refusal(error, called)]


def _refusal(error: Exception, called: Called) -> str:
    if not isinstance(error, click.ClickException):
        return f"{called.path}: {error}"
    message = _unknown(error, called) or " ".join(error.format_message().split())
    for words in ("integer range", "integer"):  # click's names of its types
        message = message.replace(f"is not a valid {words}", "is not a whole number")
    if not isinstance(error, click.UsageError):
        return f"{called.path}: {message}"
    stop = "" if message.endswith((".", "?")) else "."
    return f"{called.path}: {message}{stop} Try '{called.path} --help'."


def _unknown(error: click.ClickException, called: Called) -> str:
    """Return that there is no such option or command, with the nearest name; empty for any other error."""
    context = click.Context(called.command)
    commands = called.command.list_commands(context) if isinstance(called.command, click.Group) else []
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        # What others have as an option may be a command here.
        near = _nearest(name, _options(called.command)) or _nearest(name, commands)
        return f"there is no option {name!r}" + (f"; did you mean {near!r}?" if near else "")
    # Decided from the words, since click has a class for this error only since 8.4.
    word = called.rest[0] if commands and called.rest else "-"
    if isinstance(error, click.UsageError) and not word.startswith("-"):
        near = _nearest(word, commands)
        return f"there is no command {word!r}" + (f"; did you mean {near!r}?" if near else "")
    return ""


def _options(command: click.Command) -> list[str]:
    options = [each for each in command.get_params(click.Context(command)) if isinstance(each, click.Option)]
    return [name for each in options if not each.hidden for name in (*each.opts, *each.secondary_opts)]


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return the name that is most like one, without its dashes, or an empty text."""
    from difflib import get_close_matches

    known = {each.lstrip("-").lower(): each for each in names}
    found = get_close_matches(name.lstrip("-").lower(), known, 1)
    return known[found[0]] if found else ""
