"""`paydouble healthcheck`: its exit status is the answer."""

from __future__ import annotations

import asyncio

import pytest
import receivers
from bounds import AT_MOST_SECONDS
from receivers import raw, receiving
from servers import running

from paydouble.cli.main import run

# What is well answers at once, but a busy machine may take longer than the two seconds that are usual.
PATIENT = ["healthcheck", "--timeout", str(AT_MOST_SECONDS)]


async def test_a_living_server_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0, by port or by URL."""
    async with running() as client:
        by_port = await asyncio.to_thread(run, [*PATIENT, "--port", str(client.server.port)])
        by_url = await asyncio.to_thread(run, [*PATIENT, "--server", client.server.base_url])
        url = client.server.base_url

    assert (by_port, by_url, capsys.readouterr().out) == (0, 0, f"{url} is well\n" * 2)


async def test_the_environment_names_the_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PAYDOUBLE_PORT and PAYDOUBLE_SERVER replace the options; an option wins, and the help names them."""
    async with running() as client:
        monkeypatch.setenv("PAYDOUBLE_PORT", str(client.server.port))
        by_port = await asyncio.to_thread(run, PATIENT)
        monkeypatch.setenv("PAYDOUBLE_SERVER", f"http://127.0.0.1:{receivers.closed_port()}")
        by_server = await asyncio.to_thread(run, ["healthcheck"])
        by_option = await asyncio.to_thread(run, [*PATIENT, "--server", client.server.base_url])

    assert (by_port, by_server, by_option) == (0, 1, 0)
    assert run(["healthcheck", "--help"]) == 0
    assert "[env var: PAYDOUBLE_SERVER]" in " ".join(capsys.readouterr().out.split())


def test_nobody_there_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    """A closed port is one line and status 1."""
    port = receivers.closed_port()
    status = run(["healthcheck", "--port", str(port)])

    written = capsys.readouterr()
    assert (status, written.out) == (1, "")
    assert written.err.startswith(f"http://127.0.0.1:{port} does not answer: ")
    assert written.err.count("\n") == 1


ILL = {
    "garbage": raw(b"220 smtp.example.test ESMTP\r\n\r\n"),
    "nothing": receivers.silent,
    "silence": receivers.hang,
    "another service": raw(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    "a failing service": raw(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("name", ILL)
async def test_a_server_that_is_ill_is_status_1(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Any other answer, or none, is status 1 and one line."""
    async with receiving(ILL[name]) as receiver:
        command = ["healthcheck", "--port", str(receiver.port), "--timeout", "0.2"]
        status = await asyncio.to_thread(run, command)

    written = capsys.readouterr()
    assert (status, written.out, written.err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("timeout", ["-1", "nan", "x"])
def test_an_impossible_timeout_is_refused(timeout: str) -> None:
    """A timeout out of range is refused with status 2."""
    assert run(["healthcheck", "--port", "1", "--timeout", timeout]) == 2
