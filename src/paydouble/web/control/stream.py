"""Server-Sent Events: everything that happens in a sandbox, or in all of them, with resume by `Last-Event-ID`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web
from aiohttp_sse import EventSourceResponse

from paydouble.core import json_text
from paydouble.core.documents import Document
from paydouble.core.instants import write_instant
from paydouble.core.json_schema import TEXT
from paydouble.feed import KINDS, Note
from paydouble.records import show_attempt, show_event, show_request, show_summary
from paydouble.sandbox import Sandbox
from paydouble.web.control.calls import SANDBOX, ControlCall, Noun
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.replies import ControlError

# A comment line at this interval, so that a proxy does not close a quiet stream.
PING_SECONDS = 15.0
TICK_SECONDS: Final = 0.25
"""How often a stream over all sandboxes looks for something new. Nothing tells it, so that requests cost no more."""
_SERVER: Final = {"Server": "paydouble"}
_NUMBER: Final = "Last-Event-ID"
"""The header with the number after which a stream goes on: the client's wish, and in an answer where it begins."""
_MOST_AT_ONCE: Final = 1_000
_LOGIN: Final = "A browser that is logged in at the inspector can follow it without the token."


async def follow(call: ControlCall) -> web.StreamResponse:
    """Send notes until the client closes the connection or the sandbox is deleted."""
    box = call.sandbox
    signal = call.host.signal(box)
    seen = _start(call.http, box)
    if call.http.method == "HEAD":
        return _beginning(seen)
    response = event_stream(seen)
    await response.prepare(call.http)
    async with response:
        while response.is_connected():
            changed = signal.changed()
            try:
                seen, sent = await _send_after(seen, box, response)
                if not sent and not signal.closed:
                    await asyncio.wait({changed}, timeout=PING_SECONDS)
                elif not sent:
                    break
            except (ConnectionError, TimeoutError):
                break  # the client has closed, or does not read any more
            finally:
                changed.cancel()
    return response


async def follow_all(call: ControlCall) -> web.StreamResponse:
    """Send what happens in all sandboxes until the client closes the connection or the server stops."""
    request = call.http
    everything = call.host.everything
    newest = everything.look()
    seen = _number(request, call.queries, newest)
    if request.method == "HEAD":
        return _beginning(seen)
    response = event_stream(seen)
    await response.prepare(request)
    async with response:
        try:
            await response.send(_text({"run": everything.run, "newest": newest}), event="open")
            while is_open(request, response) and not everything.closed:
                happenings, missed, deleted, seen = everything.since(seen, _MOST_AT_ONCE)
                if missed + deleted:
                    await response.send(_text({"evicted": missed + deleted}), event="gap")
                for each in happenings:
                    kind = "deleted" if each.note is None else each.note.kind
                    made = {} if each.note is None else document(each.note)
                    await response.send(_text({"sandbox": each.sandbox, **made}), id=str(each.number), event=kind)
                if len(happenings) < _MOST_AT_ONCE:
                    await asyncio.sleep(TICK_SECONDS)
        except (ConnectionError, TimeoutError):
            pass  # the client has closed, or does not read any more
    return response


def event_stream(after: int | None = None) -> EventSourceResponse:
    """Return a response for Server-Sent Events; `after` is the number after which it begins, where it has numbers."""
    number = {} if after is None else {_NUMBER: str(after)}
    return EventSourceResponse(headers={**_SERVER, **number}, ping_interval=PING_SECONDS)


def _beginning(after: int) -> web.Response:
    """Return the answer to HEAD, which ends where a stream begins."""
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", **_SERVER, _NUMBER: str(after)}
    return web.Response(headers=headers)


def is_open(request: web.BaseRequest, response: EventSourceResponse) -> bool:
    """Return whether the client of a stream is still there."""
    return response.is_connected() and request.transport is not None and not request.transport.is_closing()


def _number(request: web.BaseRequest, queries: Mapping[str, str], newest: int) -> int:
    """Return the number after which a stream over all sandboxes begins.

    A reconnected `EventSource` sends `Last-Event-ID`, which is newer than the `after` of its URL.
    """
    header = request.headers.get(_NUMBER)
    text = queries.get("after") if header is None else header
    if text is None:
        return newest
    if not is_number(text):
        member = "after" if header is None else _NUMBER
        raise ControlError(400, "invalid", f"{member}: {text[:40]!r} is not a number of this stream.", member)
    return int(text) if int(text) <= newest else 0


def is_number(text: str) -> bool:
    """Return whether a text can be a number of a stream."""
    return text.isascii() and text.isdecimal() and len(text) <= 18  # noqa: PLR2004 - no feed is longer


async def _send_after(seen: int, box: Sandbox, response: EventSourceResponse) -> tuple[int, int]:
    """Send the notes after a number; returns the last number and how many were sent."""
    notes, evicted = box.feed.since(seen)
    if evicted:
        await response.send(_text({"evicted": evicted}), event="gap")
    for note in notes:
        await response.send(_text(document(note)), id=str(note.sequence), event=note.kind)
        seen = note.sequence
    return seen, len(notes)


def _start(request: web.BaseRequest, box: Sandbox) -> int:
    """Return the number after which a stream begins: the last that the client has seen, or the newest."""
    text = request.headers.get(_NUMBER)
    if text is None:
        return box.feed.sequence
    if not is_number(text):
        message = f"{_NUMBER}: {text[:40]!r} is not a number of this stream."
        raise ControlError(400, "invalid", message, _NUMBER)
    # The number is from before a restart, or of another sandbox: the client has seen no note of this one.
    return int(text) if int(text) <= box.feed.sequence else 0


def _text(made: Document) -> str:
    return json_text.dumps(made).decode()


def document(note: Note) -> Document:
    """Return a note as the stream shows it."""
    record: Any = note.record
    match note.kind:
        case "request":
            return show_request(record)
        case "event":
            return show_event(record)
        case "attempt":
            return {**show_summary(record), "attempt": show_attempt(note.detail)}
        case "delivery":
            return show_summary(record)
        case "clock":
            return {"now": write_instant(record)}
        case "fault" | "reset":
            return dict(record)


NOUN: Final = Noun(
    routes=(
        Row(
            "stream-all",
            "GET",
            "/stream",
            "What happens in all sandboxes, as Server-Sent Events.",
            follow_all,
            TEXT,
            queries=("after",),
            media="text/event-stream",
            takes_login=True,
            advice=(
                "The events of every sandbox's own stream, with the member `sandbox` in front, and their own numbers "
                f"in one order for the whole server. They come at most {round(1 / TICK_SECONDS)} times a second. The "
                "first event is `open` with `run`, which is another one after each start of the server, and `newest`, "
                "the latest number. `deleted` says that a sandbox was deleted. With `after` or `Last-Event-ID` the "
                "stream goes on after that number (0: all that is kept); `gap` has the count of what is no longer "
                "kept, which includes what happened in deleted sandboxes. A number that is higher than `newest` is "
                f"from before a start of the server, and means 0. {_LOGIN}"
            ),
        ),
        Row(
            "stream",
            "GET",
            f"{SANDBOX}/stream",
            "Everything that happens, as Server-Sent Events.",
            follow,
            TEXT,
            media="text/event-stream",
            takes_login=True,
            advice=(
                "Each event has the number of what happened as its `id` and its kind as its `event`: "
                f"{', '.join(KINDS[:-1])} or {KINDS[-1]}. With `Last-Event-ID` it "
                "goes on after that number (0: all that is kept); an event `gap` has the count of what "
                f"is no longer kept. The answer's own `{_NUMBER}` is the number after which the stream begins; a HEAD "
                "request is answered with the newest one, so that a client knows when it has read everything until "
                f"then. The stream ends with the sandbox. {_LOGIN}"
            ),
        ),
    ),
    tags={"stream": "Everything that happens, as it happens."},
)
