"""The shop with a worker against a sandbox without sockets."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from decimal import Decimal

import pytest
from workershop.adapter import WorkerAdapter
from workershop.db import Database
from workershop.shop import Declined, Shop, application
from workershop.wire import Service
from workershop.worker import Worker, to_minor, to_text

from paydouble import Sandbox
from paydouble.stateful import Play as MachinePlay
from paydouble.testing.shop_time import follow_time


class SandboxWire:
    """Carries requests to a sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def send(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        key = headers.pop("Idempotency-Key", None)
        response = self.sandbox.handle(method, path, body=body or None, headers=headers, key=key)
        return response.status, dict(response.headers), response.body


class Mails:
    """Keeps what was sent."""

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}

    def send(self, message_id: str, text: str) -> None:
        self.sent[message_id] = text


class Play:
    """A shop beside its sandbox."""

    def __init__(self, *bugs: str, currency: str = "EUR", amount: str = "49.90") -> None:
        self.mails = Mails()
        self.db = Database()
        self.sandbox = Sandbox(
            {"webhooks": {"sign_with": "sandbox_clock"}},
            seed=5,
            receiver=lambda webhook: self.shop.webhook(webhook.body, dict(webhook.headers)["X-Service-Signature"]),
        )
        self.worker = Worker(
            self.db, Service(SandboxWire(self.sandbox), self.sandbox.auth), self.mails, frozenset(bugs)
        )
        self.shop = Shop(self.db, self.worker, self.sandbox.webhook_secret, frozenset(bugs))
        self.shop.place("order-1", Decimal(amount), currency)

    def wait(self, length: str = "1h") -> None:
        """Let time pass, then work."""
        self.sandbox.clock.advance(length)
        self.worker.work()


def test_a_payment_is_booked_mailed_and_shipped_once() -> None:
    """Everything that follows a payment happens once, though it is learned three times."""
    play = Play()

    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.wait()
        play.shop.returned("order-1")
        play.shop.reconcile()
        play.wait()

    assert play.worker.standing("order-1") == "paid"
    assert list(play.mails.sent) == ["paid-order-1"]
    assert play.db.rows("SELECT shipped FROM orders")[0]["shipped"] == 1
    assert [row["what"] for row in play.db.rows("SELECT what FROM stock_moves")] == ["held", "sold"]


def test_the_worker_tries_again_with_the_same_key() -> None:
    """A reply that is lost is asked for again by the next run of the job."""
    play = Play()
    play.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)

    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.wait("10s")

    assert len(play.sandbox.pay_ins.list()) == 1
    assert play.db.rows("SELECT state FROM payments")[0]["state"] == "made"


def test_amounts_are_exact() -> None:
    """An amount has the digits of its currency."""
    assert [to_text(to_minor(Decimal(text), currency), currency) for text, currency in
            [("8.20", "EUR"), ("1500", "JPY"), ("1.250", "KWD")]] == ["8.20", "1500", "1.250"]  # fmt: skip


def test_a_worker_that_dies_leaves_its_job() -> None:
    """Another worker does the job when the lease is over."""
    assert paid_after_a_crash(Play()) == "paid"


@pytest.mark.parametrize("mistake", ["lease_without_end", "job_gone_before_done"])
def test_a_job_that_dies_with_its_worker_loses_the_payment(mistake: str) -> None:
    """The harm of both: the payment was acknowledged, and the order stays pending."""
    assert paid_after_a_crash(Play(mistake)) == "pending"


def paid_after_a_crash(play: Play) -> str:
    """End the worker in the middle of the jobs of all events; returns the state of the order."""

    def die(job: object) -> None:
        raise KeyboardInterrupt

    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.sandbox.clock.advance("1h")
        play.worker.__dict__["do_event"] = die
        for row in play.db.rows("SELECT id FROM jobs"):
            with pytest.raises(KeyboardInterrupt):
                play.worker.run(row["id"])
        del play.worker.__dict__["do_event"]
        play.wait()
    return play.worker.standing("order-1")


def test_two_decimals_change_the_price() -> None:
    """The harm of `two_decimals`: the customer pays another amount."""
    play = Play("two_decimals", currency="KWD", amount="1.256")

    with follow_time(play.sandbox):
        play.shop.pay("order-1")

    assert play.sandbox.pay_ins.list()[0].document["amount"] == Decimal("1.260")


def test_nothing_is_refunded_before_it_is_paid() -> None:
    """The shop declines a refund without money."""
    with pytest.raises(Declined):
        Play().shop.refund("order-1", "r-1", Decimal(1))


def test_the_application_refuses_what_is_not_signed() -> None:
    """The WSGI application passes the status on."""
    statuses: list[str] = []
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/webhooks", "wsgi.input": __import__("io").BytesIO(b"")}

    list(application(Play().shop)(environ, lambda status, _headers: statuses.append(status)))

    assert statuses == ["400 -"]


def refunded_after_a_lost_reply(play: Play) -> Decimal:
    """Refund ten; the reply is lost, and no webhook comes before the job runs again. Returns what the payer gets."""
    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.wait()
        play.sandbox.webhook.change(notification_url=None)
        play.sandbox.faults.add("connection_reset", operation="refund-creation", phase="after_commit", times=1)
        play.shop.refund("order-1", "r-1", Decimal("10.00"))
        play.wait()
        play.wait()
    return Decimal(str(play.sandbox.pay_ins.list()[0].document["refunded_amount"]))


def test_a_refund_is_sent_again_with_its_key() -> None:
    """A lost reply refunds once."""
    assert refunded_after_a_lost_reply(Play()) == 10


def test_a_refund_with_a_new_key_is_doubled() -> None:
    """The harm of `refund_new_key`: the payer gets the money twice."""
    assert refunded_after_a_lost_reply(Play("refund_new_key")) == 20


def deposits_after_a_conflict(play: Play) -> int:
    """Lose the reply to a deposit, and answer its retry with 409; returns the number of pay-ins."""
    play.sandbox.webhook.change(notification_url=None)
    play.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)
    play.sandbox.faults.add("error", status=409, operation="deposit-creation", skip=1, times=1)
    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        for _ in range(4):
            play.wait("30s")
    return len(play.sandbox.pay_ins.list())


def test_a_conflict_leaves_one_deposit() -> None:
    """The key stays what it is."""
    assert deposits_after_a_conflict(Play()) == 1


def test_a_new_key_after_a_conflict_is_a_second_deposit() -> None:
    """The harm of `conflict_new_key`: two deposits for one order."""
    assert deposits_after_a_conflict(Play("conflict_new_key")) == 2


def mails_after_a_rollback(play: Play) -> int:
    """Let the database fail at the end of the transaction that books a payment; returns the number of mails."""
    failures = iter([True])
    done = play.worker.done

    def fail_once(job: sqlite3.Row) -> None:
        done(job)
        if play.worker.standing("order-1") == "paid" and next(failures, False):
            raise sqlite3.OperationalError("disk I/O error")

    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.sandbox.clock.advance("1h")
        play.worker.__dict__["done"] = fail_once
        with pytest.raises(sqlite3.OperationalError):
            play.worker.work()
        play.wait()
        play.wait()
    return len(play.mails.sent)


def test_a_rollback_sends_one_mail() -> None:
    """The mail is a job of its own, with an id that the provider knows."""
    assert mails_after_a_rollback(Play()) == 1


def test_a_mail_inside_the_transaction_is_sent_twice() -> None:
    """The harm of `mail_before_commit`: the customer gets two confirmations."""
    assert mails_after_a_rollback(Play("mail_before_commit")) == 2


def test_an_order_may_be_fulfilled_whose_second_payment_has_another_amount() -> None:
    """Its first payment had the right one, and came late."""
    with MachinePlay(WorkerAdapter) as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.provider("late money")
        play.pay(trouble="overpaid")
        play.wait("10s")
