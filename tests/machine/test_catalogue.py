"""The catalogue: the whole vocabulary is played before the hunt, and what was not tried is named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import StringIO
from itertools import count, islice, takewhile
from types import SimpleNamespace
from typing import Any

import pytest
from bugzoo.adapter import ZooMerchant
from bugzoo.steady import steady
from bugzoo.table import VARIANTS
from hypothesis import Phase, settings
from small_shop import SmallShop

from paydouble.core.errors import UsageError
from paydouble.stateful import Merchant, MerchantBug, MerchantMachine, Play, catalogue, catalogue_run, explore
from paydouble.stateful.catalogue_run import CatalogueRun, Extent
from paydouble.stateful.coverage import COMMANDS, VOCABULARY, Coverage, Trial, Tried
from paydouble.stateful.hunting import Hunting, TimeIsUp
from paydouble.stateful.machine import summaries
from paydouble.stateful.plays import SECTIONS, deposits, parts
from paydouble.stateful.plays.parts import POINTS, WEBHOOK_POINTS, WORK_OFF
from paydouble.stateful.preferences import Preferences
from paydouble.stateful.progress import Progress, shortening, time_left
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import AFTERWARDS, POST_TROUBLES, READ_TROUBLES, Trouble

MERCHANTS = {each.name: each.merchant for each in VARIANTS}
QUICK = settings(max_examples=3, stateful_step_count=3, database=None, deadline=None, derandomize=True)


def machine(merchant: type[Merchant], **attributes: Any) -> Any:  # noqa: ANN401 - a class that is made here
    """Return a machine for a merchant."""
    return type("ShopMachine", (MerchantMachine,), {"merchant": merchant, **attributes})


def _playable(merchant: type[Merchant]) -> int:
    return sum(play.missing(merchant) is None for play in catalogue.catalogue())


@pytest.mark.parametrize("table", VOCABULARY)
def test_every_entry_has_a_play_of_its_own(table: str) -> None:
    """One without another trouble beside it."""
    alone = [play for play in catalogue.catalogue() if not play.reason]

    missing = [name for name in VOCABULARY[table] if not any((table, name) in play.entries() for play in alone)]

    # What is plain is in every play without being named.
    assert missing in ([], ["none"], ["happy-path"], ["plain"])


def test_a_new_trouble_is_in_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that is added to the vocabulary is played without a second list."""
    new = {**POST_TROUBLES, "meteor": Trouble("a meteor hits the service")}
    catalogue.catalogue.cache_clear()
    monkeypatch.setattr(deposits, "POST_TROUBLES", new)
    monkeypatch.setattr(parts, "POST_TROUBLES", new)
    try:
        plays = catalogue.catalogue()
    finally:
        catalogue.catalogue.cache_clear()

    assert any(step("pay", 1, "meteor") in play.steps for play in plays)


@pytest.mark.parametrize(("command", "meanwhile"), [("pay", "second click"), ("refund", "another refund")])
def test_a_second_request_meanwhile_is_tried_at_each_point_early(command: str, meanwhile: str) -> None:
    """Customers click twice, and nobody knows at which point of the code it matters."""

    def points_of_plays(plays: Iterable[CataloguePlay]) -> set[object]:
        steps = (each for play in plays for each in play.steps if each.command == command)
        options = (dict(each.options) for each in steps)
        return {each.get("at", 0) for each in options if each.get("meanwhile") == meanwhile}

    plays = catalogue.catalogue()

    assert points_of_plays(plays[: len(plays) // 7]) == points_of_plays(plays) >= {"request", *range(8)}
    if command == "pay":
        assert points_of_plays(plays[:150]) >= {"request", *range(5)}


def test_what_takes_long_comes_last_in_its_turn() -> None:
    """A shop over HTTP has met each kind of trouble before it takes 50 orders in one play."""

    def takings(play: CataloguePlay) -> int:
        defaults = {"order": 1, "crowd": 25, "other_system": 101}
        counted = [each for each in play.steps if each.command in defaults]
        numbers = [each.arguments[:1] if each.command != "order" else () for each in counted]
        return sum(
            number[0] if number else defaults[each.command] for each, number in zip(counted, numbers, strict=True)
        )

    plays = catalogue.catalogue()
    long = [number for number, each in enumerate(plays) if takings(each) > 20]
    reasons = {plays[number].reason for number in long}
    firsts = {each.reason: number for number, each in reversed(list(enumerate(plays)))}

    assert long[0] > max(number for reason, number in firsts.items() if reason not in reasons)


@pytest.mark.parametrize("then", AFTERWARDS[1:])
@pytest.mark.parametrize("what", ["dies", "database down"])
def test_each_answer_follows_a_lost_note(what: str, then: str) -> None:
    """The request was carried out, its note is lost at any point, no event tells, and the next request meets it."""
    plays = [play.steps for play in catalogue.catalogue()]

    for at in POINTS:
        clicked = step("pay", 1, meanwhile=what, at=at), step("retry", 1, then), step("retry")
        refunded = step("refund", 1, "half", meanwhile=what, at=at), step("refund_again", 1, then), step("refund_again")
        for steps in (clicked, refunded):
            assert any(steps == each[-4:-1] and step("webhooks", "drop all") in each for each in plays)


def test_jobs_go_on_for_longer_than_a_key_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing tells of the first request meanwhile, whatever keeps each read from being answered."""
    new = {**READ_TROUBLES, "fog": Trouble("fog", READ_TROUBLES["lost"].faults, tells_nothing=True)}
    catalogue.catalogue.cache_clear()
    monkeypatch.setattr(deposits, "READ_TROUBLES", new)
    try:
        long = [play.steps for play in catalogue.catalogue() if play.steps.count(step("wait", "1h")) > 24]
    finally:
        catalogue.catalogue.cache_clear()

    found = {(each.command, read) for steps in long for each in steps for read in steps if read.command == "reads"}
    for trouble in ("lost", "proxy page", "fog"):
        assert {("pay", step("reads", trouble, lasts="end")), ("refund", step("reads", trouble, lasts="end"))} <= found
    assert all(step("webhooks", "drop all") in steps for steps in long)


def test_no_play_is_run_twice() -> None:
    """Two plays differ in what is done, not in their reasons alone."""
    plays = [(play.dialect, play.steps) for play in catalogue.catalogue()]

    assert len(set(plays)) == len(plays)


def test_a_failure_is_told_as_the_machine_tells_it() -> None:
    """The report is that of the shortest play with the same verdict."""
    with pytest.raises(MerchantBug, match="took a new Idempotency-Key for a retry") as caught:
        machine(MERCHANTS["NewKeyWhenTheReplyIsLost"], phases=("catalogue",)).run(QUICK)

    assert "1. order-1 is placed: 49.90 EUR.\n  2. order-1 is paid for; the request is lost on its way.\n\n" in str(
        caught.value
    )
    assert "with Play(NewKeyWhenTheReplyIsLost) as play:" in str(caught.value)


def test_a_step_that_does_not_matter_is_left_out() -> None:
    """So is an option."""
    steps = (step("order"), step("wait", "1s"), step("pay", 1, "reply lost", scenario="abandoned"), step("restart"))
    run = CatalogueRun(MERCHANTS["NewKeyWhenTheReplyIsLost"])
    play = CataloguePlay(steps, dialect="201")
    with pytest.raises(MerchantBug) as first:
        run.one(play)

    shortest = run.shortest(play, first.value)

    assert "with Play(NewKeyWhenTheReplyIsLost) as play:\n            play.order('49.90', 'EUR')\n" in str(shortest)
    assert "play.pay(1, trouble='reply lost')\n\n" in str(shortest)


def _plays(monkeypatch: pytest.MonkeyPatch, *plays: tuple[Step, ...]) -> None:
    monkeypatch.setattr(catalogue_run, "catalogue", lambda: tuple(map(CataloguePlay, plays)))


_FINDS_NOTHING = (step("order"), step("pay", 1, scenario="abandoned"))
_FINDS_THE_PRICE = (step("order", "1.15", "EUR"), step("wait", "1s"), step("pay"))
_FINDS_IT_AGAIN = (step("order", "1.15", "EUR"), step("pay", 1, "reply lost"))


class _TwoMistakes(SmallShop):
    def broken_rules(self) -> list[str]:
        """Return two rules of its own: one about a price, and one about the number of orders."""
        is_cheap = any(order.amount < 2 for order in self.orders.values())
        return ["it is too cheap"] * is_cheap + ["two orders"] * (len(self.orders) > 1)


def test_a_run_can_go_on_after_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mistake is shortened and told once, with the play that found it, and the others are counted."""
    two_orders = (step("order"), step("order"))
    _plays(monkeypatch, _FINDS_NOTHING, _FINDS_THE_PRICE, _FINDS_IT_AGAIN, two_orders)
    tried = machine(_TwoMistakes, phases=("catalogue",), most_findings=3)

    with pytest.raises(MerchantBug) as caught:
        tried.run(QUICK)

    text = str(caught.value)
    assert text.startswith("Finding 1 of 2:\n\nThe merchant breaks a rule of its own: it is too cheap.")
    assert "\n\n\nFinding 2 of 2:\n\nThe merchant breaks a rule of its own: two orders." in text
    assert [bug.place for bug in tried.found] == [(2, 4), (4, 4)]
    assert "wait" not in str(tried.found[0])
    assert (tried.coverage.plays, tried.coverage.failed) == (4, 3)
    assert "3 of these ended with a finding." in tried.coverage.summary()


def test_a_run_ends_after_as_many_findings_as_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One, unless told otherwise; its report is the plain one."""
    _plays(monkeypatch, _FINDS_THE_PRICE, (step("order"), step("order")))
    tried = machine(_TwoMistakes)

    with pytest.raises(MerchantBug, match=r"^The merchant breaks a rule of its own: it is too cheap"):
        tried.run(QUICK)

    assert ([bug.place for bug in tried.found], tried.coverage.plays) == ([(1, 2)], 1)


def test_a_run_can_begin_where_another_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are those of a whole run, and what only earlier plays try is told as such."""
    lacking = (step("order"), step("reads", "503"), step("cancel"))
    _plays(
        monkeypatch, (step("order"), step("reads", "503")), lacking, _FINDS_THE_PRICE, _FINDS_NOTHING, _FINDS_NOTHING
    )
    notes: list[str] = []
    monkeypatch.setattr(Progress, "__call__", lambda _, done: notes.append(done))

    coverage = machine(_TwoMistakes, phases=("catalogue",), first_play=3).run(QUICK)

    assert notes[1] == "2 of 4 plays of the catalogue"
    assert coverage.plays == 1
    reasons = {(each.table, each.name): each.reason for each in coverage.untried()}
    assert reasons["reads", "503"] == "its plays come before the first that was asked for"
    assert "The catalogue began with its play 3." in coverage.summary()


def _waits(seconds: int) -> tuple[Step, ...]:
    return (step("order"), step("wait", f"{seconds}s"))


def test_each_play_is_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its number, what the other parts try is told as such, and the random plays are in the first part."""
    _plays(monkeypatch, *map(_waits, range(1, 6)), (step("order"), step("reads", "503")), _FINDS_THE_PRICE)
    runs = [machine(_TwoMistakes, part=(number, 3)) for number in (1, 2, 3)]

    with pytest.raises(MerchantBug, match=r"Play 7 of 7 .* first_play = 7 begins with it\."):
        runs[0].run(QUICK)
    covered = [runs[0].coverage, *(each.run(QUICK) for each in runs[1:])]

    assert [bug.place for bug in runs[0].found] == [(7, 7)]
    assert [each.plays for each in covered] == [3, 2, 2]
    assert [each.examples for each in covered[1:]] == [0, 0]
    assert "This was part 2 of 3 of the catalogue." in covered[1].summary()
    reasons = [{each.name: each.reason for each in tried.untried() if each.table == "reads"} for tried in covered]
    assert reasons[1]["503"] == "its plays are in another part"
    assert reasons[2]["503"] != reasons[1]["503"]


def test_a_test_case_can_have_a_test_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the settings of the test case, and what was tried is that of the latest part."""
    _plays(monkeypatch, *map(_waits, range(1, 4)), _FINDS_THE_PRICE, _waits(4))
    running = machine(_TwoMistakes, parts=3)
    running.TestCase.settings = QUICK
    result = unittest.TestResult()
    covered = []
    for name in unittest.defaultTestLoader.getTestCaseNames(running.TestCase):
        running.TestCase(name).run(result)
        covered.append((name, running.coverage.plays, running.coverage.examples, running.found))

    assert [each[:3] for each in covered] == [
        ("test_part_1_of_3", 2, 0),
        ("test_part_2_of_3", 2, 0),
        ("test_part_3_of_3", 1, 0),
    ]
    assert [bool(each[3]) for each in covered] == [True, False, False]
    assert result.testsRun == 3
    assert len(result.failures) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": 0}, "ShopMachine.parts is 0; give a number from 1 on"),
        ({"parts": "2"}, "ShopMachine.parts is '2'; give a number from 1 on"),
        ({"parts": 2, "part": (1, 2)}, "ShopMachine has parts and is itself a part; leave one of them out"),
    ],
)
def test_parts_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    """Where the class is made."""
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        machine(_TwoMistakes, **options)

    assert caught.value.member == "parts"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": (0, 2)}, "there is no part 0 of 2; the first is 1, and the last is 2"),
        ({"part": (3, 2)}, "there is no part 3 of 2; the first is 1, and the last is 2"),
        ({"part": (3, 3)}, "part 3 of 3 has no play, of 2, from number 1 on; make fewer parts"),
        ({"part": (2, 2), "phases": ("hunt",)}, "the hunt has no parts; leave it out"),
    ],
)
def test_a_part_that_has_nothing_is_refused(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing would be played, and the test would pass."""
    _plays(monkeypatch, _FINDS_NOTHING, _FINDS_NOTHING)

    with pytest.raises(UsageError, match=re.escape(message)):
        machine(_TwoMistakes, **options).run(QUICK)


@pytest.mark.parametrize("first", [0, 3])
def test_a_run_cannot_begin_where_there_is_no_play(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would be played, and the test would pass."""
    _plays(monkeypatch, _FINDS_NOTHING, _FINDS_NOTHING)

    with pytest.raises(UsageError, match=rf"there is no play {first}; .* from 1 to 2") as caught:
        machine(_TwoMistakes, first_play=first).run(QUICK)

    assert caught.value.member == "first_play"


def test_what_the_hunt_finds_is_among_what_was_found() -> None:
    """As what the catalogue finds is. The search for a shorter example would take most of the time."""
    tried = machine(_TwoMistakes, phases=("hunt",))

    with pytest.raises(MerchantBug) as caught:
        tried.run(settings(QUICK, max_examples=100, phases=[Phase.generate]))

    assert tried.found == [caught.value]


@pytest.mark.parametrize("phase", ["catalogue", "hunt"])
def test_an_interruption_loses_no_finding(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it was still looking for a shorter play."""

    def interrupted(_self: object, done: str) -> None:
        if done.startswith("tried "):
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "__call__", interrupted)
    running = machine(MERCHANTS["NewKeyWhenTheReplyIsLost"], phases=(phase,))

    with pytest.raises(KeyboardInterrupt):
        # What Hypothesis draws depends on the modules that are there. One in a hundred hunts takes over 50 examples.
        running.run(settings(QUICK, max_examples=1000, stateful_step_count=12))

    (bug,) = running.found
    assert "took a new Idempotency-Key for a retry" in bug.verdict
    summary = summaries.pop().text()
    assert summary.startswith(f"{running.__name__}, interrupted: ")
    assert summary.endswith(str(bug))


def test_an_adapter_without_a_method_is_not_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result names what was never tried for that reason."""
    needy = (step("refund", 1, "half", "reply lost"), step("restart"), step("returns"), step("refund_again"))
    plays = tuple(CataloguePlay((each,)) for each in (*needy, step("pay", 1, meanwhile="second click")))
    monkeypatch.setattr(catalogue_run, "catalogue", lambda: plays)

    class NoRefunds(ZooMerchant):
        refund = Merchant.refund
        customer_returns = Merchant.customer_returns
        restart = Merchant.restart
        interleaves = False

    coverage = machine(NoRefunds, phases=("catalogue",)).run(QUICK)

    reasons = {(each.table, each.name): each.reason for each in coverage.untried()}
    assert reasons["refund", "reply lost"] == "no refund"
    assert reasons["meanwhile", "second click"] == "interleaves is false"
    assert "Never tried (no refund): refund 'reply lost'." in coverage.summary()
    assert coverage.plays == 0


def test_phases_choose_what_is_run() -> None:
    """The hunt alone runs no play of the catalogue; the summary says so."""
    coverage = machine(ZooMerchant, phases=("hunt",)).run(QUICK)

    assert coverage.plays == 0 < coverage.examples
    assert "ShopMachine: 0 plays of the catalogue and" in summaries[-1].text()


def test_a_hunt_can_have_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in rounds until the time is over, each from another seed."""
    ticks = count()
    monkeypatch.setattr("paydouble.stateful.hunting.time", SimpleNamespace(monotonic=lambda: next(ticks)))

    none = machine(ZooMerchant, phases=("hunt",), hunt_seconds=0.0).run(QUICK)
    some = machine(ZooMerchant, phases=("hunt",), hunt_seconds=70.0).run(QUICK)

    assert (none.examples, some.examples) == (0, 69)


def test_a_time_for_both_phases_makes_no_hunt_longer() -> None:
    """It ends with the examples that the settings name, or earlier."""
    enough = machine(ZooMerchant, phases=("hunt",), seconds=3600.0).run(QUICK)
    none = machine(ZooMerchant, phases=("hunt",), seconds=0.0).run(QUICK)

    assert enough.examples == machine(ZooMerchant, phases=("hunt",)).run(QUICK).examples
    assert none.examples == 0


def test_a_failure_is_shortened_after_the_time() -> None:
    """The time ends the search, not what follows it."""
    notes: list[str] = []
    hunting = Hunting(notes.append, 100, seconds=0.0)
    with pytest.raises(TimeIsUp):
        hunting.begin()

    failure = MerchantBug("it is paid twice")
    for found in (None, failure, None, failure):
        hunting.end(found)
    hunting.begin()

    assert notes == [
        "1 of 100 examples of the hunt, 0:00 min left",
        *(f"tried {tried} plays to shorten what was found: it is paid twice" for tried in range(3)),
    ]


def test_both_phases_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the search for a shorter play too."""
    notes: list[str] = []
    monkeypatch.setattr(Progress, "__call__", lambda _, done: notes.append(done))
    with pytest.raises(MerchantBug):
        machine(MERCHANTS["NewKeyWhenTheReplyIsLost"]).run(QUICK)
    machine(ZooMerchant, catalogue_seconds=0.0).run(QUICK)

    assert notes[:2] == [
        "how long an order is kept that nobody pays",
        f"0 of {_playable(ZooMerchant):,} plays of the catalogue",
    ]
    told = [
        each for each in notes if each.startswith("tried 1 plays to shorten what was found: The merchant took a new")
    ]
    assert len(told) == 1
    assert notes[-1] == "3 of 3 examples of the hunt"


def test_a_catalogue_can_have_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is counted, and the progress ends where the plays have ended."""
    notes: list[str] = []
    monkeypatch.setattr(Progress, "__call__", lambda _, done: notes.append(done))
    coverage = machine(ZooMerchant, phases=("catalogue",), catalogue_seconds=0.0).run(QUICK)

    assert (coverage.plays, coverage.left_out) == (1, _playable(ZooMerchant) - 1)
    assert notes[-1].startswith("1 of ")
    assert f"There was no time for {coverage.left_out} more plays of the catalogue." in coverage.summary()
    assert {each.reason for each in coverage.untried()} == {"there was no time for all of its plays"}


@pytest.mark.parametrize(
    ("number", "options", "is_advised"),
    [
        (4, {}, True),
        (1, {}, False),
        (4, {"part": (1, 2)}, False),
        (4, {"catalogue_seconds": None}, False),
    ],
)
def test_a_run_without_time_for_all_says_how_more_is_played(
    number: int,
    options: dict[str, Any],
    is_advised: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where there are processors that it does not use."""
    monkeypatch.setattr("paydouble.stateful.ran.processors", lambda: number)
    monkeypatch.setattr(catalogue_run, "catalogue", lambda: islice(catalogue.catalogue(), 2))
    machine(ZooMerchant, **{"phases": ("catalogue",), "catalogue_seconds": 0.0} | options).run(QUICK)

    advice = "\nThis computer has 4 processors: parts = 4 and pytest -n 4 use all of them."
    assert summaries[-1].text().endswith(advice) == is_advised


class _WithoutRefunds(ZooMerchant):
    refund = Merchant.refund


def test_what_the_adapter_rules_out_is_neither_left_to_do_nor_out_of_time() -> None:
    """The progress counts the plays that the adapter allows, and so does what there was no time for."""
    allowed = [
        play for play in catalogue.catalogue() if play.missing(_WithoutRefunds) is None and not play.depends_on_hold
    ]
    notes: list[str] = []
    coverage = Coverage()

    CatalogueRun(_WithoutRefunds, progress=notes.append).all(coverage, [], Extent(0.0))

    reasons = {(each.table, each.name): each.reason for each in coverage.untried()}
    assert notes[0] == f"0 of {len(allowed):,} plays of the catalogue, 0:00 min left"
    assert coverage.plays + coverage.left_out == len(allowed) < len(catalogue.catalogue())
    assert "refund" in reasons["refund", "reply lost"]
    assert reasons["POST", "reply lost"] == "there was no time for all of its plays"
    number = len(VOCABULARY["webhooks"])
    assert f"; webhooks {number} of {number}; " in coverage.summary()


def test_each_process_has_the_same_order() -> None:
    """A run that goes on, and parts that are run apart, count the plays in the same way."""
    program = "from paydouble.stateful.catalogue import catalogue; print(*catalogue(), sep='\\n')"
    orders = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }

    (order,) = orders
    assert order.count("\n") == len(catalogue.catalogue())


def test_each_kind_of_play_comes_early() -> None:
    """What is played alone begins, and one of each combination comes in the first quarter: a shop may be slow."""
    plays = catalogue.catalogue()
    early = plays[: len(plays) // 4]

    assert {play.reason for play in plays} == {play.reason for play in early}
    assert not any(play.reason for play in early[:100])
    assert {entry for play in plays for entry in play.entries()} == {
        entry for play in plays[:1_100] for entry in play.entries()
    }


def test_the_first_combinations_take_turns_with_what_is_alone() -> None:
    """After the dearest; a slow shop does not come to the end of what is alone."""
    plays = catalogue.catalogue()
    first = next(number for number, play in enumerate(plays) if play.reason)
    combined = [bool(play.reason) for play in plays[first - 1 :]]
    pairs = list(zip(combined[::2], combined[1::2], strict=False))
    in_turn = [*takewhile(lambda pair: pair == (False, True), pairs)]

    assert first < 200
    assert len(in_turn) > 4 * len(SECTIONS)


def test_a_kill_that_nothing_heals_comes_early_at_each_point() -> None:
    """A shop that marks an event as done before it has done it shows at one of them only."""
    plays = catalogue.catalogue()
    killed = (step("interrupt_webhook", "dies", at) for at in WEBHOOK_POINTS)

    early = plays[: len(plays) // 6]
    assert all(any(kill in play.steps and WORK_OFF in play.steps for play in early) for kill in killed)


def test_each_section_comes_before_the_second_combination_of_another_one() -> None:
    """Mistakes in the pages of lists are as early as those in the reply to a click."""
    plays = catalogue.catalogue()
    first = next(number for number, play in enumerate(plays) if play.reason)
    places = {play.reason: number for number, play in reversed(list(enumerate(plays)))}

    # Pages that are full take many orders, and come last in the first turn. What is alone is between combinations.
    assert max(places["pages are short"], places["a second attempt is a new one"]) <= first + 2 * len(SECTIONS)


def test_each_act_comes_before_any_trouble() -> None:
    """What a shop does wrong without any trouble is told by the plainest play that shows it."""
    acts = {"order", "pay", "retry", "returns", "refund", "cancel", "provider"}
    usual = {"none", "happy-path", "plain"}

    def is_plain(play: CataloguePlay) -> bool:
        tables = {table for table, name in play.entries() if name not in usual}
        return {each.command for each in play.steps} <= {*acts, "wait"} and tables <= {"provider", "scenario"}

    first_trouble = next(at for at, play in enumerate(catalogue.catalogue()) if not is_plain(play))

    assert {each.command for play in catalogue.catalogue()[:first_trouble] for each in play.steps} == {*acts, "wait"}


def test_each_entry_and_each_price_comes_early_at_each_place() -> None:
    """Alone, before the seventh is over: a forgery before the money and after it, a lost reply in each dialect."""
    plays = [play for play in catalogue.catalogue() if not play.reason]
    early = [play for play in catalogue.catalogue()[: len(catalogue.catalogue()) // 7] if not play.reason]

    def entries(of: Sequence[CataloguePlay]) -> set[object]:
        return {entry for play in of for entry in play.entries()}

    def prices(of: Sequence[CataloguePlay]) -> set[object]:
        return {each.arguments for play in of for each in play.steps if each.command == "order"}

    def places(of: Sequence[CataloguePlay], command: str) -> set[object]:
        """Return each step of a kind with the commands before it."""
        return {
            (tuple(before.command for before in play.steps[:at]), each.arguments)
            for play in of
            for at, each in enumerate(play.steps)
            if each.command == command
        }

    assert entries(early) == entries(plays)
    assert prices(early) == prices(plays)
    assert places(early, "inject") == places(plays, "inject")
    lost = step("pay", 1, "reply lost")
    assert {play.dialect for play in early if lost in play.steps} == {play.dialect for play in plays}


def test_each_race_comes_early() -> None:
    """A click, a refund, a webhook and a job, each interrupted at each of the first points of the merchant's code."""
    early = catalogue.catalogue()[: len(catalogue.catalogue()) // 7]
    alone = [play for play in early if not play.reason]

    def interruptions(of: Sequence[CataloguePlay]) -> set[object]:
        commands = COMMANDS["interrupted webhook"] | COMMANDS["interrupted job"]
        steps = {each for play in of for each in play.steps if each.command in commands}
        points = {"interrupt_webhook": WEBHOOK_POINTS, "interrupt_jobs": POINTS}
        return {each for each in steps if each.arguments[-1] in points[each.command]}

    def kills(of: Sequence[CataloguePlay]) -> set[object]:
        """Return those in a click, a refund or a cancellation, with the commands before and after it."""
        return {
            (tuple(step.command for step in play.steps), each.command, *each.options)
            for play in of
            for each in play.steps
            if dict(each.options).get("meanwhile") == "dies" and not play.reason
        }

    assert interruptions(alone) == interruptions(catalogue.catalogue())
    assert kills(alone) == kills(catalogue.catalogue())


def test_explore_takes_phases() -> None:
    """What is found by the hunt alone is found by it."""
    with steady(), pytest.raises(MerchantBug):
        explore(MERCHANTS["NewOrderNumberOnRetry"], seed=5, phases=("hunt",))


def test_a_preference_is_the_same_each_time() -> None:
    """Also when more has been tried meanwhile; 0 prefers nothing."""
    coverage, preferences = Coverage(), Preferences()
    names = [(table, name) for table, each in VOCABULARY.items() for name in each]
    before = [preferences.of(7, coverage)(*entry) for entry in names]
    coverage.add(Tried([Trial(table, name, "none", "none") for table, name in names] * 9, {}, {}))

    assert [preferences.of(7, coverage)(*entry) for entry in names] == before
    assert [preferences.of(0, coverage)(*entry) for entry in names] == [name for _, name in names]
    assert len(set(before)) < len({name for _, name in names})


def test_a_preference_has_what_was_tried_least() -> None:
    """An entry that is never met is in the half of every example."""
    coverage = Coverage()
    coverage.add(Tried([Trial("POST", name, "none", "new") for name in POST_TROUBLES if name != "401"], {}, {}))

    assert all(Preferences().of(number, coverage)("POST", "401") == "401" for number in range(1, 50))


def test_the_summary_counts_the_plays_that_ended_in_review() -> None:
    """A shop that hides behind it is seen there."""
    coverage = Coverage()
    for late in (step("provider", "late money"), step("wait", "1s")):
        twice = (step("pay", 1, scenario="abandoned"), step("wait", "25h"), step("retry"), step("wait", "10s"), late)
        coverage.add(CatalogueRun(SmallShop).one(CataloguePlay((step("order"), *twice, step("wait", "10s")))))

    assert "\n1 of these ended with an order in review, of which less is asked." in coverage.summary()


def test_each_trial_has_a_state_and_a_verdict() -> None:
    """A replay after a lost reply is another trial than the first request."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay(trouble="reply lost")
        play.wait("10s")
        play.inject("again")

    assert Trial("POST", "reply lost", "none", "new") in play.trials
    assert Trial("injected webhook", "again", "paid", "accept") in play.trials
    coverage = Coverage()
    coverage.add(play.tried)
    assert "POST 'reply lost': none/new 1" in coverage.table()


class Terminal(StringIO):
    """A stream that is a terminal, or a reporter of pytest that has one."""

    def __init__(self, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


class Reporter:
    """What pytest's terminal reporter and its plugins offer."""

    def __init__(self, tty: bool, *, captures: bool) -> None:
        self.isatty = tty
        self.text = ""
        self.released = 0
        self._captures = captures
        self.pluginmanager = self

    def getplugin(self, name: str) -> Reporter | None:
        return self if name == "terminalreporter" or self._captures else None

    @contextmanager
    def global_and_fixture_disabled(self) -> Iterator[None]:
        self.released += 1
        yield

    def write(self, text: str, *, flush: bool) -> None:
        assert flush
        self.text += text


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The real time that a progress line sees, in `now`."""
    seen = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("paydouble.stateful.progress.time", SimpleNamespace(monotonic=lambda: seen.now))
    return seen


@pytest.mark.parametrize("tty", [True, False])
def test_progress_is_one_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace, tty: bool) -> None:
    """It is rewritten a few times a second, and ends with the last; a short run without a terminal writes none."""
    stream = Terminal(tty)
    monkeypatch.setattr(sys, "__stderr__", stream)
    monkeypatch.setattr("paydouble.testing.plugin.config", None)

    with closing(Progress("Shop")) as progress:
        for done in ("0 of 27 plays", "1 of 27 plays", "2 of 27 plays", "3 plays", "4 plays"):
            progress(done)
            clock.now += 0.15

    lines = ["\rShop: 0 of 27 plays", "\rShop: 2 of 27 plays", "\rShop: 4 plays      ", "\rShop: 4 plays"]
    assert stream.getvalue() == ("".join(lines) + "\n" if tty else "")


def test_progress_fits_on_the_terminal(monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> None:
    """A line that wraps could not be rewritten; what was found is told while it is shortened."""
    stream = Terminal(True)
    monkeypatch.setattr(sys, "__stderr__", stream)
    monkeypatch.setattr("paydouble.testing.plugin.config", None)
    monkeypatch.setenv("COLUMNS", "40")

    with closing(Progress("Shop")) as progress:
        progress(shortening(3, "The merchant made 2 deposits for order-1"))
        clock.now += 1

    assert stream.getvalue().split("\r")[-1] == "Shop: tried 3 plays to shorten what wa…\n"


def test_progress_tells_how_long_it_takes_at_most(clock: SimpleNamespace) -> None:
    """Only where there is a limit."""
    assert time_left(None) == ""
    assert time_left(clock.now + 125.4) == ", 2:05 min left"
    assert time_left(clock.now - 1) == ", 0:00 min left"


def test_progress_without_a_note_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the first play cannot be made."""
    stream = Terminal(True)
    monkeypatch.setattr(sys, "__stderr__", stream)
    monkeypatch.setattr("paydouble.testing.plugin.config", None)

    Progress("Shop").close()

    assert stream.getvalue() == ""


@pytest.mark.parametrize("captures", [True, False])
@pytest.mark.parametrize("tty", [True, False])
def test_progress_is_shown_under_pytest(monkeypatch: pytest.MonkeyPatch, tty: bool, captures: bool) -> None:
    """On pytest's terminal, past its capture."""
    reporter = Reporter(tty, captures=captures)
    monkeypatch.setattr("paydouble.testing.plugin.config", reporter)

    Progress("Shop")("27 of 27 plays")

    assert reporter.text == ("\rShop: 27 of 27 plays" if tty else "")
    assert reporter.released == (tty and captures)


@pytest.mark.parametrize("under_pytest", [True, False])
def test_progress_is_a_line_a_minute_in_a_log(
    monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace, under_pytest: bool
) -> None:
    """So that a run that is cut off has told how far it came."""
    stream, reporter = Terminal(False), Reporter(False, captures=True)
    monkeypatch.setattr(sys, "__stderr__", stream)
    monkeypatch.setattr("paydouble.testing.plugin.config", reporter if under_pytest else None)

    with closing(Progress("Shop")) as progress:
        for number in range(13):
            progress(f"{number} of 100 plays")
            clock.now += 10

    lines = [f"\nShop: {6 * each} of 100 plays after {each} min\n" for each in (1, 2)]
    assert (reporter.text if under_pytest else stream.getvalue()) == "".join(lines)


def test_a_run_that_has_found_something_also_says_what_it_has_tried() -> None:
    """What it did not reach is counted, since that may be nearly all."""

    class ShopMachine(MerchantMachine):
        merchant = MERCHANTS["NewKeyWhenTheReplyIsLost"]
        phases = ("catalogue",)

    with pytest.raises(MerchantBug):
        ShopMachine.TestCase().runTest()
    summary = summaries.pop().text()
    assert summary.startswith("ShopMachine, with its finding: ")
    told = r"Never tried \(the run ended with a finding before its plays\): \d+ of the \d+\."
    assert sum(1 for line in summary.splitlines() if re.fullmatch(told, line)) == 1
