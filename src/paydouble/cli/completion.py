"""`paydouble completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from paydouble.cli.terminal import say_exactly


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
