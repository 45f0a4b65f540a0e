"""The sandbox at the end of a run, to continue with it."""

from __future__ import annotations

from paydouble.core.instants import parse_instant
from paydouble.runfile.files import Run
from paydouble.runfile.lines import RunFileError
from paydouble.runfile.player import Player
from paydouble.sandbox import Sandbox


def restored(run: Run) -> Sandbox:
    """Return a sandbox that has gone through a run, with a clock that stands still at its end.

    What was in flight then has failed: an attempt is sent again by its schedule, and the key of a request is free.
    `RunFileError` when something in the run cannot be used.
    """
    player = Player(run.header)
    for number, line in enumerate(run.lines, 2):
        if "do" in line:
            player.apply(line, number)
    box = player.sandbox
    try:
        box.clock.jump(parse_instant(run.end.get("at")))
    except ValueError as error:
        raise RunFileError(f"line {len(run.lines) + 2}: {error}") from None
    box.tick()
    player.cut_off()
    return box
