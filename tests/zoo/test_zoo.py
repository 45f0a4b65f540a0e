"""The zoo: every broken merchant is caught, and the correct one is not.

`make zoo` hunts for all of them; here a variant that is found late meets the one play that catches it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bugzoo import catches
from bugzoo.adapter import ZooMerchant
from bugzoo.hunt import caught_by_story, hunt
from bugzoo.stories import STORIES, play_story
from bugzoo.table import VARIANTS, Variant

from paydouble.faults.model import parse_fault
from paydouble.scenarios.reading import parse_text
from paydouble.stateful import Merchant, MerchantBug
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun

BY_MACHINE = [each for each in VARIANTS if each.test is None]
BY_STORY = [each for each in VARIANTS if each.test is not None]
CATCHES = catches.load()
OUT_OF_DATE = "the play of the variant in catches.json no longer catches it; python tests/zoo --write looks for another"
# A hunt up to so many plays takes no longer than the rest of its test.
_FEW = 40
HUNTED = [each for each in BY_MACHINE if each.name not in CATCHES or CATCHES[each.name].plays <= _FEW]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "failure-modes.md"


def _name(variant: Variant) -> str:
    return variant.name


@pytest.mark.timeout(480)
@pytest.mark.parametrize("variant", HUNTED, ids=_name)
def test_the_machine_catches_what_is_broken(variant: Variant) -> None:
    """Without being told where to look it finds what is wrong; its test fails alike, and its scenario can be read."""
    found = hunt(variant.merchant, 1, examples=5000)

    assert found.verdict is not None
    _check_report(variant, found.report, found.verdict)


@pytest.mark.parametrize("variant", [each for each in BY_MACHINE if each not in HUNTED], ids=_name)
def test_the_catalogue_catches_what_is_broken(variant: Variant) -> None:
    """A play of the catalogue finds what is wrong; its test fails alike, and its scenario can be read."""
    play = CATCHES[variant.name].play
    run = CatalogueRun(variant.merchant, shows=when_it_shows(variant.merchant))

    assert play in catalogue(), OUT_OF_DATE
    assert play.missing(variant.merchant) is None
    try:
        run.one(play)
    except MerchantBug as bug:
        found = run.shortest(play, bug)
    else:
        pytest.fail(OUT_OF_DATE)
    _check_report(variant, str(found), found.verdict)


def _check_report(variant: Variant, report: str, verdict: str) -> None:
    assert report
    names = {variant.name: variant.merchant}
    exec(compile(_section(report, "As a test to paste"), "pasted", "exec"), names)  # noqa: S102 - our own text
    with pytest.raises(MerchantBug) as again:
        names["test_story"]()  # type: ignore[call-arg]
    # A shop may make its keys at random.
    told, expected = (re.sub(r"key \w{8}…", "key", each) for each in (again.value.verdict, verdict))
    assert told == expected
    scenario = parse_text(_section(report, "As a scenario file"))
    _, _, printed = report.partition("Faults for POST")
    # It leaves out what acts for a time, or on a webhook that is sent by hand; what it has comes in the same order.
    left = iter([parse_fault(json.loads(line)).effect for line in printed.splitlines()[2:]])
    assert scenario.name == "machine-story"
    assert all(fault.effect in left for fault in scenario.faults)


def _section(text: str, title: str) -> str:
    found = re.search(rf"{title}:\n\n((?:    .*\n?|\n)+)", text)
    assert found is not None
    return re.sub(r"^    ", "", found[1], flags=re.MULTILINE)


@pytest.mark.parametrize("variant", BY_STORY, ids=_name)
def test_a_story_catches_what_the_machine_cannot_know(variant: Variant) -> None:
    """The story that is named for a variant ends badly with it."""
    assert caught_by_story(variant).verdict is not None


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_lets_the_correct_merchant_pass(seed: int) -> None:
    """Nothing is found where nothing is wrong; its catalogue is a test of its own. `python tests/zoo --correct 100`."""
    found = hunt(ZooMerchant, seed, 20, catalogue=False)

    assert found.verdict is None


@pytest.mark.parametrize("name", STORIES)
def test_the_correct_merchant_ends_each_story_well(name: str) -> None:
    """No story is unfair."""
    play_story(name, ZooMerchant)


@pytest.mark.parametrize("variant", BY_STORY, ids=_name)
def test_a_story_catches_the_mistake_and_not_what_comes_with_it(variant: Variant) -> None:
    """Without the mistake itself, the other parts of the variant end its story well."""
    (mistaken,) = [
        slot
        for slot in ("store_part", "client_part", "shop_part", "receiver_part")
        if getattr(variant.merchant, slot).__name__ == variant.name
    ]
    others = {slot: value for slot, value in vars(variant.merchant).items() if slot.endswith("_part")} | {
        mistaken: getattr(ZooMerchant, mistaken)
    }
    assert variant.test is not None

    play_story(variant.test, type("Without", (ZooMerchant,), others))


def test_a_hunt_can_be_repeated() -> None:
    """The same seed gives the same verdict after as many examples, twice."""
    variant = next(each for each in VARIANTS if each.name == "KeyPerClick")
    hunts = [hunt(variant.merchant, 1, 200) for _ in range(2)]

    assert len({(each.verdict, each.examples) for each in hunts}) == 1


def test_the_zoo_is_as_large_as_it_says() -> None:
    """At least fifty variants, at least forty for the machine alone, each with a name and a row of its own page."""
    rows = {int(row) for row in re.findall(r"^\| (\d+) ", PAGE.read_text("utf-8"), re.MULTILINE)}

    assert len(VARIANTS) >= 50
    assert len(BY_MACHINE) >= 40
    assert len({each.name for each in VARIANTS}) == len(VARIANTS)
    assert {each.row for each in VARIANTS} <= rows
    assert all(issubclass(each.merchant, Merchant) for each in VARIANTS)
