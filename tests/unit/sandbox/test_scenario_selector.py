"""Uploads before shipped scenarios, and the scenarios that pay-ins have begun."""

import pytest
from benches import SECOND, advance, bench, deposit, paid, script, timeline
from drive import DEPOSITS, Business, deposit_body, error_code

from paydouble.config import load_settings
from paydouble.core.errors import UsageError
from paydouble.scenarios.library import Library

REFUND = [{"after": "1s", "to": "processing"}, {"after": "1s", "to": "failed"}]
PAID = [{"after": "0s", "to": to} for to in ("pending", "processing", "succeeded")]
OWN = script("own", pay_in=PAID, refund=REFUND)["own"]
ALL = frozenset({"state", "requests", "deliveries", "clock", "scenarios"})


def test_an_upload_replaces_a_shipped_scenario_until_it_is_removed() -> None:
    """The name means the upload as long as that exists."""
    box = bench()
    own = script("happy-path")["happy-path"]
    shipped = box.scenario("happy-path")

    box.scenarios.upload(own)
    over = box.scenario("happy-path")
    removed = box.reset(frozenset({"scenarios"}))

    assert (over, box.scenario("happy-path")) == (own, shipped)
    assert removed == {"scenarios": 1, "active_scenario": 0}


def test_a_pay_in_keeps_the_scenario_that_it_started_with() -> None:
    """Its refund plays the upload after that was forgotten, and the shipped one after an upload has replaced it."""
    box = bench()
    box.scenarios.upload(OWN)
    forgotten = deposit(box, scenario="own")
    covered = paid(box)
    box.reset(frozenset({"scenarios"}))
    box.scenarios.upload(script("happy-path", refund=REFUND)["happy-path"])

    lost = box.create_refund(forgotten, amount=1, reason=None, external_identifier=None)
    won = box.create_refund(covered, amount=1, reason=None, external_identifier=None)
    advance(box, 60 * SECOND)

    assert (lost.status, won.status) == ("failed", "succeeded")


def test_a_dispute_keeps_the_scenario_of_its_pay_in() -> None:
    """It is decided as the upload says, though that no longer exists."""
    box = bench()
    box.scenarios.upload(script("own", pay_in=PAID, dispute=[{"after": "1s", "to": "won", "force": True}])["own"])
    pay_in = deposit(box, scenario="own")
    advance(box, SECOND)
    box.reset(frozenset({"scenarios"}))

    dispute = box.open_dispute(pay_in)
    advance(box, 2 * SECOND)

    assert dispute.status == "won"


def test_a_new_pay_in_plays_the_active_scenario() -> None:
    """It has precedence over the setting, but not over a choice for this pay-in."""
    box = bench()
    box.scenarios.activate("abandoned")

    assert [deposit(box).scenario, deposit(box, scenario="happy-path").scenario] == ["abandoned", "happy-path"]


def test_an_unknown_scenario_cannot_be_the_default() -> None:
    """The error names the nearest one, or some that exist, uploads first; the active scenario does not change."""
    box = bench()
    box.scenarios.upload(OWN)

    with pytest.raises(UsageError) as caught:
        box.scenarios.activate("99")

    count = len(box.scenarios.names())
    assert str(caught.value) == f"name: there is no scenario '99' among the {count}, such as own, happy-path"
    assert box.active_scenario is None


def test_a_setting_that_named_an_upload_falls_back() -> None:
    """After the upload is forgotten, deposits play the scenario that the sandbox was created with."""
    box = bench(scenario="abandoned")
    box.scenarios.upload(OWN)
    box.apply(box.settings.model_copy(update={"scenario": "own"}))

    box.reset(frozenset({"scenarios"}))

    assert (box.settings.scenario, box.scripts.settings is box.settings, deposit(box).scenario) == (
        "abandoned",
        True,
        "abandoned",
    )


def test_a_whole_reset_is_a_new_beginning_for_uploads_too() -> None:
    """A pay-in with an id of before the reset does not get the scenario of then."""
    box = bench()
    box.scenarios.upload(script("happy-path")["happy-path"])
    before = deposit(box)
    box.reset(ALL, same_ids=True)

    after = paid(box)
    box.create_refund(after, amount=1, reason=None, external_identifier=None)
    advance(box, 60 * SECOND)

    assert (after.id, timeline(box)[-1][1]) == (before.id, "refund.succeeded")


def test_a_deposit_is_refused_when_the_file_of_the_default_scenario_was_removed() -> None:
    """When the file of the setting's scenario was removed, a deposit is refused with a clear error."""
    business = Business()
    business.sandbox.scenarios.library = Library(given=[OWN])
    business.sandbox.put(load_settings({"scenario": "own"}))
    first = business.post(DEPOSITS, deposit_body())
    business.sandbox.scenarios.library = Library()
    business.sandbox.scenarios.library.version += 1

    second = business.post(DEPOSITS, deposit_body())

    assert (first.status, second.status, error_code(second)) == (200, 422, "VALIDATION_ERROR")
