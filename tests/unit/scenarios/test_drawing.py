"""Scenarios drawn as text and as Mermaid charts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from benches import DAY, deposit
from rehearsals import PAID, fault, scenario

from paydouble.inprocess import InProcess
from paydouble.scenarios.drawing import draw, usual_length
from paydouble.scenarios.library import read_named, shipped_files
from paydouble.scenarios.model import Scenario


def section(life: Scenario, title: str = "pay-in") -> list[str]:
    """Return the lines of one section of the drawing."""
    blocks = [block.splitlines() for block in draw(life).split("\n\n")]
    return next((block[1:] for block in blocks if block[0] == title), [])


def chart(life: Scenario) -> list[str]:
    """Return the lines of the flowchart, without their indentation."""
    return [line.strip() for line in draw(life, "mermaid").splitlines()]


def test_a_script_is_a_column_of_times_and_states() -> None:
    """Each status has the time since the creation."""
    assert draw(scenario()) == (
        "tried: A life.\n\npay-in\n  +0s  created\n  +2s  pending\n  +3s  processing\n  +6s  succeeded\n"
    )


def test_details_of_a_step_follow_its_status() -> None:
    """Failures, amounts and force are shown in brackets."""
    life = scenario(
        [
            *PAID[:2],
            {"after": "1s", "to": "succeeded", "amount": "-2%", "force": True},
            {"after": "1s", "to": "failed", "failure": {"code": "x", "message": "No."}, "force": True},
        ]
    )

    assert section(life)[3:] == ["  +4s  succeeded (pays 2% less, forced)", "  +5s  failed (x: No., forced)"]


@pytest.mark.parametrize(
    ("amount", "said"), [("+0.10", "0.10 more"), ("-0.10", "0.10 less"), ("50%", "50%"), ("45.00", "45.00")]
)
def test_relative_amounts_are_described(amount: str, said: str) -> None:
    """A sign becomes a word; the rest stays as written."""
    life = scenario([*PAID[:2], {"after": "1s", "to": "succeeded", "amount": amount}])

    assert section(life)[-1] == f"  +4s  succeeded (pays {said})"


def test_the_sides_of_a_branch_are_indented() -> None:
    """Both sides have their own times; the next step has the earliest and the latest."""
    life = scenario(
        [
            *PAID,
            {
                "after": "1d",
                "when": {"refund": "requested"},
                "then": [{"after": "1h", "dispute": {}}],
                "else": [{"after": "2h", "refund": {}}, {"after": "1h", "dispute": {"amount": "50%"}}],
            },
            {"after": "1h", "to": "failed", "force": True},
        ]
    )

    assert section(life)[4:] == [
        "  +1d6s    if refund requested:",
        "    +1d1h6s  a dispute arrives",
        "           otherwise:",
        "    +1d2h6s  the provider makes a refund",
        "    +1d3h6s  a dispute arrives (50%)",
        "  +1d2h6s  failed (forced), or as late as +1d4h6s",
    ]


def test_a_side_without_steps() -> None:
    """An empty `then` is drawn as nothing; an empty `else` is left out."""
    life = scenario([*PAID, {"when": {"refund": "none"}}])

    assert section(life)[4:] == ["  +6s  if no refund:", "         nothing"]


def test_a_branch_after_a_branch_can_come_early_or_late() -> None:
    """The second branch then has an earliest and a latest time itself."""
    first = {"when": {"refund": "none"}, "then": [{"after": "1h", "dispute": {}}]}

    assert section(scenario([*PAID, first, {"after": "1s", "when": {"dispute": "open"}}]))[-2:] == [
        "  +7s    if dispute open, or as late as +1h7s:",
        "           nothing",
    ]


def test_repetition_is_written_once() -> None:
    """The steps have the times of the first round; the next step comes after the last."""
    steps = [{"after": "1h", "to": "under_review"}, {"after": "1h", "to": "under_review"}]
    life = scenario(dispute=[{"repeat": 3, "steps": steps}, {"after": "1d", "to": "lost"}])

    assert section(life, "each dispute") == [
        "  +0s    needs_response",
        "         3 times, every 2h:",
        "    +1h    under_review",
        "    +2h    under_review",
        "  +1d6h  lost",
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [{"after": "0s", "dispute": {}}],
        [{"when": {"refund": "none"}, "then": [{"after": "1h", "dispute": {}}]}],
    ],
)
def test_rounds_without_a_fixed_length_show_no_interval(steps: list[dict[str, Any]]) -> None:
    """Only the number of rounds is shown."""
    assert "2 times:" in [line.strip() for line in section(scenario([*PAID, {"repeat": 2, "steps": steps}]))]


@pytest.mark.parametrize(
    ("when", "question"),
    [
        ({"refund": "failed"}, "refund failed"),
        ({"refund": {"before": "dispute.created"}}, "refund requested before dispute.created"),
        ({"refund": {"after": "dispute.created"}}, "refund requested after dispute.created"),
        ({"evidence": "none"}, "no evidence"),
        ({"evidence": "submitted", "dispute": "lost"}, "evidence submitted and dispute lost"),
        ({"dispute": "none"}, "no dispute"),
    ],
)
def test_conditions_are_described(when: dict[str, Any], question: str) -> None:
    """All parts of a condition are on one line."""
    assert section(scenario([*PAID, {"when": when}]))[4] == f"  +6s  if {question}:"


EXPIRY = "+1d cancelled, because it was not paid in time"


@pytest.mark.parametrize(
    ("pay_in", "rows"),
    [
        ([], ["+0s created", EXPIRY]),
        ([PAID[0]], ["+0s created", "+2s pending", EXPIRY]),
        ([{"after": "24h", "to": "pending"}], ["+0s created", EXPIRY, "+1d pending"]),
        (
            [{"after": "1h", "to": "pending"}, {"after": "23h", "to": "processing"}],
            ["+0s created", "+1h pending", EXPIRY, "+1d processing"],
        ),
        (
            [{"after": "25h", "to": "processing", "force": True}],
            ["+0s created", EXPIRY, "+1d1h processing (forced)"],
        ),
        (
            [{"repeat": 2, "steps": [{"after": "13h", "to": "pending"}]}, PAID[1]],
            ["+0s created", "2 times, every 13h:", "+13h pending", EXPIRY, "+1d2h1s processing"],
        ),
        (
            [{"when": {"refund": "none"}, "then": [{"after": "1s", "to": "cancelled"}]}],
            ["+0s created", "+0s if no refund:", "+1s cancelled"],
        ),
    ],
)
def test_a_pay_in_that_nobody_pays_expires(pay_in: list[dict[str, Any]], rows: list[str]) -> None:
    """Its cancellation is drawn at its time, unless the pay-in has been paid or decided before."""
    assert [" ".join(line.split()) for line in section(scenario(pay_in))] == rows


@pytest.mark.parametrize("steps", [[(24, "pending")], [(1, "pending"), (23, "processing")]])
def test_a_step_of_the_instant_of_expiry_comes_too_late(steps: list[tuple[int, str]]) -> None:
    """The drawing and a play agree on that."""
    life = scenario([{"after": f"{hours}h", "to": state} for hours, state in steps])
    double = InProcess()
    double.sandbox.scenarios.upload(life)
    double.sandbox.activate_scenario(life.name)
    deposit(double.sandbox, scenario=life.name)
    double.advance(by=2 * DAY)

    played = [event.type.partition(".")[2] for event in double.sandbox.journal.events.entries]
    drawn = [line.split()[1].rstrip(",") for line in section(life)]
    assert played == drawn[:-1] == ["created", *(state for _, state in steps[:-1]), "cancelled"]


def test_a_deposit_may_set_when_it_expires() -> None:
    """The deposit's `expires_in` is used."""
    assert section(scenario([], deposit={"expires_in": 60}))[-1] == "  +1m  cancelled, because it was not paid in time"


def test_default_scripts_are_shown() -> None:
    """They are only shown where a refund or a dispute can begin."""
    opened = scenario([*PAID, {"repeat": 1, "steps": [{"after": "1d", "dispute": {}}]}, {"after": "1d", "refund": {}}])
    asked = scenario(merchant=[{"after": "1h", "refund": {}}])

    assert section(opened, "each refund") == ["  default: it succeeds after 3s"]
    assert section(opened, "each dispute") == ["  default: the merchant's evidence, or its absence, decides"]
    assert section(asked, "each refund") == ["  default: it succeeds after 3s"]
    assert (section(asked, "each dispute"), section(scenario(), "each refund")) == ([], [])


def test_a_refunds_own_script_is_drawn() -> None:
    """Its times count from the refund's creation."""
    life = scenario(refund=[{"after": "1s", "to": "processing"}])

    assert section(life, "each refund") == ["  +0s  created", "  +1s  processing"]


def test_reasons_of_disputes_and_refunds_are_shown() -> None:
    """Only reasons that the file gives are shown."""
    life = scenario([*PAID, {"after": "1s", "dispute": {"reason": "duplicate"}}, {"after": "1s", "refund": {}}])

    assert section(life)[-2:] == ["  +7s  a dispute arrives (duplicate)", "  +8s  the provider makes a refund"]


def test_settings_and_faults_are_shown() -> None:
    """Each fault has its effect, its match, its phase and its counts."""
    life = scenario(
        settings={"envelope": "alternate"},
        faults=[
            fault("error", status=503, times=2, phase="after_commit"),
            fault("connection_reset", on="webhooks", ttl="50h"),
            fault("duplicate", on="webhooks", copies=2, concurrent=True, match={"event_type": "pay-in.created"}),
        ],
    )

    assert section(life, "settings") == ["  envelope: alternate"]
    assert section(life, "faults") == [
        "  on api: error (status: 503), operation: deposit-creation, phase: after_commit, times: 2",
        "  on webhooks: connection_reset, ttl: 2d2h",
        "  on webhooks: duplicate (copies: 2, concurrent: true), event_type: pay-in.created",
    ]


def test_the_merchants_actions_have_a_section() -> None:
    """It has the deposit and the actions with their times."""
    life = scenario(
        deposit={"amount": 1500, "currency": "JPY", "payment_method": {"type": "CREDIT_CARD"}, "expires_in": 60},
        merchant=[
            {"after": "1s", "deposit": {}},
            {"after": "1s", "deposit": {"amount": 5, "payment_method": {"code": "visa"}}},
            {"after": "1s", "retrieve": True},
            {"after": "1s", "cancel": True},
            {"after": "1s", "refund": {}},
            {"after": "1s", "refund": {"amount": 5}},
            {"after": "1s", "evidence": {"a": "b", "c": "d"}},
            {"after": "1s", "accept": True},
        ],
    )

    assert section(life, "merchant, when it is played") == [
        "  +0s  makes the deposit (1500 JPY, CREDIT_CARD, expires in 1m)",
        "  +1s  makes one more deposit",
        "  +2s  makes one more deposit (5 EUR, visa)",
        "  +3s  retrieves the pay-in",
        "  +4s  cancels the pay-in",
        "  +5s  requests a refund of the rest",
        "  +6s  requests a refund of 5",
        "  +7s  submits evidence (a, c)",
        "  +8s  accepts the dispute",
    ]


def test_a_default_deposit_is_not_described() -> None:
    """A deposit with defaults only is shown like one that the file leaves out."""
    cancels = [{"after": "1s", "cancel": True}]

    for life in (scenario(merchant=cancels), scenario(merchant=cancels, deposit={"metadata": {"a": "b"}})):
        assert section(life, "merchant, when it is played")[0] == "  +0s  makes the deposit"


@pytest.mark.parametrize(
    ("life", "milliseconds"),
    [
        (scenario(), 6_000),
        (scenario(merchant=[{"after": "1h", "retrieve": True}]), 3_600_000),
        (scenario([{"when": {"refund": "none"}, "then": PAID, "else": PAID[:1]}]), 6_000),
        (scenario([]), 86_400_000),
        (scenario(PAID[:1], deposit={"expires_in": 60}), 60_000),
    ],
)
def test_usual_length(life: Scenario, milliseconds: int) -> None:
    """It is the longest of the script, the expiry of an unpaid pay-in, and the merchant's actions."""
    assert usual_length(life) == milliseconds


def test_mermaid_has_a_node_for_each_step() -> None:
    """Arrows have their times, and final statuses are round."""
    assert chart(scenario([{"after": "0s", "to": "pending"}, *PAID[1:]])) == [
        "---",
        "title: tried",
        "---",
        "flowchart TD",
        'subgraph p ["pay-in"]',
        'p1("created")',
        'p2("pending")',
        "p1 --> p2",
        'p3("processing")',
        'p2 -->|"1s"| p3',
        'p4(["succeeded"])',
        'p3 -->|"3s"| p4',
        "end",
    ]


def test_mermaid_joins_the_sides_of_a_branch() -> None:
    """A rhombus has arrows for yes and no, and both sides join after it."""
    branch = {"when": {"refund": "none"}, "then": [{"after": "1h", "dispute": {}}]}

    lines = chart(scenario([*PAID, branch, {"after": "1d", "to": "failed", "force": True}]))

    assert lines[12:] == [
        'p5{"no refund?"}',
        "p4 --> p5",
        'p6[/"a dispute arrives"/]',
        'p5 -->|"yes, 1h"| p6',
        'p7(["failed (forced)"])',
        'p6 -->|"1d"| p7',
        'p5 -->|"no, 1d"| p7',
        "end",
    ]


def test_mermaid_links_a_dispute_to_its_subgraph() -> None:
    """There is a dotted arrow if the file has that subgraph."""
    opens = [{"after": "1d", "dispute": {}}, {"after": "1d", "refund": {}}]
    lost = [{"after": "1d", "to": "lost"}]
    failed = [{"after": "1s", "to": "failed"}]

    assert [line for line in chart(scenario([*PAID, *opens], dispute=lost)) if "-.->" in line] == ["p5 -.-> d1"]
    assert chart(scenario([*PAID, *opens], dispute=lost, refund=failed))[-2:] == ["p5 -.-> d1", "p6 -.-> r1"]


def test_mermaid_has_an_arrow_back_for_a_repetition() -> None:
    """The arrow back has the number of rounds; one round has no arrow."""
    again = {"after": "1d", "to": "under_review"}
    life = scenario(dispute=[{"repeat": 3, "steps": [again]}, {"repeat": 1, "steps": [again]}])
    asked = scenario(dispute=[{"repeat": 2, "steps": [{"when": {"refund": "none"}}]}])

    assert [line for line in chart(life) if "times" in line] == ['d2 -->|"3 times in all"| d2']
    assert [line for line in chart(asked) if "times" in line] == [
        'd2 -->|"yes, 2 times in all"| d2',
        'd2 -->|"no, 2 times in all"| d2',
    ]


def test_mermaid_labels_are_escaped() -> None:
    """Quotes, brackets, entities, backticks and line breaks in a file's texts are escaped."""
    failure = {"code": "x", "message": 'a "b" <c> & #1;\n`d`'}
    life = scenario([{"after": "1s", "to": "failed", "failure": failure}])

    assert "p2([\"failed (x: a #quot;b#quot; #lt;c#gt; #amp; #35;1; 'd')\"])" in chart(life)


@pytest.mark.parametrize("name", shipped_files())
def test_every_shipped_scenario_can_be_drawn(name: str) -> None:
    """In the chart every arrow ends at a node, and every node but the first is reached."""
    life = read_named(shipped_files()[name])

    text, lines = draw(life), chart(life)

    assert text.startswith(f"{name}: ")
    nodes = {found[1] for line in lines if (found := re.match(r"([prd]\d+)[(\[{]", line))}
    reached = {found[1] for line in lines if (found := re.search(r"> (?:\|\"[^|]*\"\| )?([prd]\d+)$", line))}
    reached |= {found[1] for line in lines if (found := re.search(r"\| ([prd]\d+)$", line))}
    assert nodes - reached <= {"p1", "r1", "d1"}
    assert reached <= nodes


WAIT = {"await": "payer", "within": "15m", "abandon": []}


def test_a_wait_shows_what_each_side_does_and_when() -> None:
    """A side begins when the payer acts, so its steps have the earliest and the latest time."""
    life = scenario([PAID[0], WAIT, {"after": "1h", "dispute": {}}])

    assert section(life) == [
        "  +0s     created",
        "  +2s     pending",
        "  +2s     waits up to 15m for the payer",
        "          if the payer pays:",
        "    +3s     processing, or as late as +15m3s",
        "    +5s     succeeded, or as late as +15m5s",
        "          if the payer is declined:",
        "    +2s     failed, or as late as +15m2s",
        "          if the payer gives up:",
        "            nothing",
        "          if the payer does nothing for 15m:",
        "    +15m2s  cancelled",
        "  +1h2s   a dispute arrives, or as late as +1h15m5s",
    ]


def test_a_wait_without_an_end_of_its_own_has_no_latest_time() -> None:
    """It lasts until the pay-in expires, which the deposit decides."""
    life = scenario([PAID[0], {"await": "payer"}], deposit={"expires_in": 60})

    assert section(life)[2:5] == [
        "  +2s  waits for the payer",
        "       if the payer pays:",
        "    +3s  processing, or later",
    ]
    assert section(life)[-2:] == ["       if the payer does nothing until it expires:", "    +2s  cancelled, or later"]
    assert usual_length(life) == 60_000


def test_mermaid_has_an_arrow_for_each_thing_that_a_payer_can_do() -> None:
    """A wait is a rhombus, and a side without steps goes on with what follows the wait."""
    lines = chart(scenario([PAID[0], WAIT, {"after": "1h", "dispute": {}}]))

    assert [line for line in lines if "p3" in line] == [
        'p3{"waits up to 15m for the payer"}',
        "p2 --> p3",
        'p3 -->|"pays, 1s"| p4',
        'p3 -->|"is declined"| p6',
        'p3 -->|"does nothing for 15m"| p7',
        'p3 -->|"gives up, 1h"| p8',
    ]


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ({"action": "pay"}, "the payer pays"),
        ({"action": "decline", "code": "expired_card"}, "the payer is declined (expired_card)"),
        ({"action": "abandon"}, "the payer gives up"),
    ],
)
def test_actions_of_the_payer_are_described(done: dict[str, str], said: str) -> None:
    """Among those of the merchant."""
    life = scenario([PAID[0], WAIT], merchant=[{"after": "5s", "payer": done}])

    assert section(life, "merchant, when it is played")[-1] == f"  +5s  {said}"
