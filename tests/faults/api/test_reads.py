"""Stale reads, and answers with unknown members, statuses and codes."""

from __future__ import annotations

from typing import Any

import pytest
from drive import DEPOSITS
from servers import Client
from wires import Caller, caller

REFUNDS = "/refund/refund-creation"


async def _read(shop: Caller) -> Any:  # noqa: ANN401 - JSON is any
    return (await shop.ask("GET", f"/pay-in/{shop.pay_ins[0].id}")).document


async def test_a_stale_read_shows_the_state_before(shop: Caller) -> None:
    """`stale_read` shows what the latest change replaced; the ledger and other reads have the new state."""
    await shop.deposit()
    shop.pay(shop.pay_ins[0])
    shop.arm("stale_read", times=1)

    stale, fresh = await _read(shop), await _read(shop)

    assert [stale["data"]["status"], fresh["data"]["status"]] == ["processing", "succeeded"]
    assert stale["data"]["amount"] == fresh["data"]["amount"]
    assert shop.pay_ins[0].status == "succeeded"


async def test_a_stale_read_knows_no_failure_yet(shop: Caller) -> None:
    """The state before a failure has no failure reason; a failed one that was then forced on keeps its own."""
    await shop.deposit()
    shop.sandbox.force_transition(shop.pay_ins[0], "failed")
    armed = shop.arm("stale_read", times=1)
    before = await _read(shop)
    shop.sandbox.force_transition(shop.pay_ins[0], "pending", force=True)
    shop.sandbox.faults.change(armed.id, armed.fault.model_copy(update={"times": None}))
    after = await _read(shop)

    assert ("failure" in before["data"], before["data"]["status"]) == (False, "created")
    assert after["data"]["status"] == "failed"


async def test_a_stale_read_needs_an_older_state(shop: Caller) -> None:
    """An object that has never changed is shown as it is, and the fault does not count a firing."""
    await shop.deposit()
    armed = shop.arm("stale_read", times=1)

    seen = await _read(shop)

    assert (seen["data"]["status"], armed.matched, armed.fired) == ("created", 0, 0)


@pytest.mark.parametrize("effect", ["stale_read", "not_found_yet"])
async def test_for_is_how_young_it_must_be(shop: Caller, effect: str) -> None:
    """With `for` the effect ends that long after the change, or the creation, on the sandbox's clock."""
    await shop.deposit()
    shop.sandbox.force_transition(shop.pay_ins[0], "cancelled")
    armed = shop.arm({"type": effect, "for": "2s"})

    fired = []
    for by in ("0s", "1999ms", "1ms", "1h"):
        await shop.box.advance(by=by)
        before = armed.fired
        await _read(shop)
        fired.append(armed.fired > before)

    assert fired == [True, True, False, False]


async def test_not_found_yet_is_a_404(shop: Caller) -> None:
    """`not_found_yet` answers as for an object that does not exist; without `for` at any age."""
    await shop.deposit()
    shop.arm("not_found_yet", times=1)
    await shop.box.advance(by="30h")

    missing = await shop.ask("GET", f"/pay-in/{shop.pay_ins[0].id}")
    nobody = await shop.ask("GET", "/pay-in/payin_nobody")
    there = await shop.ask("GET", f"/pay-in/{shop.pay_ins[0].id}")

    assert [each.status for each in (missing, nobody, there)] == [404, 404, 200]
    assert missing.document["error"].keys() == nobody.document["error"].keys()


async def test_reads_alone_are_behind(shop: Caller) -> None:
    """A POST is not."""
    armed = shop.arm("stale_read")
    await shop.deposit()

    cancelled = await shop.ask("POST", f"/pay-in/{shop.pay_ins[0].id}/cancellation", {}, n=2)

    assert (cancelled.status, armed.fired) == (200, 0)


async def _listed(shop: Caller, query: str = "") -> list[tuple[str, str]]:
    items = (await shop.ask("GET", f"/pay-in{query}")).document["data"]["items"]
    return [(each["external_identifier"], each["status"]) for each in items]


async def test_a_list_lacks_what_is_not_found_yet(shop: Caller) -> None:
    """With `for` it lacks the young ones alone; without, all of them."""
    await shop.deposit(external_identifier="old")
    await shop.box.advance(by="2s")
    await shop.deposit(n=2, external_identifier="young")
    shop.arm({"type": "not_found_yet", "for": "2s"}, times=1)
    shop.arm("not_found_yet", times=1)

    lists = [await _listed(shop) for _ in range(3)]

    assert [[name for name, _ in each] for each in lists] == [["old"], [], ["young", "old"]]


async def test_a_list_is_stale(shop: Caller) -> None:
    """Each item shows the state before its latest change, if that was recent enough."""
    await shop.deposit(external_identifier="old")
    shop.sandbox.force_transition(shop.pay_ins[0], "failed")
    await shop.box.advance(by="1h")
    await shop.deposit(n=2, external_identifier="young")
    shop.sandbox.force_transition(shop.pay_ins[0], "cancelled")
    await shop.deposit(n=3, external_identifier="new")
    shop.arm({"type": "stale_read", "for": "2s"}, times=1)
    shop.arm("stale_read", times=1)

    lists = [dict(await _listed(shop)) for _ in range(3)]

    fresh = {"old": "failed", "young": "cancelled", "new": "created"}
    assert lists == [fresh | {"young": "created"}, fresh | {"old": "created", "young": "created"}, fresh]


@pytest.mark.parametrize("effect", ["stale_read", "not_found_yet"])
async def test_a_list_of_others_keeps_the_firing(shop: Caller, effect: str) -> None:
    """A list whose filters leave the object out has nothing to act on; nor has a list of transactions."""
    await shop.deposit(external_identifier="order-1")
    shop.sandbox.force_transition(shop.pay_ins[0], "cancelled")
    armed = shop.arm(effect, times=1)

    await shop.ask("GET", "/pay-in?external_identifier=order-2&limit=5")
    await shop.ask("GET", "/refund?payin_id=nobody")
    await shop.ask("GET", "/transaction")
    before = armed.fired
    await shop.ask("GET", "/pay-in?external_identifier=order-1&limit=5")

    assert (before, armed.fired) == (0, 1)


@pytest.mark.parametrize(("kind", "path"), [("refund", "/refund"), ("dispute", "/dispute")])
async def test_refunds_and_disputes_are_behind_as_well(shop: Caller, kind: str, path: str) -> None:
    """Their reads match by their pay-in's order and scenario, and by their own id."""
    await shop.deposit(external_identifier="order-7")
    pay_in = shop.pay_ins[0]
    shop.pay(pay_in)
    resource = (
        shop.sandbox.open_dispute(pay_in)
        if kind == "dispute"
        else shop.sandbox.create_refund(pay_in, amount=None, reason=None, external_identifier=None)
    )
    by_order = {"external_identifier": "order-7", "scenario": pay_in.scenario, "path": f"*{path}/*"}
    armed = [shop.arm("not_found_yet", match=match, times=1) for match in (by_order, {"object_id": resource.id})]

    statuses = [(await shop.ask("GET", f"{path}/{resource.id}")).status for _ in range(3)]

    assert (statuses, [each.fired for each in armed]) == ([404, 404, 200], [1, 1])


async def test_a_payout_matches_by_its_own_name(shop: Caller) -> None:
    """A payout belongs to no pay-in; its own `external_identifier` counts, and it has no scenario."""
    beneficiary = {"name": "Ada", "account": "DE02"}
    body = {"amount": 1, "currency": "EUR", "external_identifier": "out-1", "beneficiary": beneficiary}
    made = (await shop.ask("POST", "/payout/payout-initiation", body)).document["data"]["id"]
    shop.arm("not_found_yet", match={"scenario": "*"})
    armed = shop.arm("not_found_yet", match={"external_identifier": "out-*"}, times=1)

    statuses = [(await shop.ask("GET", f"/payout/{made}")).status for _ in range(2)]

    assert (statuses, armed.fired) == ([404, 200], 1)


async def test_a_list_matches_by_its_filters(shop: Caller) -> None:
    """A list of one order's pay-ins, or of one pay-in's refunds, is about that order; one of all is about none."""
    await shop.deposit(external_identifier="order-7")
    pay_in = shop.pay_ins[0]
    armed = shop.arm({"type": "error", "status": 500}, match={"method": "GET", "external_identifier": "order-7"})
    asked = (
        "/pay-in?external_identifier=order-7",
        f"/refund?payin_id={pay_in.id}",
        f"/dispute?payin_id={pay_in.id}",
        "/pay-in?external_identifier=order-8",
        "/pay-in",
        "/refund?external_identifier=order-7",  # which is no filter of this list
    )

    statuses = [(await shop.ask("GET", path)).status for path in asked]

    assert statuses == [500, 500, 500, 200, 200, 200]
    assert armed.fired == 3


async def test_unknown_members_stand_beside_the_known(shop: Caller) -> None:
    """`unknown_members` adds to the envelope and the resource, with all digits, and removes nothing."""
    shop.arm({"type": "unknown_members", "members": {"x_rate": 1.5, "x_big": 2**70, "x": {"y": None}}}, times=1)

    seen, replay = await shop.deposit(), await shop.deposit()

    new = {"x_rate": 1.5, "x_big": 2**70, "x": {"y": None}}
    assert seen.document == {**replay.document, **new, "data": {**replay.document["data"], **new}}
    assert b'"amount":49.90' in seen.body


async def test_unknown_members_of_an_error(shop: Caller) -> None:
    """An error gets them too, in its envelope."""
    shop.arm("unknown_members")

    seen = await shop.deposit(amount="x")

    assert (seen.status, seen.document["x_future"]) == (400, {"nested": [1, "two", None]})


@pytest.mark.parametrize("path", ["/pay-in", None])
async def test_an_unknown_status(shop: Caller, path: str | None) -> None:
    """`unknown_status` is written into a resource, or into each of a list; the ledger keeps the true one."""
    await shop.deposit()
    shop.arm({"type": "unknown_status", "value": "parked"})

    seen = (await shop.ask("GET", path or f"/pay-in/{shop.pay_ins[0].id}")).document["data"]

    assert [each["status"] for each in seen.get("items", [seen])] == ["parked"]
    assert shop.pay_ins[0].status == "created"


async def test_an_unknown_status_needs_a_status(shop: Caller) -> None:
    """An answer without a status is unchanged: an error, and the rates."""
    shop.arm("unknown_status")

    error = await shop.ask("GET", "/pay-in/payin_nobody")
    rates = await shop.ask("POST", f"{DEPOSITS}/exchange-rates", {"source_currency": "EUR"})

    assert ("parked" not in str(error.document), "status" in rates.document["data"]) == (True, False)


async def test_after_a_loss_the_same_read_composes(client: Client) -> None:
    """A rewritten answer that is then lost leaves the true one stored."""
    shop = await caller(client)
    shop.arm("unknown_members")
    shop.arm({"type": "truncate", "fraction": 0.2}, times=1)

    cut, replay = await shop.deposit(), await shop.deposit()

    assert cut.body == replay.body[: len(cut.body)]
    assert replay.document["x_future"] == {"nested": [1, "two", None]}
