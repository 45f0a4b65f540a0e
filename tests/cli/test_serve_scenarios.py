"""`serve --scenarios` and `--watch`: a user's own folder, read at the start and again when a file changes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from drive import deposit_body, key

from paydouble.cli.main import run
from paydouble.guards.credentials import basic_header

TIMELINE = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}  |[0-9]{4}-[0-9]{2}-[0-9]{2} UTC$")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PAYDOUBLE_")}
MINE = "name: mine\nsummary: Mine.\nlifecycle:\n  pay_in:\n    - {{after: 1s, to: {to}}}\n"


def save(path: Path, text: str) -> None:
    """Save a file at once: a server that watches it could read the beginning alone."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


@dataclass
class Served:
    """A process that serves, and what it says to the person at the terminal."""

    process: asyncio.subprocess.Process
    url: str

    async def says(self) -> str:
        """Return its next line on standard error that is not of the timeline."""
        assert self.process.stderr is not None
        while TIMELINE.match(line := (await self.process.stderr.readline()).decode()):
            pass
        return line

    async def life(self, number: int) -> list[str]:
        """Return the events of a new deposit, an hour later."""
        headers = {"Authorization": basic_header("sandbox_key", "sandbox_secret"), "Idempotency-Key": key(number)}
        async with aiohttp.ClientSession(self.url) as session:
            body = deposit_body(external_identifier=f"order-{number}")
            async with session.post("/api/v1/pay-in/deposit-creation", json=body, headers=headers) as response:
                made = (await response.json())["data"]["id"]
            control = "/_paydouble/sandboxes/default"
            async with session.post(f"{control}/clock/advance", json={"by": "1h"}) as response:
                assert response.status == 200
            async with session.get(f"{control}/events", params={"object_id": made}) as response:
                return [item["type"] for item in (await response.json())["items"]]


@asynccontextmanager
async def serving(*arguments: str) -> AsyncIterator[Served]:
    """Run `serve` on a manual clock."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "paydouble", "serve", "--port", "0", "--clock", "manual", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    try:
        found = re.search(rb"serves at +(http://\S+)/api/v1\n", await process.stdout.readline())
        assert found, (await process.communicate())[1].decode()
        yield Served(process, found[1].decode())
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_a_changed_file_is_read_again_while_the_server_runs(tmp_path: Path) -> None:
    """A saved file is reported and played by the next deposit; a broken one is reported and changes nothing."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.format(to="pending"))
    async with serving("--scenarios", str(tmp_path), "--watch", "--scenario", "mine") as served:
        before = await served.life(1)
        save(path, MINE.format(to="failed") + "\n")
        told = await served.says()
        after = await served.life(2)
        save(path, "name: mine\n")
        problem = await served.says()
        assert await served.says() == "  (what was read before stays)\n"
        still = await served.life(3)
        save(path, MINE.format(to="cancelled"))
        while "read again" not in await served.says():
            pass
        path.unlink()
        gone = await served.says()

    assert (before[1:], after[1:], still[1:]) == (["pay-in.pending"], ["pay-in.failed"], ["pay-in.failed"])
    assert (told, gone) == ("scenario mine is read again\n", "scenario mine is gone\n")
    assert problem.startswith(f"{path}")


async def test_a_pipe_in_the_folder_stops_nobody(tmp_path: Path) -> None:
    """It is reported once, the server goes on, and a signal ends it."""
    async with serving("--scenarios", str(tmp_path), "--watch") as served:
        os.mkfifo(tmp_path / "pipe.yaml")
        told = [await served.says(), await served.says()]
        events = await served.life(1)
        served.process.terminate()
        _, rest = await served.process.communicate()

    assert told == [
        f"{tmp_path}/pipe.yaml:1:1: this cannot be read (is a pipe, not a regular file)\n",
        "  (what was read before stays)\n",
    ]
    assert (served.process.returncode, events[-1], b"pipe" in rest) == (0, "pay-in.succeeded", False)


async def test_a_banner_that_cannot_be_printed_stops_nobody(tmp_path: Path) -> None:
    """A full disk is no reason not to serve."""
    (tmp_path / "happy-path.yaml").write_text(MINE.replace("mine", "happy-path", 1).format(to="failed"))
    with Path("/dev/full").open("wb") as full:  # noqa: ASYNC230 - a device keeps nobody waiting
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "paydouble", "serve", "--port", "0", "--scenarios", str(tmp_path), "--watch"),
            stdout=full,
            stderr=asyncio.subprocess.PIPE,
            env=ENVIRONMENT,
        )
    assert process.stderr is not None
    assert b"replaces" in await process.stderr.readline()  # by now the folder has been read
    save(tmp_path / "mine.yaml", MINE.format(to="pending"))
    assert await process.stderr.readline() == b"scenario mine is read again\n"
    process.terminate()
    _, errors = await process.communicate()

    assert (process.returncode, errors) == (0, b"")


async def test_a_file_that_stands_over_another_is_shown_of(tmp_path: Path) -> None:
    """The start reports each shipped scenario that is replaced."""
    (tmp_path / "happy-path.yaml").write_text(MINE.replace("mine", "happy-path", 1).format(to="failed"))

    async with serving("--scenarios", str(tmp_path)) as served:
        told = await served.says()
        events = await served.life(1)

    assert told == f"{tmp_path / 'happy-path.yaml'}: scenario happy-path replaces the shipped one\n"
    assert events[-1] == "pay-in.failed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--watch"], "paydouble serve: --watch: needs a folder to look at; give --scenarios\n"),
        (["--scenarios", "{tmp}/no"], "paydouble serve: --scenarios: {tmp}/no is not a folder\n"),
    ],
)
def test_an_unusable_folder_is_refused(
    tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear line, and status 2."""
    status = run(["serve", *(each.format(tmp=tmp_path) for each in arguments)])

    assert (status, capsys.readouterr().err) == (2, message.format(tmp=tmp_path))
