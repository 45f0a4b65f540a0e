"""`paydouble show`: the timeline of a run file."""

from __future__ import annotations

from pathlib import Path

import click

from paydouble.cli.replay import NO_COLOR
from paydouble.cli.terminal import Terminal, count


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the page of each payment instead: FILE, and FILE-2, FILE-3 … for further payments.",
)
@NO_COLOR
def show(path: Path, html: Path | None, no_color: bool) -> None:
    """Print what happened in a run: requests, events, webhooks, control commands, and how it ended."""
    from paydouble.runfile.files import read_run
    from paydouble.runfile.showing import Showing

    terminal = Terminal(no_color=no_color)
    run = read_run(path)
    showing = Showing(run)
    if html is None:
        header = run.header
        made = header["sandbox"]
        terminal.say(f"sandbox {made['id']}, seed {made['seed']}, recorded by paydouble {header.get('version')}")
        for line in showing.lines(terminal):
            terminal.say(line)
        if "verdict" in run.end:
            terminal.say()
            terminal.say(terminal.red(f"{terminal.bad} {run.end['verdict']}"))
        return
    for _ in showing.lines(terminal):
        pass
    pages = _pages(showing)
    for number, page in enumerate(pages, 1):
        target = html if number == 1 else html.with_name(f"{html.stem}-{number}{html.suffix}")
        _write(target, page)
        terminal.say(str(target))
    if not pages:
        terminal.say(f"The run has no payment: {count(len(run.lines), 'line')}.")


def _pages(showing: object) -> list[str]:
    from paydouble.payments.resources import PayIn
    from paydouble.runfile.showing import Showing
    from paydouble.web.addresses import Reached
    from paydouble.web.control.calls import TimelineOf
    from paydouble.web.inspector.timeline import timeline_html

    assert isinstance(showing, Showing)  # noqa: S101 - for the type checker; it is loaded when it is needed
    box = showing.sandbox
    reached = Reached("", box.checkout_base)
    return [timeline_html(TimelineOf(box, each, reached)) for each in tuple(box.ledger.newest_first(PayIn))[::-1]]


def _write(path: Path, page: str) -> None:
    from paydouble.core.errors import UsageError

    try:
        path.write_text(page, "utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
