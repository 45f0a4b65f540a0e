"""The run of a sandbox, as far as it has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from paydouble.api.operations import moved_paths
from paydouble.api.pipeline import Pipeline
from paydouble.core.errors import UsageError
from paydouble.runfile.commands import write
from paydouble.runfile.files import Run
from paydouble.runfile.headers import header_of
from paydouble.runfile.lines import Line, instant
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recording import Entry


class Taped(NamedTuple):
    """A recording up to some moment. Lines are only made when they are needed, since most runs are never written."""

    header: Line
    entries: Sequence[Entry]
    end: Line

    def run(self, **members: object) -> Run:
        """Return the run, with more members of its header."""
        return Run({**self.header, **members}, [write(entry) for entry in self.entries], self.end)


def taped(box: Sandbox, pipeline: Pipeline, **end: object) -> Taped:
    """Return the recording of a sandbox from its beginning, or its latest whole reset, to now.

    `pipeline` is the one that answers its requests, and `end` are more members of the run's end, such as `verdict`.
    `UsageError` when the journals have evicted records, so that the beginning is gone.
    """
    box.tick()
    if not box.recording.look():
        raise UsageError(
            f"sandbox {box.identity.id} has recorded more than its journals keep, so the beginning of its run is gone; "
            "raise the settings journal_limit and journal_bytes, or reset the sandbox before the run"
        )
    header = header_of(box, has_wall=pipeline.has_wall, paths=moved_paths(pipeline.operations))
    return Taped(header, tuple(box.recording.entries), {"at": instant(box.now), **end})


def recorded_run(box: Sandbox, pipeline: Pipeline, **end: object) -> Run:
    """Return the run of a sandbox; the arguments and errors are those of `taped`."""
    return taped(box, pipeline, **end).run()
