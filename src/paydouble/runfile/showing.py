"""A run as the lines of a timeline: its commands are applied one by one, and each thing that happens becomes a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from paydouble import timeline as rows
from paydouble.core.printable import printable
from paydouble.payments.events import Event
from paydouble.records import attempt_of, event_of, request_of, summary_of
from paydouble.runfile.files import Run
from paydouble.runfile.lines import Line, dump, read_instant
from paydouble.runfile.player import Player
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recording import Answered, Entry, Settled
from paydouble.timeline import CONTROL, Renderer, Row, Screen

_OWN_ROWS: Final = frozenset({"request", "continue", "attempt", "outcome", "tick"})
_LONGEST: Final = 120


class Showing:
    """The timeline of a run."""

    def __init__(self, run: Run) -> None:
        """Show a run; `RunFileError` when its header cannot be used."""
        self._run = run
        self._player = Player(run.header)
        self._orders: dict[str, str] = {}
        self._faults = rows.faults_of(self.sandbox)

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox of the run, as it is after the lines that were yielded."""
        return self._player.sandbox

    def lines(self, screen: Screen) -> Iterator[str]:
        """Yield the lines; `RunFileError` when a command cannot be applied."""
        renderer = Renderer(screen)
        recording = self.sandbox.recording
        for number, line in enumerate(self._run.lines, 2):
            if "note" in line:
                yield screen.dim(f"  {printable(str(line['note']))}")
            if "do" not in line:
                continue
            seen = len(recording.entries)
            if line["do"] not in _OWN_ROWS:
                yield from renderer.lines(_control(line))
            self._player.apply(line, number)
            for entry in recording.entries[min(seen, len(recording.entries)) :]:
                row = self._row(entry)
                if row is not None:
                    yield from renderer.lines(row)

    def _row(self, entry: Entry) -> Row | None:
        match entry:
            case Answered(request):
                return rows.request_row(request_of(request), self._faults, (request.external_identifier,))
            case Event():
                name = rows.payment(rows.resource_of(entry.body))
                self._orders.setdefault(entry.object_id, self._orders.get(name, name))
                return rows.event_row(event_of(entry), self._orders[entry.object_id])
            case Settled(delivery, attempt):
                about = self._orders.get(delivery.event.object_id, "")
                shown = attempt_of(attempt)
                notes = tuple(filter(None, (shown.error,)))
                return rows.attempt_row(summary_of(delivery), shown, about, self._faults, notes)
            case _:
                return None


def _control(line: Line) -> Row:
    members = {name: value for name, value in line.items() if name not in {"do", "at"}}
    text = dump(members).decode() if members else ""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return Row(read_instant(line["at"]), CONTROL, line["do"], notes=(shown,) if members else ())
