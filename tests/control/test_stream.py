"""The stream: Server-Sent Events over a real socket, with resume and gaps."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from receivers import receiving
from servers import CONTROL, Box, Client, running


@dataclass(frozen=True)
class Told:
    """One event of a stream."""

    number: int | None
    kind: str
    document: Any


class Stream:
    """Reads a stream as the standard says."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> Told | None:
        """Return the next event, or None at the end."""
        members: dict[str, str] = {}
        async for line in self.response.content:
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            if not name and members:
                number = int(members["id"]) if "id" in members else None
                return Told(number, members["event"], json.loads(members["data"]))
            if name:
                members[name] = value
        return None

    async def until(self, kind: str) -> list[Told]:
        """Return events up to and with the first of a kind."""
        seen: list[Told] = []
        while not seen or seen[-1].kind != kind:
            told = await self.next()
            assert told is not None, [each.kind for each in seen]
            seen.append(told)
        return seen


@asynccontextmanager
async def following(box: Box, headers: Mapping[str, str] | None = None) -> AsyncIterator[Stream]:
    """Follow a sandbox."""
    url = f"http://127.0.0.1:{box.client.server.port}{CONTROL}/sandboxes/{box.id}/stream"
    async with box.client.session.get(url, headers=headers) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        assert (response.headers["Server"], response.headers["Cache-Control"]) == ("paydouble", "no-cache")
        yield Stream(response)


async def test_everything_that_happens_is_told_as_it_happens(client: Client) -> None:
    """A request, its event, the attempt, the clock, faults and resets come in order, with the lists' own documents."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        async with following(box) as stream:
            await box.deposit()
            told = await stream.until("attempt")
            await box.advance(by="1ms")
            await box.control("POST", "/faults", {"effect": {"type": "latency", "fixed": "1s"}})
            await box.control("PATCH", "/faults/fault-1", {"enabled": False})
            await box.control("DELETE", "/faults/fault-1")
            await box.control("POST", "/reset", {"scope": ["requests"]})
            rest = await stream.until("reset")

        (delivery,) = await box.deliveries()
    assert [each.kind for each in told] == ["event", "request", "attempt"]
    assert told[0].document == (await box.get("/events"))["items"][0]
    assert told[1].document["operation"] == "deposit-creation"
    assert told[2].document == {
        **{name: value for name, value in delivery.items() if name != "attempts"},
        "attempt": delivery["attempts"][0],
    }
    assert [(each.kind, each.document.get("action")) for each in rest] == [
        ("clock", None),
        ("fault", "added"),
        ("fault", "changed"),
        ("fault", "removed"),
        ("reset", None),
    ]
    assert rest[-1].document == {"scope": ["requests"], "removed": {"requests": 1}}
    numbers = [each.number for each in (*told, *rest)]
    assert numbers == list(range(1, 9))


async def test_held_and_released_deliveries_are_told(client: Client) -> None:
    """A delivery that changes without an attempt has a note of its own."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "hold"}})
        async with following(box) as stream:
            await box.deposit()
            held = (await stream.until("delivery"))[-1].document
            await box.control("POST", f"/deliveries/{held['id']}/release")
            released = (await stream.until("delivery"))[-1].document
            attempt = (await stream.until("attempt"))[-1].document

    assert (held["status"], released["id"], attempt["id"]) == ("held", held["id"], held["id"])
    assert attempt["status"] == "delivered"


async def test_a_stream_goes_on_after_what_was_seen(client: Client) -> None:
    """With Last-Event-ID nothing is missed between two connections; 0 is the beginning."""
    box = await client.sandbox()
    async with following(box) as stream:
        await box.api("GET", "/pay-in")
        (first,) = await stream.until("request")
    for _ in range(2):
        await box.api("GET", "/refund")

    async with following(box, {"Last-Event-ID": str(first.number)}) as again:
        resumed = [await again.next() for _ in range(2)]
    async with following(box, {"Last-Event-ID": "0"}) as whole:
        everything = [await whole.next() for _ in range(3)]

    assert [each and (each.number, each.document["path"]) for each in resumed] == [
        (2, "/api/v1/refund"),
        (3, "/api/v1/refund"),
    ]
    assert everything == [first, *resumed]


async def test_a_stream_without_a_number_starts_now(client: Client) -> None:
    """What happened before is not told."""
    box = await client.sandbox()
    await box.api("GET", "/pay-in")
    async with following(box) as stream:
        await box.api("GET", "/refund")
        told = await stream.next()

    assert told is not None
    assert (told.number, told.document["path"]) == (2, "/api/v1/refund")


async def test_a_gap_is_told(client: Client) -> None:
    """What is kept no more is counted in an event of its own, without a number."""
    box = await client.sandbox(settings={"journal_limit": 2})
    for _ in range(5):
        await box.api("GET", "/pay-in")

    async with following(box, {"Last-Event-ID": "1"}) as stream:
        told = [await stream.next() for _ in range(3)]

    assert told[0] == Told(None, "gap", {"evicted": 2})
    assert [each and each.number for each in told[1:]] == [4, 5]


async def test_a_number_from_another_life_begins_anew(client: Client) -> None:
    """A number that was never given here is from another server or sandbox: all that is kept is sent."""
    box = await client.sandbox()
    await box.api("GET", "/pay-in")

    async with following(box, {"Last-Event-ID": "99"}) as stream:
        told = await stream.next()

    assert told is not None
    assert told.number == 1


async def test_a_number_that_is_none_is_refused(client: Client) -> None:
    """Last-Event-ID is a number."""
    box = await client.sandbox()
    path = f"{CONTROL}/sandboxes/{box.id}/stream"

    answer = await client.call("GET", path, headers={"Last-Event-ID": "-1"})

    assert answer.error == (400, "invalid", "Last-Event-ID")


async def test_a_stream_ends_with_its_sandbox_and_with_the_server() -> None:
    """Deletion and the server's end close the stream cleanly, after the last note."""
    async with running() as client:
        box, other = await client.sandbox(), await client.sandbox()
        async with following(box) as stream, following(other) as second:
            await box.api("GET", "/pay-in")
            await box.control("DELETE")
            told = [await stream.next(), await stream.next()]
            await client.server.stop()
            assert await second.next() is None

    assert told[0] is not None
    assert (told[0].kind, told[1]) == ("request", None)


async def test_a_client_that_goes_leaves_nothing_behind(client: Client) -> None:
    """A stream whose client hangs up does not disturb the sandbox or later streams."""
    box = await client.sandbox()
    async with following(box):
        pass
    for _ in range(3):
        await box.api("GET", "/pay-in")

    async with following(box, {"Last-Event-ID": "2"}) as stream:
        told = await stream.next()

    assert told is not None
    assert told.number == 3


async def test_two_sandboxes_have_two_streams(client: Client) -> None:
    """Nothing of another sandbox is sent."""
    box, other = await client.sandbox(), await client.sandbox()
    async with following(box) as stream:
        await other.api("GET", "/refund")
        await box.api("GET", "/pay-in")
        told = await stream.next()

    assert told is not None
    assert told.document["path"] == "/api/v1/pay-in"


@asynccontextmanager
async def following_all(client: Client, query: str = "", **headers: str) -> AsyncIterator[Stream]:
    """Follow all sandboxes of a server."""
    url = f"http://127.0.0.1:{client.server.port}{CONTROL}/stream{query}"
    async with client.session.get(url, headers=headers) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        yield Stream(response)


async def test_a_server_is_followed_as_a_whole(client: Client) -> None:
    """Each sandbox's own documents come with its name, and with numbers in one order."""
    first, second = [await client.sandbox() for _ in range(2)]
    async with following_all(client) as stream:
        opened = await stream.next()
        await first.api("GET", "/pay-in")
        (one,) = await stream.until("request")
        await second.api("GET", "/refund")
        (two,) = await stream.until("request")

    assert opened is not None
    assert (opened.kind, opened.number, opened.document["newest"]) == ("open", None, 0)
    assert [(each.number, each.document["sandbox"], each.document["path"]) for each in (one, two)] == [
        (1, first.id, "/api/v1/pay-in"),
        (2, second.id, "/api/v1/refund"),
    ]
    (request,) = (await first.get("/requests"))["items"]
    assert one.document == {"sandbox": first.id, **request}


@pytest.mark.parametrize("header", [False, True])
async def test_following_a_server_goes_on_after_what_was_seen(client: Client, header: bool) -> None:
    """By `after`, since an `EventSource` cannot send a header first, or by `Last-Event-ID`, which is newer."""
    box = await client.sandbox()
    for path in ("/pay-in", "/refund", "/pay-in"):
        await box.api("GET", path)
    asked = following_all(client, "?after=0", **{"Last-Event-ID": "2"}) if header else following_all(client, "?after=2")
    async with asked as stream:
        told = [await stream.next() for _ in range(2)]

    assert [each and each.number for each in told] == [None, 3]


async def test_a_deleted_sandbox_is_told_and_its_notes_are_missed(client: Client) -> None:
    """What can no longer be shown is counted."""
    box = await client.sandbox()
    await box.api("GET", "/pay-in")
    await box.control("DELETE")
    async with following_all(client, "?after=0") as stream:
        told = [await stream.next() for _ in range(3)]

    assert [each and each.kind for each in told] == ["open", "gap", "deleted"]
    assert [each and each.document for each in told[1:]] == [{"evicted": 1}, {"sandbox": box.id}]


async def test_a_number_from_before_a_restart_begins_anew() -> None:
    """Another server has another `run`, and sends what it has."""
    runs = []
    for _ in range(2):
        async with running() as client:
            await (await client.sandbox()).api("GET", "/pay-in")
            async with following_all(client, "?after=99") as stream:
                opened, told = await stream.next(), await stream.next()
            assert opened is not None
            assert told is not None
            assert told.number == 1
            runs.append(opened.document["run"])

    assert runs[0] != runs[1]


@pytest.mark.parametrize("query", ["?after=-1", "?after=x", "?before=1"])
async def test_what_is_no_number_of_the_stream_is_refused(client: Client, query: str) -> None:
    """The answer names the parameter."""
    answer = await client.control("GET", f"/stream{query}")

    assert answer.error == (400, "invalid", query[1:].partition("=")[0])


async def test_the_head_of_the_stream_has_no_end_to_wait_for(client: Client) -> None:
    """HEAD answers at once."""
    assert (await client.call("HEAD", f"{CONTROL}/stream")).headers["Content-Type"] == "text/event-stream"


async def test_a_client_can_know_when_it_has_read_everything(client: Client) -> None:
    """GET says after which number the stream begins, and HEAD which one is the newest."""
    box = await client.sandbox()
    await box.deposit()
    head = f"{CONTROL}/sandboxes/{box.id}/stream"
    began = int((await client.call("HEAD", head)).headers["Last-Event-ID"])
    async with following(box) as stream:
        await box.deposit()
        newest = int((await client.call("HEAD", head)).headers["Last-Event-ID"])
        told = await stream.until("request")

    assert began > 0
    assert stream.response.headers["Last-Event-ID"] == str(began)
    assert (told[0].number, told[-1].number) == (began + 1, newest)


async def test_following_a_server_ends_with_it() -> None:
    """The stream is closed cleanly."""
    async with running() as client, following_all(client) as stream:
        await stream.next()
        await client.server.stop()
        assert await stream.next() is None
