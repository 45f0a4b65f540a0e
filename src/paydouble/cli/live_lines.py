"""What happens in a sandbox as lines of a timeline, on the sandbox's own clock.

A request comes before the events that it has caused, though those are made while it is still being answered. A line
with the date stands wherever a new day begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO

from paydouble.cli.terminal import Terminal
from paydouble.core.errors import UnknownThing
from paydouble.core.instants import write_instant
from paydouble.faults import words

if TYPE_CHECKING:
    from paydouble.feed import Note
    from paydouble.journal import RequestEntry
    from paydouble.payments.events import Event
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Attempt, Delivery

_PREFIX: Final = "/api/v1"


class Lines:
    """Turns notes into lines."""

    def __init__(self, stream: TextIO, default: str) -> None:
        """Write for a stream, as far as it can show colours and signs."""
        self._terminal = Terminal(stream=stream)
        self._default = default
        self._day = ""
        self._caused: list[str] = []

    def of(self, box: Sandbox, note: Note) -> Iterator[str]:
        """Yield the lines of a note, and those that have waited for it."""
        record: Any = note.record
        match note.kind:
            case "event" if record.request_id is not None:
                self._caused.append(self._event(box, record))
            case "request":
                yield from self._line(box, record.at, self._request(box, record))
                caused, self._caused = self._caused, []
                for text in caused:
                    yield from self._line(box, record.at, text)
            case "event":
                yield from self._line(box, record.created_at, self._event(box, record))
            case "attempt":
                yield from self._line(box, note.detail.due_at, self._attempt(box, record, note.detail))
            case "delivery":
                yield from self._delivery(box, record)
            case _:
                yield from self._line(box, box.now, self._terminal.dim(_control(note.kind, record)))

    def _delivery(self, box: Sandbox, delivery: Delivery) -> Iterator[str]:
        if delivery.status == "no_endpoint":
            return  # which the event's own line says
        event = delivery.event
        what = f"{event.type}{words.copy(delivery.id)}  {event.object_id} is {delivery.status}{_by(delivery.faults)}"
        text = self._terminal.dim(f"    {what}")
        if self._caused:
            self._caused.append(text)
        else:
            yield from self._line(box, box.now, text)

    def _line(self, box: Sandbox, at: int, text: str) -> Iterator[str]:
        day, _, time = write_instant(at).partition("T")
        if day != self._day:
            self._day = day
            yield self._terminal.bold(day)
        name = "" if box.identity.id == self._default else f"{box.identity.id}  "
        yield f"{self._terminal.dim(time.removesuffix('Z'))}  {name}{text}"

    def _request(self, box: Sandbox, entry: RequestEntry) -> str:
        path = entry.target.partition("?")[0].removeprefix(_PREFIX)
        verdict = "" if entry.verdict in {"new", "none"} else f" ({entry.verdict})"
        struck = self._struck(box, entry.faults, words.to_request)
        parts = [f"{entry.method} {path}", f"{self._verdict(entry.status, 'no answer')}{verdict}{struck}"]
        parts += [part for part in (entry.external_identifier, entry.object_id) if part and part not in path.split("/")]
        return f"{self._terminal.arrow} {'  '.join(parts)}"

    def _event(self, box: Sandbox, event: Event) -> str:
        where = "" if box.notification_url or _has_target(box, event) else self._terminal.dim("  (no endpoint)")
        return f"    {event.type}  {event.object_id}{where}"

    def _attempt(self, box: Sandbox, delivery: Delivery, attempt: Attempt) -> str:
        outcome = attempt.outcome
        assert outcome is not None  # noqa: S101 - it is noted when it is settled
        failure = outcome.error.kind if outcome.error is not None else ""
        result = self._verdict(outcome.status, failure, good=outcome.succeeded)
        more = f", then {delivery.status}" if delivery.status != "delivered" else ""
        if delivery.status == "waiting" and delivery.next_due_at is not None:
            more = f", again at {write_instant(delivery.next_due_at)}"
        result += self._struck(box, attempt.faults, words.to_attempt)
        what = f"{delivery.event.type}{words.copy(delivery.id)}  {result}  attempt {attempt.number} to {attempt.url}"
        return f"  {self._terminal.arrow} {what}{more}"

    def _struck(self, box: Sandbox, fault_ids: Sequence[str], say: Callable[[words.Declaration], str]) -> str:
        """Return what faults have done, each with its id, as the end of a result."""
        if not fault_ids:
            return ""
        return self._terminal.red(words.told(fault_ids, lambda fault_id: _declared(box, fault_id), say))

    def _verdict(self, status: int | None, otherwise: str, *, good: bool | None = None) -> str:
        text = otherwise if status is None else str(status)
        fine = status is not None and status < 400 if good is None else good  # noqa: PLR2004 - HTTP
        return self._terminal.green(text) if fine else self._terminal.red(text)


def _control(kind: str, record: Any) -> str:  # noqa: ANN401 - an instant or a document
    if kind == "clock":
        return "the clock was moved to here"
    if kind == "reset":
        return f"reset: {', '.join(record['scope'])}"
    effect = record.get("effect", {}).get("type", "")
    return " ".join(("fault", record.get("id", record.get("deleted")), *effect.split(), record["action"]))


def _declared(box: Sandbox, fault_id: str) -> words.Declaration | None:
    from paydouble.faults.model import document

    try:
        return document(box.faults.get(fault_id).fault)
    except UnknownThing:  # a request may still be on its way when a fault that has acted on it is taken away
        return None


def _has_target(box: Sandbox, event: Event) -> bool:
    from paydouble.sandbox.emission import root

    pay_in = root(box, event.object_id)
    return pay_in is not None and pay_in.notification_url is not None


def _by(faults: Sequence[str]) -> str:
    return f"  by {', '.join(faults)}" if faults else ""
