"""`paydouble receive`, as a person at a terminal uses it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bounds import AT_MOST_SECONDS
from ports import free_port

from paydouble import sign

SECRET = "whsec_sandbox"
BODY = (
    b'{"id":"evt_1","object":"event","type":"pay-in.created","data":{"object":'
    b'{"id":"payin_1","status":"created","amount":49.90,"currency":"EUR"}}}'
)


class _Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.start = [self.line(), self.line()]
        self.date = self.line()
        found = re.search(r"http://127\.0\.0\.1:\d+/", self.start[0])
        assert found is not None, self.start
        self.url = found[0]

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def post(self, body: bytes = BODY, secret: str | None = SECRET) -> int:
        headers = {} if secret is None else {"X-Service-Signature": sign(body, secret)}
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 - our own http://127.0.0.1
        try:
            with urllib.request.urlopen(request, timeout=AT_MOST_SECONDS) as response:  # noqa: S310 - as above
                return int(response.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=AT_MOST_SECONDS)
        return self.process.returncode, out, err


@contextmanager
def _receive(*arguments: str, **variables: str) -> Iterator[_Running]:
    process = subprocess.Popen(
        [sys.executable, "-m", "paydouble", "receive", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **variables},
    )
    try:
        yield _Running(process)
    finally:
        process.kill()
        process.communicate()


def _words(line: str) -> list[str]:
    return line.split()


def test_an_event_is_one_line() -> None:
    """Time, type, payment, amount to the digit, whether it verified, and what it was answered."""
    with _receive() as running:
        status = running.post()

        line = running.line()

    assert status == 200
    assert re.match(r"\d\d:\d\d:\d\d  ", line)
    assert _words(line)[1:] == ["pay-in.created", "payin_1", "49.90", "EUR", "✓", "verified", "→", "200"]
    assert len(line) <= 80


def test_the_start_says_how_to_point_a_server_at_it() -> None:
    """The real port and, if it is not the default, the secret."""
    with _receive("--secret", "whsec a") as running:
        port = running.url

    assert running.start == [
        f"paydouble receives at {port} and verifies with whsec a",
        f"  send events here:   paydouble serve --notification-url {port} --webhook-secret 'whsec a'",
    ]


def _event(number: int, kind: str, **resource: object) -> bytes:
    body = {"id": f"evt_{number}", "object": "event", "type": kind, "data": {"object": resource}}
    return json.dumps(body).encode()


def test_a_payment_has_the_name_that_its_merchant_gave_it() -> None:
    """Its refunds and disputes as well, once the receiver has seen the pay-in."""
    pay_in = {"id": "payin_1", "object": "payin", "external_identifier": "order-17", "amount": 49, "currency": "EUR"}
    refund = {"id": "refund_1", "object": "refund", "payin_id": "payin_1", "amount": 30, "currency": "EUR"}
    with _receive() as running:
        running.post(_event(1, "refund.created", **refund))
        running.post(_event(2, "pay-in.succeeded", **pay_in))
        running.post(_event(3, "refund.succeeded", **refund))

        lines = [running.line() for _ in range(3)]

    assert [_words(line)[2:5] for line in lines] == [
        ["payin_1", "30", "EUR"],
        ["order-17", "49", "EUR"],
        ["order-17", "30", "EUR"],
    ]


def test_times_say_whose_they_are() -> None:
    """The date and the offset from UTC are above them."""
    with _receive(TZ="Asia/Kolkata") as running:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d, local time \(UTC\+05:30\)", running.date)


def test_some_events_can_be_shown_alone() -> None:
    """The others are still answered and counted."""
    with _receive("--events", "refund.*", "--events", "dispute.closed") as running:
        statuses = [running.post(), running.post(_event(2, "refund.created", id="refund_1")), running.post(b"x")]
        line = running.line()

        _, rest, _ = running.end()

    assert (statuses, _words(line)[1:3]) == ([200, 200, 200], ["refund.created", "refund_1"])
    assert rest == "stopped: 3 received, 3 verified, duplicates: 0, not shown: 2\n"


def test_a_full_disk_keeps_no_sender_from_its_answer() -> None:
    """What is printed is lost; the answers are not."""
    port = free_port()
    with Path("/dev/full").open("wb") as full:
        process = subprocess.Popen(
            [sys.executable, "-m", "paydouble", "receive", "--port", str(port)], stdout=full, stderr=subprocess.PIPE
        )
    try:
        signed = {"X-Service-Signature": sign(BODY, SECRET)}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", BODY, signed)
        while True:
            try:
                with urllib.request.urlopen(request, timeout=AT_MOST_SECONDS) as response:  # noqa: S310 - as above
                    assert response.status == 200
                    break
            except urllib.error.URLError:
                assert process.poll() is None  # it has not begun to listen yet
        process.terminate()
        _, complaint = process.communicate(timeout=AT_MOST_SECONDS)
    finally:
        process.kill()
        process.communicate()

    assert (process.returncode, complaint) == (0, b"")


def test_failures_and_duplicates_are_marked() -> None:
    """The first ones fail as configured; retries are counted, and are duplicates after a 2xx."""
    with _receive("--fail-first", "1", "--status", "204") as running:
        statuses = [running.post() for _ in range(3)]

        ends = [running.line().partition("✓ ")[2] for _ in range(3)]

    assert statuses == [500, 204, 204]
    assert ends == ["verified → 500", "verified → 204, attempt 2", "verified → 204, duplicate"]


def test_what_does_not_verify_is_named_and_explained_once() -> None:
    """The cause is in the line; the remedy follows the first time."""
    with _receive() as running:
        statuses = [running.post(secret=None), running.post(secret=None), running.post(secret="whsec_other")]

        lines = [running.line() for _ in range(6)]
        _, rest, _ = running.end()

    assert statuses == [400, 400, 401]
    assert [_words(line)[-4:] for line in (lines[0], lines[4], lines[5])] == [
        ["✗", "missing-header", "→", "400"],
        ["✗", "missing-header", "→", "400"],
        ["✗", "wrong-secret", "→", "401"],
    ]
    assert lines[1].strip() == "the request carries no signature header."
    assert max(map(len, lines)) <= 80
    assert lines[2].strip().startswith("To do: ")
    assert "stopped: 3 received, 0 verified, duplicates: 0" in rest


def test_the_secret_can_come_from_the_environment() -> None:
    """The same variable as of `serve` and `signature`."""
    with _receive(PAYDOUBLE_WEBHOOK_SECRET="whsec_other") as running:
        assert running.post(secret="whsec_other") == 200


def test_nothing_in_an_event_reaches_the_terminal_raw() -> None:
    """An event may hold escape sequences, wrong types and very long names."""
    body = (
        b'{"type":"\\u001b[31mred","data":{"object":{"id":["'
        + b"x" * 99
        + b'"],"payin_id":"a\\nb","amount":1,"currency":"\\u202eEUR"}}}'
    )
    with _receive() as running:
        running.post(body)

        line = running.line()

    assert "\\x1b[31mred" in line
    assert "  a\\nb  1 \\u202eEUR  " in line
    assert line.isprintable()


@pytest.mark.parametrize("body", [b'{"data":[]}', b'{"data":{"object":7}}', b"x"])
def test_a_body_that_is_no_event_is_said_to_be_none(body: bytes) -> None:
    """It is accepted, since it verifies."""
    with _receive() as running:
        status = running.post(body)

        line = running.line()

    assert (status, _words(line)[1:]) == (200, ["not", "an", "event", "-", "✓", "verified", "→", "200"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_well_when_it_is_shown_to(number: signal.Signals) -> None:
    """Exit status 0, a last line with the totals, and nothing on standard error."""
    with _receive() as running:
        running.post()

        status, out, err = running.end(number)

    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == "stopped: 1 received, 1 verified, duplicates: 0"


def test_it_ends_when_nobody_reads_any_more() -> None:
    """A closed pipe ends it without a traceback, and the sender still gets its answer."""
    with _receive() as running:
        assert running.process.stdout is not None
        running.process.stdout.close()

        answered = running.post()
        returncode = running.process.wait(timeout=AT_MOST_SECONDS)
        assert running.process.stderr is not None
        complaint = running.process.stderr.read()
        running.process.stdout = None

    assert (answered, returncode, complaint) == (200, 0, "")


def test_a_port_in_use_is_one_line_and_exit_status_2() -> None:
    """The line says which port, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = subprocess.run(
            [sys.executable, "-m", "paydouble", "receive", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=AT_MOST_SECONDS,
            check=False,
        )

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        rf"paydouble receive: --port: 127\.0\.0\.1:{port} cannot be used \(address already in use\); .*\n", done.stderr
    )
