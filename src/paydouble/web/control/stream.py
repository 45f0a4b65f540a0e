"""Server-Sent Events: everything that happens in a sandbox, as it happens, with resume by `Last-Event-ID`."""

from __future__ import annotations

import asyncio
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
_SERVER: Final = {"Server": "paydouble"}


async def follow(call: ControlCall) -> web.StreamResponse:
    """Send notes until the client closes the connection or the sandbox is deleted."""
    box = call.sandbox
    signal = call.host.signal(box)
    seen = _start(call.http, box)
    if call.http.method == "HEAD":  # which ends where a stream begins
        return web.Response(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache", **_SERVER})
    response = EventSourceResponse(headers=_SERVER, ping_interval=PING_SECONDS)
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
    text = request.headers.get("Last-Event-ID")
    if text is None:
        return box.feed.sequence
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):  # noqa: PLR2004 - no feed is longer
        message = f"Last-Event-ID: {text[:40]!r} is not a number of this stream."
        raise ControlError(400, "invalid", message, "Last-Event-ID")
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
            "stream",
            "GET",
            f"{SANDBOX}/stream",
            "Everything that happens, as Server-Sent Events.",
            follow,
            TEXT,
            media="text/event-stream",
            advice=(
                "Each event has the number of what happened as its `id` and its kind as its `event`: "
                f"{', '.join(KINDS[:-1])} or {KINDS[-1]}. With `Last-Event-ID` it "
                "goes on after that number (0: all that is kept); an event `gap` has the count of what "
                "is no longer kept. The stream ends with the sandbox."
            ),
        ),
    ),
    tags={"stream": "Everything that happens, as it happens."},
)
