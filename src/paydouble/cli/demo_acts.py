"""The demo's five acts. Each plays, checks what came out, and returns the line that says so if all of it was right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Final

from paydouble.cli.demo_checks import check_events
from paydouble.cli.demo_stage import Act

_PAID: Final = (
    ("pay-in.created", "+0s"),
    ("pay-in.pending", "+2s"),
    ("pay-in.processing", "+3s"),
    ("pay-in.succeeded", "+6s"),
)


async def happy_deposit(act: Act) -> str:
    """A deposit that succeeds."""
    deposit = await act.deposit("49.90")
    await act.advance("6s")
    pay_in = await act.get(f"/pay-in/{deposit['id']}")
    act.expect("status", "succeeded", pay_in["status"])
    act.expect("amount", "49.90", str(pay_in["amount"]))
    check_events(act, _PAID)
    return "succeeded, 49.90 EUR to the digit; 4 events in order, all verified"


async def decline(act: Act) -> str:
    """A deposit that the issuer declines."""
    deposit = await act.deposit("49.90", email="card-declined@scenario.test")
    await act.advance("6s")
    pay_in = await act.get(f"/pay-in/{deposit['id']}")
    act.expect("status", "failed", pay_in["status"])
    act.expect("failure", "card_declined", pay_in.get("failure", {}).get("code"))
    check_events(act, (*_PAID[:3], ("pay-in.failed", "+6s")))
    return "failed with card_declined; 4 events in order, all verified"


async def refund(act: Act) -> str:
    """A part of a deposit is refunded; more than the rest is refused."""
    deposit = await act.deposit("80.00")
    await act.advance("6s", brief=True)
    order = {"payin_id": deposit["id"], "reason": "one of two items came back"}
    part = await act.post("/refund/refund-creation", {**order, "amount": 30}, "refund-creation 30.00 EUR")
    status, answer = await act.refusable(
        "/refund/refund-creation", {**order, "amount": 60}, "refund-creation 60.00 EUR"
    )
    await act.advance("3s")
    act.expect("refund beyond the rest", (422, "VALIDATION_ERROR"), (status, answer.get("error", {}).get("code")))
    act.expect("status of the refund", "succeeded", (await act.get(f"/refund/{part['id']}"))["status"])
    refunds = (await act.get(f"/refund?payin_id={deposit['id']}"))["items"]
    act.expect("sum of the refunds", Decimal("30.00"), sum(each["amount"] for each in refunds))
    act.expect("status of the pay-in", "succeeded", (await act.get(f"/pay-in/{deposit['id']}"))["status"])
    check_events(act, (*_PAID, ("refund.created", "+6s"), ("refund.processing", "+7s"), ("refund.succeeded", "+9s")))
    return "30.00 of 80.00 EUR refunded, 60.00 refused; 7 events in order, all verified"


async def dispute(act: Act) -> str:
    """A chargeback that the merchant answers with evidence, and wins."""
    deposit = await act.deposit("120.00")
    await act.advance("6s", brief=True)
    await act.tell(("provider", "service"), "chargeback of 120.00 EUR")
    opened = await act.stage.control("POST", f"/pay-ins/{deposit['id']}/disputes", {"reason": "fraudulent"})
    act.expect("dispute at first", "needs_response", opened["status"])
    await act.advance("1h")
    evidence = {"evidence": {"tracking_number": "JD0146", "delivered_at": "2025-12-24"}}
    answered = await act.post(f"/dispute/{opened['id']}/evidence-submission", evidence, "evidence-submission")
    act.expect("dispute with evidence", "under_review", answered["status"])
    await act.advance("72h")
    act.expect("dispute in the end", "won", (await act.get(f"/dispute/{opened['id']}"))["status"])
    check_events(
        act,
        (*_PAID, ("dispute.created", "+6s"), ("dispute.updated", "+1h6s"), ("dispute.closed", "+73h6s")),
    )
    return "won after three days of review; 7 events in order, all verified"


async def outage(act: Act) -> str:
    """A receiver that is down for 50 hours, and then gets everything."""
    receiver = act.stage.receiver
    await receiver.down()
    await act.tell(("merchant",), "the receiver goes down")
    deposit = await act.deposit("15.00")
    await act.advance("50h")
    act.expect("deliveries while down", 0, len(act.received))
    waiting = [each["event_type"] for each in act.deliveries if each["status"] != "waiting"]
    act.expect("events given up while down", [], waiting)
    await receiver.up()
    await act.tell(("merchant",), "the receiver is up again")
    await act.advance()
    act.expect("status", "succeeded", (await act.get(f"/pay-in/{deposit['id']}"))["status"])
    check_events(act, _PAID, attempts=8)
    return "nothing lost: 4 events in order at attempt 8, all verified and fresh"


ACTS: Final[tuple[tuple[str, Callable[[Act], Awaitable[str]]], ...]] = (
    ("a deposit succeeds", happy_deposit),
    ("a card is declined (the payer is card-declined@scenario.test)", decline),
    ("a part is refunded", refund),
    ("a dispute is won", dispute),
    ("the receiver is down for 50 hours", outage),
)
