"""A play is left out only when an earlier one has shown that it would be the same for this merchant."""

from __future__ import annotations

from typing import Any

import pytest
from bugzoo.adapter import ZooMerchant

from paydouble.stateful import Merchant, catalogue_run, equivalence
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.coverage import Coverage
from paydouble.stateful.interruptions import AFTER_REQUEST
from paydouble.stateful.steps import CataloguePlay, Step, step

ORDER, PAY, SETTLE = step("order"), step("pay"), step("wait", "10s")


def runs(merchant: type[Merchant], *plays: CataloguePlay) -> tuple[list[CataloguePlay], Coverage]:
    """Run plays as a catalogue; return those that were run, and what was counted."""
    coverage, done = Coverage(), []

    class Run(CatalogueRun):
        def one(self, play: CataloguePlay, *known: Any) -> Any:  # noqa: ANN401 - as the original
            done.append(play)
            return super().one(play, *known)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue_run, "catalogue", lambda: plays)
        Run(merchant).all(coverage, [])
    return done, coverage


def pays(**options: Any) -> CataloguePlay:  # noqa: ANN401 - those of `Play.pay`
    """Return a play with one click."""
    return CataloguePlay((ORDER, step("pay", 1, "request lost", **options), SETTLE))


@pytest.mark.parametrize("what", ["dies", "second click"])
def test_a_point_that_is_not_reached_is_not_tried(what: str) -> None:
    """The play without the interruption shows how many points there are."""
    done, coverage = runs(ZooMerchant, pays(), *(pays(meanwhile=what, at=at) for at in range(40)))

    assert 2 < len(done) < 20
    assert done == [pays(), *(pays(meanwhile=what, at=at) for at in range(len(done) - 1))]
    assert coverage.same == {equivalence.UNREACHED: 41 - len(done)}


def test_a_click_that_sends_nothing_has_no_point_after_a_request() -> None:
    """An order that is paid needs no deposit, which the play without the interruption shows."""
    paid = (ORDER, PAY, SETTLE)
    again = [step("pay", 1), *(step("pay", 1, meanwhile=what, at=AFTER_REQUEST) for what in ("dies", "jobs run"))]
    done, coverage = runs(ZooMerchant, *(CataloguePlay((*paid, each, SETTLE)) for each in again))

    assert done == [CataloguePlay((*paid, again[0], SETTLE))]
    assert coverage.same == {equivalence.UNREACHED: 2}


@pytest.mark.parametrize("what", ["dies", "database down", "again meanwhile"])
def test_a_webhook_has_so_many_points(what: str) -> None:
    """The first interruption that does not act shows it, and for another one too."""

    def play(what: str, at: int) -> CataloguePlay:
        return CataloguePlay((ORDER, step("interrupt_webhook", what, at), PAY, SETTLE))

    done, coverage = runs(ZooMerchant, *(play(what, at) for at in range(20)), play("payer returns meanwhile", 19))

    assert 1 < len(done) < 20
    assert done == [play(what, at) for at in range(len(done))]
    assert coverage.same == {equivalence.UNREACHED: 21 - len(done)}


def test_a_trouble_lasts_as_long_as_the_merchant_asks() -> None:
    """Five attempts meet five failures, whatever would come then."""
    plays = [pays(lasts=1), pays(lasts=2), pays(lasts=6), pays(lasts=7), pays(lasts="end")]
    done, coverage = runs(ZooMerchant, *plays)

    assert done == [plays[0], plays[1], plays[2], plays[4]]
    assert coverage.same == {equivalence.NO_LONGER: 1}


def test_what_the_next_request_would_meet_is_nothing_without_one() -> None:
    """A click that is answered at once has no next request; one that is retried meets each."""
    at_once = [CataloguePlay((ORDER, step("pay", 1, then=then), SETTLE)) for then in ("401", "409")]
    retried = [CataloguePlay((ORDER, step("pay", 1, "request lost", then=then), SETTLE)) for then in ("401", "409")]
    done, coverage = runs(ZooMerchant, *at_once, *retried)

    assert done == [at_once[0], *retried]
    assert coverage.same == {equivalence.NOTHING: 1}


def test_what_is_the_same_in_other_words_is_run_once() -> None:
    """A reply is lost twice, and two replies are lost."""
    two = CataloguePlay((ORDER, step("pay", 1, "two replies lost"), SETTLE))
    again = CataloguePlay((ORDER, step("pay", 1, "reply lost", lasts=2), SETTLE))
    done, coverage = runs(ZooMerchant, two, again)

    assert (done, coverage.same) == ([two], {equivalence.THE_SAME: 1})


def test_a_read_that_is_never_made_is_not_disturbed_in_another_way() -> None:
    """One that comes with a wider match would still be met."""

    class AsksNobody(ZooMerchant):
        def tick(self) -> None:
            """Ask nobody."""

    stale, lost, page, unknown = (
        CataloguePlay((ORDER, PAY, SETTLE, step("reads", name)))
        for name in ("stale", "lost", "proxy page", "not found yet")
    )
    done, coverage = runs(AsksNobody, stale, lost, page, unknown)

    assert (done, coverage.same) == ([stale, lost], {equivalence.NOTHING: 2})

    # There may be no time for the other plays with it.
    coverage.leave_out(page.entries())
    reasons = {each.name: each.reason for each in coverage.untried() if each.table == "reads"}
    assert reasons["proxy page"] == "there was no time for all of its plays"


@pytest.mark.parametrize("nothing", [step("provider", "late money"), step("inject", "again")])
def test_a_step_that_does_nothing_is_left_out(nothing: Step) -> None:
    """Money cannot be late where nothing has expired, and nothing comes again where nothing came."""
    first = CataloguePlay((ORDER, nothing, PAY, SETTLE))
    done, coverage = runs(ZooMerchant, first, CataloguePlay((ORDER, nothing, nothing, PAY, SETTLE)))

    assert (done, coverage.same) == ([first], {equivalence.NOTHING: 1})


def test_what_is_refused_is_not_written_in_four_ways() -> None:
    """A receiver that refuses a webhook before it reads it does so whatever it says; what is accepted may matter."""

    def play(how: str, which: int) -> CataloguePlay:
        return CataloguePlay((ORDER, PAY, SETTLE, step("inject", how, which)))

    plays = [play(how, which) for how in ("wrong secret", "again") for which in (1, 2)]
    done, coverage = runs(ZooMerchant, *plays)

    assert (done, coverage.same) == ([plays[0], *plays[2:]], {equivalence.REFUSED: 1})


def _combined(trouble: str) -> CataloguePlay:
    return CataloguePlay((ORDER, step("pay", 1, trouble), step("restart"), step("retry"), SETTLE), "a reason")


def _alone(trouble: str) -> CataloguePlay:
    return CataloguePlay((ORDER, step("pay", 1, trouble), SETTLE))


@pytest.mark.parametrize(("others", "left_out"), [(("closed",), 1), (("reply lost",), 0)])
def test_troubles_that_are_one_to_the_merchant_are_combined_once(others: tuple[str, ...], left_out: int) -> None:
    """Each is played alone; a combination is left out when the same one was run with a trouble that is alike."""
    names = ("request lost", *others)
    done, coverage = runs(ZooMerchant, *map(_alone, names), *map(_combined, names))

    assert done[:2] == [_alone(name) for name in names]
    assert coverage.same == ({equivalence.ALIKE: left_out} if left_out else {})


def test_the_summary_says_what_was_left_out() -> None:
    """With the reasons."""
    _, coverage = runs(ZooMerchant, pays(lasts=6), pays(lasts=7))

    assert f"Plays left out as the same as earlier ones: 1 because {equivalence.NO_LONGER}." in coverage.summary()


@pytest.mark.parametrize("options", [{"meanwhile": "none", "at": 0}, {"scenario": "happy-path"}], ids=str)
def test_a_default_that_is_written_out_is_no_other_play(options: dict[str, Any]) -> None:
    """It means the same."""
    done, coverage = runs(ZooMerchant, pays(), pays(**options))

    assert (done, coverage.same) == ([pays()], {equivalence.THE_SAME: 1})
