"""Pages that follow what happens, over a real socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from inspecting import HOME, Browser
from servers import Box, Client, running

from paydouble.server import ServerOptions
from paydouble.web.inspector import live

STREAM = "/_paydouble/inspector/inbox/stream"
Message = dict[str, Any]


class Stream:
    """Reads the messages of a stream."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.position = ""

    async def next(self) -> Message:
        """Return the next message."""
        members: dict[str, str] = {}
        async for line in self.response.content:
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            if not name and members:
                self.position = members.get("id", self.position)
                message: Message = json.loads(members["data"])
                return message
            if name:
                members[name] = value
        return {"end": True}

    async def until(self, holds: Callable[[Message], object]) -> Message:
        """Return the first message of a kind."""
        while not holds(message := await self.next()):
            assert "end" not in message
        return message


@asynccontextmanager
async def following(client: Client, query: str = "", position: str = "", path: str = STREAM) -> AsyncIterator[Stream]:
    """Follow a page."""
    headers = {"Last-Event-ID": position} if position else {}
    url = f"http://127.0.0.1:{client.server.port}{path}?{query}"
    async with client.session.get(url, headers=headers) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        yield Stream(response)


async def position_of(browser: Browser) -> str:
    """Return the position of the inbox as it is now."""
    html = (await browser.open()).html
    return next(value for _, name, value in html.attributes if name == "data-position")


def keys(message: Message) -> list[str]:
    """Return the last parts of the keys of the rows of a message."""
    return [key.rpartition("/")[2] for key, _, _ in message.get("rows", ())]


async def test_rows_arrive_by_themselves(browser: Browser) -> None:
    """From the position of the page on: payments, refused requests, and those that no sandbox claims."""
    client = browser.client
    box = await client.sandbox()
    before = await box.deposit(external_identifier="before")
    position = await position_of(browser)
    async with following(client, f"after={position}") as stream:
        made = await box.deposit(external_identifier="order-17")
        message = await stream.until(keys)
        assert keys(message) == [made["id"]]
        assert before["id"] not in json.dumps(message)
        assert "order-17" in message["rows"][0][2]
        assert (message["whole"], message["restarted"]) == (False, False)
        assert box.id in message["sandboxes"]

        await box.api("POST", "/pay-in/deposit-creation", {"amount": -1})
        assert "POST /api/v1/pay-in/deposit-creation" in (await stream.until(keys))["rows"][0][2]
        await client.call("GET", "/api/v1/x")
        assert "No sandbox has these credentials" in (await stream.until(keys))["rows"][0][2]


async def test_a_row_changes_with_its_payment(browser: Browser) -> None:
    """The same key comes again with the new state."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit()
    async with following(browser.client, f"after={await position_of(browser)}") as stream:
        await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
        message = await stream.until(keys)

    assert keys(message) == [pay_in["id"]]
    assert "failed" in message["rows"][0][2]


async def test_a_filter_holds_for_rows_that_arrive(browser: Browser) -> None:
    """A row that the filter lets through no longer is taken away."""
    box, other = [await browser.client.sandbox() for _ in range(2)]
    pay_in = await box.deposit()
    query = f"after={await position_of(browser)}&sandbox={box.id}&show=waiting"
    async with following(browser.client, query) as stream:
        await other.deposit()
        await browser.client.call("GET", "/api/v1/x")
        await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
        message = await stream.until(lambda found: found.get("gone"))

    assert message["rows"] == []
    assert message["gone"] == [f"{box.id}/{pay_in['id']}"]


async def test_a_refused_request_joins_its_payment(browser: Browser) -> None:
    """It had a row of its own while there was no payment with its order."""
    box = await browser.client.sandbox()
    async with following(browser.client, f"after={await position_of(browser)}") as stream:
        await box.api("POST", "/pay-in/deposit-creation", {"amount": -1, "external_identifier": "order-17"})
        (request,) = keys(await stream.until(keys))
        pay_in = await box.deposit(external_identifier="order-17")
        message = await stream.until(keys)

    assert keys(message) == [pay_in["id"]]
    assert message["gone"] == [f"{box.id}/{request}"]


async def test_refused_requests_of_a_payment_arrive_in_their_filter(browser: Browser) -> None:
    """And stay there when the payment changes."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit(external_identifier="order-17")
    query = f"after={await position_of(browser)}&show=refused"
    async with following(browser.client, query) as stream:
        await box.api("POST", "/pay-in/deposit-creation", {"amount": -1, "external_identifier": "order-17"})
        message = await stream.until(keys)
        (request,) = keys(message)
        assert "order order-17" in message["rows"][0][2].replace("</span>", "")
        assert f"{box.id}/{request}" not in message["gone"]
        await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
        assert f"{box.id}/{request}" not in (await stream.next())["gone"]


@pytest.mark.parametrize("show", ["", "twice", "faults"])
async def test_a_second_payment_of_an_order_changes_the_first(browser: Browser, show: str) -> None:
    """Both rows say that there are two, whatever the filter is."""
    box = await browser.client.sandbox()
    first = await box.deposit(external_identifier="order-17")
    fault = {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}}
    assert (await box.control("POST", "/faults", fault)).status == 201
    async with following(browser.client, f"after={await position_of(browser)}&show={show}") as stream:
        second = await box.deposit(external_identifier="order-17")
        message = await stream.until(lambda found: len(keys(found)) > 1)

    assert keys(message) == [first["id"], second["id"]]
    assert all("2 payments of this order" in html for _, _, html in message["rows"])


async def test_a_stream_goes_on_where_it_ended(browser: Browser) -> None:
    """What happened in between comes with the next connection."""
    box = await browser.client.sandbox()
    async with following(browser.client, f"after={await position_of(browser)}") as stream:
        await box.deposit(external_identifier="first")
        await stream.until(keys)
    second = await box.deposit(external_identifier="second")
    async with following(browser.client, position=stream.position) as stream:
        assert keys(await stream.next()) == [second["id"]]


async def test_a_restart_of_the_server_is_said() -> None:
    """The page gets the whole list of the new server, and is told that the old one is gone."""
    async with running() as client:
        position = await position_of(Browser(client))
    async with running() as client:
        pay_in = await (await client.sandbox()).deposit()
        async with following(client, position=position) as stream:
            message = await stream.next()

    assert (message["restarted"], message["whole"]) == (True, True)
    assert keys(message) == [pay_in["id"]]


async def test_rows_of_a_deleted_sandbox_go(browser: Browser) -> None:
    """Their pages are not there any more."""
    box = await browser.client.sandbox()
    await box.deposit()
    async with following(browser.client, f"after={await position_of(browser)}") as stream:
        await box.control("DELETE")
        message = await stream.until(lambda found: found.get("deleted"))

    assert message["deleted"] == [box.id]
    assert box.id not in message["sandboxes"]


async def test_a_reset_shows_the_list_anew(browser: Browser) -> None:
    """Payments that were reset have no rows."""
    box = await browser.client.sandbox()
    await box.deposit()
    async with following(browser.client, f"after={await position_of(browser)}") as stream:
        await box.control("POST", "/reset")
        message = await stream.next()

    assert (message["whole"], message["rows"]) == (True, [])


@pytest.mark.parametrize("position", ["", "nonsense", "x.y.z", "1.2"])
async def test_a_position_that_is_none_gets_everything(browser: Browser, position: str) -> None:
    """So a page is never left without its rows."""
    pay_in = await (await browser.client.sandbox()).deposit()
    async with following(browser.client, position=position) as stream:
        message = await stream.next()

    assert message["whole"]
    assert keys(message) == [pay_in["id"]]


async def test_more_than_a_look_takes_notice_of_is_sent_as_a_list(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a burst the page shows the newest rows."""
    monkeypatch.setattr(live, "MOST_NOTES", 3)
    box = await browser.client.sandbox()
    position = await position_of(browser)
    made = [(await box.deposit(external_identifier=f"o-{n}"))["id"] for n in range(6)]
    async with following(browser.client, position=position) as stream:
        message = await stream.next()

    assert message["whole"]
    assert sorted(keys(message)) == sorted(made)


async def test_what_one_look_cannot_make_comes_with_the_next(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that changed last come first."""
    monkeypatch.setattr(live, "MOST_ROWS_AT_ONCE", 2)
    box = await browser.client.sandbox()
    position = await position_of(browser)
    made = [(await box.deposit(external_identifier=f"o-{n}"))["id"] for n in range(5)]
    async with following(browser.client, position=position) as stream:
        first = keys(await stream.next())
        rest = [*keys(await stream.next()), *keys(await stream.next())]

    assert sorted(first) == sorted(made[-2:])
    assert sorted(rest) == sorted(made[:3])


def test_a_stream_rests_longer_the_more_it_works() -> None:
    """All streams together take at most a fiftieth of the time."""
    pace = live.Pace()
    pace.streams = 4

    assert pace.rest(0.0) == 0.25
    assert pace.rest(0.01) == pytest.approx(2.0)


async def test_a_payment_says_that_it_has_changed(browser: Browser) -> None:
    """Only when something has happened to it."""
    box = await browser.client.sandbox()
    pay_in, other = await box.deposit(), await box.deposit(external_identifier="other")
    path = f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}/stream"
    async with following(browser.client, path=path) as stream:
        await box.control("POST", f"/pay-ins/{other['id']}/transition", {"to": "failed"})
        await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
        assert await stream.next() == {"deleted": False}
        await box.control("DELETE")
        assert await stream.until(lambda found: found.get("deleted")) == {"deleted": True}
        assert await stream.next() == {"end": True}


async def test_a_stream_needs_the_login(browser: Browser) -> None:
    """Without it there is no stream to wait for."""
    async with running(ServerOptions(port=0, control_token="t")) as client:
        answer = await Browser(client).open(STREAM, headers={"Accept": "text/event-stream"})

    assert answer.status == 401


async def test_the_head_of_a_stream_has_no_end_to_wait_for(client: Client) -> None:
    """HEAD answers at once."""
    assert (await client.call("HEAD", STREAM)).headers["Content-Type"] == "text/event-stream"


async def test_streams_end_with_the_server() -> None:
    """A page that is open does not keep a server from ending."""
    async with running() as client, following(client) as stream:
        await stream.next()
        await client.server.stop()
        assert await stream.until(lambda found: "end" in found)


async def test_many_sandboxes_leave_nothing_behind(browser: Browser) -> None:
    """A parallel test run with a page open: rows come and go, and the page is usable after it."""
    client = browser.client
    async with following(client, f"after={await position_of(browser)}") as stream:
        for number in range(60):
            box: Box = await client.sandbox(id=f"run-{number}")
            await box.deposit()
            await box.control("DELETE")
        deleted: set[str] = set()
        while len(deleted) < 60:
            deleted |= set((await stream.next()).get("deleted", ()))

    everything = client.server.host.everything
    assert len(everything._seen) <= 1  # noqa: SLF001 - what must not grow
    assert "run-" not in (await browser.open(HOME)).text
