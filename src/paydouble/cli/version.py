"""`paydouble version`."""

from __future__ import annotations

import click


@click.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    click.echo(installed("paydouble"))
