"""`paydouble demo`: five acts against a server and a verifying receiver of its own, in one process and about a second.

Each act is a shipped scenario, played as `paydouble trigger` plays it. What a scenario cannot say is added here: a
receiver that is really down, and checks of the bytes, signatures and instants of the webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Final

import click

from paydouble.cli.options import SEED
from paydouble.core.exit_status import ExitStatus
from paydouble.core.ids import DEFAULT_ID

if TYPE_CHECKING:
    from paydouble.cli.remote import Box
    from paydouble.cli.stage import LiveStage
    from paydouble.cli.terminal import Terminal
    from paydouble.rehearsal import Difference
    from paydouble.testing import WebhookReceiver
    from paydouble.timeline import Row

_START: Final = "2026-01-01T00:00:00Z"
_OUTAGE_MS: Final = 50 * 3_600_000
# Contract section 6, delivery rule 3, written out: the demo must not compute what it means to check.
CONTRACT_SCHEDULE: Final = ("+0s", "+1m", "+6m", "+36m", "+2h36m", "+10h36m", "+34h36m", "+58h36m")
# In a brief act, at least so many consecutive deliveries that succeed at once share a line.
_MANY: Final = 3


@dataclass(frozen=True, slots=True)
class Act:
    """One act: a shipped scenario, and the line that is printed when all of it came out right."""

    title: str
    scenario: str
    verdict: str
    brief: bool = False
    """Whether consecutive deliveries that succeed at once share a line."""
    outage: bool = False
    """Whether the receiver is down for the first 50 hours."""


ACTS: Final = (
    Act("A deposit succeeds", "happy-path", "succeeded"),
    Act("A card is declined", "card-declined", "failed"),
    Act(
        "Three refunds use up the amount, and a fourth is refused",
        "several-refunds",
        "all 49.90 EUR refunded, not a cent more",
        brief=True,
    ),
    Act("A dispute is won", "dispute-won", "won three days after the evidence", brief=True),
    Act("The receiver is down for 50 hours", "happy-path", "nothing lost", outage=True),
)


@click.command()
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of every identifier and random value.")
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def demo(seed: int, no_color: bool) -> int:
    """Play five scenarios in a second: deposits, refunds, a dispute, 50 hours of outage.

    Exits with 0 when every act had the expected result, else with 1.
    """
    import time

    from paydouble.cli.remote import Box
    from paydouble.cli.terminal import Terminal
    from paydouble.core.durations import format_duration
    from paydouble.core.instants import parse_instant
    from paydouble.testing import Paydouble, WebhookReceiver

    began = time.perf_counter()
    out = Terminal(no_color=no_color)
    out.say("A payment service, a merchant and its webhook receiver, over real HTTP.")
    out.say(f"Times are the sandbox's. merchant {out.arrow} is an API call, {out.arrow} merchant a webhook.")
    out.say("Each act is a scenario: paydouble trigger NAME plays it on your own server.")
    with (
        WebhookReceiver() as receiver,
        Paydouble.start(clock="manual", start=_START, seed=seed, notification_url=receiver.url) as server,
    ):
        box = Box(server.url, None, DEFAULT_ID)
        wrong = sum(not _play(number, act, box, receiver, out) for number, act in enumerate(ACTS, start=1))
        lasted = parse_instant(box.control("GET", "/clock")["now"]) - parse_instant(_START)
    took = f"{format_duration(lasted)} passed in {time.perf_counter() - began:.2f} s of real time"
    out.say()
    if wrong:
        out.say(out.red(f"{out.bad} {wrong} of {len(ACTS)} acts went wrong; {took}."))
        return ExitStatus.NEGATIVE
    out.say(out.green(f"{out.good} All {len(ACTS)} acts came out right: {took}."))
    return ExitStatus.DONE


def _play(number: int, act: Act, box: Box, receiver: WebhookReceiver, out: Terminal) -> bool:
    """Play an act, print its rows and its result; returns whether all of it was right."""
    from contextlib import closing

    from paydouble.cli.differences import print_difference
    from paydouble.cli.stage import LiveStage
    from paydouble.cli.terminal import count
    from paydouble.core.errors import UsageError
    from paydouble.timeline import Renderer

    out.say()
    out.say(f"{out.bold(f'{number}. {act.title}')} {out.dim(f'({act.scenario})')}")
    receiver.clear()
    rows: list[Row] = []
    differences: list[Difference] = []
    problems: list[str] = []
    with closing(LiveStage(box, out, rows.append)) as stage:
        try:
            differences += _perform(act, number, stage, receiver)
        except UsageError as error:
            problems.append(f"the act broke off: {error}")
        problems += _problems(act, rows, stage, receiver)
        renderer = Renderer(out, began=stage.began)
        for row in _folded(rows, out, brief=act.brief):
            for line in renderer.lines(row):
                out.say(line)
        events = len(stage.events)
    for difference in differences:
        print_difference(difference, "", out)
    for problem in problems:
        out.say_prose(problem, first=f"  {out.bad} ", style=out.red)
    if differences or problems:
        return False
    when = f" at attempt {len(CONTRACT_SCHEDULE)}" if act.outage else ""
    verdict = f"{act.verdict}; {count(events, 'event')} in order{when}, all verified"
    out.say_prose(verdict, first=f"  {out.good} ", style=out.green)
    return True


def _perform(act: Act, number: int, stage: LiveStage, receiver: WebhookReceiver) -> list[Difference]:
    """Let the merchant act until nothing is left to happen; returns what is not as the scenario's file says."""
    from uuid import uuid4

    from paydouble.rehearsal.comparing import compare_play
    from paydouble.rehearsal.merchant import Merchant
    from paydouble.sandbox.scenario_selector import SCENARIO_DOMAIN
    from paydouble.scenarios.library import shipped

    scenario = shipped(act.scenario)
    assert scenario is not None  # noqa: S101 - a name of `ACTS`
    email = act.scenario + SCENARIO_DOMAIN
    merchant = Merchant(stage, scenario, make_key=lambda _: str(uuid4()), order=f"order-{number}", email=email)
    if act.outage:
        receiver.down()
        stage.remark("the receiver goes down", good=None)
    try:
        merchant.act()
        if act.outage:
            stage.wait(_OUTAGE_MS)
            stage.remark("the receiver is up again", good=None)
    finally:
        receiver.up()
    stage.finish()
    return compare_play(scenario, None, stage.arrivals, merchant.answers, began=stage.began)


def _problems(act: Act, rows: Sequence[Row], stage: LiveStage, receiver: WebhookReceiver) -> Iterator[str]:
    """Yield what is wrong with signatures, bytes and instants of attempts, which no scenario can expect."""
    from paydouble.timeline import offset

    received = receiver.received
    unverified = [each for each in received if not each.verified]
    if unverified:
        found = unverified[0].diagnosis
        cause = found.cause if found else "unknown"
        yield f"signatures: {len(unverified)} of {len(received)} did not verify ({cause})"
    accepted = [each.body for each in received if each.verified and 200 <= each.answered < 300]  # noqa: PLR2004 - HTTP
    if not unverified and accepted != [event.body for event in stage.events]:
        yield "the receiver did not accept exactly the bodies of the events, in their order"
    expected = CONTRACT_SCHEDULE if act.outage else CONTRACT_SCHEDULE[:1]
    for attempts in _by_delivery(rows):
        instants = tuple(offset(each.at - attempts[0].at) for each in attempts)
        if instants != expected:
            yield f"attempts of {attempts[0].what}: expected {' '.join(expected)}, got {' '.join(instants)}"


def _by_delivery(rows: Iterable[Row]) -> Iterable[list[Row]]:
    """Return the attempts of each delivery."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.attempt:
            found.setdefault(row.delivery, []).append(row)
    return found.values()


def _folded(rows: Sequence[Row], out: Terminal, *, brief: bool) -> Iterator[Row]:
    """Yield rows without latencies, and merge those that repeat each other.

    Failed attempts of a delivery share a row, with their schedule under it. With `brief`, consecutive events
    that are delivered at once share one as well.
    """
    failures = ([each for each in attempts if not each.good] for attempts in _by_delivery(rows))
    merged = {failed[0]: _merged(failed, out) for failed in failures if failed}
    kept = [merged.get(row, row) for row in rows if row.good or not row.attempt or row in merged]
    # A schedule that several rows share is printed under the last of them.
    shown = [
        replace(row, notes=() if after is not None and row.notes == after.notes else row.notes, latency_ms=None)
        for row, after in zip_longest(kept, kept[1:])
    ]
    for at_once, group in groupby(shown, lambda row: row.good and row.attempt == 1 and row.what.partition(".")[0]):
        events = list(group)
        if brief and at_once and len(events) >= _MANY:
            last = events[-1].what.partition(" ")[0].partition(".")[2]
            what = f"{events[0].what.partition(' ')[0]} {out.dots} {last}"
            yield replace(events[0], what=what, result=f"{len(events)} events, first attempt")
        else:
            yield from events


def _merged(failed: Sequence[Row], out: Terminal) -> Row:
    """Return one row for the failed attempts of a delivery."""
    from paydouble.timeline import offset

    first, last = failed[0], failed[-1]
    if first is last:
        return first
    numbers = f"{first.attempt}{out.dash}{last.attempt}"
    schedule = " ".join(offset(each.at - first.at) for each in failed)
    return replace(
        first, result=f"{first.result}, attempts {numbers}", attempt=1, notes=(f"{schedule} after the event",)
    )
