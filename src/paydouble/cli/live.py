"""The live log of `serve`: a line for each request, event and attempt, as a timeline or as JSON.

Lines are made where things happen and written by a thread of their own: a terminal that is held, or a pipe that nobody
reads, must not stop the service. What such a reader misses is counted and told.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from paydouble.cli.live_lines import Lines

if TYPE_CHECKING:
    from paydouble.feed import Note
    from paydouble.sandbox import Sandbox

LogFormat = Literal["text", "json"]
# Lines that wait for a slow reader; a few megabytes at most.
_MOST_WAITING: Final = 10_000
_PATIENCE_SECONDS: Final = 0.5


class LiveLog:
    """Follows sandboxes and writes what happens in them."""

    def __init__(self, stream: TextIO, log_format: LogFormat, default: str) -> None:
        """Write to a stream; the sandbox with the `default` id is not named on each line."""
        self._stream = stream
        self._waiting: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._missed = 0
        self._write: Callable[[Sandbox, Note], None] = self._as_json if log_format == "json" else self._as_text
        self._lines = Lines(stream, default)
        # A daemon: a reader that never reads on does not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name="paydouble-log", daemon=True)
        self._thread.start()

    def follow(self, box: Sandbox) -> None:
        """Write what happens in a sandbox from now on."""
        feed = box.feed

        def newest() -> None:
            notes, _ = feed.since(feed.sequence - 1)
            for note in notes:
                self._write(box, note)

        feed.listen(newest)

    def say(self, line: str) -> None:
        """Write a line of another kind."""
        self._put(line)

    def close(self) -> None:
        """Write what waits, if the reader reads, and end."""
        try:
            self._waiting.put(None, timeout=_PATIENCE_SECONDS)
        except queue.Full:
            return
        self._thread.join(_PATIENCE_SECONDS)

    def _as_text(self, box: Sandbox, note: Note) -> None:
        for line in self._lines.of(box, note):
            self._put(line)

    def _as_json(self, box: Sandbox, note: Note) -> None:
        from paydouble.core import json_text
        from paydouble.web.control.stream import document

        made: dict[str, Any] = {"sandbox": box.identity.id, "kind": note.kind, **document(note)}
        self._put(json_text.dumps(made).decode())

    def _put(self, line: str) -> None:
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            self._missed += 1

    def _work(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                self._stream.write(line + "\n")
                if self._missed and self._waiting.empty():
                    missed, self._missed = self._missed, 0
                    self._stream.write(f"({missed} lines were not written: nobody read them)\n")
                if self._waiting.empty():
                    self._stream.flush()
            except (OSError, ValueError):
                return  # the reader has gone
