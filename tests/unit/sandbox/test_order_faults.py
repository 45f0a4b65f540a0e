"""What a scenario has besides its steps: faults for each order, settings, and how it is chosen."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from benches import HOUR, MINUTE, SECOND, advance, bench, deposit
from drive import DEPOSITS, deposit_body

from paydouble.config import Settings, load_settings
from paydouble.core.errors import UnknownThing, UsageError
from paydouble.faults import order_faults
from paydouble.inprocess import InProcess, Webhook
from paydouble.payments.resources import PayIn
from paydouble.scenarios.library import Library
from paydouble.scenarios.model import Scenario

LOST = {"match": {"operation": "deposit-creation"}, "phase": "after_commit", "times": 1,
        "effect": {"type": "connection_reset"}}  # fmt: skip
REFUSED = {"match": {"operation": "deposit-creation"}, "times": 2, "effect": {"type": "error", "status": 503}}
OUTAGE = {"on": "webhooks", "ttl": "1h", "effect": {"type": "connection_reset"}}


def scenario(name: str = "staged", **members: Any) -> Scenario:  # noqa: ANN401 - as in a file
    """Return a scenario made as from a file."""
    return Scenario.model_validate({"name": name, "summary": "A test's own.", **members})


class Shop:
    """A merchant with a double in this process."""

    def __init__(self, *scenarios: Scenario, settings: Settings | None = None) -> None:
        """Open, with a receiver that accepts everything."""
        self.got: list[str] = []
        self.double = InProcess(settings or Settings(), receiver=self._take, library=Library(given=scenarios))
        self.box = self.double.sandbox

    def _take(self, webhook: Webhook) -> int:
        self.got.append(f"{webhook.delivery.event.type}/{webhook.number}")
        return 200

    def order(self, name: str = "order-1", *, key: int | None = None, **members: Any) -> str:  # noqa: ANN401
        """Request a deposit; returns the status, or how the answer was lost."""
        body = json.dumps(deposit_body(external_identifier=name, **members)).encode()
        named = None if key is None else f"00000000-0000-4000-9000-{key:012d}"
        reply = self.double.handle(self.double.request("POST", DEPOSITS, body, key=named))
        return reply.wire.kind if reply.wire is not None else str(reply.status)


def by_mail(name: str) -> dict[str, Any]:
    """Return a customer whose e-mail chooses a scenario."""
    return {"customer": {"first_name": "Ada", "last_name": "Byron", "email": f"{name}@scenario.test"}}


def test_a_reply_is_lost_once_for_each_order() -> None:
    """Each order that plays it loses its own reply; the retry, under whatever key, gets through."""
    shop = Shop(scenario(faults=[LOST]))
    shop.box.activate_scenario("staged")

    answers = [shop.order("a", key=1), shop.order("a", key=1), shop.order("a", key=3), shop.order("b")]

    assert answers == ["reset", "200", "200", "reset"]
    assert [(armed.id, armed.fired) for armed in shop.box.faults] == [("staged-1.1", 1), ("staged-2.1", 1)]


@pytest.mark.parametrize("how", ["active", "setting", "e-mail", "match"])
def test_a_fault_before_the_commit_finds_the_very_deposit(how: str) -> None:
    """However the scenario is chosen, it is known before anything is decided about the request."""
    match: dict[str, Any] = {"match": {"amount": Decimal("13.37")}} if how == "match" else {}
    shop = Shop(
        scenario(faults=[REFUSED], **match),
        settings=Settings(scenario="staged") if how == "setting" else None,
    )
    if how == "active":
        shop.box.activate_scenario("staged")
    members: dict[str, Any] = by_mail("staged") if how == "e-mail" else {"amount": 13.37}

    answers = [shop.order("a", key=1, **members) for _ in range(3)]

    assert answers == ["503", "503", "200"]
    assert shop.order("other", currency="USD") == ("200" if how in {"e-mail", "match"} else "503")


def test_an_outage_is_the_orders_own() -> None:
    """The events of one order meet a receiver that is down for an hour; those of another are delivered at once."""
    shop = Shop(scenario(faults=[OUTAGE], lifecycle={"pay_in": [{"after": "1s", "to": "pending"}]}))
    shop.order("a", **by_mail("staged"))
    shop.order("b", **by_mail("abandoned"))

    shop.double.advance(by=3 * HOUR)

    assert shop.got == ["pay-in.created/1", "pay-in.created/5", "pay-in.pending/5"]


def test_cleared_faults_do_not_come_back_with_a_retry() -> None:
    """Clearing all faults clears those of existing orders for good."""
    shop = Shop(scenario(faults=[REFUSED]))
    first = shop.order("a", key=1, **by_mail("staged"))

    shop.box.reset(frozenset({"faults"}))

    assert [first, shop.order("a", key=1, **by_mail("staged"))] == ["503", "200"]
    assert shop.order("b", **by_mail("staged")) == "503"
    shop.box.reset(frozenset({"state"}))
    assert shop.order("a", **by_mail("staged")) == "503"


def test_an_orders_fault_is_changed_and_removed_like_any_other() -> None:
    """It has an id in the list, made of its scenario, the order's number and its place or its own name."""
    shop = Shop(scenario(faults=[{**REFUSED, "id": "storm"}, OUTAGE]))
    shop.order("a", **by_mail("staged"))
    faults = shop.box.faults
    armed = faults.get("staged-1.storm")

    faults.change(armed.id, armed.fault.model_copy(update={"times": 1}))
    after_change = shop.order("a", **by_mail("staged"))
    faults.remove("staged-1.2")
    faults.remove("staged-1.storm")

    assert (after_change, len(faults), "before" in faults.active_points, "attempt" in faults.active_points) == (
        "200",
        0,
        False,
        False,
    )
    with pytest.raises(UnknownThing):
        faults.get("staged-1.storm")


def test_an_orders_fault_acts_at_its_injection_point() -> None:
    """With another phase it acts at another injection point only; a reset of the state removes it."""
    shop = Shop(scenario(faults=[REFUSED]))
    shop.order("a", **by_mail("staged"))
    faults = shop.box.faults
    armed = faults.get("staged-1.1")
    before = faults.active_points

    faults.change(armed.id, armed.fault.model_copy(update={"phase": "after_commit"}))
    changed = faults.active_points
    shop.box.reset(frozenset({"state"}))

    assert [set(each) for each in (before, changed, faults.active_points)] == [{"before"}, {"after"}, set()]


def test_removing_one_orders_fault_leaves_anothers() -> None:
    """An injection point is active as long as one order has a fault there."""
    shop = Shop(scenario(faults=[REFUSED]))
    shop.order("a", **by_mail("staged"))
    shop.order("b", key=7, **by_mail("staged"))

    shop.box.faults.remove("staged-1.1")

    assert (shop.order("a", **by_mail("staged")), shop.order("b", key=7, **by_mail("staged"))) == ("200", "503")


def test_a_test_cannot_take_the_id_of_an_orders_fault() -> None:
    """Ids are unique over both kinds."""
    shop = Shop(scenario(faults=[REFUSED]))
    shop.order("a", **by_mail("staged"))
    armed = next(iter(shop.box.faults))

    with pytest.raises(UsageError, match=r"there already is a fault 'staged-1\.1'"):
        shop.box.faults.add(armed.fault.model_copy(update={"id": "staged-1.1"}), 0)


def test_faults_of_two_scenarios_of_one_order_are_separate() -> None:
    """A second pay-in of the same order with another scenario does not meet the first one's faults."""
    shop = Shop(scenario(faults=[OUTAGE]), scenario("calm", faults=[{**OUTAGE, "enabled": False}]))
    shop.order("a", **by_mail("staged"))
    shop.order("a", **by_mail("calm"))

    shop.double.advance(by=MINUTE)

    assert shop.got == ["pay-in.created/1"]


def test_a_changed_fault_stays_with_its_scenario() -> None:
    """After a change, too, it does not act on another scenario's pay-in of the same order."""
    shop = Shop(scenario(faults=[REFUSED]), scenario("calm"))
    shop.order("a", **by_mail("staged"))
    armed = shop.box.faults.get("staged-1.1")

    shop.box.faults.change(armed.id, armed.fault.model_copy(update={"times": None}))

    assert (shop.order("a", **by_mail("calm")), shop.order("a", **by_mail("staged"))) == ("200", "503")


def test_the_faults_of_the_oldest_order_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of orders with faults is bounded; the newest keep theirs."""
    monkeypatch.setattr(order_faults, "MOST_ORDERS", 2)
    shop = Shop(scenario(faults=[REFUSED]), scenario("twin", faults=[OUTAGE]))

    kept = []
    for order, name in (("a", "staged"), ("a", "twin"), ("b", "staged"), ("c", "twin")):
        shop.order(order, **by_mail(name))
        kept.append([armed.id for armed in shop.box.faults])

    assert kept == [
        ["staged-1.1"],
        ["staged-1.1", "twin-2.1"],
        ["twin-2.1", "staged-3.1"],
        ["staged-3.1", "twin-4.1"],
    ]


def test_an_unknown_scenario_arms_nothing() -> None:
    """The deposit is refused by the operation, in its turn, and so is a body that names no order."""
    shop = Shop(scenario(faults=[REFUSED]))

    assert shop.order("a", **by_mail("nothing")) == "422"
    assert shop.order(7, **by_mail("staged")) == "400"  # type: ignore[arg-type]
    assert len(shop.box.faults) == 0


# Settings


def test_settings_come_and_go_with_the_active_scenario() -> None:
    """They are applied over the sandbox's, and removing them changes nothing else."""
    shop = Shop(scenario(settings={"envelope": "alternate", "webhooks": {"timeout": "2s"}}), scenario("plain"))
    box = shop.box
    box.activate_scenario("staged")
    during = (box.settings.envelope, box.settings.webhooks.timeout, box.scripts.settings is box.settings)
    box.apply(box.settings.model_copy(update={"livemode": True}))

    box.activate_scenario("plain")

    assert during == ("alternate", 2 * SECOND, True)
    assert (box.settings.envelope, box.settings.webhooks.timeout) == ("by_layer", 10 * SECOND)
    assert box.settings.livemode


def test_settings_come_with_the_first_pay_in_that_needs_them() -> None:
    """The settings of a scenario that an e-mail chooses apply to its own deposit."""
    shop = Shop(scenario(settings={"created_status": 201}), scenario("seconds", settings={"timestamps": "seconds"}))

    first = shop.order("a", **by_mail("staged"))
    shop.order("b", **by_mail("seconds"))

    assert (first, shop.box.settings.created_status, shop.box.settings.timestamps) == ("201", 200, "seconds")


def test_settings_come_with_a_pay_in_that_is_played() -> None:
    """They also apply to a pay-in that a test starts without the API."""
    box = bench(scenarios={"staged": scenario(settings={"livemode": True})})

    deposit(box, scenario="staged")

    assert box.settings.livemode


def test_a_copy_of_a_scenario_begins_by_what_it_is_itself() -> None:
    """The start plan of the original is not used for the copy."""
    original = scenario(faults=[LOST])
    before = original.start_plan

    copies = [original.model_copy(update={"faults": ()}, deep=deep) for deep in (False, True)]

    assert (before.prepares, original.start_plan is before) == (True, True)
    assert [each.start_plan.prepares for each in copies] == [False, False]


def test_the_default_scenario_applies_its_settings_from_the_start() -> None:
    """A quota applies from the first request on."""
    quota = scenario(settings={"rate_limit": {"limit": 1, "window": "60s"}})
    shop = Shop(quota, settings=Settings(scenario="staged"))

    answers = [shop.order("a"), shop.order("b")]
    shop.box.reset(frozenset({"scenarios"}))

    assert (answers, shop.box.settings.rate_limit is None) == (["200", "429"], False)


def test_a_forgotten_upload_takes_its_settings_with_it() -> None:
    """After a reset of the scenarios the former settings apply."""
    shop = Shop()
    shop.box.scenarios.upload(scenario(settings={"envelope": "A"}))
    shop.box.activate_scenario("staged")

    shop.box.reset(frozenset({"scenarios"}))

    assert (shop.box.settings.envelope, shop.box.overlay.scenario) == ("by_layer", None)
    shop.box.activate_scenario(None)
    assert shop.box.active_scenario is None


def test_settings_that_do_not_fit_change_nothing() -> None:
    """The applied settings stay, and can still be removed."""
    fits = scenario("fits", settings={"envelope": "A"})
    contradicts = scenario("contradicts", settings={"webhooks": {"repeat_last": True}})
    shop = Shop(fits, contradicts, settings=load_settings({"webhooks": {"schedule": ["0s"], "repeat_last": False}}))
    shop.box.activate_scenario("fits")
    before = shop.box.settings

    with pytest.raises(UsageError, match="the last delay is repeated"):
        shop.box.activate_scenario("contradicts")

    assert (shop.box.settings, shop.box.overlay.scenario, shop.box.active_scenario) == (before, fits, "fits")
    with pytest.raises(UsageError, match="there is no scenario"):
        shop.box.activate_scenario("unknown")
    assert shop.box.overlay.scenario is fits
    shop.box.activate_scenario(None)
    assert shop.box.settings.envelope == "by_layer"


def test_settings_that_contradict_the_active_scenario_are_refused() -> None:
    """A change of the settings that the active scenario contradicts changes nothing."""
    shop = Shop(scenario("repeats", settings={"webhooks": {"repeat_last": True}}))
    shop.box.activate_scenario("repeats")
    shop.box.activate_scenario(None)
    before = shop.box.settings

    with pytest.raises(UsageError, match="the last delay is repeated"):
        shop.box.apply(
            load_settings({"scenario": "repeats", "webhooks": {"schedule": ["0s"], "repeat_last": False}}, before)
        )

    assert (shop.box.settings, shop.box.overlay.scenario) == (before, None)


# Choice


def test_the_order_of_choice() -> None:
    """The active scenario, the e-mail, the first match (uploads first), the setting."""
    cheap = scenario("cheap", match={"amount": {"between": [1, 100]}, "currency": {"one_of": ["EUR", "U*"]}})
    shop = Shop(cheap)
    box = shop.box
    shop.order("a")
    shop.order("b", **by_mail("abandoned"))
    box.scenarios.upload(scenario("mine", match={"external_identifier": "order-*", "metadata": {"cart": "x*"}}))
    shop.order("order-c", metadata={"cart": "x1"})
    shop.order("order-d", metadata={"cart": "y1"})
    shop.order("e", amount=1500, currency="JPY")
    box.activate_scenario("abandoned")
    shop.order("f")

    newest_first = [pay_in.scenario for pay_in in box.ledger.newest_first(PayIn)]
    assert newest_first == ["abandoned", "happy-path", "cheap", "mine", "abandoned", "cheap"]


def test_uploads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more than the limit is refused; replacing an upload is not one more."""
    from paydouble.sandbox import scenario_selector

    monkeypatch.setattr(scenario_selector, "MOST_UPLOADS", 1)
    box = bench()
    box.scenarios.upload(scenario("one"))
    box.scenarios.upload(scenario("one"))

    with pytest.raises(UsageError, match="there are 1 uploaded scenarios already"):
        box.scenarios.upload(scenario("two"))
    advance(box, SECOND)
