"""A run is repeated byte for byte, in this process and in another; a difference is found at its line."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from drive import DEPOSITS, HOUR, Business, deposit_body, key, settled
from random_runs import RandomRun
from scripts import draw

from paydouble import Sandbox
from paydouble.api.execution import Delayed, Joined
from paydouble.core.errors import UsageError
from paydouble.runfile.files import Run, pack, unpack, write_run
from paydouble.runfile.lines import dump
from paydouble.runfile.recorded import recorded_run
from paydouble.runfile.replaying import difference, replay
from paydouble.sandbox.recording import Remark
from paydouble.testing import ReplyLost

_REPLAY = """
import sys
from pathlib import Path
from paydouble.runfile.files import read_run
from paydouble.runfile.replaying import replay
for path in sorted(Path(sys.argv[1]).iterdir()):
    found = replay(read_run(path))
    if found is not None:
        print(path.name, found)
"""


def _run(core: Any) -> Run:  # noqa: ANN401 - a business or a sandbox
    return recorded_run(core.sandbox, core.pipeline)


def _again(run: Run) -> Any:  # noqa: ANN401 - a Divergence or None
    return replay(unpack(pack(run)))


def _random_run(seed: int) -> Run:
    run = RandomRun(seed)
    for command, arguments in draw(Random(seed), 30):
        getattr(run, command)(**arguments)
        run.check()
    return _run(run.business)


@pytest.mark.parametrize("part", range(4))
def test_random_runs_are_repeated(part: int) -> None:
    """Whatever happened in a sandbox happens again, with the same bytes in the same order."""
    for seed in range(part * 25, (part + 1) * 25):
        assert _again(_random_run(seed)) is None, seed


def test_runs_are_repeated_in_a_fresh_process(tmp_path: Path) -> None:
    """Another process with another hash seed gets the same bytes."""
    for seed in range(10):
        write_run(_random_run(seed), tmp_path / f"{seed}.paydouble")

    done = subprocess.run(
        [sys.executable, "-c", _REPLAY, str(tmp_path)],
        env={"PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout == ""


def test_the_same_run_gives_the_same_file() -> None:
    """A file holds nothing that depends on when it was written."""
    assert pack(_random_run(3)) == pack(_random_run(3))


def _every_command() -> Sandbox:
    times = iter(range(1_000))
    box = Sandbox({"catalogue": {"currencies": {"XAU": {"digits": 3, "per_us_dollar": "0.0004"}}}}, seed=5)
    box.core._wall = box.core.pipeline._wall = box.core.pipeline._arrival = lambda: 1_790_000_000_000 + next(times)  # noqa: SLF001 - a machine's time that is the same in each run
    return box


def test_every_control_command_is_repeated() -> None:
    """Faults, scenarios, settings, secrets, forced outcomes and resets are part of a run."""
    box = _every_command()
    box.receiver = lambda webhook: 500 if webhook.number == 1 else 204
    box.faults.add("error", id="mine", status=503, times=1, operation="deposit-creation")
    box.faults.add("duplicate", times=1)
    box.faults.change("mine", times=2)
    box.rate_limit.set(limit=3, window="10s", headers="always")
    box.scenarios.upload(
        {"name": "own", "summary": "Waits.", "match": {"amount": 1.5}, "lifecycle": {"pay_in": [_AWAIT]}}
    )
    answers = [box.handle("POST", DEPOSITS, deposit_body(amount=amount)) for amount in (49.9, 49.9, 49.9, 1.5, 3)]
    box.faults.remove("mine")
    box.clock.advance("20s")
    box.rate_limit.clear()
    paid, waiting = box.pay_ins.list()[:2]
    if waiting.status != "created":
        paid, waiting = waiting, paid
    box.payer(waiting.id).pay()
    box.pay_ins.refund(paid.id, amount=Decimal("5.00"), reason="damaged")
    dispute = box.dispute(paid.id)
    box.transition(dispute, "lost", force=True)
    box.transition(paid.id, "failed", failure={"code": "late", "message": "Too late"}, force=True)
    box.webhook.rotate_secret(grace="1h")
    box.webhook.test("refund.succeeded")
    box.events.emit("pay-in.created", paid.id)
    box.change(settings={"timestamps": "seconds", "envelope": "A"}, notification_url="http://other.test/hook")
    held = box.deliveries[-1].id
    box.deliveries.hold(held)
    box.deliveries.release(held)
    box.clock.advance("1h")
    box.deliveries.redeliver(held)
    box.scenarios.activate("card-declined")
    box.scenarios.play("happy-path", amount=Decimal("12.50"))
    box.clock.set("auto")
    box.clock.advance("3h")
    box.webhook.change(secret="whsec_other")
    box.scenarios.deactivate()
    box.handle("POST", DEPOSITS, deposit_body())
    box.reset("state", "clock", same_ids=True)
    box.handle("POST", DEPOSITS, deposit_body())
    box.core.sandbox.recording.add(Remark("the end"))

    run = _run(box.core)

    assert {answer.status for answer in answers} >= {503, 200}
    assert _again(run) is None
    assert {line["do"] for line in run.lines if "do" in line} >= {"fault-add", "scenario-play", "sandbox-reset"}


_AWAIT = {"await": "payer", "pay": [{"after": "1s", "to": "processing"}], "within": "1h"}


def test_a_reset_of_everything_begins_another_run() -> None:
    """After it the run has only what came then, with ids that go on."""
    box = Sandbox(seed=9)
    box.faults.add("error", status=500, times=1)
    box.handle("POST", DEPOSITS, deposit_body())
    box.scenarios.play("happy-path")
    box.reset()
    assert box.core.sandbox.recording.entries == []
    box.faults.add("error", status=500, times=1)
    box.handle("POST", DEPOSITS, deposit_body())
    box.scenarios.play("happy-path")

    run = _run(box.core)

    assert run.header["sandbox"]["generation"] == run.header["sandbox"]["faults_made"] == 1
    assert _again(run) is None


def test_requests_that_wait_are_repeated() -> None:
    """Two requests with one key, of which the second joins the first, end in the same order."""
    business = Business(processing_time="1s")
    first = business.begin(DEPOSITS, deposit_body(), key=key(1))
    second = business.begin(DEPOSITS, deposit_body(), key=key(1))
    assert isinstance(first, Delayed)
    assert isinstance(second, Joined)
    business.sandbox.reset(frozenset({"faults"}))
    business.pipeline.execute(first.call)
    settled(business.pipeline.rejoin(second))

    assert _again(_run(business)) is None


def test_a_reset_while_a_request_waits_continues_the_run() -> None:
    """The request needs its first half, which is before the reset."""
    business = Business(processing_time="1s")
    first = business.begin(DEPOSITS, deposit_body(), key=key(1))
    assert isinstance(first, Delayed)
    business.sandbox.reset(frozenset({"state", "faults", "requests", "deliveries", "clock", "scenarios"}))
    business.pipeline.execute(first.call)

    assert _again(_run(business)) is None


def test_a_whole_body_is_kept_that_is_too_large() -> None:
    """A request that is refused for its size is refused again."""
    business = Business(body_limit=100)
    business.post(DEPOSITS, deposit_body())
    business.request("POST", "/nothing", authorization="Basic wrong", body_error="The body came too slowly.")

    run = _run(business)

    assert _again(run) is None
    assert run.lines[0]["body"].endswith("}")


def test_a_run_whose_beginning_was_evicted_cannot_be_written() -> None:
    """The message says how to keep more."""
    business = Business(journal_limit=2)
    for _ in range(3):
        business.post(DEPOSITS, deposit_body())

    with pytest.raises(UsageError, match="raise the settings journal_limit and journal_bytes, or reset"):
        _run(business)
    business.sandbox.reset(frozenset({"state", "faults", "requests", "deliveries", "clock", "scenarios"}))
    assert _again(_run(business)) is None


def test_a_long_run_frees_its_memory_when_it_is_lost() -> None:
    """Nothing more is kept once the journals have evicted something; a listener is still called."""
    business = Business(journal_limit=2)
    heard: list[Any] = []
    business.sandbox.recording.listener = heard.append
    for _ in range(200):
        business.get("/pay-in")

    assert business.sandbox.recording.lost
    assert business.sandbox.recording.entries == []
    assert len(heard) == 400


def test_attempts_that_lost_bytes_end_a_recording() -> None:
    """When there is no room for the answers of receivers, the run has lost them too."""
    business = Business(journal_bytes=65_536, receiver=lambda _: 500)
    business.sandbox.journal.stripped = True

    with pytest.raises(UsageError, match="the beginning of its run is gone"):
        _run(business)


# Differences


def _small() -> Run:
    business = Business(receiver=lambda _: 500)
    business.post(DEPOSITS, deposit_body(), key=key(1))
    business.advance(by=HOUR)
    business.sandbox.recording.add(Remark("a note is not compared"))
    business.get("/pay-in")
    return _run(business)


def _changed(run: Run, place: int, **members: object) -> Run:
    lines = [dict(line) for line in run.lines]
    lines[place].update(members)
    return run._replace(lines=lines)


def _place(run: Run, **members: object) -> int:
    return next(place for place, line in enumerate(run.lines) if members.items() <= line.items())


def test_each_changed_result_is_found_at_its_line() -> None:
    """The number is that of the line in the file, and the member is named."""
    run = _small()
    assert _again(run) is None
    for place, line in enumerate(run.lines):
        if "is" in line:
            found = _again(_changed(run, place, body="other"))
            assert found is not None
            assert (found.line, found.member) == (place + 2, "body")
            assert "other" in str(found)


def test_a_missing_and_an_additional_result_are_found() -> None:
    """A file without a line, and one with a line too many, differ where that is."""
    run = _small()
    place = _place(run, type="pay-in.created")
    lines = run.lines
    without, doubled = lines[:place] + lines[place + 1 :], lines[: place + 1] + lines[place:]

    missing, additional = _again(run._replace(lines=without)), _again(run._replace(lines=doubled))
    last = _again(run._replace(lines=lines[:-1]))
    more = _again(run._replace(lines=[*lines, lines[-1]]))

    assert missing is not None
    assert (missing.line, missing.member) == (place + 2, "")
    assert additional is not None
    assert additional.line == place + 3
    assert last is not None
    assert last.expected == "nothing more"
    assert more is not None
    assert more.got == "nothing more"


def test_other_behaviour_is_found_where_it_begins() -> None:
    """With another setting the first answer that differs is named; with another outcome the first attempt is."""
    run = _small()
    header = {**run.header, "sandbox": {**run.header["sandbox"]}}
    header["sandbox"]["settings"] = {**header["sandbox"]["settings"], "created_status": 201}
    answer = _again(run._replace(header=header))
    outcome = _again(_changed(run, _place(run, do="outcome"), status=200))

    assert answer is not None
    assert (answer.line, answer.member, answer.expected, answer.got) == (
        _place(run, **{"is": "answer"}) + 2,
        "status",
        "200",
        "201",
    )
    assert outcome is not None
    attempts = [place for place, line in enumerate(run.lines) if line.get("do") in {"attempt", "tick"}]
    assert outcome.line - 2 in attempts


def test_an_attempt_that_does_not_come_again_is_found() -> None:
    """Without the secret's signature the attempt differs; without its delivery there is none."""
    run = _small()
    place = _place(run, do="attempt")
    nowhere = _again(_changed(run, place, endpoint="http://elsewhere.test"))

    assert nowhere is not None
    assert (nowhere.line, nowhere.got) == (place + 2, "nothing more")


def test_time_after_the_last_command_is_compared() -> None:
    """Events that come before the end of the run, and are not in the file, are found."""
    business = Business()
    business.post(DEPOSITS, deposit_body())
    run = _run(business)

    found = _again(run._replace(end={"at": "2026-01-01T01:00:00.000Z"}))

    assert found is not None
    assert (found.line, found.expected) == (len(run.lines) + 2, "nothing more")


def test_a_difference_in_a_long_text_is_shown_with_what_is_around_it() -> None:
    """A person need not search a whole body."""
    path, expected, got = difference({"a": ["x" * 400 + "1"]}, {"a": ["x" * 400 + "2"]})
    assert path == "a[0]"
    assert expected.endswith("x1'… (from character 360)")
    assert got.endswith("x2'… (from character 360)")
    assert difference({"do": "a"}, {"do": "b"})[0] == ""
    assert difference({"a": 1}, {"a": 1, "b": 2}) == ("b", "nothing more", "2")
    assert difference([1], "x" * 400)[2].endswith("x…")


def test_a_result_between_two_commands_that_does_not_come_is_found() -> None:
    """It is named before the next command is applied."""
    run = _small()
    place = _place(run, **{"is": "answer"})
    lines = [*run.lines[: place + 1], {"is": "event", "at": "2026-01-01T00:00:00.000Z"}, *run.lines[place + 1 :]]

    found = _again(run._replace(lines=lines))

    assert found is not None
    assert (found.line, found.got) == (place + 3, "nothing more")


def test_values_that_are_the_same_have_no_difference() -> None:
    """The whole value is shown then."""
    assert difference({"a": 1}, {"a": 1})[0] == ""
    assert difference([1], [1])[0] == ""
    assert difference([1, 2], [1, 3]) == ("[1]", "2", "3")


def test_a_broken_answer_and_exact_numbers_are_repeated() -> None:
    """What a fault does on the wire is part of the answer; a number of a fault keeps its digits."""
    box = Sandbox()
    box.faults.add("connection_reset", times=1, phase="after_commit")
    box.faults.add({"type": "unknown_members", "members": {"fee": Decimal("1.500")}}, times=1)
    with pytest.raises(ReplyLost):
        box.handle("POST", DEPOSITS, deposit_body())
    answer = box.handle("POST", DEPOSITS, deposit_body())
    run = _run(box.core)

    assert _again(run) is None
    assert answer.status == 200
    assert any(line.get("wire", {}).get("kind") == "reset" for line in run.lines)
    with pytest.raises(TypeError):
        dump({"odd": object()})
    assert dump({"amount": Decimal("1.50")}) == b'{"amount":1.50}'
