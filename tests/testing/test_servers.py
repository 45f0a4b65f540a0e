"""Servers that a test starts or finds, and the errors when there is none."""

from __future__ import annotations

import asyncio
import gc
import http.client
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bounds import AT_MOST_SECONDS
from kit import Either, deposit, settle
from threads import no_thread_left

from paydouble.testing import AsyncPaydouble, ControlRefused, Paydouble, ServerGone, UsageError
from paydouble.testing.executors import SyncExecutor


def test_options_are_those_of_the_command() -> None:
    """What `serve` takes, a test gives by the same names."""
    with Paydouble.start(
        seed=3,
        clock="manual",
        start="2026-01-01T00:00:00Z",
        scenario="abandoned",
        settings={"created_status": 201},
        paths={"pay-in-list": "/pay-ins"},
        notification_url="http://127.0.0.1:9/",
        token="secret",
        allowed_hosts=["pay.example.test"],
        insecure_targets=True,
    ) as server:
        box = server.find()
        state = box.read()
        with pytest.raises(ControlRefused, match="token is missing"):
            Paydouble.connect(server.url).find()

    assert (box.auth, box.webhook_secret) == (("sandbox_key", "sandbox_secret"), "whsec_sandbox")
    assert (state.scenario, state.settings["created_status"]) == ("abandoned", 201)
    assert (state.clock.mode, state.clock.now.year, state.notification_url) == ("manual", 2026, "http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prot": 1}, "prot: this option is not known; there are: host, port"),
        ({"clock": "slow"}, "clock: 'slow' is neither real, manual nor auto"),
        ({"clock": "manual", "rate": 2.0}, "rate: only a real clock has a rate"),
        ({"start": "now"}, "start: 'now' is not an instant"),
        ({"settings": {"envelope": 1}}, "settings.envelope"),
        ({"scenario": "none"}, "scenario: there is no scenario 'none'"),
        ({"notification_url": "localhost"}, "notification_url: 'localhost': "),
        ({"host": "192.0.2.1"}, "reachable from other machines"),
        ({"ca_file": "/none/such.pem"}, "cannot be used"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_an_option_that_cannot_be_is_named(options: dict[str, Any], message: str) -> None:
    """One error, and no thread stays behind."""
    with no_thread_left(), pytest.raises(UsageError) as refused:
        Paydouble.start(**options)

    assert message in str(refused.value)


def test_a_port_that_is_taken_is_said_to_be() -> None:
    """The error names the port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be used"):
            Paydouble.start(port=port)


async def test_a_port_that_is_taken_is_said_to_be_in_the_loop_too() -> None:
    """Entering raises, and leaves nothing to stop."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        starting = AsyncPaydouble.start(port=taken.getsockname()[1])

        with pytest.raises(UsageError, match="cannot be used"):
            async with starting:
                pytest.fail("it cannot have started")
    await starting.__aexit__(None, None, None)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://localhost", "http://", "http://x/api", "http://x:none", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UsageError, match=r"url: .* is not a server's URL; write it like http://localhost:8080"):
        Paydouble.connect(url)


def test_the_usual_ports_need_not_be_said() -> None:
    """As in any URL."""
    assert SyncExecutor(Paydouble.connect("https://pay.test")._address).address.port == 443  # noqa: SLF001
    assert SyncExecutor(Paydouble.connect("http://pay.test")._address).address.port == 80  # noqa: SLF001


async def test_a_running_server_is_connected_to(server: Paydouble) -> None:
    """From another handle, of either kind, over the same sandboxes."""
    with server.sandbox() as box, Paydouble.connect(server.url) as other:
        async with AsyncPaydouble.connect(server.url) as third:
            found = other.find(box.id), await third.find(box.id)

    assert {each.auth for each in found} == {box.auth}


def test_an_api_at_another_address_is_said_where(server: Paydouble) -> None:
    """As behind `serve --control-port`: control calls go to the one, the code under test to the other."""
    with Paydouble.connect(server.url, api_url="http://api.test:9/") as other, other.sandbox() as box:
        assert (box.base_url, box.read().id) == ("http://api.test:9/api/v1", box.id)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_server_that_is_not_there_is_said_to_be_gone(kind: str) -> None:
    """One sentence with the address and the way out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"

        handle: Either = Paydouble.connect(url) if kind == "sync" else AsyncPaydouble.connect(url)
        with pytest.raises(ServerGone) as gone:
            await settle(handle.health())

    assert f"the paydouble server at {url} does not answer GET /health" in str(gone.value)
    assert "is it running" in str(gone.value)


async def test_a_server_that_hangs_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patience is each call's own, longer than what it asks the server to wait."""
    monkeypatch.setattr("paydouble.testing.calls.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("paydouble.testing.journals.PATIENCE_SECONDS", 0.05)
    with Paydouble.start() as server, server.sandbox() as box, socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        silent = type(box)(SyncExecutor(Paydouble.connect(url)._address), box._address, box._state)  # noqa: SLF001

        with pytest.raises(ServerGone, match=r"no answer within 0\.06 s"):
            silent.requests.wait(timeout=0.01)


@pytest.mark.parametrize("noticed", [True, False])
async def test_a_server_that_dies_is_complained_of_once(noticed: bool) -> None:
    """Its sandbox's context adds nothing to what has failed already, and says it when nothing has."""
    server = Paydouble.start()
    awaited = await AsyncPaydouble.start()

    def blocking() -> None:
        with server.sandbox() as box:
            server.close()
            if noticed:
                box.read()

    async def waiting() -> None:
        async with awaited.sandbox() as box:
            await awaited.close()
            if noticed:
                await box.read()

    method = "GET" if noticed else "DELETE"
    with pytest.raises(ServerGone, match=method):
        blocking()
    with pytest.raises(ServerGone, match=method):
        await waiting()


def test_what_is_no_paydouble_is_recognised() -> None:
    """An address with another server behind it is the test's mistake, and said to be."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for body in (b"<html>", b"[]", b"{}"):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65_536)
                    status = b"404 Not Found" if body == b"{}" else b"200 OK"
                    connection.sendall(
                        b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body)
                    )

        thread = threading.Thread(target=answer)
        thread.start()
        other = Paydouble.connect(f"http://127.0.0.1:{listening.getsockname()[1]}")
        errors = []
        for _ in range(3):
            with pytest.raises(ControlRefused) as refused:
                other.health()
            errors.append((refused.value.code, str(refused.value)))
        thread.join()

    assert [code for code, _ in errors] == ["not_paydouble", "not_paydouble", "refused"]
    assert "is this address really paydouble's?" in errors[0][1]
    assert errors[2][1] == "GET /health was answered 404."


def test_threads_share_a_handle(server: Paydouble) -> None:
    """Each that calls at the same time has a connection of its own; one waits while another makes it come true."""
    with server.sandbox(clock="manual") as box, ThreadPoolExecutor(8) as pool:
        waits = [pool.submit(box.requests.wait, count=1, timeout=AT_MOST_SECONDS) for _ in range(6)]
        status, _ = deposit(box)

        assert ([wait.result() for wait in waits], status) == ([1] * 6, 200)


def test_connections_are_kept_and_closed(server: Paydouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for a caller; an old one, which the server may be closing at this moment, is not used again."""
    opened: list[int] = []
    connect = http.client.HTTPConnection.connect

    def counted(self: http.client.HTTPConnection) -> None:
        opened.append(1)
        connect(self)

    monkeypatch.setattr(http.client.HTTPConnection, "connect", counted)
    other = Paydouble.connect(server.url)
    other.health()
    other.health()
    kept = len(opened)
    monkeypatch.setattr("paydouble.testing.executors._KEPT_SECONDS", 0.0)
    other.health()

    assert (kept, len(opened)) == (1, 2)
    del other
    gc.collect()  # an unclosed socket would be warned of, and a warning is an error here


def test_a_call_that_is_interrupted_gives_its_connection_up(server: Paydouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call must not read the answer of the one before."""

    def interrupted(_: http.client.HTTPConnection) -> http.client.HTTPResponse:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(http.client.HTTPConnection, "getresponse", interrupted)
        with pytest.raises(KeyboardInterrupt):
            server.health()

    assert server.health().status == "ok"


async def test_waiting_calls_do_not_block_others() -> None:
    """However many wait in an event loop, the call that ends their waiting gets through."""
    async with AsyncPaydouble.start() as server, server.sandbox(clock="manual") as box:
        waits = [
            asyncio.create_task(box.deliveries.wait(count=1, type="refund.failed", timeout=AT_MOST_SECONDS))
            for _ in range(150)
        ]
        sent = asyncio.create_task(box.webhook.test("refund.failed"))  # begins behind all of them

        assert set(await asyncio.gather(*waits)) == {1}
        assert (await sent).type == "refund.failed"
