"""What the machines of a test run have tried, as its end tells it."""

from __future__ import annotations

import pickle

import pytest
from bugzoo.adapter import ZooMerchant

from paydouble.stateful import Accepted, MerchantMachine
from paydouble.stateful.coverage import ELSEWHERE, ENDED, Coverage, Trial, Tried
from paydouble.stateful.machine import summaries
from paydouble.stateful.ran import Ran, texts


def _part(number: int, *tried: str, of: int = 3) -> Coverage:
    coverage = Coverage({"late": Accepted("it is slow")})
    coverage.parts, coverage.of_parts, coverage.plays = [number], of, 2
    coverage.add(Tried([Trial("POST", name, "none", "new") for name in tried], {"late": 1}, {}, in_review=True))
    coverage.played = {("POST", name) for name in tried}
    return coverage


def test_parts_of_a_catalogue_are_told_together() -> None:
    """An entry that one of them has tried is tried; what is in none of them is said to be elsewhere."""
    first, second = _part(1, "409"), _part(2, "503", "409")
    first.pass_over([("POST", "503"), ("POST", "429"), ("POST", "401")], ELSEWHERE)
    second.pass_over([("POST", "409"), ("POST", "429")], ELSEWHERE)
    second.pass_over([("POST", "401")], ENDED)
    first.leave_out([("POST", "403")])

    (told,) = texts([Ran("ShopMachine", second, findings=1), Ran("ShopMachine", first)])

    assert told.startswith(
        "ShopMachine, with its finding: 4 plays of the catalogue and 0 examples of the hunt tried 2 "
    )
    assert ", in 2 combinations with " in told
    assert "\nThese were parts 1 and 2 of 3 of the catalogue.\n" in told
    assert "\n2 of these ended with an order in review, of which less is asked.\n" in told
    assert "\nThere was no time for 1 more plays of the catalogue.\n" in told
    assert "\nAccepted, 2 times: 'late' (it is slow).\n" in told
    assert f"\nNever tried ({ELSEWHERE}): 1 of the " in told
    assert f"\nNever tried ({ENDED}): 1 of the " in told
    assert "there was no time for all of its plays): POST 1 of " in told


def test_parts_of_two_files_are_kept_apart() -> None:
    """Both may have a machine of the usual name."""

    class ShopMachine(MerchantMachine):
        merchant = ZooMerchant
        parts = 2
        phases = ("catalogue",)
        catalogue_seconds = 0.0

    ShopMachine.TestCase("test_part_1_of_2").debug()
    own = summaries.pop()
    told = list(texts([own, own._replace(module="another"), own._replace(coverage=_part(2, "409", of=2))]))

    assert own.module == __name__
    assert sorted("\nThese were parts 1 and 2 of 2 of the catalogue.\n" in each for each in told) == [False, True]


def test_machines_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also two of one name; and one that a worker of pytest-xdist has passed on."""
    monkeypatch.setattr("paydouble.stateful.ran.processors", lambda: 2)
    cut = _part(1, of=1)
    cut.leave_out([("POST", "403")])
    interrupted = Ran("Other", _part(1, of=1), 1, interrupted=True, reports=("The merchant is wrong.",))

    passed_on = pickle.dumps([Ran("Shop", cut), Ran("Shop", _part(1, of=1), 2), interrupted])
    told = list(texts(pickle.loads(passed_on)))  # noqa: S301 - made here

    assert [each.partition(": ")[0] for each in told] == ["Other, interrupted", "Shop", "Shop, with 2 findings"]
    assert told[0].endswith("\n\nThe merchant is wrong.")
    assert told[1].endswith("\nThis computer has 2 processors: parts = 2 and pytest -n 2 use all of them.")
