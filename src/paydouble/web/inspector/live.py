"""Pages that follow what happens: rows of the inbox that arrive by themselves, and a payment that says it has changed.

A browser follows with an `EventSource`. Nothing wakes a stream: it looks at most four times a second for what is new,
and makes the rows that changed, the newest first. What it makes takes at most a fiftieth of the time, for all streams
together: after an expensive look it waits longer. So a test run with hundreds of sandboxes is not slowed down by a page
that is open; the page is behind instead, and catches up when there is less to do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from aiohttp_sse import EventSourceResponse

from paydouble.payments.resources import PayIn
from paydouble.sandbox.publishing import pay_in_of
from paydouble.web.control.stream import TICK_SECONDS, event_stream, is_number, is_open
from paydouble.web.inspector import inbox
from paydouble.web.inspector.activity import activities, is_refused, owner_of, same_order
from paydouble.web.inspector.inbox import Filter, Row
from paydouble.web.inspector.rendering import HEADERS, render
from paydouble.web.inspector.visits import Visit

if TYPE_CHECKING:
    from paydouble.feed import Note
    from paydouble.journal import RequestEntry, UnclaimedEntry
    from paydouble.runtime.everything import Happening
    from paydouble.runtime.host import Host
    from paydouble.sandbox import Sandbox

MOST_NOTES: Final = 1_000
"""Things that happened, of which one look takes notice; with more, the list is sent as a whole."""
MOST_ROWS_AT_ONCE: Final = 50
_REST: Final = 50
"""How many times longer a stream rests than it works."""


Look = Callable[[], tuple[Mapping[str, Any], str] | None]
"""Returns what to send and the position after it, or None when there is nothing new."""


class Pace:
    """How often the streams of one server look for something new."""

    def __init__(self) -> None:
        """Start without streams."""
        self.streams = 0

    def rest(self, worked: float) -> float:
        """Return for how many seconds a stream rests after it has worked for some."""
        return max(TICK_SECONDS, worked * _REST * self.streams)


class LiveInbox:
    """What one browser still has to be sent of the inbox."""

    def __init__(self, host: Host, chosen: Filter, seen: str) -> None:
        """Follow the rows that a filter lets through; `seen` is the position that the browser has reached."""
        self._host = host
        self._filter = chosen
        run, _, rest = seen.partition(".")
        number, _, unclaimed = rest.partition(".")
        self.restarted = bool(run) and run != host.everything.run
        """Whether the browser's position is from before a start of the server."""
        known = not self.restarted and is_number(number) and is_number(unclaimed)
        self._number = int(number) if known else 0
        self._unclaimed = int(unclaimed) if known else 0
        self._whole = not known
        self._changed: dict[tuple[str, str], Sandbox] = {}
        """The payments and requests whose rows are to be made; those that changed last are at the end."""
        self._requests: dict[str, RequestEntry] = {}

    @property
    def position(self) -> str:
        """Return up to where the browser has been sent everything."""
        return f"{self._host.everything.run}.{self._number}.{self._unclaimed}"

    def changes(self) -> dict[str, Any] | None:
        """Return what the page has to change, or None if it is as it should be."""
        deleted = self._take_notice()
        if self._whole:
            self._whole = False
            self._changed.clear()
            found = inbox.rows(self._host, self._filter)[: inbox.MOST_ROWS]
            self._unclaimed = self._host.unclaimed.log.total
            # Oldest first: the page puts each row above those that arrived in the same millisecond.
            return {"whole": True, "rows": [shown_row(row) for row in reversed(found)], "gone": [], "deleted": []}
        rows, gone = self._rows()
        if not (rows or gone or deleted):
            return None
        return {"whole": False, "rows": [shown_row(row) for row in rows], "gone": gone, "deleted": deleted}

    def _take_notice(self) -> list[str]:
        """Note which rows have changed; returns the sandboxes that were deleted."""
        noticed = self._host.everything.since(self._number, MOST_NOTES)
        deleted: list[str] = []
        for each in noticed.happenings:
            if each.note is None:
                deleted.append(each.sandbox)
            elif each.box is not None:
                self._note(each, each.box, each.note)
        behind = noticed.reached < self._host.everything.look()
        # What happened in deleted sandboxes is no reason: their rows are removed.
        if (
            behind
            or noticed.missed
            or any(note.note is not None and note.note.kind == "reset" for note in noticed.happenings)
        ):
            self._whole = True
            self._number = self._host.everything.look()
        else:
            self._number = noticed.reached
        if deleted:
            ids = {box.identity.id: box for box in self._host.registry}
            self._changed = {key: box for key, box in self._changed.items() if ids.get(key[0]) is box}
        return list(dict.fromkeys(deleted))

    def _note(self, happening: Happening, box: Sandbox, note: Note) -> None:
        object_id, entry = subject(note)
        if entry is not None:
            object_id = owner_of(box, entry)
        pay_in = None if object_id is None else pay_in_of(box.ledger, object_id)
        if pay_in is not None:
            for each in same_order(box, pay_in):  # their rows say how many there are
                self._mark((happening.sandbox, each), box)
        if entry is not None and (pay_in is None or self._filter.show == inbox.REFUSED):
            self._mark((happening.sandbox, entry.id), box)
            self._requests[entry.id] = entry

    def _mark(self, key: tuple[str, str], box: Sandbox) -> None:
        self._changed.pop(key, None)
        self._changed[key] = box

    def _rows(self) -> tuple[list[Row], list[str]]:
        """Return the rows that changed last, oldest first, and the keys of those that the filter does not let through.

        The others are left for the next look.
        """
        chosen: dict[Sandbox, list[str]] = {}
        for _ in range(min(MOST_ROWS_AT_ONCE, len(self._changed))):
            (_, name), box = self._changed.popitem()
            chosen.setdefault(box, []).append(name)
        while len(self._changed) > inbox.MOST_ROWS:  # the list has no place for them
            (_, name) = next(iter(self._changed))
            del self._changed[next(iter(self._changed))]
            self._requests.pop(name, None)
        rows, gone = [], []
        for box, names in chosen.items():
            if self._filter.sandbox not in {"", box.identity.id}:
                continue
            found, others = self._made(box, names)
            rows += found
            kept = {row.key for row in found}
            gone += [key for name in (*names, *others) if (key := f"{box.identity.id}/{name}") not in kept]
        rows += self._new_unclaimed()[::-1]
        rows.reverse()  # the sort keeps the order of those that arrived in the same millisecond
        rows.sort(key=lambda row: row.arrived)
        return rows, gone

    def _made(self, box: Sandbox, names: list[str]) -> tuple[list[Row], list[str]]:
        """Return the rows of some payments and requests, and the refused requests that belong to one of the payments.

        Those may have had rows of their own while the payment did not exist.
        """
        found = [pay_in for name in names if isinstance(pay_in := box.ledger.find(name), PayIn)]
        wanted = [each.id for each in found]
        faulted: frozenset[str] = frozenset()
        if self._filter.show == inbox.FAULTS:
            together, _ = activities(box, {other for each in found for other in same_order(box, each)})
            faulted = inbox.faulted_orders(together.values())
        payments, _ = activities(box, wanted)
        made = [inbox.chosen_payment(box, each, self._filter, None, faulted) for each in payments.values()]
        entries = [entry for name in names if (entry := self._requests.pop(name, None)) is not None]
        made += [inbox.chosen_request(box, entry, self._filter) for entry in entries]
        others = []
        if self._filter.show != inbox.REFUSED:
            others = [entry.id for each in payments.values() for entry in each.requests if is_refused(entry)]
        return [row for row in made if row is not None], others

    def _new_unclaimed(self) -> list[Row]:
        log = self._host.unclaimed.log
        new = min(max(0, log.total - self._unclaimed), len(log.entries))
        self._unclaimed = log.total
        entries: list[UnclaimedEntry] = list(log.entries)[len(log.entries) - new :]
        if self._filter.sandbox:
            return []
        return [row for each in entries if (row := inbox.chosen_unclaimed(each, self._filter)) is not None]


def subject(note: Note) -> tuple[str | None, RequestEntry | None]:
    """Return the id of the object that a note is about, and the request if it is one; the id may be of anything."""
    record = note.record
    match note.kind:
        case "request":
            return record.object_id, record
        case "event":
            return record.object_id, None
        case "attempt" | "delivery":
            return record.event.object_id, None
        case _:
            return None, None


def shown_row(row: Row) -> tuple[str, int, str]:
    """Return the key of a row, its place in the order, and its HTML."""
    return row.key, row.arrived, render("row.html", {"row": row})


class Streams:
    """The streams of one server's pages."""

    def __init__(self) -> None:
        """Start without any."""
        self._pace = Pace()

    async def follow_inbox(self, visit: Visit) -> web.StreamResponse:
        """Send the rows of the inbox that change, until the browser closes the connection."""
        position = visit.request.headers.get("Last-Event-ID") or visit.query.get("after", "")
        live = LiveInbox(visit.host, Filter.of(visit.query), position)

        def look() -> tuple[Mapping[str, Any], str] | None:
            changes = live.changes()
            if changes is None and not live.restarted:
                return None
            made = {**(changes or {}), "restarted": live.restarted, "sandboxes": _ids(visit.host)}
            live.restarted = False
            return made, live.position

        return await self._follow(visit, "rows", look)

    async def follow_payment(self, visit: Visit) -> web.StreamResponse:
        """Say that a payment has changed, until the browser closes the connection or the sandbox is deleted."""
        box, pay_in_id = visit.sandbox, visit.params["id"]
        box.ledger.get(PayIn, pay_in_id)
        seen = box.feed.sequence

        def look() -> tuple[Mapping[str, Any], str] | None:
            nonlocal seen
            if box.identity.id not in visit.host.registry:
                return {"deleted": True}, ""
            notes, missed = box.feed.since(seen)
            seen = box.feed.sequence
            if not missed and not any(_concerns(box, note, pay_in_id) for note in notes):
                return None
            return {"deleted": box.ledger.find(pay_in_id) is None}, str(seen)

        return await self._follow(visit, "changed", look)

    async def _follow(self, visit: Visit, kind: str, look: Look) -> web.StreamResponse:
        if visit.request.method == "HEAD":  # which ends where a stream begins
            return web.Response(headers={"Content-Type": "text/event-stream"})
        response = event_stream()
        for name, value in HEADERS.items():
            response.headers[name] = value
        await response.prepare(visit.request)
        self._pace.streams += 1
        try:
            async with response:
                await self._send(visit, response, kind, look)
        except (ConnectionError, TimeoutError):
            pass  # the browser has closed, or does not read any more
        finally:
            self._pace.streams -= 1
        return response

    async def _send(self, visit: Visit, response: EventSourceResponse, kind: str, look: Look) -> None:
        while is_open(visit.request, response) and not visit.host.everything.closed:
            began = thread_time()
            made = look()
            if made is not None:
                data = json.dumps(made[0])
                rest = self._pace.rest(thread_time() - began)
                await response.send(data, event=kind, id=made[1] or None)
                if made[0].get("deleted") is True:
                    return
            else:
                rest = self._pace.rest(thread_time() - began)
            await asyncio.sleep(rest)


def _concerns(box: Sandbox, note: Note, pay_in_id: str) -> bool:
    if note.kind in {"clock", "reset"}:
        return True
    object_id, entry = subject(note)
    if entry is not None:
        object_id = owner_of(box, entry)
    pay_in = None if object_id is None else pay_in_of(box.ledger, object_id)
    return pay_in is not None and pay_in.id == pay_in_id


def _ids(host: Host) -> list[str]:
    return [box.identity.id for box in host.registry]
