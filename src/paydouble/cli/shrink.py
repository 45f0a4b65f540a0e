"""`paydouble shrink`: a run file of a shorter story that breaks the same rule.

Exit statuses: 0 done, 2 unusable arguments or files, 3 the shop cannot be tested.
"""

from __future__ import annotations

from pathlib import Path

import click

from paydouble.cli.replay import NO_COLOR
from paydouble.cli.shops import METAVAR, complete_shops, testing
from paydouble.cli.terminal import Terminal, count


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--merchant",
    metavar=METAVAR,
    shell_complete=complete_shops,
    default="merchant.yaml",
    show_default=True,
    help="The shop that breaks the rule: a merchant.yaml, or FILE.py:CLASS.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="The file to write; by default FILE with -short in its name.",
)
@click.option("--raw", is_flag=True, help="Keep personal data.")
@NO_COLOR
def shrink(path: Path, merchant: str, output: Path | None, raw: bool, no_color: bool) -> None:
    """Find a shorter story that breaks the same rule in a living shop, and write its run file."""
    from paydouble.runfile.files import read_run, write_run
    from paydouble.runfile.redaction import redacted
    from paydouble.stateful.run_files import shrunk, story_of

    terminal = Terminal(no_color=no_color)
    run = read_run(path)
    steps = len(story_of(run).play.steps)
    with testing(terminal, merchant) as adapter:
        short = shrunk(run, adapter)
    target = output or path.with_name(f"{path.name.removesuffix('.paydouble')}-short.paydouble")
    write_run(short if raw else redacted(short), target)
    left = len(story_of(short).play.steps)
    terminal.say(terminal.green(f"{terminal.good} {count(steps, 'step')} became {left}: {target}"))
    for call in short.header["play"]["calls"]:
        terminal.say(f"    {call}")
