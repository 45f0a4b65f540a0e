"""`paydouble version`."""

from __future__ import annotations

import click

from paydouble.cli.terminal import say


@click.command()
def version() -> None:
    """Print the version."""
    from paydouble.version import __version__

    say(__version__)
