"""What is found is told as a short story, as a test that can be pasted, and as a scenario file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from bugzoo.steady import steady
from bugzoo.table import VARIANTS
from hypothesis import Phase, settings
from small_shop import SmallShop

from paydouble import Sandbox, stateful
from paydouble.faults.model import parse_fault
from paydouble.scenarios.reading import parse_text
from paydouble.scenarios.steps import PayInStep
from paydouble.stateful import MerchantBug, MerchantMachine, Play, Refused, ServiceLike, explore
from paydouble.stateful.story import told_rows
from paydouble.testing import ReplyLost
from paydouble.timeline import CALL, WEBHOOK, Row

MERCHANTS = {each.name: each.merchant for each in VARIANTS}
ZOO = Path(__file__).parents[1] / "zoo"
DEPOSIT = {
    "amount": 49.90,
    "currency": "EUR",
    "external_identifier": "order-17",
    "payment_method": {"type": "CREDIT_CARD"},
    "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
}

FIRST = set(range(8))
ROWS = [
    (24, set(), set(range(24))),
    (25, set(), set(range(25))),
    (26, set(), FIRST | set(range(10, 26))),
    (60, {20}, FIRST | {20} | set(range(44, 60))),
    # The 9th row alone is not left out.
    (60, {9}, FIRST | {8, 9} | set(range(44, 60))),
    (124, set(range(124)), FIRST | set(range(8, 16)) | set(range(100, 124))),
]


def report(name: str, seed: int = 0) -> str:
    """Return what the machine says of a variant, shrunk."""
    with pytest.raises(MerchantBug) as caught, steady():
        explore(MERCHANTS[name], examples=2000, steps=8, seed=seed)
    return str(caught.value)


@cache
def _plain_report() -> str:
    return report("NewKeyAfter5xx", seed=1)


def section(text: str, title: str) -> str:
    """Return one indented section of a report."""
    found = re.search(rf"{title}:\n\n((?:    .*\n?|\n)+)", text)
    assert found is not None
    return re.sub(r"^    ", "", found[1], flags=re.MULTILINE)


def test_a_story_is_short_and_plain() -> None:
    """A new key after a 5xx comes down to two sentences."""
    text = _plain_report()

    assert text.startswith("The merchant took a new Idempotency-Key for a retry")
    sentences = re.findall(r"^ +\d+\. (.*)\.$", text, re.MULTILINE)
    assert len(sentences) == 2
    assert sentences[0] == "order-1 is placed: 49.90 EUR"
    assert re.match(r"order-1 is paid for; |The customer clicks again to pay order-1; ", sentences[1])


# Each with a seed from which the search is short.
@pytest.mark.parametrize(
    ("name", "seed"), [("NewKeyWhenTheReplyIsLost", 3), pytest.param("TimeAlone", 2, marks=pytest.mark.long)]
)
def test_the_test_of_a_report_fails_for_the_same_reason(name: str, seed: int) -> None:
    """Pasted and run, it comes to the same verdict."""
    text = report(name, seed=seed)
    code = section(text, "As a test to paste")
    names = {name: MERCHANTS[name]}
    exec(compile(code, "pasted", "exec"), names)  # noqa: S102 - our own text

    with pytest.raises(MerchantBug) as again:
        names["test_story"]()  # type: ignore[call-arg]
    assert again.value.verdict == text.partition("\n")[0].removesuffix(".")


class OddAfterHours(SmallShop):
    """Shows what is no status when four hours have passed."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.until = service.now() + 4 * 3600

    def order_status(self, order_id: str) -> str:
        """Return it."""
        return "odd" if self.service.now() > self.until else super().order_status(order_id)


def test_the_same_step_in_a_row_is_told_once() -> None:
    """With how often it was taken, and the test to paste takes it as often."""
    with pytest.raises(MerchantBug) as caught, Play(OddAfterHours) as play:
        play.order()
        for _ in range(2):
            play.restart()
        for _ in range(9):
            play.wait("1h")
    told = str(caught.value)
    sentences = re.findall(r"^ +\d+\. (.*)\.$", told, re.MULTILINE)
    space: dict[str, Any] = {"OddAfterHours": OddAfterHours}
    exec(section(told, "As a test to paste"), space)  # noqa: S102 - what a person would paste

    assert sentences[1:] == [*["The merchant is restarted"] * 2, "1h pass; this happens 4 times in a row"]
    with pytest.raises(MerchantBug, match="calls order-1 'odd'"):
        space["test_story"]()


def test_the_scenario_of_a_report_can_be_read() -> None:
    """It leads the scenario of the story's last deposit."""
    with pytest.raises(MerchantBug) as caught, Play(MERCHANTS["ExpiredIsDead"]) as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.provider("late money")
    scenario = parse_text(section(str(caught.value), "As a scenario file"))

    steps = [(step.to, step.force) for step in scenario.lifecycle.pay_in if isinstance(step, PayInStep)]

    assert steps == [("cancelled", False), ("succeeded", True)]


def test_the_scenario_of_a_report_has_its_faults() -> None:
    """The order that plays it meets what the play's last order met, and nothing that was sent by hand."""
    with pytest.raises(MerchantBug) as caught, Play(MERCHANTS["NewKeyWhenTheReplyIsLost"], dialect="201") as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.inject("wrong secret")
        play.work_off()
        play.order()
        play.webhooks("duplicate")
        play.pay(2, "reply lost")
    text = section(str(caught.value), "As a scenario file")
    scenario = parse_text(text)
    sandbox = Sandbox()
    sandbox.scenarios.upload(text)
    sandbox.scenarios.activate(scenario.name)

    with pytest.raises(ReplyLost):
        sandbox.handle("POST", "/api/v1/pay-in/deposit-creation", DEPOSIT, headers={"Idempotency-Key": str(uuid4())})

    assert [fault.effect.type for fault in scenario.faults] == ["duplicate", "connection_reset"]
    assert scenario.settings == {"created_status": 201}


def test_the_faults_of_a_report_can_be_armed() -> None:
    """Each line is one that the control API takes."""
    text = _plain_report()
    _, _, faults = text.partition("Faults for POST")
    lines = [line.strip() for line in faults.splitlines()[2:] if line.strip()]

    assert lines
    for line in lines:
        assert parse_fault(json.loads(line)).on == "api"


@pytest.mark.long
def test_a_machine_finds_the_same_again() -> None:
    """Two runs with one seed tell the same story."""
    assert report("KeyPerClick", seed=2) == report("KeyPerClick", seed=2)


def test_public_names_are_there() -> None:
    """Everything that is promised can be imported."""
    assert all(hasattr(stateful, name) for name in stateful.__all__)


def test_a_machine_collects_as_a_test() -> None:
    """Its TestCase runs under unittest, and leaves out what takes longest."""

    class Broken(MerchantMachine):
        merchant = MERCHANTS["WantsACookie"]

    case: Any = Broken.TestCase
    case.settings = settings(case.settings, max_examples=30, stateful_step_count=5, database=None)
    result = unittest.TestResult()
    case("runTest").run(result)

    assert Phase.explain not in case.settings.phases
    assert "The merchant answers 403 to a pay-in.created." in result.failures[0][1]


_BROKEN = """
from bugzoo.table import VARIANTS
from hypothesis import Phase, settings
from paydouble.stateful import MerchantMachine

class Broken(MerchantMachine):
    merchant = next(each.merchant for each in VARIANTS if each.name == "{name}")
    phases = ("{phase}",)

TestShop = Broken.TestCase
TestShop.settings = settings(
    max_examples=30, stateful_step_count=8, deadline=None, derandomize=True, database=None, phases=[Phase.generate]
)
"""


@pytest.mark.parametrize("phase", [pytest.param("catalogue", marks=pytest.mark.long), "hunt"])
def test_pytest_shows_the_report_without_code_of_the_machine(tmp_path: Path, phase: str) -> None:
    """At pytest's own settings, a developer reads what the merchant did, and no line of paydouble."""
    (tmp_path / "test_shop.py").write_text(_BROKEN.format(name="WantsACookie", phase=phase))
    paths = [str(ZOO), *filter(None, [os.environ.get("PYTHONPATH")])]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "test_shop.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = ran.stdout.splitlines()

    assert "The merchant answers 403 to a pay-in.created." in ran.stdout
    assert [each for each in lines if each.startswith(">") or "stateful/" in each or "--full-trace" in each] == []


class AsksOften(SmallShop):
    """Asks about its orders again and again, and calls a paid one failed."""

    def tick(self) -> None:
        """Ask ten times."""
        for _ in range(10):
            super().tick()

    def order_status(self, order_id: str) -> str:
        """Return what is shown."""
        status = super().order_status(order_id)
        return "failed" if status == "paid" else status


def test_a_report_shows_what_was_sent() -> None:
    """Requests, webhooks and their answers until the finding; of many the first and the last."""
    with pytest.raises(MerchantBug) as caught, Play(AsksOften) as play:
        play.webhooks("drop all")
        play.pay()
        play.wait("10s")
    _, _, rest = str(caught.value).partition("\n\nWhat was sent:\n")
    sent = rest.partition("\n\n")[0].splitlines()

    assert sent[:3] == [
        "  +0s        merchant    pay(order-1)",
        "  +0s        merchant →  POST /pay-in/deposit-creation order-1 49.90 EUR",
        "                         ✓ 200 new",
    ]
    assert any(line == "  +10s       merchant    tick()" for line in sent)
    assert any("pay-in.created order-1       ✗ dropped" in line for line in sent)
    assert any(re.fullmatch(r"  … \d+ more", line) for line in sent)
    assert len([line for line in sent if line.startswith("  +")]) == 24
    assert "receiver.test" not in rest


def test_a_report_says_how_often_jobs_have_sent_nothing_at_the_end() -> None:
    """Who sees no request must know whether the jobs ran."""

    class NeverRepeats(SmallShop):
        pauses = ()

        def tick(self) -> None:
            """Do nothing."""

    with pytest.raises(MerchantBug) as caught, Play(NeverRepeats) as play:
        play.order()
        play.pay(1, "request lost")
    _, _, rest = str(caught.value).partition("\n\nWhat was sent:\n")

    assert "  +0s        merchant    tick() 5 times in 2h11m, nothing sent" in rest.partition("\n\n")[0].splitlines()


class DeclinesLoudly(SmallShop):
    """Declines each refund and says why, and then calls each order unpaid."""

    has_declined = False

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Decline it."""
        self.has_declined = True
        raise Refused(f"{order_id} was\x1b[2Jpacked")

    def order_status(self, order_id: str) -> str:
        """Return what is wrong."""
        return "unpaid" if self.has_declined else super().order_status(order_id)


def test_a_report_has_the_reason_of_a_refusal() -> None:
    """The text of `Refused` stands beside the call, without control characters."""
    with pytest.raises(MerchantBug) as caught, Play(DeclinesLoudly) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
    assert re.search(r"merchant    refund\(order-1, .*\)\n? +declined: order-1 was\\x1b\[2Jpacked", str(caught.value))


class PaysTwiceLater(AsksOften):
    """Asks for a second deposit in its second job, under a new key."""

    ticks = 0

    def tick(self) -> None:
        """Ask much, and for a deposit."""
        super().tick()
        self.ticks += 1
        wish = self.orders["order-1"].wish
        if self.ticks == 2 and wish is not None:
            self.send(self.wish("order-1", wish.body.decode()), "/pay-in/deposit-creation")


def test_a_long_report_shows_what_asked_for_something() -> None:
    """Reads are left out first."""
    with pytest.raises(MerchantBug) as caught, Play(PaysTwiceLater) as play:
        play.webhooks("drop all")
        play.pay()
        for _ in range(3):
            play.wait("10s")
    _, _, rest = str(caught.value).partition("\n\nWhat was sent:\n")
    sent = rest.partition("\n\n")[0].splitlines()
    assert len([line for line in sent if "POST /pay-in/deposit-creation" in line]) == 2
    assert not any(re.fullmatch(r"  … 1 more", line) for line in sent)


@pytest.mark.parametrize(("rows", "telling", "shown"), ROWS)
def test_a_report_leaves_out_what_tells_least(rows: int, telling: set[int], shown: set[int]) -> None:
    """The first and the last rows are shown, and a single row is never left out for a line that says so."""
    found = [Row(0, CALL, "POST /" if each in telling else "GET /", "200", good=True) for each in range(rows)]
    assert told_rows(found) == shown


def test_a_request_that_is_repeated_for_an_hour_hides_no_event() -> None:
    """There are places for what is not repeated."""
    found = [Row(0, WEBHOOK if each == 60 else CALL, "POST /", "200", good=True) for each in range(124)]

    assert told_rows(found) == FIRST | set(range(8, 16)) | {60} | set(range(101, 124))


def test_a_report_leaves_out_webhooks_before_requests() -> None:
    """Most findings are about what the merchant has asked for."""
    posts = {40, 60, 61}
    found = [
        Row(0, CALL if each in posts else WEBHOOK, "POST /" if each in posts else "pay-in.created", "200", good=True)
        for each in range(124)
    ]

    assert told_rows(found) == FIRST | set(range(8, 15)) | posts | set(range(102, 124))


def test_a_report_of_a_shop_that_has_sent_nothing_has_no_such_list() -> None:
    """Its steps are all that there is."""

    class Odd(SmallShop):
        """Calls an order what nobody knows."""

        def order_status(self, order_id: str) -> str:
            """Return it."""
            return f"{order_id}?"

    with pytest.raises(MerchantBug) as caught, Play(Odd) as play:
        play.order()
    assert "What was sent" not in str(caught.value)


class TellsOfNoDispute(SmallShop):
    """Drops the events of disputes, and never asks about one."""

    def learn(self, resource: dict[str, Any]) -> None:
        """Learn of everything else."""
        if resource["object"] != "dispute":
            super().learn(resource)


def test_a_report_about_one_order_of_many_shows_that_one() -> None:
    """Lines about others are left out first, and what is told of each of them is told once."""
    with pytest.raises(MerchantBug) as caught, Play(TellsOfNoDispute) as play:
        play.crowd(25)
        play.wait("10s")
        for order in range(1, 26):
            play.provider("dispute", order)
            play.provider("dispute lost", order)
        play.wait("10s")
    verdict, _, rest = str(caught.value).partition("\n\nAlso:\n")
    also, _, rest = rest.partition("\n\nWhat happened:\n")
    sent = rest.partition("\n\nWhat was sent:\n")[2].partition("\n\n")[0]
    (order,) = set(re.findall(r"order-\d+", verdict))
    assert len(also.splitlines()) < 6
    assert re.search(r"; the same for \d+ more orders\.", also)
    assert {*re.findall(r"order-\d+", sent)} == {order}
    assert "dispute.closed" in sent
