"""`paydouble replay`: play a run file again, in this process or with a living shop.

Exit statuses: 0 the same bytes, or FIXED; 1 DIVERGED, or FAILED; 2 unusable arguments or files; 3 the shop cannot be
tested.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paydouble.cli.shops import METAVAR, complete_shops, testing
from paydouble.cli.terminal import Terminal, count
from paydouble.core.exit_status import ExitStatus

if TYPE_CHECKING:
    from paydouble.runfile.files import Run
    from paydouble.runfile.replaying import Divergence

MERCHANT = click.option(
    "--merchant",
    metavar=METAVAR,
    shell_complete=complete_shops,
    help="The shop that is to go through the story: a merchant.yaml, or FILE.py:CLASS.",
)
NO_COLOR = click.option(
    "--no-color", is_flag=True, help="Print without colours; so does the environment variable NO_COLOR."
)


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@MERCHANT
@NO_COLOR
def replay(path: Path, merchant: str | None, no_color: bool) -> None:
    """Play a run file again in this process, without sockets, and compare every byte.

    With --merchant a living shop goes through the story of the file, which is of `explore` or of the state machine.
    The result is FIXED when nothing is broken any more, FAILED when the same rule is, and DIVERGED when the shop did
    something else before the story's first trouble.
    """
    from paydouble.runfile.files import read_run

    terminal = Terminal(no_color=no_color)
    run = read_run(path)
    sys.exit(_again(terminal, run) if merchant is None else _with_shop(terminal, run, merchant))


def _again(terminal: Terminal, run: Run) -> int:
    from paydouble.runfile.replaying import replay as play_again
    from paydouble.version import __version__

    found = play_again(run)
    if found is None:
        commands, results = (sum(kind in line for line in run.lines) for kind in ("do", "is"))
        said = f"{count(commands, 'command')} and {count(results, 'result')}"
        terminal.say(terminal.green(f"{terminal.good} The same bytes: {said}."))
        return ExitStatus.DONE
    terminal.say(terminal.red(f"{terminal.bad} DIVERGED at {found.place}"))
    _say_difference(terminal, found)
    made = run.header.get("version")
    if made != __version__:
        terminal.say(f"The run is from paydouble {made}, and this is {__version__}.")
    return ExitStatus.NEGATIVE


def _with_shop(terminal: Terminal, run: Run, merchant: str) -> int:
    from paydouble.stateful.run_files import story_of, tell

    story_of(run)
    with testing(terminal, merchant) as adapter:
        told = tell(run, adapter)
    style = terminal.green if told.verdict == "FIXED" else terminal.red
    sign = terminal.good if told.verdict == "FIXED" else terminal.bad
    words = {
        "FIXED": "nothing is broken any more",
        "FAILED": told.finding,
        "DIVERGED": told.finding or "the shop did something else before the story's first trouble",
    }
    terminal.say(style(f"{sign} {told.verdict}: {words[told.verdict]}."))
    if told.difference is not None:
        terminal.say(f"The first difference to the recorded run is at {told.difference.place}")
        _say_difference(terminal, told.difference)
    return ExitStatus.DONE if told.verdict == "FIXED" else ExitStatus.NEGATIVE


def _say_difference(terminal: Terminal, found: Divergence) -> None:
    terminal.say(f"    expected  {found.expected}")
    terminal.say(f"    got       {found.got}")
