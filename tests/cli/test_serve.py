"""`paydouble serve` as a process: what it prints, what it takes its options from, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import receivers
from drive import deposit_body, key
from receivers import receiving

from paydouble.cli.main import run
from paydouble.guards.credentials import basic_header

TIMELINE = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}  |[0-9]{4}-[0-9]{2}-[0-9]{2}$")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PAYDOUBLE_")}


@dataclass
class Served:
    """A process that has said where it serves."""

    process: asyncio.subprocess.Process
    url: str
    banner: str

    async def end(self, number: signal.Signals) -> tuple[int, str, float]:
        """Send a signal; returns the exit status, what was written on standard error, and the seconds it took."""
        start = time.monotonic()
        self.process.send_signal(number)
        _, errors = await self.process.communicate()
        assert self.process.returncode is not None
        # The timeline is there too; what matters is that nothing else is.
        others = [line for line in errors.decode().splitlines() if not TIMELINE.match(line)]
        return self.process.returncode, "\n".join(others), time.monotonic() - start


@asynccontextmanager
async def _serving(*arguments: str, env: dict[str, str] | None = None) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "paydouble", "serve", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**ENVIRONMENT, **(env or {})},
    )
    assert process.stdout is not None
    try:
        lines = []
        while b"documentation" not in (line := await process.stdout.readline()):
            assert line, (await process.communicate())[1].decode()
            lines.append(line.decode())
        banner = "".join([*lines, line.decode()])
        found = re.search(r"serves at +(http://\S+)/api/v1\n", banner)
        assert found, banner
        yield Served(process, found[1], banner)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def _get(url: str) -> Any:  # noqa: ANN401 - JSON is any
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.json()


async def _deposit(served: Served, secret: str = "sandbox_secret") -> int:
    headers = {"Authorization": basic_header("sandbox_key", secret), "Idempotency-Key": key(1)}
    url = f"{served.url}/api/v1/pay-in/deposit-creation"
    async with aiohttp.ClientSession() as session, session.post(url, json=deposit_body(), headers=headers) as response:
        return response.status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_with_deliveries_in_flight(number: signal.Signals) -> None:
    """With an attempt hanging, a signal ends the process within five seconds, with status 0 and without a word."""
    async with (
        receiving(receivers.hang) as receiver,
        _serving("--port", "0", "--notification-url", receiver.url) as served,
    ):
        assert await _deposit(served) == 200
        await receiver.wait_for(1)

        status, errors, seconds = await served.end(number)

    assert (status, errors) == (0, "")
    assert seconds < 5


async def test_a_signal_ends_it_with_an_advance_in_flight() -> None:
    """A caller whose advance waits for a hanging receiver does not keep the process from its end."""
    async with (
        receiving(receivers.hang) as receiver,
        _serving("--port", "0", "--clock", "manual", "--notification-url", receiver.url) as served,
        aiohttp.ClientSession() as session,
    ):
        await _deposit(served)
        await receiver.wait_for(1)
        url = f"{served.url}/_paydouble/sandboxes/default/clock/advance"
        advance = asyncio.create_task(session.post(url, json={"by": "72h"}).__aenter__())
        await _get(f"{served.url}/_paydouble/health")

        status, errors, seconds = await served.end(signal.SIGTERM)
        await asyncio.gather(advance, return_exceptions=True)

    assert (status, errors) == (0, "")
    assert seconds < 5


async def test_the_banner_says_what_a_person_needs() -> None:
    """Base URL, keys, secrets, where events go, and that the default business works with them."""
    async with _serving("--port", "0", "--clock", "manual") as served:
        status = await _deposit(served)

    assert status == 200
    for text in (
        "sandbox_key",
        "sandbox_secret",
        "whsec_sandbox",
        "manual",
        "nobody yet",
        f"{served.url}/_paydouble/docs",
        f"{served.url}/_paydouble\n",
    ):
        assert text in served.banner


async def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    """Each source gives way to the one before it, and --set lies over the settings of the file."""
    file = tmp_path / "paydouble.yaml"
    file.write_text(
        "port: 0\nclock: manual\nstart: 2026-01-01T00:00:00Z\nseed: 1\nbusiness-key: from_file\nscenario: abandoned\n"
        "webhook_secret: from_file\nsettings: {livemode: true, webhooks: {timeout: 3s}}\n"
    )
    env = {"PAYDOUBLE_CONFIG": str(file), "PAYDOUBLE_BUSINESS_KEY": "from_env", "PAYDOUBLE_WEBHOOK_SECRET": "from_env"}
    arguments = ["--webhook-secret", "from_flag", "--set", "webhooks.require_https=true"]
    async with _serving(*arguments, env=env) as served:
        shown = await _get(f"{served.url}/_paydouble/sandboxes/default")

    assert shown["clock"]["now"] == "2026-01-01T00:00:00.000Z"
    sources = (shown["scenario"], shown["business_key"], shown["webhook_secret"], shown["business_secret"])
    assert sources == ("abandoned", "from_env", "from_flag", "sandbox_secret")
    webhooks = shown["settings"]["webhooks"]
    assert (shown["settings"]["livemode"], webhooks["timeout"], webhooks["require_https"]) == (True, "3s", True)


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A taken port is status 2 and a line that says which, why, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status = run(["serve", "--port", str(port)])

    written = capsys.readouterr()
    assert (status, written.out) == (2, "")
    assert re.fullmatch(
        rf"paydouble serve: --port: 127\.0\.0\.1:{port} cannot be used \(.*in use.*\); choose another, or 0 for .*\n",
        written.err,
    )


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("PAYDOUBLE_PORT", "abc", "'abc' is not a whole number"),
        ("PAYDOUBLE_PORT", "70000", "70000 is not in the range 0<=x<=65535"),
        ("PAYDOUBLE_CLOCK", "sundial", "'sundial' is not one of"),
        ("PAYDOUBLE_SEED", "1.5", "'1.5' is not a whole number"),
        ("PAYDOUBLE_INSECURE_CONTROL", "perhaps", "'perhaps' is not a valid boolean"),
        ("PAYDOUBLE_CONFIG", "/nowhere.yaml", "/nowhere.yaml cannot be read"),
    ],
)
def test_a_bad_environment_variable_is_one_line(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable that cannot be used is status 2 and one line that names what is wrong."""
    monkeypatch.setenv(variable, value)

    status = run(["serve"])

    written = capsys.readouterr()
    assert (status, written.out, written.err.count("\n")) == (2, "", 1)
    assert says in written.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"port: [", "x.yaml:1:8: expected the node content"),
        (b"port: 1\n  host: x", "x.yaml:2:7: mapping values are not allowed here"),
        (b"a: b: c", "x.yaml:1:5: mapping values are not allowed here"),
        (b"\xff", "x.yaml is not UTF-8 (byte 0)"),
        (b"a: \x00", "x.yaml is not YAML"),
        (b"- port", "x.yaml: the file must hold a mapping"),
        (b"1: 2", "x.yaml: the file must hold a mapping"),
        (b"colour: red", "x.yaml: 'colour' is not known; there are: allowed-host, business-key"),
        (b"config: y.yaml", "x.yaml: 'config' is not known"),
        (b"port: abc", "'abc' is not a whole number"),
        (b"settings: [1]", "settings: must be a mapping of settings"),
        (b"settings: {webhooks: {timeout: 5}}", "settings.webhooks.timeout: a duration is a text"),
        (b"settings: {colour: red}", "settings.colour: this member is not known"),
        (b"paths: [1]", "paths: must be a mapping"),
        (b"paths: {no-such: /x}", "no-such"),
        (b"start: 2026-01-01", "--start: '2026-01-01' is not an instant"),
    ],
)
def test_a_bad_file_is_one_line(content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be used is status 2 and one line with its place."""
    file = tmp_path / "x.yaml"
    file.write_bytes(content)

    status = run(["serve", "--config", str(file)])

    written = capsys.readouterr()
    assert (status, written.out, written.err.count("\n")) == (2, "", 1)
    assert says in written.err


@pytest.mark.parametrize("content", ["", "# nothing\n", "{}"])
async def test_an_empty_file_changes_nothing(content: str, tmp_path: Path) -> None:
    """A file without keys leaves the defaults."""
    file = tmp_path / "x.yaml"
    file.write_text(content)

    async with _serving("--config", str(file), "--port", "0") as served:
        health = await _get(f"{served.url}/_paydouble/health")

    assert json.loads(json.dumps(health))["status"] == "ok"
