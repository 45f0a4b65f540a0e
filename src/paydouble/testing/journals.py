"""What happened in a sandbox: requests, events and deliveries; and whether it is what a test expects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Generic, TypeVar, cast, overload

from paydouble.core.documents import Document, load
from paydouble.core.durations import parse_duration
from paydouble.core.errors import UsageError
from paydouble.records import Delivery, Event, Request
from paydouble.testing.calls import (
    PATIENCE_SECONDS,
    Call,
    Get,
    Handle,
    M,
    Pending,
    Steps,
    Sync,
    ask,
    ask_all,
    given,
    segment,
)
from paydouble.testing.errors import NotAsExpected

Match = Mapping[str, Any]
R = TypeVar("R")
Span = str | float | timedelta
"""A length of time: a text such as `72h`, seconds, or a `timedelta`."""
_DEFAULT_TIMEOUT: Final = "5s"


def duration(span: Span, member: str) -> str:
    """Return a length of time as the control API reads it; `UsageError` names the member."""
    if isinstance(span, timedelta):
        return f"{span // timedelta(milliseconds=1)}ms"
    if isinstance(span, int | float):
        return f"{round(span * 1000)}ms"
    try:
        parse_duration(span)
    except ValueError as error:
        raise UsageError(str(error), member=member) from None
    return span


def expect(what: str, question: Mapping[str, Any], verdict: Document) -> int:
    """Return how many were found, or raise `NotAsExpected` with what came closest."""
    __tracebackhide__ = True
    count: int = verdict["count"]
    if verdict["passed"]:
        return count
    within = f" within {question['timeout']}" if verdict.get("timed_out") else ""
    lines = [f"expected {verdict['expected']} of the {what}{_asked(question)}, found {count}{within}"]
    for miss in verdict["closest"]:
        rest = " ".join(str(value) for name, value in miss.items() if name not in {"id", "at", "differences"})
        lines.append(f"  close: {miss['id']} {rest}")
        lines += [
            f"    {each['member']}: wanted {_shown(each['wanted'])}, got {_shown(each['got'])}"
            for each in miss["differences"]
        ]
    if not verdict["closest"] and not count:
        lines.append(f"  there are no {what} at all")
    if "note" in verdict:
        lines.append(f"  {verdict['note']}")
    raise NotAsExpected("\n".join(lines))


def _asked(question: Mapping[str, Any]) -> str:
    if "sequence" in question:
        return ""
    match = question["match"]
    return " with " + ", ".join(f"{name} {_shown(value)}" for name, value in match.items()) if match else ""


def _shown(value: object) -> str:
    """Return a value as JSON, its numbers with the digits of the answer."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{_shown(name)}: {_shown(member)}" for name, member in value.items()) + "}"
        case list() | tuple():
            return f"[{', '.join(map(_shown, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


class Records(list[R]):
    """What happened of a kind, oldest first."""

    def __init__(self, records: Iterable[R], what: str) -> None:
        """Hold records; `what` names them in messages."""
        list.__init__(self, records)  # not the next class: a handle may come after it
        self._what = what

    @property
    def last(self) -> R:
        """Return the newest; `NotAsExpected` when there is none."""
        __tracebackhide__ = True
        if not self:
            raise NotAsExpected(f"there are no {self._what} at all")
        return self[-1]


class _Listed(Handle[M], Generic[M, R]):
    """What happened of a kind. A handle whose calls block is like a list of it, read again each time."""

    _what: str
    _kind: type[R]

    def _read(self, query: Mapping[str, str | None] | None = None) -> Steps[Records[R]]:
        items = yield from ask_all(self._path, query)
        return Records((load(self._kind, each) for each in items), self._what)

    @Get
    def last(self) -> Steps[R]:
        """The newest; `NotAsExpected` when there is none."""
        __tracebackhide__ = True
        return (yield from self._read()).last

    def __len__(self: _Listed[Sync, R]) -> int:
        """Count all that are kept."""
        return len(self._now())

    def __iter__(self: _Listed[Sync, R]) -> Iterator[R]:
        """Iterate over all that are kept, oldest first."""
        return iter(self._now())

    @overload
    def __getitem__(self: _Listed[Sync, R], place: int) -> R: ...
    @overload
    def __getitem__(self: _Listed[Sync, R], place: slice) -> list[R]: ...
    def __getitem__(self: _Listed[Sync, R], place: int | slice) -> R | list[R]:
        """Return one by its place, oldest first, or some."""
        found = self._now()
        try:
            return found[place]
        except IndexError:
            raise IndexError(f"there is no {self._what}[{place}]: there are {len(found)} {self._what}") from None

    def _now(self: _Listed[Sync, R]) -> list[R]:
        __tracebackhide__ = True
        found = self._executor.run(self._read())
        if isinstance(found, Pending):
            found.close()
            here = f"….{self._what}"
            raise TypeError(f"this handle's calls are awaited: write `await {here}.last` or `await {here}.list()`")
        return cast("list[R]", found)


class _Journal(_Listed[M, R]):
    """A journal that can be asked."""

    def _question(
        self, members: Mapping[str, Any], sequence: Sequence[Match] | None, match: Mapping[str, Any]
    ) -> dict[str, Any]:
        question = {name: value for name, value in members.items() if value is not None}
        if sequence is None:
            return {**question, "match": dict(match)}
        if match:
            raise UsageError("a sequence takes no other match; put the match into its members", member="sequence")
        return {**question, "sequence": [dict(each) for each in sequence]}

    @Call
    def verify(
        self,
        /,
        *,
        count: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        sequence: Sequence[Match] | None = None,
        **match: Any,  # noqa: ANN401 - the members of a match, whose values are JSON
    ) -> Steps[int]:
        """Return how many match, or raise `NotAsExpected`; by default at least one is expected.

        What matches is given by the members of a match (`operation=…`, `status=…`), or by a `sequence` of matches that
        must be met in this order.
        """
        __tracebackhide__ = True
        members = {"count": count, "at_least": at_least, "at_most": at_most}
        question = self._question(members, sequence, match)
        verdict = yield from ask("POST", f"{self._path}/verify", question)
        return expect(self._what, question, verdict)

    @Call
    def wait(
        self,
        /,
        *,
        count: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        timeout: Span = _DEFAULT_TIMEOUT,
        sequence: Sequence[Match] | None = None,
        **match: Any,  # noqa: ANN401 - see `verify`
    ) -> Steps[int]:
        """Like `verify`, as soon as it holds; `NotAsExpected` after `timeout` of real time (seconds, or `2s`)."""
        __tracebackhide__ = True
        span = duration(timeout, "timeout")
        members = {"count": count, "at_least": at_least, "at_most": at_most, "timeout": span}
        question = self._question(members, sequence, match)
        patience = PATIENCE_SECONDS + parse_duration(span) / 1000
        verdict = yield from ask("POST", f"{self._path}/wait", question, patience=patience)
        return expect(self._what, question, verdict)


class Requests(_Journal[M, Request]):
    """The requests of the API.

    A match takes `operation`, `method`, `path`, `status`, `external_identifier`, `object_id`, `idempotency_key`,
    `verdict`, `headers` and `body`.
    """

    _what = "requests"
    _kind = Request

    @Call
    def list(self) -> Steps[list[Request]]:
        """Return all that are kept, oldest first."""
        return (yield from self._read())

    @Call
    def clear(self) -> Steps[int]:
        """Remove them; returns how many there were."""
        answer = yield from ask("DELETE", self._path)
        removed: int = answer["removed"]
        return removed


class Deliveries(_Journal[M, Delivery]):
    """The deliveries of events.

    A match takes `type` (or `event_type`), `object_id`, `external_identifier`, `status` and `attempt_count`.
    """

    _what = "deliveries"
    _kind = Delivery

    @Call
    def list(
        self,
        *,
        type: str | None = None,  # noqa: A002 - as the control API calls it
        object_id: str | None = None,
        external_identifier: str | None = None,
        status: str | None = None,
    ) -> Steps[list[Delivery]]:
        """Return those that match, oldest first."""
        query = {
            "event_type": type,
            "object_id": object_id,
            "external_identifier": external_identifier,
            "status": status,
        }
        return (yield from self._read(query))

    @Call
    def get(self, delivery_id: str) -> Steps[Delivery]:
        """Return one, with every attempt."""
        return load(Delivery, (yield from ask("GET", f"{self._path}/{segment(delivery_id)}")))

    @Call
    def redeliver(self, delivery_id: str) -> Steps[Delivery]:
        """Send one once more, now, whatever its status is."""
        return load(Delivery, (yield from ask("POST", f"{self._path}/{segment(delivery_id)}/redeliver")))

    @Call
    def redeliver_failed(self, since: datetime | str | None = None) -> Steps[tuple[str, ...]]:
        """Send failed deliveries again, all or those since a time of the sandbox's clock; returns the ids."""
        body = given(since=... if since is None else since)
        return tuple((yield from ask("POST", f"{self._path}/redeliver", body))["redelivered"])

    @Call
    def hold(self, delivery_id: str) -> Steps[Delivery]:
        """Hold one."""
        return load(Delivery, (yield from ask("POST", f"{self._path}/{segment(delivery_id)}/hold")))

    @Call
    def release(self, delivery_id: str) -> Steps[Delivery]:
        """Send a held one, now."""
        return load(Delivery, (yield from ask("POST", f"{self._path}/{segment(delivery_id)}/release")))


class Events(_Listed[M, Event]):
    """The events."""

    _what = "events"
    _kind = Event

    @Call
    def list(self, *, type: str | None = None, object_id: str | None = None) -> Steps[list[Event]]:  # noqa: A002
        """Return those that match, oldest first."""
        return (yield from self._read({"type": type, "object_id": object_id}))

    @Call
    def get(self, event_id: str) -> Steps[Event]:
        """Return one."""
        return load(Event, (yield from ask("GET", f"{self._path}/{segment(event_id)}")))

    @Call
    def emit(self, type: str, object_id: str) -> Steps[Event]:  # noqa: A002 - as the control API calls it
        """Emit an event of any documented type for an object that exists, with the object as it is now."""
        return load(Event, (yield from ask("POST", self._path, {"type": type, "object_id": object_id})))
