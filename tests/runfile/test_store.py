"""Stores: sandboxes in a file, with which another process goes on."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from drive import DEPOSITS, deposit_body, key
from servers import Box, Client, running

from paydouble import Sandbox
from paydouble.core.errors import UsageError
from paydouble.runfile.files import unpack
from paydouble.runfile.replaying import replay
from paydouble.runfile.store import Store, StoreError
from paydouble.runtime.host import ClockSpec, Host, HostOptions, SandboxSpec
from paydouble.server import DEFAULT_SANDBOX, ServerOptions

START = 1_767_225_600_000
NOBODY = "http://127.0.0.1:9/"
CLOCK = ClockSpec("manual", START)


@asynccontextmanager
async def serving(path: Path, spec: SandboxSpec = DEFAULT_SANDBOX, **shared: Any) -> AsyncIterator[Client]:  # noqa: ANN401 - those of the options
    """Run a server on a store."""
    with closing(Store(path, {})) as store:
        options = HostOptions(clock=CLOCK, store=store, **shared)
        async with running(ServerOptions(port=0, default_sandbox=spec, stored=store.load(), shared=options)) as client:
            yield client


def killed(path: Path, name: str = "killed") -> Path:
    """Return a copy of a store that is open, as a killed process leaves it."""
    copy = path.with_name(f"{path.stem}-{name}.store")
    shutil.copy(path, copy)
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        shutil.copy(log, copy.with_name(f"{copy.name}-wal"))
    return copy


async def default(client: Client) -> Box:
    """Return the default sandbox."""
    return Box(client, (await client.control("GET", "/sandboxes/default")).document)


def rows(path: Path) -> list[str]:
    """Return the stored commands."""
    with closing(sqlite3.connect(path)) as database:
        return [line for (line,) in database.execute("SELECT line FROM commands ORDER BY number")]


async def views(box: Box) -> list[Any]:
    """Return what a sandbox shows, without its requests."""
    return [await box.get(path) for path in ("/clock", "/events", "/deliveries", "/faults", "/webhook")]


async def test_a_killed_server_goes_on(tmp_path: Path) -> None:
    """Stored answers, faults, events, deliveries, sandboxes and the time are those before, also after a second kill."""
    path = tmp_path / "a.store"
    async with serving(path, DEFAULT_SANDBOX._replace(notification_url=NOBODY)) as client:
        box = await default(client)
        await box.control("POST", "/faults", {"effect": {"type": "duplicate"}, "times": 1})
        headers = {**box.credentials, "Idempotency-Key": key(77)}
        first = await client.call("POST", f"/api/v1{DEPOSITS}", deposit_body(), headers=headers)
        other, gone = await client.sandbox(), await client.sandbox(id="gone")
        await other.deposit()
        await gone.deposit()
        await gone.control("DELETE")
        await box.advance(by="3h")
        await other.advance(by="3h30m")
        fork = (await box.control("POST", "/fork", {"id": "forked"})).document
        await Box(client, fork).deposit(external_identifier="order-2")
        shown = await views(box), await views(other)
        path = killed(path)

    for _ in range(2):
        async with serving(path) as client:
            box, other = await default(client), Box(client, other.document)
            again = await client.call("POST", f"/api/v1{DEPOSITS}", deposit_body(), headers=headers)
            assert again.document == first.document
            assert (await views(box), await views(other)) == shown
            assert len((await Box(client, fork).api("GET", "/pay-in")).document["data"]["items"]) == 2
            url = f"http://127.0.0.1:{client.server.port}/_paydouble/sandboxes/default/export"
            async with client.session.post(url) as response:
                assert replay(unpack(await response.read())) is None
            assert (await client.control("GET", "/sandboxes/gone")).status == 404
            path = killed(path)

    async with serving(path) as client:
        box = await default(client)
        assert (await client.sandbox(id="gone")).document["seed"] != gone.document["seed"]
        before = len((await box.deliveries())[0]["attempts"])
        await box.advance(by="24h")
        assert len((await box.deliveries())[0]["attempts"]) > before


async def test_a_whole_reset_begins_the_stored_run_again(tmp_path: Path) -> None:
    """Its next command removes the older rows; the ids after a restart are those that would have followed."""
    path = tmp_path / "a.store"
    async with serving(path) as client:
        box = await default(client)
        await box.deposit()
        await box.control("POST", "/reset")
        pay_in = await box.deposit()
        path = killed(path)
    assert not any("sandbox-reset" in row for row in rows(path))

    async with serving(path) as client:
        box = await default(client)
        assert (await box.api("GET", f"/pay-in/{pay_in['id']}")).document["data"]["id"] == pay_in["id"]
        await box.control("POST", "/reset")
        assert (await box.get("/clock"))["now"] == "2026-01-01T00:00:00.000Z"


async def test_a_request_that_waits_is_cut_off(tmp_path: Path) -> None:
    """Its key is free after a restart, and what it answers later is stored, with the address of its own client."""
    path = tmp_path / "a.store"
    settings = {"processing_time": "1s"}
    async with serving(path) as client:
        box = await default(client)
        await box.control("PATCH", "", {"settings": settings})
        headers, host = {**box.credentials, "Idempotency-Key": key(5)}, f"localhost:{client.server.port}"
        asked = asyncio.create_task(
            client.call("POST", f"/api/v1{DEPOSITS}", deposit_body(), headers={**headers, "Host": host})
        )
        async with asyncio.timeout(30):
            while not (await box.get("/requests"))["items"]:
                pass
        await box.api("GET", "/pay-in")
        cut = killed(path)
        answered = await asked
        await box.deposit()
        whole = killed(path, "whole")

    assert answered.document["data"]["payment_url"].startswith(f"http://{host}/")
    async with serving(whole) as client:
        again = await client.call("POST", f"/api/v1{DEPOSITS}", deposit_body(), headers=headers)
        assert again.document == answered.document
    async with serving(cut) as client:
        box = await default(client)
        await box.control("PATCH", "", {"settings": {"processing_time": "0s"}})
        assert (await client.call("POST", f"/api/v1{DEPOSITS}", deposit_body(), headers=headers)).status == 200
        twice = killed(cut)
    with closing(Store(twice, {})) as store:
        assert len(store.load()) == 1


async def test_leases_and_labels_are_stored(tmp_path: Path) -> None:
    """A restarted server has them, also those that were changed; a lease begins again."""
    path = tmp_path / "a.store"
    async with serving(path) as client:
        box = await client.sandbox(ttl="10m", labels={"job": "1"})
        other = await client.sandbox(labels={"job": "2"})
        fork = (await box.control("POST", "/fork", {})).document
        await other.control("PATCH", "", {"ttl": "1h", "labels": {"job": "3"}})
    async with serving(path) as client:
        shown = [
            (await client.control("GET", f"/sandboxes/{name}")).document for name in (box.id, other.id, fork["id"])
        ]

    assert [(each["ttl"], each["labels"]) for each in shown] == [
        ("10m", {"job": "1"}),
        ("1h", {"job": "3"}),
        ("10m", {"job": "1"}),
    ]


async def test_a_store_of_the_first_version_is_read(tmp_path: Path) -> None:
    """Its sandboxes have neither lease nor labels, and it can have them from then on."""
    path = tmp_path / "a.store"
    async with serving(path) as client:
        await (await default(client)).deposit()
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE sandboxes DROP COLUMN ttl")
        database.execute("ALTER TABLE sandboxes DROP COLUMN labels")
        database.execute("PRAGMA user_version = 1")
    for ttl in (None, "1h"):
        async with serving(path) as client:
            box = await default(client)
            assert ((await box.get())["ttl"], (await box.get())["labels"]) == (ttl, {})
            assert len((await box.get("/requests"))["items"]) == 1
            await box.control("PATCH", "", {"ttl": "1h"})


def test_a_store_that_cannot_be_used(tmp_path: Path) -> None:
    """One sentence says which file, what is wrong, and what to do."""
    text, foreign, newer = tmp_path / "text", tmp_path / "foreign", tmp_path / "newer"
    text.write_text("no database " * 100)
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE things (id)")
    Store(newer, {}).close()
    with closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version = 99")
    for path, message in (
        (tmp_path / "missing" / "a.store", "cannot be opened"),
        (text, "this is no store of paydouble"),
        (foreign, "a database of another program"),
        (newer, "the version of the store is 99; .* install a newer paydouble"),
    ):
        with pytest.raises(StoreError, match=message) as caught:
            Store(path, {})
        assert str(caught.value).startswith(str(path))


async def test_a_store_that_is_open_or_damaged(tmp_path: Path) -> None:
    """A second server, other paths of operations, and a row that cannot be applied are refused."""
    path = tmp_path / "a.store"
    async with serving(path) as client:
        with pytest.raises(StoreError, match="another server has opened the store"):
            Store(path, {})
        await (await default(client)).deposit()
    with (
        closing(Store(path, {"deposit-creation": "/orders"})) as store,
        pytest.raises(StoreError, match="other `paths`"),
    ):
        store.load()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE commands SET line = '{}'")
        database.commit()
    with closing(Store(path, {})) as store, pytest.raises(StoreError, match="sandbox 1, command 0 cannot be read"):
        store.load()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE sandboxes SET header = '['")
        database.commit()
    with closing(Store(path, {})) as store, pytest.raises(StoreError, match="sandbox 1 cannot be read"):
        store.load()
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE ids")
    with closing(Store(path, {})) as store, pytest.raises(StoreError, match="no such table"):
        store.load()


async def test_nothing_is_answered_that_could_not_be_stored(tmp_path: Path) -> None:
    """After a failure to write each command is an error, and the store keeps what it has."""
    path = tmp_path / "a.store"
    Store(path, {}).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON commands WHEN new.number % 2"
            " BEGIN SELECT RAISE(FAIL, 'disk full'); END"
        )
    async with serving(path) as client:
        box = await default(client)
        answers = [await box.api("GET", "/pay-in") for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 500, 500]
        assert (await client.control("POST", "/sandboxes", {"id": "more"})).status == 500
        assert len(rows(killed(path))) == 1


async def test_a_sandbox_that_could_not_be_stored_leaves_nothing(tmp_path: Path) -> None:
    """A failure in between undoes the rows before it."""
    path = tmp_path / "a.store"
    Store(path, {}).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON sandboxes WHEN new.id = 'more'"
            " BEGIN SELECT RAISE(FAIL, 'disk full'); END"
        )
    async with serving(path) as client:
        assert (await client.control("POST", "/sandboxes", {"id": "more"})).status == 500
    with closing(Store(path, {})) as store:
        assert list(store.times()) == ["default"]


def test_a_deleted_sandbox_has_nothing_to_write(tmp_path: Path) -> None:
    """A request may still wait when its sandbox is deleted."""
    with closing(Store(tmp_path / "a.store", {})) as store:
        store.flush(Sandbox().core.sandbox)
        assert store.load() == []


async def test_a_start_state_is_stored(tmp_path: Path) -> None:
    """A sandbox that was made elsewhere is stored with its past, unless its beginning is gone."""
    path = tmp_path / "a.store"
    box = Sandbox(seed=4)
    answered = box.handle("POST", DEPOSITS, deposit_body())
    with closing(Store(path, {})) as store:
        host = Host(HostOptions(clock=CLOCK, store=store))
        host.adopt(box.core.sandbox, "default")
        assert answered.status == 200
        few = Sandbox({"journal_limit": 1})
        for number in range(3):
            few.handle("POST", DEPOSITS, deposit_body(external_identifier=f"order-{number}"))
        with pytest.raises(UsageError, match="has recorded more than its journals keep"):
            host.adopt(few.core.sandbox, "few")
        await host.close()

    with closing(Store(path, {})) as store:
        (stored,) = store.load()
        assert len(list(stored.sandbox.journal.events.entries)) == 1
