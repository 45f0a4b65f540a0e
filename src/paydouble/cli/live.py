"""The live log of `serve`: a line for each request, event and attempt, as a timeline or as JSON.

Lines are made where things happen and written by a thread of their own: a terminal that is held, or a pipe that nobody
reads, must not stop the service. What such a reader misses, or a full disk does not take, is counted and told.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from paydouble.cli.live_lines import Lines, UnclaimedLines
from paydouble.cli.terminal import Terminal
from paydouble.cli.writing import LineWriter
from paydouble.core.printable import printable

if TYPE_CHECKING:
    from paydouble.feed import Note
    from paydouble.journal import UnclaimedEntry
    from paydouble.sandbox import Sandbox

LogFormat = Literal["text", "json"]
# Lines that wait for a slow reader; a few megabytes at most.
_MOST_WAITING: Final = 10_000
_PATIENCE_SECONDS: Final = 0.5
_UNREAD: Final = "nobody read them"


class LiveLog:
    """Follows sandboxes and writes what happens in them."""

    def __init__(
        self, stream: TextIO, log_format: LogFormat, default: str, wanted: Callable[[str], bool] | None = None
    ) -> None:
        """Write to a stream; the sandbox with the `default` id is not named on each line.

        `wanted` takes the types of the events to write about; without it everything is written.
        """
        self._json = log_format == "json"
        self._out = LineWriter(stream, self._remark) if self._json else LineWriter(stream)
        self._terminal = Terminal(stream=stream)
        self._waiting: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._missed = 0
        self._default = default
        self._wanted = wanted
        self._unclaimed = UnclaimedLines(self._terminal)
        # A daemon: a reader that never reads on does not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name="paydouble-log", daemon=True)
        self._thread.start()

    def follow(self, box: Sandbox) -> None:
        """Write what happens in a sandbox from now on."""
        feed = box.feed
        name = "" if box.identity.id == self._default else box.identity.id
        lines = JsonLines(box.identity.id, self._wanted) if self._json else Lines(self._terminal, name, self._wanted)
        shown: Callable[[str], str] = self._terminal.json if self._json else self._terminal.shown

        def newest() -> None:
            notes, _ = feed.since(feed.sequence - 1)
            for note in notes:
                self._put(map(shown, lines.of(box, note)))

        feed.listen(newest)

    def unclaimed(self, entry: UnclaimedEntry) -> None:
        """Write a request that no sandbox has claimed; it has caused no event."""
        if self._wanted is not None:
            return
        if self._json:
            self._put(map(self._terminal.json, unclaimed_json(entry)))
        else:
            self._put(map(self._terminal.shown, self._unclaimed.of(entry)))

    def say(self, line: str) -> None:
        """Write a line of another kind."""
        self._put([self._remark(line) if self._json else self._terminal.shown(printable(line))])

    def close(self) -> None:
        """Write what waits, if the reader reads, and end."""
        try:
            self._waiting.put(None, timeout=_PATIENCE_SECONDS)
        except queue.Full:
            return
        self._thread.join(_PATIENCE_SECONDS)

    def _remark(self, text: str) -> str:
        return self._terminal.json(json.dumps({"kind": "remark", "message": text}, ensure_ascii=False))

    def _put(self, lines: Iterable[str]) -> None:
        for line in lines:
            try:
                self._waiting.put_nowait(line)
            except queue.Full:
                self._missed += 1

    def _work(self) -> None:
        try:
            while (line := self._waiting.get()) is not None:
                self._out.write(line)
                if self._missed and self._waiting.empty():
                    missed, self._missed = self._missed, 0
                    self._out.lose(missed, _UNREAD)
                    self._out.tell()
            self._out.tell()
        except ValueError:
            return  # the stream has been closed


class JsonLines:
    """Turns the notes of one sandbox into JSON, an object a line: the documents of its stream, with its id."""

    def __init__(self, sandbox: str, wanted: Callable[[str], bool] | None = None) -> None:
        """Make lines of what concerns the events that `wanted` takes, or of everything."""
        self._sandbox = sandbox
        self._wanted = wanted
        self._causes: set[str] = set()
        """Requests whose events have a line, while they have none themselves."""

    def of(self, box: Sandbox, note: Note) -> Iterable[str]:  # noqa: ARG002 - as `Lines.of`
        """Return the line of a note, if it has one."""
        from paydouble.core import json_text
        from paydouble.web.control.stream import document

        if self._wanted is not None and not self._wants(note, self._wanted):
            return ()
        made: dict[str, Any] = {"sandbox": self._sandbox, "kind": note.kind, **document(note)}
        return (json_text.dumps(made).decode(),)

    def _wants(self, note: Note, wanted: Callable[[str], bool]) -> bool:
        record: Any = note.record
        if note.kind == "event":
            if not wanted(record.type):
                return False
            if record.request_id is not None:
                self._causes.add(record.request_id)
            return True
        if note.kind == "request" and record.id in self._causes:
            self._causes.remove(record.id)
            return True
        return note.kind in {"attempt", "delivery"} and wanted(record.event.type)


def unclaimed_json(entry: UnclaimedEntry) -> Iterable[str]:
    """Return the line of a request that no sandbox has claimed."""
    from paydouble.core import json_text
    from paydouble.records import show_unclaimed

    made: dict[str, Any] = {"sandbox": None, "kind": "unclaimed", **show_unclaimed(entry)}
    return (json_text.dumps(made).decode(),)
