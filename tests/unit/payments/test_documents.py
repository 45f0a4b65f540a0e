"""What the API shows of a resource beyond what its events carry."""

from benches import DAY, START, bench, deposit, paid

from paydouble.core.instants import Stamps
from paydouble.payments.resources import Failure

STAMP = Stamps().write
ASSUMED = {"payment_url", "expires_at", "return_url", "metadata"}


def test_a_pay_in_shows_the_assumed_members_too() -> None:
    """The API adds the payment page, the expiry, the return URL and the metadata to the documented members."""
    box = bench()
    pay_in = deposit(box, return_url="http://shop.test/", metadata={"a": "b"})

    document = pay_in.document(STAMP)

    assert set(document) - set(pay_in.event_object(STAMP)) == ASSUMED
    assert {name: document[name] for name in ASSUMED} == {
        "payment_url": f"/_paydouble/checkout/{pay_in.id}",
        "expires_at": STAMP(START + DAY),
        "return_url": "http://shop.test/",
        "metadata": {"a": "b"},
    }


def test_a_failed_pay_in_shows_why() -> None:
    """`failure` is there once the pay-in has failed, and not before; without metadata there is an empty object."""
    box = bench()
    pay_in = deposit(box)
    before = pay_in.document(STAMP)

    box.force_transition(pay_in, "failed", failure=Failure("card_declined", "No."))

    assert ("failure" in before, before["metadata"]) == (False, {})
    assert pay_in.document(STAMP)["failure"] == {"code": "card_declined", "message": "No."}


def test_optional_members_of_a_refund_are_there_when_given() -> None:
    """A reason, an order number and a failure show only when there is one."""
    box = bench()
    pay_in = paid(box)
    plain = box.create_refund(pay_in, amount=1, reason=None, external_identifier=None)
    full = box.create_refund(pay_in, amount=1, reason="broken", external_identifier="r-1")
    box.force_transition(full, "failed", failure=Failure("closed", "Closed."))

    extra = set(full.document(STAMP)) - set(plain.document(STAMP))

    assert extra == {"reason", "external_identifier", "failure"}


def test_a_payout_names_its_beneficiary() -> None:
    """The beneficiary is an object with name and account; a failed payout says why."""
    box = bench()
    payout = box.create_payout(
        external_identifier="p", amount=100, currency="JPY", beneficiary_name="Ada", beneficiary_account="DE1"
    )
    before = payout.document(STAMP)

    box.force_transition(payout, "processing")
    box.force_transition(payout, "failed")

    assert (before["beneficiary"], "failure" in before) == ({"name": "Ada", "account": "DE1"}, False)
    assert payout.document(STAMP)["failure"] == {"code": "declined", "message": "The payment was declined."}


def test_a_transactions_description_is_there_when_given() -> None:
    """A transaction without a description has no such member."""
    box = bench()
    with_one, without = (
        box.ledger.create_transaction(
            box.now, kind="fee", external_identifier="t", amount=5, currency="EUR", description=text
        ).document(STAMP)
        for text in ("March", None)
    )

    assert (with_one["description"], with_one["type"], "description" in without) == ("March", "fee", False)
