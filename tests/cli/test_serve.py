"""`paydouble serve` as a process: what it prints, what it takes its options from, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import aiohttp
import pytest
import receivers
import trustme
from bounds import AT_MOST_SECONDS, FAR_LONGER
from drive import deposit_body, key
from receivers import receiving

from paydouble.cli.main import run
from paydouble.cli.options import LARGEST_CONFIG
from paydouble.cli.terminal import WIDTH
from paydouble.guards.credentials import basic_header

# What hangs, hangs for longer than anybody waits here, so that a process which waits for it is found out.
PATIENT = f"webhooks.timeout={FAR_LONGER}"
TIMELINE = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}  |[0-9]{4}-[0-9]{2}-[0-9]{2} UTC$")
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
        others = [line for line in (errors or b"").decode().splitlines() if not TIMELINE.match(line)]
        return self.process.returncode, "\n".join(others), time.monotonic() - start


@asynccontextmanager
async def _serving(
    *arguments: str, env: dict[str, str] | None = None, errors: IO[bytes] | int = asyncio.subprocess.PIPE
) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "paydouble", "serve", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
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
    """With an attempt that hangs for minutes, a signal ends the process with status 0 and no output."""
    async with (
        receiving(receivers.hang) as receiver,
        _serving("--port", "0", "--notification-url", receiver.url, "--set", PATIENT) as served,
    ):
        assert await _deposit(served) == 200
        await receiver.wait_for(1)

        status, errors, seconds = await served.end(number)

    assert (status, errors) == (0, "")
    assert seconds < AT_MOST_SECONDS


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_machines_own_certificates_are_trusted(tmp_path: Path, *, trusted: bool) -> None:
    """An https target is verified with what OpenSSL finds on the machine, also where a variable names it."""
    authority = trustme.CA()
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with (
        receiving(tls=context) as receiver,
        _serving(
            *("--port", "0", "--clock", "manual", "--notification-url", receiver.url),
            env={"SSL_CERT_FILE": str(bundle)} if trusted else None,
        ) as served,
    ):
        assert await _deposit(served) == 200
        async with aiohttp.ClientSession() as session:
            call = session.post(f"{served.url}/_paydouble/sandboxes/default/clock/advance", json={"by": "0s"})
            async with call as response:
                assert response.status == 200

        assert len(receiver.requests) == int(trusted)


async def test_a_signal_ends_it_with_an_advance_in_flight() -> None:
    """A caller whose advance waits for a hanging receiver does not keep the process from its end."""
    async with (
        receiving(receivers.hang) as receiver,
        _serving("--port", "0", "--clock", "manual", "--notification-url", receiver.url, "--set", PATIENT) as served,
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
    assert seconds < AT_MOST_SECONDS


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
    assert max(map(len, served.banner.splitlines())) <= WIDTH


async def test_the_banner_names_the_inspector() -> None:
    """Its page is there, unless the server was started without it."""
    async with _serving("--port", "0") as served:
        assert f"{served.url}/_paydouble/\n" in served.banner
        assert "inspector" in served.banner
    async with _serving("--port", "0", env={"PAYDOUBLE_INSPECTOR": "no"}) as served:
        assert "inspector" not in served.banner
        async with aiohttp.ClientSession() as client, client.get(f"{served.url}/_paydouble/inspector/login") as answer:
            assert answer.status == 404


@pytest.mark.parametrize("control", [(), ("--control-port", "0")])
async def test_the_inspector_is_opened_in_a_browser(tmp_path: Path, control: tuple[str, ...]) -> None:
    """`--open` starts the user's browser with the address of the page."""
    opened = tmp_path / "opened"
    os.mkfifo(opened)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    async with _serving("--port", "0", *control, "--open", env={"BROWSER": f"{browser} %s"}) as served:
        url = await asyncio.to_thread(opened.read_text)
        async with aiohttp.ClientSession() as client, client.get(url, headers={"Accept": "text/html"}) as page:
            assert (page.status, page.content_type) == (200, "text/html")
        assert url in served.banner


async def test_a_machine_without_a_browser_is_no_reason_not_to_serve() -> None:
    """The address is said instead."""
    async with _serving("--port", "0", "--open", env={"BROWSER": "false"}) as served:
        assert (await _get(f"{served.url}/_paydouble/health"))["status"] == "ok"


async def _seeds(*arguments: str) -> tuple[int, int, int]:
    """Return the seed in the banner, that of the default sandbox, and that of a new one."""
    async with _serving("--port", "0", *arguments) as served:
        shown = await _get(f"{served.url}/_paydouble/sandboxes/default")
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{served.url}/_paydouble/sandboxes", json={"id": "mine"}) as made,
        ):
            mine = await made.json()
    banner = re.search(r"seed +(-?[0-9]+) ", served.banner)
    assert banner is not None
    return int(banner[1]), shown["seed"], mine["seed"]


async def test_a_server_has_a_new_seed_each_time_and_takes_it_back() -> None:
    """On a real clock, so that a receiver takes no event of the next run for a duplicate."""
    first, second = [await _seeds() for _ in range(2)]

    assert first[0] != second[0]
    assert first[0] == first[1] < 2**53
    assert await _seeds("--seed", str(first[0])) == first


async def test_a_clock_that_is_moved_goes_with_a_fixed_seed() -> None:
    """Such runs are repeated."""
    assert (await _seeds("--clock", "manual"))[:2] == (0, 0)


async def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    """Each source overrides the next, and --set overrides the settings of the file."""
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


async def test_the_banner_names_the_public_address() -> None:
    """The banner shows the address that clients use."""
    async with _serving("--port", "0", env={"PAYDOUBLE_PUBLIC_URL": "http://pay.test:9000/"}) as served:
        assert served.url == "http://pay.test:9000"
        assert "http://pay.test:9000/_paydouble/docs" in served.banner


async def test_a_file_says_which_proxy_is_believed(tmp_path: Path) -> None:
    """`trust-forwarded` takes one address or several, like any option that may be repeated."""
    file = tmp_path / "paydouble.yaml"
    file.write_text("port: 0\nallowed-host: pay.test\ntrust-forwarded: [10.0.0.0/8, 127.0.0.1]\n")
    async with _serving("--config", str(file)) as served, aiohttp.ClientSession() as session:
        headers = {"X-Forwarded-Host": "pay.test", "X-Forwarded-Proto": "https"}
        async with session.get(f"{served.url}/_paydouble/sandboxes/default", headers=headers) as response:
            shown = await response.json()

    assert shown["base_url"] == "https://pay.test/api/v1"


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
        (b"colour: red", "x.yaml: 'colour' is not known; there are: allowed-host, bodies-in-flight"),
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


async def test_a_sandbox_that_nobody_uses_is_logged_when_it_is_deleted() -> None:
    """With its ttl; `--max-sandboxes` limits how many there are until then."""
    async with _serving("--port", "0", "--max-sandboxes", "2") as served, aiohttp.ClientSession() as session:
        boxes = f"{served.url}/_paydouble/sandboxes"
        async with session.post(boxes, json={"id": "job-7", "ttl": "1s"}) as response:
            assert response.status == 201
        async with session.post(boxes, json={}) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (429, "too_many_sandboxes")
        assert served.process.stderr is not None
        async with asyncio.timeout(AT_MOST_SECONDS):
            while b"'job-7' was deleted" not in (line := await served.process.stderr.readline()):
                assert line
        assert b"its ttl of 1s" in line
        assert [box["id"] for box in (await _get(boxes))["items"]] == ["default"]


async def test_a_request_that_no_sandbox_claims_is_shown() -> None:
    """In the live log, with the business key that it came with."""
    headers = {"Authorization": basic_header("live_key", "live_secret")}
    async with _serving("--port", "0") as served, aiohttp.ClientSession() as session:
        async with session.get(f"{served.url}/api/v1/pay-in", headers=headers) as response:
            assert response.status == 401
        # The end does not wait for long for a log that is not written.
        assert served.process.stderr is not None
        async with asyncio.timeout(AT_MOST_SECONDS):
            errors = await served.process.stderr.readuntil(b"live_key")
        served.process.send_signal(signal.SIGTERM)
        errors += (await served.process.communicate())[1]

    assert "GET /pay-in ✗ 401 no sandbox claims it (business key 'live_key')" in " ".join(errors.decode().split())
    assert "live_secret" not in errors.decode()


def test_a_file_that_may_never_end_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe without a writer, a device, a file of any size, a folder."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"# " + b"x" * LARGEST_CONFIG)
    paths = (tmp_path / "pipe", "/dev/zero", tmp_path / "large", tmp_path)

    statuses = [run(["serve", "--config", str(path)]) for path in paths]

    said = [line.partition("serve: ")[2].partition(". Try")[0] for line in capsys.readouterr().err.splitlines()]
    assert statuses == [2, 2, 2, 2]
    assert said == [
        f"{tmp_path}/pipe cannot be read (is a pipe, not a regular file)",
        "/dev/zero cannot be read (is a device, not a regular file)",
        f"{tmp_path}/large is larger than 1048576 bytes",
        f"{tmp_path} cannot be read (is a directory)",
    ]


@pytest.mark.parametrize("path", ["pipe", "/dev/zero"])
def test_certificates_that_may_never_end_are_one_line(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenSSL would read it without end, too."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")

    status = run(["serve", "--port", "0", "--ca-file", path])

    assert status == 2
    assert f"--ca-file: {path} cannot be used: Is a " in capsys.readouterr().err


def test_events_that_do_not_exist_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A glob that fits no type would show nothing at all."""
    status = run(["serve", "--events", "pay-in.*", "--events", "payin.*"])

    said = "paydouble serve: --events: 'payin.*' fits no event type; there are: pay-in.created, pay-in.pending,"
    assert (status, capsys.readouterr().err[: len(said)]) == (2, said)


async def test_a_full_disk_stops_neither_the_server_nor_its_end() -> None:
    """The log is lost; the answers are not."""
    with Path("/dev/full").open("wb") as full:  # noqa: ASYNC230 - a device keeps nobody waiting
        async with _serving("--port", "0", errors=full) as served:
            statuses = [await _deposit(served) for _ in range(2)]

            status, _, _ = await served.end(signal.SIGTERM)

    assert (statuses, status) == ([200, 200], 0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("port: 0\ncatalogue:\n  currencies:\n    NOK: {digits: many}\n", ":4:11: catalogue.currencies.NOK.digits: "),
        (
            "settings:\n  catalogue:\n    payment_methods:\n      PIX: {pix: {limits: {BRL: [0.001, 5]}}}\n",
            ":4:34: settings.catalogue.payment_methods.PIX.pix.limits.BRL.0: 0.001 has more than 2 decimal places",
        ),
        ("catalogue: {countries: [NO]}\n", ":1:13: catalogue.countries: this member is not known"),
        ("catalogue: []\n", ":1:1: catalogue: is a list; send an object"),
        (
            "catalogue: {}\nsettings: {catalogue: {}}\n",
            ": the catalogue is given twice, at the top and among the settings",
        ),
        ("catalogue: {}\nsettings: 5\n", ": settings: must be a mapping of settings"),
    ],
)
def test_a_bad_catalogue_is_one_line_with_its_place(
    content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """File, line and column of what is wrong, and its path in the file."""
    file = tmp_path / "x.yaml"
    file.write_text(content)

    status = run(["serve", "--config", str(file)])

    [line] = capsys.readouterr().err.splitlines()
    assert (status, f"{file}{says}" in line) == (2, True), line


async def test_a_catalogue_is_taken_from_the_file(tmp_path: Path) -> None:
    """Numbers with a point are exact there; `--set` overrides them."""
    file = tmp_path / "x.yaml"
    file.write_text("port: 0\ncatalogue: {payment_methods: {CREDIT_CARD: {card: {limits: {EUR: [0.10, 49.90]}}}}}\n")
    async with _serving("--config", str(file), "--set", "catalogue.currencies.NOK=null") as served:
        shown = await _get(f"{served.url}/_paydouble/sandboxes/default")
        status = await _deposit(served)

    assert shown["settings"]["catalogue"]["payment_methods"]["CREDIT_CARD"]["card"]["limits"] == {
        "EUR": ["0.10", "49.90"]
    }
    assert shown["settings"]["catalogue"]["currencies"] == {"NOK": None}
    assert status == 200
