"""The books: what a command checks, what it changes, and what it tells of."""

import json
from contextlib import nullcontext
from dataclasses import fields

import orjson
import pytest
from benches import CARD, CUSTOMER, DAY, MINUTE, SECOND, START, advance, bench, bodies, deposit, paid, script

from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.payments.resources import Dispute, Failure, Order, PayIn, Payout, Refund, Transaction
from paydouble.sandbox import Sandbox


def refund(box: Sandbox, pay_in: PayIn, amount: int | None = None) -> Refund:
    """Ask for a refund, or for the rest."""
    return box.create_refund(pay_in, amount=amount, reason=None, external_identifier=None)


def payout(box: Sandbox) -> Payout:
    """Start a payout."""
    return box.create_payout(
        external_identifier="p", amount=100, currency="EUR", beneficiary_name="Ada", beneficiary_account="DE1"
    )


def test_a_resource_is_found_by_its_id_and_kind() -> None:
    """An id of another kind is as unknown as one that was never made."""
    box = bench()
    pay_in = deposit(box)

    assert box.ledger.get(PayIn, pay_in.id) is pay_in
    assert (box.ledger.find(pay_in.id), box.ledger.find("payin_x")) == (pay_in, None)
    for kind, wrong, name in ((Refund, pay_in.id, "refund"), (PayIn, "payin_x", "payin")):
        with pytest.raises(ApiError) as caught:
            box.ledger.get(kind, wrong)
        assert (caught.value.code, caught.value.message) == ("NOT_FOUND", f"There is no {name} {wrong!r}.")


def test_a_pay_in_keeps_the_members_of_its_order() -> None:
    """Each member but the time to pay, which becomes an instant, is a member of the pay-in with the same name."""
    order = Order(
        expires_in_ms=DAY,
        external_identifier="order-1",
        amount=4990,
        currency="EUR",
        digits=2,
        payment_method=CARD,
        customer=CUSTOMER,
        return_url="https://shop.test/return",
        notification_url="https://shop.test/hook",
        metadata={"cart": "c-1"},
    )
    box = bench()
    pay_in, _ = box.ledger.create_pay_in(box.now, order, checkout_base="")
    names = {each.name for each in fields(Order)} - {"expires_in_ms"}

    assert {name: getattr(pay_in, name) for name in names} == {name: getattr(order, name) for name in names}
    assert pay_in.expires_at == box.now + DAY


def test_lists_come_newest_first_from_any_place() -> None:
    """A list starts at the newest, or below a sequence number, however large that is."""
    box = bench()
    first, second, third = (deposit(box) for _ in range(3))
    ledger = box.ledger

    assert list(ledger.newest_first(PayIn)) == [third, second, first]
    assert list(ledger.newest_first(PayIn, before=3)) == [second, first]
    assert list(ledger.newest_first(PayIn, before=99)) == [third, second, first]
    assert list(ledger.newest_first(PayIn, before=1)) == []
    assert (ledger.count(PayIn), ledger.count(Refund)) == (3, 0)


@pytest.mark.parametrize("status", ["created", "pending", "processing", "failed", "cancelled"])
def test_only_a_succeeded_pay_in_is_refunded_or_disputed(status: str) -> None:
    """Before the money has come, or when it never comes, there is nothing to give back."""
    box = bench()
    pay_in = deposit(box)
    box.force_transition(pay_in, status, force=True)

    for ask in (refund, Sandbox.open_dispute):
        with pytest.raises(ApiError) as caught:
            ask(box, pay_in)
        assert caught.value.code == "VALIDATION_ERROR"
        assert caught.value.message.startswith(f"Pay-in {pay_in.id} is {status}; only a succeeded pay-in can be ")


@pytest.mark.parametrize(
    ("taken", "asked", "message"),
    [
        (1000, 3991, "A refund of 39.91 EUR is more than the 39.90 that is left of {}."),
        (4990, 1, "Nothing is left to refund of {}; pending refunds count."),
        (4990, None, "Nothing is left to refund of {}; pending refunds count."),
    ],
)
def test_a_refund_beyond_the_rest_is_refused(taken: int, asked: int | None, message: str) -> None:
    """The refusal names what was asked and what is left, and nothing has changed."""
    box = bench()
    pay_in = paid(box)
    refund(box, pay_in, taken)
    events = len(box.journal.events.entries)

    with pytest.raises(ApiError) as caught:
        refund(box, pay_in, asked)

    assert caught.value.message == message.format(pay_in.id)
    assert (box.ledger.count(Refund), len(box.journal.events.entries)) == (1, events)


def test_a_refund_that_fails_gives_its_amount_back() -> None:
    """After a failure the same amount can be refunded again."""
    box = bench()
    pay_in = paid(box)
    failed = refund(box, pay_in)

    box.force_transition(failed, "failed")

    assert refund(box, pay_in).amount == 4990


def test_not_even_force_revives_a_refund_whose_money_went_elsewhere() -> None:
    """A failed refund stays failed when another one has taken the rest."""
    box = bench()
    pay_in = paid(box)
    failed = refund(box, pay_in)
    box.force_transition(failed, "failed")
    refund(box, pay_in, 1)

    with pytest.raises(IllegalTransition, match="too little left to refund"):
        box.force_transition(failed, "succeeded", force=True)

    assert (failed.status, pay_in.refund_reserved) == ("failed", 1)


@pytest.mark.parametrize("amount", [0, -1, 4991])
def test_a_dispute_is_about_at_most_what_was_paid(amount: int) -> None:
    """Nothing, less than nothing and more than everything cannot be disputed."""
    box = bench()
    pay_in = paid(box)

    with pytest.raises(ApiError, match="A dispute is about more than nothing and at most the amount"):
        box.open_dispute(pay_in, amount=amount)

    assert box.ledger.count(Dispute) == 0


def test_money_is_not_disputed_twice() -> None:
    """Open, lost and accepted disputes are together about no more than was paid; what was won may be disputed again."""
    box = bench()
    pay_in = paid(box)
    first = box.open_dispute(pay_in, amount=3000)
    second = box.open_dispute(pay_in)

    for amount in (None, 1, 4990):
        with pytest.raises(ApiError, match=r"No more than 0\.00 EUR of payin_\w+ can be disputed; .* force: true"):
            box.open_dispute(pay_in, amount=amount)
    assert (first.amount, second.amount, box.ledger.count(Dispute)) == (3000, 1990, 2)

    box.accept_dispute(first)
    box.force_transition(second, "won")
    with pytest.raises(ApiError, match=r"No more than 19\.90 EUR"):
        box.open_dispute(pay_in, amount=1991)
    assert box.open_dispute(pay_in, amount=1990).amount == 1990


def test_the_same_money_is_disputed_twice_when_forced() -> None:
    """The provider's mistake; a single dispute is never about more than was paid."""
    box = bench()
    pay_in = paid(box)

    assert [box.open_dispute(pay_in, force=True).amount for _ in range(2)] == [4990, 4990]
    with pytest.raises(ApiError, match="at most the amount"):
        box.open_dispute(pay_in, amount=4991, force=True)


@pytest.mark.parametrize(
    ("state", "left"),
    [("needs_response", 1990), ("under_review", 1990), ("lost", 1990), ("accepted", 1990), ("won", 4990)],
)
def test_disputed_money_is_not_refunded(state: str, left: int) -> None:
    """Neither what an open dispute is about nor what was charged back; what was won is the merchant's again."""
    box = bench()
    pay_in = paid(box)
    dispute = box.open_dispute(pay_in, amount=3000)
    if state != "needs_response":
        box.force_transition(dispute, state)

    with pytest.raises(ApiError) as caught:
        box.create_refund(pay_in, amount=left + 1, reason=None, external_identifier=None)
    refund = box.create_refund(pay_in, amount=None, reason=None, external_identifier=None)

    assert refund.amount == left
    assert ("30.00 EUR is disputed or charged back" in caught.value.message) == (state != "won")


def test_disputed_money_is_refunded_where_the_setting_says_so() -> None:
    """Some services leave the care to the merchant."""
    box = bench(refunds={"while_disputed": "allow"})
    pay_in = paid(box)
    box.open_dispute(pay_in)

    assert box.create_refund(pay_in, amount=None, reason=None, external_identifier=None).amount == 4990
    with pytest.raises(ApiError) as caught:
        box.create_refund(pay_in, amount=None, reason=None, external_identifier=None)
    assert caught.value.message == f"Nothing is left to refund of {pay_in.id}; pending refunds count."


def test_refunded_money_can_be_disputed() -> None:
    """It happens: the payer has the money back and disputes the payment all the same."""
    box = bench()
    pay_in = paid(box)
    box.create_refund(pay_in, amount=2000, reason=None, external_identifier=None)

    assert box.open_dispute(pay_in).amount == 4990
    with pytest.raises(ApiError, match="Nothing is left"):
        box.create_refund(pay_in, amount=1, reason=None, external_identifier=None)


def test_the_money_of_a_pay_in() -> None:
    """What was refunded, what will be, what is disputed and what was charged back, each for itself."""
    box = bench()
    pay_in = paid(box)
    nothing = box.ledger.money(pay_in)
    for amount in (100, 20):
        box.create_refund(pay_in, amount=amount, reason=None, external_identifier=None)
    advance(box, 60 * SECOND)
    failed = box.create_refund(pay_in, amount=1, reason=None, external_identifier=None)
    box.force_transition(failed, "failed")
    box.create_refund(pay_in, amount=3, reason=None, external_identifier=None)
    box.accept_dispute(box.open_dispute(pay_in, amount=1000))
    box.open_dispute(pay_in, amount=500)

    assert {name: json.loads(orjson.dumps(amount)) for name, amount in nothing.items()} == dict.fromkeys(nothing, 0)
    assert {name: orjson.dumps(amount).decode() for name, amount in box.ledger.money(pay_in).items()} == {
        "refunded_amount": "1.20",
        "refund_pending_amount": "0.03",
        "disputed_amount": "5.00",
        "charged_back_amount": "10.00",
    }


@pytest.mark.parametrize(("early", "refused"), [(1, False), (0, True), (-DAY, True)])
def test_evidence_is_due_by_an_instant(early: int, refused: bool) -> None:
    """From `evidence_due_by` on it is refused, also where a script keeps the dispute open; nothing changes then."""
    box = bench(url=None, scenarios=script("happy-path", dispute=[{"after": "60d", "to": "lost"}]))
    advance(box, SECOND)
    pay_in = deposit(box)
    for status in ("pending", "processing", "succeeded"):
        box.force_transition(pay_in, status)
    dispute = box.open_dispute(pay_in)
    advance(box, dispute.evidence_due_by - early - box.now)

    late = rf"Evidence for {dispute.id} was due by 2026-01-08T00:00:01\.000Z; it comes too late\."
    with pytest.raises(ApiError, match=late) if refused else nullcontext():
        box.submit_evidence(dispute, {"receipt": "r"})

    assert (dispute.status, dispute.evidence) == (
        ("needs_response", {}) if refused else ("under_review", {"receipt": "r"})
    )


def test_a_dispute_says_by_when_evidence_is_due() -> None:
    """Without an amount the whole pay-in is disputed; the answer is due when the setting says."""
    box = bench(disputes={"response_window": "2d"})
    pay_in = paid(box)

    dispute = box.open_dispute(pay_in)

    assert (dispute.amount, dispute.evidence_due_by) == (4990, START + 6 * SECOND + 2 * DAY)


def test_evidence_is_added_to_what_is_there() -> None:
    """New evidence joins the old, a member given again is replaced, and each hand-in is an update."""
    box = bench()
    dispute = box.open_dispute(paid(box))

    box.submit_evidence(dispute, {"receipt": "r1", "note": "n1"})
    box.submit_evidence(dispute, {"note": "n2"})

    assert (dispute.status, dispute.evidence) == ("under_review", {"receipt": "r1", "note": "n2"})
    updates = [body["data"]["previous_attributes"] for body in bodies(box) if body["type"] == "dispute.updated"]
    assert updates == [{"status": "needs_response", "evidence": {}}, {"evidence": {"receipt": "r1", "note": "n1"}}]


def test_a_closed_dispute_takes_no_evidence() -> None:
    """After the decision evidence is refused and changes nothing."""
    box = bench()
    dispute = box.open_dispute(paid(box))
    box.accept_dispute(dispute)

    with pytest.raises(IllegalTransition):
        box.submit_evidence(dispute, {"receipt": "late"})

    assert (dispute.status, dispute.evidence, len(box.timers)) == ("accepted", {}, 0)


def test_an_illegal_transition_changes_nothing() -> None:
    """State, failure, time of update, timers and events stay what they were."""
    box = bench()
    pay_in = deposit(box)
    before = (pay_in.document(box.ledger.stamp)["status"], pay_in.updated_at, len(box.timers))
    advance(box, SECOND)

    with pytest.raises(IllegalTransition):
        box.force_transition(pay_in, "succeeded", failure=Failure("x", "y"))

    assert (pay_in.status, pay_in.updated_at, len(box.timers)) == before
    assert (pay_in.failure, len(box.journal.events.entries)) == (None, 1)


def test_a_failure_comes_with_failed_and_goes_with_it() -> None:
    """What failed has a reason, the plain one by default; late money takes it away again."""
    box = bench()
    pay_in = deposit(box)

    box.force_transition(pay_in, "failed")
    default = pay_in.failure
    box.force_transition(pay_in, "succeeded", failure=Failure("ignored", "ignored"), force=True)

    assert (default, pay_in.failure) == (Failure("declined", "The payment was declined."), None)


def test_payouts_and_transactions_give_off_no_events() -> None:
    """The contract lists no event of theirs, so there is none, whatever becomes of them."""
    box = bench()
    one = payout(box)
    transaction = box.ledger.create_transaction(
        box.now, kind="fee", external_identifier="t", amount=5, currency="EUR", description=None
    )

    advance(box, MINUTE)
    box.force_transition(one, "returned")

    assert (one.status, transaction.status, bodies(box)) == ("returned", "created", [])
    assert box.ledger.get(Transaction, transaction.id) is transaction
