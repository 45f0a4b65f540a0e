"""`paydouble trigger` against a real server: the timeline, the verdict and its exit status."""

from __future__ import annotations

import asyncio
import http.client
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import receivers
from aiohttp import web
from aiohttp_sse import EventSourceResponse
from rehearsals import PAID, PAID_EVENTS, fault, scenario
from servers import Box, Client, running

from paydouble.cli import remote, stage
from paydouble.cli import trigger as trigger_command
from paydouble.cli.main import run
from paydouble.cli.stage import LiveStage
from paydouble.cli.terminal import Terminal
from paydouble.core.errors import UsageError
from paydouble.payments.resources import PayIn
from paydouble.records import ClockState
from paydouble.records import clock_of as read_clock
from paydouble.runtime.host import HostOptions
from paydouble.sandbox import Sandbox
from paydouble.scenarios.library import Library
from paydouble.scenarios.writing import plain, write_scenario
from paydouble.server import ServerOptions
from paydouble.testing import Receiver
from paydouble.web.control import sandboxes
from paydouble.web.control import stream as control_stream

# How long a real receiver took is another time each time.
LATENCY = re.compile(r" in (<1|[0-9]+) ms|(?<=[0-9a-z]) in [0-9.]+ s$")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of a fresh server."""
    async with running() as started:
        yield started


@asynccontextmanager
async def business(client: Client, **members: Any) -> AsyncIterator[tuple[Box, Receiver]]:  # noqa: ANN401 - JSON is any
    """Give a sandbox whose events go to a receiver that verifies them."""
    async with Receiver() as receiver:
        yield await client.sandbox(notification_url=receiver.url, webhook_secret=receiver.secret, **members), receiver


async def triggered(
    box: Box, capsys: pytest.CaptureFixture[str], *arguments: str, server: str | None = None
) -> tuple[int, list[str], str]:
    """Run the command about a sandbox; returns its status, the lines that it printed, and what it complained of."""
    url = server or box.client.server.base_url
    status = await asyncio.to_thread(run, ["trigger", *arguments, "--server", url, "--sandbox", box.id])
    written = capsys.readouterr()
    lines = [LATENCY.sub("", " ".join(line.split())) for line in written.out.splitlines()]
    if f"sandbox {box.id}" in lines:  # a long summary takes several lines
        first = lines.index(f"sandbox {box.id}")
        lines[:first] = [" ".join(lines[:first])]
    return status, lines, written.err


def saved(folder: Path, **members: Any) -> str:  # noqa: ANN401 - JSON is any
    """Write a scenario into a file; returns its path."""
    path = folder / "tried.yaml"
    path.write_text(write_scenario(scenario(**members)))
    return str(path)


async def test_a_play_is_a_timeline(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """On a manual clock it takes no time; every call and every attempt is a row."""
    async with business(client) as (box, receiver):
        status, lines, complaint = await triggered(box, capsys, "happy-path")

    assert (status, complaint) == (0, "")
    assert lines[1:] == [
        f"sandbox {box.id}",
        lines[2],
        f"events go to {receiver.url}",
        "clock manual; this command advances it",
        lines[5],
        "+0s merchant → deposit-creation 49.90 EUR ✓ 200 created",
        "+0s → merchant pay-in.created 49.90 EUR ✓ 200",
        "+2s → merchant pay-in.pending 49.90 EUR ✓ 200",
        "+3s → merchant pay-in.processing 49.90 EUR ✓ 200",
        "+6s → merchant pay-in.succeeded 49.90 EUR ✓ 200",
        "✓ Ended after 6s with 4 events and 1 call, as the file expects.",
    ]
    assert re.fullmatch(r"order happy-path-[0-9a-f]{8}", lines[2])
    assert re.fullmatch(r"times since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC of the sandbox", lines[5])
    assert [each.event["type"] for each in receiver.received] == PAID_EVENTS
    assert all(each.verified for each in receiver.received)


async def test_a_file_is_uploaded_and_played(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The merchant of the file acts at its instants, and finds the dispute."""
    path = saved(
        tmp_path,
        pay_in=[*PAID, {"after": "30d", "dispute": {}}],
        merchant=[
            {"after": "1h", "refund": {"amount": 5}},
            {"after": "31d", "evidence": {"tracking": "JD01"}},
            {"after": "1m", "retrieve": True},
        ],
        answers=[200, 200, 200, 200],
    )
    async with business(client) as (box, _):
        status, lines, _ = await triggered(box, capsys, path)

    assert (status, lines[-1]) == (0, "✓ Ended after 34d1h with 10 events and 4 calls.")
    assert "+31d1h merchant → dispute-evidence-submission ✓ 200 under_review" in lines
    assert "+31d1h1m merchant → pay-in-retrieval ✓ 200 succeeded" in lines


async def test_a_case_has_its_own_merchant(client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its actions are played and its expectation counts; one that does not exist is refused."""
    cases = [{"name": "cancelled", "merchant": [{"after": "1s", "cancel": True}], "expect": ["pay-in.created"]}]
    path = saved(tmp_path, expect=PAID_EVENTS, cases=cases)
    async with business(client) as (box, _):
        played = await triggered(box, capsys, path, "--case", "cancelled")
        unknown = await triggered(box, capsys, path, "--case", "canceled")

    assert played[0] == 1
    assert "✗ cases.cancelled.expect: the receiver got pay-in.cancelled as number 2, which is not expected" in played[1]
    assert played[1][-1] == "✗ Ended after 1s with 2 events and 2 calls, not as the file expects."
    assert (unknown[0], unknown[1]) == (2, [])
    assert "--case: tried has no case 'canceled'; there are: 'cancelled'." in unknown[2]


async def test_without_an_endpoint_the_events_count(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are compared as they are made; faults on webhooks cannot be checked."""
    box = await client.sandbox()
    plain = await triggered(box, capsys, saved(tmp_path, expect=PAID_EVENTS))
    wrong = await triggered(box, capsys, saved(tmp_path, expect=PAID_EVENTS[1:]))
    twice = [fault("duplicate", on="webhooks", copies=1)]
    spoilt = await triggered(box, capsys, saved(tmp_path, faults=twice, expect=PAID_EVENTS))

    assert plain[1][3] == "events go to nobody; give an endpoint with --notification-url"
    assert "+2s service pay-in.pending 49.90 EUR no endpoint" in plain[1]
    assert (plain[0], wrong[0], spoilt[0]) == (0, 1, 0)
    assert " ".join(spoilt[1][-2:]).endswith(
        "; nothing was sent, so there is nothing to compare with what the file expects."
    )


async def test_the_endpoint_can_be_given(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """The sandbox keeps it."""
    async with Receiver() as receiver:
        box = await client.sandbox(webhook_secret=receiver.secret)
        status, _, _ = await triggered(box, capsys, "happy-path", "--notification-url", receiver.url)

    assert (status, len(receiver.received)) == (0, 4)
    assert (await box.get("/webhook"))["notification_url"] == receiver.url


async def test_attempts_that_fail_are_shown(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """A receiver that refuses an event once gets it again, and therefore in another order than expected."""
    async with business(client) as (box, receiver):
        receiver.answer_next(500)
        status, lines, _ = await triggered(box, capsys, "happy-path")

    assert status == 1
    assert "+0s → merchant pay-in.created 49.90 EUR ✗ 500" in lines
    assert "+1m → merchant pay-in.created 49.90 EUR ✓ 200, attempt 2" in lines


async def test_what_never_leaves_is_shown(client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dropped and held events have rows of their own, and attempts that fail have their cause."""
    faults = [
        fault("drop", on="webhooks", match={"event_type": "pay-in.pending"}),
        fault("hold", on="webhooks", match={"event_type": "pay-in.processing"}),
        fault("connection_reset", on="webhooks", match={"event_type": "pay-in.created"}, times=1),
        fault("payload", on="webhooks", match={"event_type": "pay-in.succeeded"}, mode="invalid_json"),
    ]
    path = saved(tmp_path, faults=faults, expect=["pay-in.succeeded", "pay-in.created"])
    async with business(client) as (box, receiver):
        receiver.answer_next(200)
        status, lines, _ = await triggered(box, capsys, path)

    assert lines[6:-1] == [
        "+0s merchant → deposit-creation 49.90 EUR ✓ 200 created",
        "+0s → merchant pay-in.created 49.90 EUR",
        "✗ reset, broken off half-way (tried-1.3)",
        "+2s service pay-in.pending 49.90 EUR ✗ dropped (tried-1.1)",
        "+3s service pay-in.processing 49.90 EUR ✗ held (tried-1.2)",
        "+6s → merchant pay-in.succeeded 49.90 EUR",
        "✓ 200, payload invalid_json (tried-1.4)",
        "+1m → merchant pay-in.created 49.90 EUR ✓ 200, attempt 2",
    ]
    assert status == 0


@pytest.mark.parametrize(
    ("effect", "why"),
    [
        (fault("connection_reset"), "reset"),
        (fault("empty_response"), "empty"),
        (fault("truncate", fraction=0.5), "cut off"),
        (fault("wrong_content_length", by=-20), "unreadable"),
        (fault("no_response"), "timeout"),
        (fault("garbage", bytes="AAEC"), "garbage"),
    ],
)
async def test_a_lost_answer_is_shown_with_its_cause(  # noqa: PLR0917 - fixtures
    effect: dict[str, Any],
    why: str,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The merchant tries again with the same key, and in the end there is one pay-in."""
    if why == "timeout":
        _hurry_once(monkeypatch)
    path = saved(tmp_path, faults=[{**effect, "times": 1}], expect=PAID_EVENTS, answers=["lost", 200])
    async with business(client) as (box, _):
        status, lines, _ = await triggered(box, capsys, path)

    assert f"+0s merchant → deposit-creation 49.90 EUR ✗ lost {why}" in lines
    assert status == 0, lines


def _hurry_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first call of the business have little patience; only that one is to be left waiting."""
    first, opened = iter([0.3]), remote.Connections.open

    def hurried(self: remote.Connections, seconds: float) -> http.client.HTTPConnection:
        return opened(self, next(first, seconds) if seconds == remote._API_SECONDS else seconds)  # noqa: SLF001 - which of both calls it is

    monkeypatch.setattr(remote.Connections, "open", hurried)


async def test_a_pay_in_that_was_never_confirmed_is_found(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its events are found by its order; what cannot be done is shown too."""
    lost = [fault("connection_reset", phase="after_commit")]
    path = saved(tmp_path, faults=lost, merchant=[{"after": "1h", "retrieve": True}, {"after": "1s", "accept": True}])
    async with business(client) as (box, _):
        status, lines, _ = await triggered(box, capsys, path)

    assert (status, [line for line in lines if "pay-in." in line][-1]) == (
        0,
        "+6s → merchant pay-in.succeeded 49.90 EUR ✓ 200",
    )
    assert "+1h6s merchant there is no dispute to accept" in " ".join(lines).replace("✗ ", "")


async def test_another_active_scenario_is_in_the_way(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """The other would be played instead, so the command refuses; the same scenario is accepted."""
    async with business(client) as (box, _):
        await box.control("PUT", "/scenarios/active", {"name": "card-declined"})
        refused = await triggered(box, capsys, "happy-path")
        played = await triggered(box, capsys, "card-declined")

    complaint = (
        f"paydouble trigger: sandbox {box.id} plays card-declined for every new pay-in; deactivate it first: "
        f"DELETE /_paydouble/sandboxes/{box.id}/scenarios/active\n"
    )
    assert refused == (2, [], complaint)
    assert played[0] == 0


@pytest.mark.parametrize("active", [False, True])
async def test_settings_of_a_scenario_are_given_back(
    active: bool, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the play; they stay when the scenario is the active one."""
    path = saved(tmp_path, settings={"envelope": "B"}, expect=PAID_EVENTS)
    async with business(client) as (box, _):
        if active:
            await box.control("POST", "/scenarios", plain(scenario(settings={"envelope": "B"})))
            await box.control("PUT", "/scenarios/active", {"name": "tried"})
        status, _, _ = await triggered(box, capsys, path)

        assert status == 0
        assert ((await box.get())["settings"]["envelope"] == "B") is active


async def test_other_things_in_the_sandbox_are_not_shown(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Their timers still fire, and the command says so first."""
    async with business(client) as (box, _):
        await box.deposit(customer={"first_name": "B", "last_name": "C", "email": "card-declined@scenario.test"})
        status, lines, _ = await triggered(box, capsys, "happy-path")

    assert status == 0
    assert lines[6] == "other timers 1; they fire too"
    assert "pay-in.failed" not in "".join(lines)


async def test_a_real_clock_is_waited_for(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long it takes is printed first, and times are rounded down to tenths of a second."""
    monkeypatch.setattr(stage, "_ANNOUNCE_SECONDS", 0.0)
    path = saved(tmp_path, merchant=[{"after": "3500ms", "retrieve": True}], expect=PAID_EVENTS)
    # No faster, or a busy machine could find nothing left to wait for.
    async with business(client, clock={"mode": "real", "rate": 4}) as (box, _):
        status, lines, _ = await triggered(box, capsys, path)

    assert (status, lines[-1].partition(" with ")[2]) == (0, "4 events and 2 calls, as the file expects.")
    assert lines[4] == "clock real; this takes about 1s500ms, longer if an event is sent again"
    assert any(re.match(r"the next thing is due at \S+, in \d+ s; Ctrl-C leaves it there", line) for line in lines), (
        lines
    )
    assert all(int(late) % 100 == 0 for late in re.findall(r"(\d+)ms ", "".join(lines))), lines


async def test_what_is_noted_late_on_a_real_clock_is_waited_for(
    client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy server says that nothing is left to happen before its stream has sent the last notes."""
    released = asyncio.Event()  # by a client that asks how far the stream is, or that has read an idle clock
    start, send = control_stream._start, control_stream._send_after  # noqa: SLF001 - wrapped below, to be late

    def asked(request: web.BaseRequest, box: Sandbox) -> int:
        if request.method == "HEAD":
            released.set()
        return start(request, box)

    async def late(seen: int, box: Sandbox, response: EventSourceResponse) -> tuple[int, int]:
        if box.feed.sequence > seen:
            await released.wait()
        return await send(seen, box, response)

    def clock_of(box: Sandbox) -> ClockState:
        state = read_clock(box)
        if state.idle and box.ledger.count(PayIn):
            released.set()
        return state

    monkeypatch.setattr(control_stream, "_start", asked)
    monkeypatch.setattr(control_stream, "_send_after", late)
    monkeypatch.setattr(sandboxes, "clock_of", clock_of)
    async with business(client, clock={"mode": "real", "rate": 1_000}) as (box, _):
        status, lines, complaint = await triggered(box, capsys, "happy-path")

    assert (status, complaint) == (0, ""), lines
    assert lines[-1].endswith("as the file expects.")


async def test_a_long_wait_is_shown_with_its_remedy(
    client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is printed first, for a scenario of seconds whose deliveries take days on a real clock."""

    def interrupted(_: LiveStage) -> None:
        raise KeyboardInterrupt

    async with business(client, clock="real") as (box, _):
        with monkeypatch.context() as patched:
            patched.setattr(LiveStage, "finish", interrupted)
            status, lines, _ = await triggered(box, capsys, "outage-50-hours")
        path = f"/_paydouble/sandboxes/{box.id}/clock"
        await client.call("PUT", path, {"mode": "manual"})
        afterwards = await triggered(box, capsys, "outage-50-hours")

    assert status == 130
    assert lines[4] == "clock real; this takes about 2d10h36m6s, longer if an event is sent again"
    assert lines[6:9] == [
        "That is long to wait for. Stop it with Ctrl-C, start the server with",
        "--clock manual or give this sandbox such a clock, and play it again:",
        f"""curl -X PUT --json '{{"mode": "manual"}}' {client.server.base_url}{path}""",
    ]
    assert "merchant → deposit-creation" in lines[9]
    assert (afterwards[0], [line for line in afterwards[1] if "long to wait" in line]) == (0, [])


async def test_deliveries_take_no_time_where_nobody_gets_any(
    client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then only the scenario itself takes time."""
    monkeypatch.setattr(LiveStage, "finish", lambda _: None)
    box = await client.sandbox(clock="real")
    _, lines, _ = await triggered(box, capsys, "outage-50-hours")

    assert "clock real; this takes about 6s, longer if an event is sent again" in lines
    assert "long to wait" not in "".join(lines)


def test_how_long_it_takes_is_that_of_the_case() -> None:
    """And if it cannot be rehearsed, what its file says."""
    with_case = scenario(
        cases=[{"name": "late", "merchant": [{"after": "2d", "retrieve": True}], "expect": PAID_EVENTS}]
    )
    endless = scenario(merchant=[{"after": "36500d", "retrieve": True}] * 90)

    assert trigger_command.length_of(with_case, None, sends=True) == 6_000
    assert trigger_command.length_of(with_case, with_case.cases[0], sends=True) == 2 * 86_400_000
    assert trigger_command.length_of(endless, None, sends=True) == 90 * 36_500 * 86_400_000


async def test_an_automatic_clock_is_moved_on_too(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where nothing is due for an hour and then the merchant acts."""
    path = saved(tmp_path, merchant=[{"after": "1h", "refund": {}}], answers=[200, 200])
    async with business(client, clock="auto") as (box, _):
        status, lines, _ = await triggered(box, capsys, path)

    assert status == 0
    assert "+1h merchant → refund-creation the rest ✓ 200 created" in lines, "\n".join(lines)
    assert lines[-1].endswith("with 7 events and 2 calls.")


async def test_what_an_automatic_clock_did_by_itself_delays_nothing(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause of the file begins where the merchant acted, however late the command looks at the clock."""
    path = saved(tmp_path, merchant=[{"after": "1h", "refund": {}}], answers=[200, 200])
    wait = LiveStage.wait

    def late(played: LiveStage, milliseconds: int) -> None:
        while not played._box.control("GET", "/clock")["idle"]:  # noqa: SLF001 - as late as can be
            pass
        wait(played, milliseconds)

    monkeypatch.setattr(LiveStage, "wait", late)
    async with business(client, clock="auto") as (box, _):
        status, lines, _ = await triggered(box, capsys, path)

    assert status == 0
    assert "+1h merchant → refund-creation the rest ✓ 200 created" in lines, "\n".join(lines)


async def test_a_clock_that_somebody_else_advances_stops_nothing(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a manual clock a pause of the file begins when the command looks at it."""
    path = saved(tmp_path, merchant=[{"after": "1h", "refund": {}}], answers=[200, 200])
    wait = LiveStage.wait

    def advanced(played: LiveStage, milliseconds: int) -> None:
        played._box.control("POST", "/clock/advance", {"by": "2h"})  # noqa: SLF001 - as another client does
        wait(played, milliseconds)

    monkeypatch.setattr(LiveStage, "wait", advanced)
    async with business(client) as (box, _):
        status, lines, complaint = await triggered(box, capsys, path)

    assert (status, complaint) == (0, "")
    assert "+3h merchant → refund-creation the rest ✓ 200 created" in lines, "\n".join(lines)


async def test_an_interrupt_ends_it_with_one_line(
    client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes on with what is still due."""

    def interrupted(_: LiveStage) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LiveStage, "finish", interrupted)
    async with business(client) as (box, _):
        status, _, complaint = await triggered(box, capsys, "happy-path")

    assert (status, complaint) == (
        130,
        "paydouble trigger: stopped; the server goes on with what is still due\n",
    )


async def test_a_token_and_a_control_port_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Control calls go to the named port, and API calls to the port of the API."""
    async with running(ServerOptions(port=0, control_port=0, control_token="t0ken")) as client:
        url = f"http://127.0.0.1:{client.server.control_port}"
        command = ["trigger", "abandoned", "--server", url]
        without = await asyncio.to_thread(run, command)
        wrong = capsys.readouterr().err
        await client.call(
            "PUT",
            "/_paydouble/sandboxes/default/clock",
            {"mode": "manual"},
            headers={"Authorization": "Bearer t0ken"},
            port=client.server.control_port,
        )
        status = await asyncio.to_thread(run, [*command, "--token", "t0ken"])

    assert (without, status) == (2, 0), capsys.readouterr()
    assert wrong == (
        f"paydouble trigger: {url}: The control token is missing; send Authorization: Bearer with the token that serve "
        "was given.\n"
    )


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("hapy-path", "paydouble trigger: the server knows no scenario 'hapy-path'; did you mean 'happy-path'?\n"),
        ("zzz", "paydouble trigger: the server knows no scenario 'zzz'; list them with: paydouble scenario list\n"),
    ],
)
async def test_a_scenario_that_cannot_be_had_is_a_line(
    name: str, complaint: str, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the nearest name where there is one."""
    box = await client.sandbox()

    assert await triggered(box, capsys, name) == (2, [], complaint)


async def test_an_uploaded_scenario_is_played_as_the_server_has_it(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server gives its steps, so its file is not needed; amounts keep their digits."""
    box = await client.sandbox()
    steps = [{"after": "2s", "to": "pending"}]
    theirs = {"name": "theirs", "summary": "Theirs.", "lifecycle": {"pay_in": steps}, "deposit": {"amount": 12.25},
              "expect": ["pay-in.created", "pay-in.pending", "pay-in.cancelled"]}  # fmt: skip
    await box.control("POST", "/scenarios", theirs)

    status, lines, complaint = await triggered(box, capsys, "theirs")

    assert (status, complaint) == (0, "")
    assert any("12.25 EUR" in line for line in lines)


async def test_a_file_that_is_wrong_is_a_line(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its place and what is wrong there; nothing is uploaded."""
    path = tmp_path / "tried.yaml"
    path.write_text("name: tried\nsummary: x\nlifecycl: {}\n")
    box = await client.sandbox()

    status, lines, complaint = await triggered(box, capsys, str(path))

    assert (status, lines) == (2, [])
    assert complaint.startswith(f"paydouble trigger: {path}:3:1: ")
    assert complaint.count("\n") == 1


async def test_a_folder_of_the_servers_is_read_where_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server on this machine says which file a scenario is, and the file says the rest."""
    saved(tmp_path, expect=PAID_EVENTS)
    library = Library([tmp_path])
    library.look()
    async with running(ServerOptions(port=0, shared=HostOptions(library=library))) as client:
        box = await client.sandbox()
        status, lines, complaint = await triggered(box, capsys, "tried")

    assert (status, complaint) == (0, ""), lines


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x"])
def test_a_server_that_is_no_url_is_a_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, and what one looks like."""
    assert run(["trigger", "happy-path", "--server", url]) == 2
    assert (
        capsys.readouterr().err == f"paydouble trigger: --server: {url!r} is not a URL such as http://127.0.0.1:8080\n"
    )


def test_nobody_there_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, which address does not answer, and what to do."""
    port = receivers.closed_port()

    assert run(["trigger", "happy-path", "--server", f"http://127.0.0.1:{port}"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"paydouble trigger: http://127.0.0.1:{port} does not answer: ")
    assert complaint.endswith(
        f"; start a server there with 'paydouble serve --port {port}', or name another with --server or "
        "PAYDOUBLE_SERVER\n"
    )
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        (
            "http://127.0.0.1:8080",
            "start a server there with 'paydouble serve', or name another with --server or PAYDOU",
        ),
        ("http://127.0.0.1", "start a server there with 'paydouble serve --port 80', or name another with --server"),
        ("https://127.0.0.1:8443", "name another with --server or PAYDOUBLE_SERVER"),
    ],
)
def test_the_way_out_leads_to_that_address(url: str, advice: str) -> None:
    """With the port where it is not the usual one; no server of ours speaks TLS."""
    assert remote.Connections(url).way_out().startswith(advice)


async def test_the_server_can_stand_in_the_environment(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PAYDOUBLE_SERVER sets --server, which wins; the help says so."""
    box = await client.sandbox()
    command = ["trigger", "happy-path", "--sandbox", box.id]
    url = f"http://127.0.0.1:{receivers.closed_port()}"
    monkeypatch.setenv("PAYDOUBLE_SERVER", client.server.base_url)

    assert await asyncio.to_thread(run, command) == 0
    assert await asyncio.to_thread(run, [*command, "--server", url]) == 2
    assert url in capsys.readouterr().err
    assert run(["trigger", "--help"]) == 0
    assert "[env var: PAYDOUBLE_SERVER;" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", b"HTTP/1.1 204 No\r\n\r\n"])
async def test_another_server_is_a_line(answer: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """Another server's answer is not accepted."""
    async with receivers.receiving(receivers.raw(answer)) as other:
        url = f"http://127.0.0.1:{other.port}"
        status = await asyncio.to_thread(run, ["trigger", "happy-path", "--server", url])

    assert status == 2
    complaint = capsys.readouterr().err
    assert f"{url} answers, but not as a paydouble server does" in complaint
    assert complaint.endswith("; name one with --server or PAYDOUBLE_SERVER\n")


async def test_a_sandbox_that_is_not_there_is_a_line(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """With the server's own message."""
    command = ["trigger", "happy-path", "--server", client.server.base_url, "--sandbox", "nowhere"]

    assert await asyncio.to_thread(run, command) == 2
    assert capsys.readouterr().err == f"paydouble trigger: {client.server.base_url}: There is no sandbox 'nowhere'.\n"


async def test_a_server_that_ends_in_the_middle_is_a_line(client: Client) -> None:
    """Every further read of its stream raises the same error."""
    made = await client.sandbox()
    box = await asyncio.to_thread(remote.Box, client.server.base_url, None, made.id)
    stream = await asyncio.to_thread(box.follow)
    await made.control("DELETE", "")

    for _ in range(2):
        with pytest.raises(UsageError, match="has ended, or its sandbox was deleted"):
            await asyncio.to_thread(stream.take, 10.0)
    await asyncio.to_thread(stream.close)


class FakeBox:
    """A sandbox with given notes in its stream, and a clock that stands still."""

    def __init__(self, *notes: tuple[str, dict[str, Any]]) -> None:
        self._notes = list(notes)
        self._newest = len(notes)
        self.seen = 0

    def control(self, *_: object) -> dict[str, Any]:
        """Return the clock, whatever is asked."""
        clock = {"mode": "manual", "rate": 1, "now": "2026-01-01T00:00:00Z", "pending": 0}
        return {**clock, "idle": True, "next_due_at": None}

    def newest(self) -> int:
        """Return the number of its last note."""
        return self._newest

    def follow(self) -> FakeBox:
        """Return its own stream."""
        return self

    def take(self, _: float) -> tuple[str, dict[str, Any]] | None:
        """Return the next note."""
        self.seen += 1
        return self._notes.pop(0) if self._notes else None


def test_notes_that_are_gone_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A stream that could not be read in time says how much was missed."""
    stage = LiveStage(FakeBox(("gap", {"evicted": 7})), Terminal())  # type: ignore[arg-type]  # as much of one as is asked for

    stage.finish()

    assert capsys.readouterr().out == "  7 notes of the server were evicted before they could be read\n"


def test_a_stream_that_does_not_report_the_clock_is_an_error() -> None:
    """The command does not wait without end for a missing note."""
    stage = LiveStage(FakeBox(("clock", {"now": "2025-12-31T00:00:00Z"})), Terminal())  # type: ignore[arg-type]  # as above

    with pytest.raises(UsageError, match="its stream does not report it"):
        stage.wait(0)


@pytest.mark.parametrize("body", ["{", "[]", '{"data": {"object": 5}}', {"base64": "/w=="}])
def test_an_event_that_holds_no_object_is_nobodys(body: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is in it, it breaks nothing."""
    note = {"id": "evt_1", "type": "pay-in.created", "object_id": "x", "created_at": "2026-01-01T00:00:00Z"}
    stage = LiveStage(FakeBox(("event", {**note, "body": body})), Terminal())  # type: ignore[arg-type]  # as above

    stage.finish()

    assert (stage.events, capsys.readouterr().out) == ([], "")


def test_help_is_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option is listed."""
    run(["trigger", "--help"])

    out = capsys.readouterr().out
    for option in ("--server", "--token", "--sandbox", "--notification-url", "--case"):
        assert option in out


@pytest.mark.parametrize("clock", [{"mode": "manual"}, {"mode": "real", "rate": 1_000}])
async def test_a_payer_acts_by_itself(
    client: Client, capsys: pytest.CaptureFixture[str], clock: dict[str, Any]
) -> None:
    """What the payer of the file does is done by a control call, and shown."""
    async with business(client, clock=clock) as (box, _):
        status, lines, complaint = await triggered(box, capsys, "payer-decides")

    assert (status, complaint) == (0, "")
    assert any(line.endswith("payer pays") for line in lines)
    assert lines[-1].endswith("as the file expects.")


async def test_a_payer_who_cannot_act_is_shown_with_the_reason(client: Client, tmp_path: Path, capsys: Any) -> None:  # noqa: ANN401
    """The play goes on."""
    late = [{"after": "1m", "payer": {"action": "abandon"}}, {"after": "1m", "payer": {"action": "pay"}}]
    path = tmp_path / "tried.yaml"
    path.write_text(write_scenario(scenario([PAID[0], {"await": "payer"}], merchant=late)), "utf-8")
    async with business(client, clock={"mode": "manual"}) as (box, _):
        _, lines, _ = await triggered(box, capsys, str(path))

    shown = " ".join(lines)
    assert "payer pays ✗" in shown
    assert "is cancelled, so the payer can do nothing any more" in shown
