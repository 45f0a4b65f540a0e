"""Leases: a sandbox that nobody uses for its `ttl` is deleted, and what was deleted is explained."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from bounds import AT_MOST_SECONDS
from servers import Answer, Box, Client, running

from paydouble.runtime.host import HostOptions
from paydouble.runtime.leases import LOOK_MS, RealTime, Reaped
from paydouble.server import ServerOptions

WALL = 1_767_225_600_000  # 2026-01-01T00:00:00.000Z
MINUTE = 60_000


class Time(RealTime):
    """Real time that a test moves."""

    def __init__(self) -> None:
        self._now = 0
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []

    def elapsed_ms(self) -> int:
        """Return what has passed."""
        return self._now

    def wall_ms(self) -> int:
        """Return the time of day."""
        return WALL + self._now

    async def sleep(self, milliseconds: int) -> None:
        """Return when so much has passed."""
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + milliseconds, woken))
        await woken

    async def pass_by(self, milliseconds: int) -> None:
        """Let time pass in the steps in which the server looks, and let it do what is due after each."""
        end = self._now + milliseconds
        while self._now < end:
            await self._settle()
            self._now = min([end, *(due for due, _ in self._sleepers)])
            for each in [each for each in self._sleepers if each[0] <= self._now]:
                self._sleepers.remove(each)
                each[1].set_result(None)
            await self._settle()

    async def _settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@asynccontextmanager
async def serving(**shared: Any) -> AsyncIterator[tuple[Client, Time]]:  # noqa: ANN401 - those of the options
    """Run a server whose leases count a time that the test moves."""
    time = Time()
    async with running(ServerOptions(port=0, shared=HostOptions(real_time=time, **shared))) as client:
        yield client, time


async def lasting(client: Client, **members: object) -> Box:
    """Make a sandbox with a lease of ten minutes."""
    return await client.sandbox(**{"ttl": "10m", **members})


async def exists(box: Box) -> bool:
    """Return whether a sandbox is listed; a list renews no lease."""
    found = (await box.client.control("GET", "/sandboxes?limit=1000")).document["items"]
    return box.id in [each["id"] for each in found]


async def test_an_unused_sandbox_is_deleted() -> None:
    """After its ttl of real time, at the next look; others stay."""
    async with serving() as (client, time):
        kept = await client.sandbox()
        box = await lasting(client)
        assert box.document["ttl"] == "10m"
        assert box.document["expires_at"] == "2026-01-01T00:10:00.000Z"
        assert (kept.document["ttl"], kept.document["expires_at"], kept.document["labels"]) == (None, None, {})

        await time.pass_by(10 * MINUTE - 1)
        assert await exists(box)
        await time.pass_by(LOOK_MS)

        assert not await exists(box)
        await time.pass_by(1_000 * MINUTE)
        assert await exists(kept)


@pytest.mark.parametrize("ttl", ["600s", "PT10M", "0.5h", "10m"])
async def test_a_ttl_is_a_duration(ttl: str) -> None:
    """In either notation."""
    async with serving() as (client, _):
        box = await client.sandbox(ttl=ttl)

        assert (await box.get())["ttl"] == ("30m" if ttl == "0.5h" else "10m")


async def _request(box: Box) -> Answer:
    return await box.api("GET", "/pay-in")


async def _deposit(box: Box) -> object:
    return await box.deposit()


async def _read(box: Box) -> Answer:
    return await box.control("GET")


async def _refused(box: Box) -> Answer:
    return await box.control("POST", "/faults", {"effect": {"type": "none"}})


async def _advance(box: Box) -> object:
    return await box.advance(by="1h")


async def _page(box: Box) -> None:
    url = f"http://127.0.0.1:{box.client.server.port}/_paydouble/inspector/sandboxes/{box.id}"
    async with box.client.session.get(url) as response:
        assert response.status == 200


@pytest.mark.parametrize("use", [_request, _deposit, _read, _refused, _advance, _page])
async def test_a_use_starts_the_time_again(use: Any) -> None:  # noqa: ANN401 - any use
    """A request to the API, a control call, also one that is refused, and a page of the inspector."""
    async with serving() as (client, time):
        box = await lasting(client)
        for _ in range(3):
            await time.pass_by(9 * MINUTE)
            await use(box)
        await time.pass_by(10 * MINUTE - 1)
        assert await exists(box)

        await time.pass_by(LOOK_MS)

        assert not await exists(box)


async def test_a_request_that_the_fast_path_leaves_renews_a_lease() -> None:
    """The reply of a delayed request comes by the ordinary path."""
    async with serving() as (client, time):
        box = await lasting(client, settings={"processing_time": "1ms"})
        await time.pass_by(9 * MINUTE)

        await box.deposit()

        await time.pass_by(9 * MINUTE)
        assert await exists(box)


async def test_a_call_in_progress_keeps_its_sandbox() -> None:
    """A lease does not run while a call waits, however long; it begins at the end of the call."""
    async with serving() as (client, time):
        box = await lasting(client)
        question = {"match": {"operation": "deposit-creation"}, "timeout": "10m"}
        waiting = asyncio.create_task(box.control("POST", "/requests/wait", question))
        host = client.server.host
        named = host.registry.get(box.id)
        async with asyncio.timeout(AT_MOST_SECONDS):
            while host.expires_at(named) == WALL + 10 * MINUTE and not waiting.done():
                await time.pass_by(1)
        await time.pass_by(30 * MINUTE)
        assert await exists(box)

        await box.deposit()
        assert (await waiting).document["passed"]

        await time.pass_by(10 * MINUTE - 1)
        assert await exists(box)
        await time.pass_by(LOOK_MS)
        assert not await exists(box)


async def test_a_call_to_a_reaped_sandbox_is_explained() -> None:
    """It says when the sandbox was deleted, what its ttl was, and how to raise it; its key is unknown."""
    reaped: list[Reaped] = []
    async with serving(on_reaped=reaped.append) as (client, time):
        box = await lasting(client, id="job-7")
        await time.pass_by(10 * MINUTE + LOOK_MS)

        answer = await box.control("POST", "/clock/advance", {"by": "1h"})

        assert answer.error == (410, "reaped", None)
        assert answer.document["error"]["message"] == (
            "Sandbox 'job-7' was deleted at 2026-01-01T00:10:00.000Z: nobody had used it for its ttl of 10m. Make it "
            "again with a longer ttl; PATCH raises the ttl of an existing sandbox."
        )
        assert (await box.api("GET", "/pay-in")).status == 401
        assert [each.id for each in reaped] == ["job-7"]
        assert (await client.control("GET", "/sandboxes/job-8")).error == (404, "not_found", None)


async def test_what_was_reaped_is_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """When its id is used again, and when many others were reaped since."""
    monkeypatch.setattr("paydouble.runtime.leases.MOST_REAPED", 5)
    async with serving() as (client, time):
        again, old = await lasting(client, id="again"), await lasting(client, id="old")
        await time.pass_by(11 * MINUTE)
        assert [(await box.control("GET")).status for box in (again, old)] == [410, 410]

        await client.sandbox(id="again")
        assert (await again.control("GET")).status == 200
        await again.control("DELETE")
        assert (await again.control("GET")).status == 404

        for number in range(5):
            await lasting(client, id=f"s-{number}")
        await time.pass_by(11 * MINUTE)
        assert (await old.control("GET")).status == 404
        assert (await client.control("GET", "/sandboxes/s-0")).status == 410


async def test_a_lease_is_changed() -> None:
    """A new ttl begins now, and null takes the lease away; a deleted sandbox is not reaped."""
    async with serving() as (client, time):
        box, ended, deleted = [await lasting(client) for _ in range(3)]
        await time.pass_by(9 * MINUTE)

        changed = await box.control("PATCH", "", {"ttl": "1h"})
        assert changed.document["expires_at"] == "2026-01-01T01:09:00.000Z"
        assert (await ended.control("PATCH", "", {"ttl": None})).document["ttl"] is None
        await deleted.control("DELETE")

        await time.pass_by(59 * MINUTE)
        assert (await exists(box), await exists(ended)) == (True, True)
        await time.pass_by(2 * MINUTE)
        assert (await exists(box), await exists(ended)) == (False, True)
        assert (await deleted.control("GET")).status == 404

        await ended.control("PATCH", "", {"ttl": "5s"})
        await time.pass_by(5_000 + LOOK_MS)
        assert not await exists(ended)


async def test_a_reset_keeps_lease_and_labels() -> None:
    """They are no part of what happens in the sandbox."""
    async with serving() as (client, _):
        box = await lasting(client, labels={"job": "1"})

        await box.control("POST", "/reset", {})

        shown = await box.get()
        assert (shown["ttl"], shown["labels"]) == ("10m", {"job": "1"})


async def test_a_fork_has_the_lease_and_the_labels_of_its_original() -> None:
    """Unless it is given others."""
    async with serving() as (client, time):
        box = await lasting(client, labels={"job": "1"})
        fork = Box(client, (await box.control("POST", "/fork", {})).document)
        other = Box(client, (await box.control("POST", "/fork", {"ttl": None, "labels": {"job": "2"}})).document)
        assert (fork.document["ttl"], fork.document["labels"]) == ("10m", {"job": "1"})
        assert (other.document["ttl"], other.document["labels"]) == (None, {"job": "2"})

        await time.pass_by(11 * MINUTE)

        assert [await exists(each) for each in (box, fork, other)] == [False, False, True]


async def test_sandboxes_are_found_by_their_labels() -> None:
    """By a name and its value, by a name alone, or by several."""
    async with serving() as (client, _):
        for number, labels in enumerate(({"job": "1", "shard": "7"}, {"job": "1:2"}, {"shard": "8"}), 1):
            await client.sandbox(id=f"s{number}", labels=labels)

        async def found(query: str) -> list[str]:
            items = (await client.control("GET", f"/sandboxes?{query}")).document["items"]
            return [each["id"] for each in items]

        assert await found("label=job:1") == ["s1"]
        assert await found("label=job:1:2") == ["s2"]
        assert await found("label=job") == ["s1", "s2"]
        assert await found("label=job:1,shard:7") == ["s1"]
        assert await found("label=job:1,shard:8") == []
        assert await found("label=shard&limit=1") == ["s1"]
        changed = await client.control("PATCH", "/sandboxes/s3", {"labels": {"job": "1"}})
        assert changed.document["labels"] == {"job": "1"}
        assert await found("label=job:1") == ["s1", "s3"]
        assert await found("label=shard") == ["s1"]


@pytest.mark.parametrize(
    ("members", "member", "said"),
    [
        ({"ttl": "1h 30"}, "ttl", "is not a duration"),
        ({"ttl": "999ms"}, "ttl", "must be at least 1s"),
        ({"ttl": 600}, "ttl", "a text with a unit"),
        ({"ttl": "600"}, "ttl", "did you mean '600s'"),
        ({"labels": {"a:b": "1"}}, "labels", "a:b"),
        ({"labels": {"job": "1,2"}}, "labels.job", "1,2"),
        ({"labels": {"job": 7}}, "labels.job", "7"),
        ({"labels": {f"n{number}": "" for number in range(33)}}, "labels", "32"),
    ],
)
async def test_a_bad_lease_or_label_is_refused(members: dict[str, object], member: str, said: str) -> None:
    """With the member, and what is wrong with it."""
    async with serving() as (client, _):
        answer = await client.control("POST", "/sandboxes", members)

        assert answer.status == 400
        assert answer.document["error"]["member"].startswith(member)
        assert said in answer.document["error"]["message"], answer.document


@pytest.mark.parametrize("query", ["label=", "label=:1", "label=job:1,", "label=job:1&label=shard:7"])
async def test_a_bad_filter_is_refused(query: str) -> None:
    """With its name; a repeated parameter is not ignored."""
    async with serving() as (client, _):
        answer = await client.control("GET", f"/sandboxes?{query}")

        assert answer.error == (400, "invalid", "label")


async def test_a_full_server_makes_no_more_sandboxes() -> None:
    """A sandbox or a fork too many is refused with 429, which says what to do; one that is deleted makes room."""
    async with serving(max_sandboxes=2) as (client, _):
        box = await client.sandbox()
        refused = await box.control("POST", "/fork", {})
        answer = await client.control("POST", "/sandboxes", {})
        assert refused.error == answer.error == (429, "too_many_sandboxes", None)
        assert answer.document["error"]["message"] == (
            "This server has 2 sandboxes, and makes no more than 2. Delete those that are no longer needed, make them "
            'with a lease ("ttl": "10m") so that unused ones are deleted, or start the server with a higher '
            "--max-sandboxes."
        )

        await box.control("DELETE")

        assert (await client.control("POST", "/sandboxes", {})).status == 201


async def test_a_server_with_leases_stops() -> None:
    """The task that looks for expired leases ends with the server."""
    async with serving() as (client, _):
        await lasting(client)
        before = {task for task in asyncio.all_tasks() if not task.done()}
    assert [task for task in before if "_reap" in repr(task) and not task.done()] == []


async def test_a_repeated_parameter_without_a_name_is_refused() -> None:
    """Even this refusal has a member."""
    async with serving() as (client, _):
        assert (await client.control("GET", "/sandboxes?=1&=2")).error == (400, "invalid", "query")
