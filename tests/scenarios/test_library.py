"""The shipped library: each file is valid, says what it is for, and plays as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paydouble.rehearsal import compare, rehearse
from paydouble.scenarios.library import shipped_files, shipped_folder
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import check_file
from paydouble.scenarios.steps import AwaitPayer, BranchStep

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "scenarios").rglob("*.yaml"))
GROUPS = {"happy-paths", "payer", "declines", "refunds", "disputes", "delivery", "api", "money"}
MODELINE = "# yaml-language-server: $schema=../../src/paydouble/scenarios/scenario.schema.json"
# Files must stay short enough to read at a glance.
MOST_LINES = 40
MOST_LINES_OF_A_COMMON_CASE = 14
# The scenarios that the library promises.
PROMISED = {
    "happy-path", "slow-bank-transfer", "voucher-paid-on-day-two",
    "card-declined", "abandoned", "expires-while-pending",
    "payer-decides", "payer-abandons", "payer-returns-first", "challenge",
    "full-refund", "partial-refund", "several-refunds", "refund-fails-late",
    "dispute-won", "dispute-lost", "dispute-accepted", "dispute-after-refund", "dispute-reopened", "late-evidence",
    "outage-50-hours", "outage-80-hours", "duplicates", "out-of-order", "webhook-before-reply", "tie", "burst",
    "lost-reply", "storm-of-503", "quota", "both-envelopes",
    "yen", "dinar", "underpaid", "overpaid", "late-payment",
}  # fmt: skip
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def _scenario(path: Path) -> Scenario:
    reading = check_file(path)
    assert [finding.sentence for finding in reading.diagnostics] == []
    assert reading.value is not None
    return reading.value


def _is_common(scenario: Scenario) -> bool:
    """Return whether a file only scripts a pay-in, without repetition."""
    life = scenario.lifecycle
    plain = all(hasattr(step, "to") for step in life.pay_in)
    return plain and not (life.dispute or scenario.merchant or scenario.cases) and len(scenario.expect) <= 8


def test_the_library_is_the_folder() -> None:
    """A checkout ships every file, and no two have the same name."""
    assert shipped_folder() == ROOT / "scenarios"
    assert sorted(shipped_files()) == sorted(path.stem for path in FILES)


def test_what_is_promised_is_there() -> None:
    """There are at least thirty files in the known folders, and all the promised ones are among them."""
    assert len(FILES) >= 30
    assert PROMISED - {path.stem for path in FILES} == set()
    assert {path.parent.name for path in FILES} == GROUPS


@each_file
def test_a_file_is_valid_and_says_what_it_is_for(path: Path) -> None:
    """It passes the checks without a warning, has its scenario's name, no `match`, and expected events."""
    scenario = _scenario(path)
    text = path.read_text("utf-8")

    assert scenario.name == path.stem
    assert path.parent.parent == ROOT / "scenarios"
    assert text.splitlines()[0] == MODELINE
    assert scenario.match is None
    assert "expect" in scenario.model_fields_set
    # The summary names the mistake: what a shop must do, must not do, or does wrong.
    assert re.search(r"\b[Aa] shop\b", scenario.summary)
    assert len(scenario.summary) <= 300


@each_file
def test_a_file_is_short(path: Path) -> None:
    """A common case has fewer than fifteen lines, and no file has more than a screen."""
    lines = path.read_text("utf-8").splitlines()

    assert len(lines) <= (MOST_LINES_OF_A_COMMON_CASE if _is_common(_scenario(path)) else MOST_LINES)
    assert max(map(len, lines)) <= 120


@each_file
def test_a_file_plays_as_it_says_and_twice_the_same(path: Path) -> None:
    """Answers and events are those of the file and of its cases, and two plays are byte for byte the same."""
    scenario = _scenario(path)

    for case in (None, *scenario.cases):
        first, second = (rehearse(scenario, case=case) for _ in range(2))

        assert compare(scenario, first, case) == []
        assert first.record() == second.record()
        assert [(arrival.headers, arrival.body) for arrival in first.arrivals] == [
            (arrival.headers, arrival.body) for arrival in second.arrivals
        ]


@each_file
def test_refused_calls_are_expected(path: Path) -> None:
    """In a file without `answers` every call of the merchant succeeds."""
    scenario = _scenario(path)

    for case in (None, *scenario.cases):
        if (case or scenario).answers is None:
            assert [answer for answer in rehearse(scenario, case=case).answers if not answer.good] == []


def test_everything_that_a_payer_can_do_is_tried() -> None:
    """A file that waits for the payer is played with each action, and once without one."""
    waiting = [path for path in FILES if any(isinstance(each, AwaitPayer) for each in _scenario(path).lifecycle.pay_in)]

    assert {path.parent.name for path in waiting} == {"payer"}
    for path in waiting:
        scenario = _scenario(path)
        merchants = [scenario.merchant, *(case.merchant for case in scenario.cases)]
        plays = [[each.payer.action for each in merchant if each.payer] for merchant in merchants]
        assert {actions[-1] for actions in plays if actions} == {"pay", "decline", "abandon"}
        assert min(map(len, plays)) < max(map(len, plays))


def test_every_branch_is_tried_on_both_sides() -> None:
    """A file with a branch has at least one case."""
    branching = [
        path.stem
        for path in FILES
        if any(
            isinstance(step, BranchStep)
            for script in (_scenario(path).lifecycle.pay_in, _scenario(path).lifecycle.dispute)
            for step in script
        )
    ]

    assert branching
    assert [name for name in branching if not _scenario(shipped_files()[name]).cases] == []
