"""What happens in a sandbox as lines of a timeline, on the sandbox's own clock.

A request comes before the events that it has caused, though those are made while it is still being answered. A line
with the date stands wherever a new day of the sandbox begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from paydouble.cli.phrases import answered, money, payment, resource_of, took
from paydouble.core.errors import UnknownThing
from paydouble.core.instants import write_instant
from paydouble.core.printable import printable
from paydouble.faults import labels

if TYPE_CHECKING:
    from paydouble.cli.terminal import Terminal
    from paydouble.feed import Note
    from paydouble.journal import RequestEntry, UnclaimedEntry
    from paydouble.payments.events import Event
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Attempt, Delivery

_PREFIX: Final = "/api/v1"
_INDENT: Final = 18


class Dated:
    """Lines with their times; a line with the date stands wherever another day begins."""

    def __init__(self, terminal: Terminal, heading: str = "", name: str = "") -> None:
        """Write for a terminal: `heading` behind each date, `name` behind each time."""
        self._terminal = terminal
        self._heading = f"UTC  {printable(heading)}".rstrip()
        self._name = f"{printable(name)}  " if name else ""
        self._day = ""

    def _line(self, at: int, first: str, *parts: str) -> Iterator[str]:
        out = self._terminal
        day, _, time = write_instant(at).partition("T")
        if day != self._day:
            self._day = day
            yield out.bold(f"{day} {self._heading}")
        yield from out.fold(f"{out.dim(time.removesuffix('Z'))}  {self._name}{first}", parts, _INDENT)

    def _verdict(self, status: int | None, otherwise: str, *, good: bool | None = None) -> str:
        text = otherwise if status is None else str(status)
        fine = status is not None and status < 400 if good is None else good  # noqa: PLR2004 - HTTP
        return self._terminal.green(text) if fine else self._terminal.red(text)


class UnclaimedLines(Dated):
    """Turns requests that no sandbox has claimed into lines, at the machine's time."""

    def __init__(self, terminal: Terminal) -> None:
        """Write as far as a terminal can show it."""
        super().__init__(terminal, "of this machine")

    def of(self, entry: UnclaimedEntry) -> Iterator[str]:
        """Yield the lines of a request."""
        key = entry.business_key
        whose = "no business key" if key is None else f"business key {printable(repr(key))}"
        what = f"{printable(entry.method)} {printable(entry.target.partition('?')[0].removeprefix(_PREFIX))}"
        verdict = self._verdict(entry.status, "")
        yield from self._line(entry.at, f"{self._terminal.arrow} {what}", verdict, f"no sandbox claims it ({whose})")


class Lines(Dated):
    """Turns the notes of one sandbox into lines."""

    def __init__(self, terminal: Terminal, name: str, wanted: Callable[[str], bool] | None = None) -> None:
        """Write as far as a terminal can show it, with the sandbox's `name` on each line unless that is empty.

        With `wanted`, only of events whose type it takes, and of the requests that have caused those.
        """
        super().__init__(terminal, name, name)
        self._wanted = wanted
        self._caused: dict[str, list[list[str]]] = {}

    def of(self, box: Sandbox, note: Note) -> Iterator[str]:
        """Yield the lines of a note, and those that have waited for it."""
        record: Any = note.record
        match note.kind:
            case "request":
                yield from self._request(box, record)
            case "event":
                if self._wants(record.type):
                    yield from self._behind(box, record.request_id, record.created_at, self._event(box, record))
            case "attempt":
                if self._wants(record.event.type):
                    yield from self._line(note.detail.due_at, *self._attempt(box, record, note.detail))
            case "delivery":
                # Of one without an endpoint the event's own line says so.
                if record.status != "no_endpoint" and self._wants(record.event.type):
                    yield from self._behind(box, record.event.request_id, box.now, self._delivery(box, record))
            case _:
                if note.kind == "reset":
                    self._caused.clear()
                if self._wanted is None:
                    yield from self._line(box.now, self._terminal.dim(_control(note.kind, record)))

    def _wants(self, kind: str) -> bool:
        return self._wanted is None or self._wanted(kind)

    def _behind(self, box: Sandbox, request_id: str | None, at: int, parts: list[str]) -> Iterator[str]:
        """Keep what a request has caused until that is told itself; yield what nothing has caused, or is later."""
        cause = box.publisher.cause
        if request_id is not None and cause is not None and cause.id == request_id:
            self._caused.setdefault(request_id, []).append(parts)
        else:
            yield from self._line(at, *parts)

    def _request(self, box: Sandbox, entry: RequestEntry) -> Iterator[str]:
        caused = self._caused.pop(entry.id, [])
        if self._wanted is not None and not caused:
            return
        path = printable(entry.target.partition("?")[0].removeprefix(_PREFIX))
        verdict = "" if entry.verdict in {"new", "none"} else f" ({entry.verdict})"
        struck = self._struck(box, entry.faults, labels.to_request)
        parts = [f"{self._verdict(entry.status, 'no answer')}{verdict}{struck}"]
        # The object's own id stands in the line of its event, if there is one.
        names = [entry.external_identifier, None if caused else entry.object_id]
        parts += [printable(name) for name in names if name and name not in entry.target.split("/")]
        if entry.method == "POST" and (amount := money(answered(entry.response_body))):
            parts.insert(2, amount)
        yield from self._line(entry.at, f"{self._terminal.arrow} {printable(entry.method)} {path}", *parts)
        for each in caused:
            yield from self._line(entry.at, *each)

    def _event(self, box: Sandbox, event: Event) -> list[str]:
        resource = resource_of(event.body)
        name = _order(box, event, resource)
        # The id stands where the object is made, and the amount where it is not told by its request.
        more = event.object_id if event.type.endswith(".created") and name != event.object_id else money(resource)
        parts = [f"    {event.type}", name, more]
        if not box.notification_url and not _has_target(box, event):
            parts.append(self._terminal.dim("(no endpoint)"))
        return [part for part in parts if part]

    def _delivery(self, box: Sandbox, delivery: Delivery) -> list[str]:
        event = delivery.event
        by = f" by {', '.join(delivery.faults)}" if delivery.faults else ""
        parts = (f"    {event.type}{labels.copy(delivery.id)}", _order(box, event), f"{delivery.status}{by}")
        return [self._terminal.dim(part) for part in parts]

    def _attempt(self, box: Sandbox, delivery: Delivery, attempt: Attempt) -> list[str]:
        outcome = attempt.outcome
        assert outcome is not None  # noqa: S101 - it is noted when it is settled
        failure = outcome.error.kind if outcome.error is not None else ""
        result = f"{self._verdict(outcome.status, failure, good=outcome.succeeded)} {took(outcome.latency_ms)}"
        result += self._struck(box, attempt.faults, labels.to_attempt)
        parts = [f"  {self._terminal.arrow} {delivery.event.type}{labels.copy(delivery.id)}"]
        parts += [_order(box, delivery.event), result]
        if attempt.url != box.notification_url:
            parts.append(f"to {printable(attempt.url)}")
        after = f"attempt {attempt.number}" if attempt.number > 1 else ""
        if delivery.status == "waiting" and delivery.next_due_at is not None:
            after += f"{', ' if after else ''}again {_instant(delivery.next_due_at, attempt.due_at)}"
        elif delivery.status != "delivered":
            after += f"{', then ' if after else 'then '}{delivery.status}"
        return [*parts, after] if after else parts

    def _struck(self, box: Sandbox, fault_ids: Sequence[str], say: Callable[[labels.Declaration], str]) -> str:
        """Return what faults have done, each with its id, as the end of a result."""
        if not fault_ids:
            return ""
        return self._terminal.red(labels.describe(fault_ids, lambda fault_id: _declared(box, fault_id), say))


def _instant(at: int, now: int) -> str:
    """Return when something is due, with the day if that is another one."""
    day, _, time = write_instant(at).partition("T")
    time = time.partition(".")[0]
    return f"at {time}" if write_instant(now).startswith(day) else f"on {day} at {time}"


def _order(box: Sandbox, event: Event, resource: dict[str, Any] | None = None) -> str:
    """Return the business's own name for the payment that an event is about."""
    from paydouble.sandbox.publishing import pay_in_of

    pay_in = pay_in_of(box.ledger, event.object_id)
    if pay_in is not None:
        return printable(pay_in.external_identifier)
    # A sample, or of a pay-in that is gone.
    return payment(resource_of(event.body) if resource is None else resource) or event.object_id


def _control(kind: str, record: Any) -> str:  # noqa: ANN401 - an instant or a document
    if kind == "clock":
        return "the clock was moved to here"
    if kind == "reset":
        return f"reset: {', '.join(record['scope'])}"
    effect = record.get("effect", {}).get("type", "")
    return " ".join(("fault", record.get("id", record.get("deleted")), *effect.split(), record["action"]))


def _declared(box: Sandbox, fault_id: str) -> labels.Declaration | None:
    from paydouble.faults.model import document

    try:
        return document(box.faults.get(fault_id).fault)
    except UnknownThing:  # a request may still be on its way when a fault that has acted on it is taken away
        return None


def _has_target(box: Sandbox, event: Event) -> bool:
    from paydouble.sandbox.publishing import pay_in_of

    pay_in = pay_in_of(box.ledger, event.object_id)
    return pay_in is not None and pay_in.notification_url is not None
