"""`scenario check --play`: what it prints of scenarios that come out right, and of those that do not."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rehearsals import PAID_EVENTS, fault, scenario

from paydouble.cli import scenario_play
from paydouble.cli.scenario_play import play_files
from paydouble.cli.terminal import Terminal
from paydouble.rehearsal import Rehearsal, rehearse
from paydouble.scenarios.library import shipped_files
from paydouble.scenarios.model import Scenario

PATH = Path("mine/tried.yaml")


def played(capsys: pytest.CaptureFixture[str], *scenarios: Scenario) -> tuple[int, list[str]]:
    """Play scenarios; returns the exit status and the printed lines."""
    status = play_files([(PATH, each) for each in scenarios], Terminal())
    return status, capsys.readouterr().out.splitlines()


def test_what_comes_out_right_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """How much happened and how long it took, and totals at the end."""
    cases = [{"name": "refunded", "merchant": [{"after": "1h", "retrieve": True}], "expect": PAID_EVENTS}]

    abandoned = scenario([], expect=["pay-in.created", "pay-in.cancelled"])

    result = played(capsys, scenario(expect=PAID_EVENTS), abandoned, scenario(cases=cases))

    assert result == (
        0,
        [
            "✓ mine/tried.yaml: 4 events, 1 call, 6s",
            "✓ mine/tried.yaml: 2 events, 1 call, 1d",
            "✓ mine/tried.yaml: 4 events, 1 call, 6s; 1 case",
            "✓ 3 scenarios and 1 case played twice: all came out as their files say.",
        ],
    )


def test_what_differs_is_shown_side_by_side_with_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    """The place, the first difference, both lists, the reason and the timeline."""
    declined = [{"after": "2s", "to": "failed"}]

    status, lines = played(capsys, scenario(declined, expect=["pay-in.created", "pay-in.succeeded"]))

    assert (status, lines) == (
        1,
        [
            "✗ mine/tried.yaml: expect: number 2 is expected to be pay-in.succeeded; the receiver got pay-in.failed",
            "          expected          got",
            "       1  pay-in.created    pay-in.created  +0s",
            "    ✗  2  pay-in.succeeded  pay-in.failed  +2s",
            "    because the pay-in ended as failed; after that comes nothing, and succeeded only with force: true",
            "    what happened:",
            "  +0s        merchant →  deposit-creation 49.90 EUR   ✓ 200 created",
            "  +0s        → merchant  pay-in.created 49.90 EUR     ✓ 200",
            "  +2s        → merchant  pay-in.failed 49.90 EUR      ✓ 200",
            "✗ 1 scenario and 0 cases played twice: 1 wrong.",
        ],
    )


def test_a_remark_stands_beside_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    """Members that differ are in their row, and a difference without lists is one line."""
    wrong = scenario(expect=[{"event": "pay-in.created", "object": {"currency": "USD"}}, *PAID_EVENTS[1:]])

    _, lines = played(capsys, wrong)

    assert '    ✗  1  pay-in.created     pay-in.created  +0s  (object.currency is "EUR", not "USD")' in lines


def test_a_case_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Its place in the file begins with its name."""
    _, lines = played(capsys, scenario(cases=[{"name": "all back", "expect": PAID_EVENTS, "answers": [422]}]))

    message = "cases.all back.answers: number 1 is expected to be 422; the merchant's calls got 200"
    assert lines[0] == f"✗ mine/tried.yaml: {message}"


def test_one_that_is_wrong_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """All are played, and one that is wrong is enough for status 1."""
    status, lines = played(capsys, scenario(answers=[]), scenario(), scenario(answers=[201]))

    assert (status, lines[-1]) == (1, "✗ 3 scenarios and 0 cases played twice: 2 wrong.")
    assert "✓ mine/tried.yaml: 4 events, 1 call, 6s" in lines


def test_what_cannot_be_played_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback: the sentence of the refusal, with the file."""
    status, lines = played(capsys, scenario(merchant=[{"after": "36500d", "retrieve": True}] * 81))

    assert status == 1
    assert lines[0].startswith("✗ mine/tried.yaml: cannot be played: to: that is after the year 9998")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("body", "two plays with one seed differ: webhook 2, pay-in.pending, has other bytes or another time"),
        ("end", "two plays with one seed differ in their answers or their end"),
    ],
)
def test_two_plays_that_differ_are_shown(
    how: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A difference makes the check fail."""
    good = rehearse(scenario())
    second = replace(good.arrivals[1], body=b"{}")
    other = (
        replace(good, arrivals=(good.arrivals[0], second, *good.arrivals[2:]))
        if how == "body"
        else replace(good, ended=good.ended + 1)
    )
    runs: Iterator[Rehearsal] = iter([good, other])
    monkeypatch.setattr(scenario_play, "rehearse", lambda *_, **__: next(runs))

    status, lines = played(capsys, scenario())

    assert (status, lines[0]) == (1, f"✗ mine/tried.yaml: {message}")


def test_words_stand_in_for_signs_that_cannot_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """An ASCII terminal gets ASCII."""
    play_files([(PATH, scenario(expect=[*PAID_EVENTS, "refund.created"]))], Terminal(stream=io.StringIO()))

    written = capsys.readouterr().out
    assert written.isascii(), written
    assert "    NO  5  refund.created     -" in written


def test_the_seed_is_the_callers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A play that depends on random values can be repeated with its seed."""
    seeds: list[int] = []

    def noted(*arguments: Any, seed: int, **options: Any) -> Rehearsal:  # noqa: ANN401 - those of `rehearse`
        seeds.append(seed)
        return rehearse(*arguments, seed=seed, **options)

    monkeypatch.setattr(scenario_play, "rehearse", noted)

    play_files([(PATH, scenario(faults=[fault("connection_reset", times=1)]))], seed=9)

    assert seeds == [9, 9]
    assert "2 calls" in capsys.readouterr().out


def test_the_whole_library_is_played_without_a_network() -> None:
    """Nothing of it needs aiohttp or an event loop's transports, so a check starts quickly."""
    program = (
        "import sys\n"
        "from paydouble.cli.scenario_play import play_files\n"
        "from paydouble.scenarios.library import read_named, shipped_files\n"
        "status = play_files([(path, read_named(path)) for path in shipped_files().values()])\n"
        "assert 'aiohttp' not in sys.modules\n"
        "sys.exit(status)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, encoding="utf-8")

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.count("yaml: ") == len(shipped_files())
