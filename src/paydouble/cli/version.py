"""`paydouble version`."""

from __future__ import annotations

import click


@click.command()
def version() -> None:
    """Print the version."""
    from paydouble.version import __version__

    click.echo(__version__)
