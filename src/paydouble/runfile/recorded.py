"""The run of a sandbox as it is now."""

from __future__ import annotations

from collections.abc import Mapping

from paydouble.core.errors import UsageError
from paydouble.runfile.commands import write
from paydouble.runfile.files import Run
from paydouble.runfile.headers import header_of
from paydouble.runfile.lines import Line, instant
from paydouble.sandbox import Sandbox

_NO_PATHS: Mapping[str, str] = {}


def recorded_run(
    box: Sandbox, *, has_wall: bool, paths: Mapping[str, str] = _NO_PATHS, verdict: str = "", **more: object
) -> Run:
    """Return the run of a sandbox, from its beginning or its latest whole reset to now.

    `has_wall` and `paths` are as for `header_of`, `verdict` is a sentence about the run, and `more` are members of the
    header. `UsageError` when the journals have evicted records, so that the beginning is gone.
    """
    box.tick()
    if not box.recording.look():
        raise UsageError(
            f"sandbox {box.identity.id} has recorded more than its journals keep, so the beginning of its run is gone; "
            "raise the settings journal_limit and journal_bytes, or reset the sandbox before the run"
        )
    header: Line = {**header_of(box, has_wall=has_wall, paths=paths), **more}
    end: Line = {"at": instant(box.now)}
    if verdict:
        end["verdict"] = verdict
    return Run(header, [write(entry) for entry in box.recording.entries], end)
