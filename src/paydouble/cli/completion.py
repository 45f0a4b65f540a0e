"""What a shell completes: `paydouble completion` prints the script, and scenarios are completed by their names."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from paydouble.cli.terminal import say_exactly
from paydouble.core.printable import printable


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    in ~/.bashrc:
      eval "$(paydouble completion bash)"
    in ~/.zshrc:
      eval "$(paydouble completion zsh)"
    fish, once:
      paydouble completion fish > ~/.config/fish/completions/paydouble.fish
    """  # noqa: D301 - \b is the character that tells click to keep the lines
    from paydouble.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - click knows the three that may be given
    say_exactly(kind(cli, {}, "paydouble", "_PAYDOUBLE_COMPLETE").source())


def complete_scenarios(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names that begin like a word, of the shipped scenarios and of the folders that are given.

    An argument may be a path as well, so the shell adds files.
    """
    from paydouble.scenarios.library import shipped_files

    names = set(shipped_files())
    for folder in context.params.get("folders") or context.params.get("scenarios") or ():
        try:
            names |= {path.stem for path in Path(folder).rglob("*.yaml")}
        except (OSError, ValueError):
            continue
    found = [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete) and printable(name) == name]
    return [*found, CompletionItem(incomplete, type="file")] if isinstance(parameter, click.Argument) else found
