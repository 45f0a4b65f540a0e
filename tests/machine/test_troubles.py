"""Troubles that last, webhooks that no fault makes, and merchants that must not be entered twice."""

from __future__ import annotations

import hmac
import re
from contextlib import suppress
from hashlib import sha256
from typing import Any, ClassVar, Final

import pytest
from bugzoo.adapter import ZooMerchant
from bugzoo.receiver import Receiver
from bugzoo.receiver_bugs import AnyEnvironment
from eventshop.adapter import EventAdapter
from small_shop import SmallShop
from workershop.adapter import WorkerAdapter

from paydouble.core.errors import UsageError
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.stateful import Merchant, MerchantBug, Play, Refused, Webhook
from paydouble.stateful.coverage import Trial
from paydouble.stateful.crafted import AHEAD, CRAFTED, GUESSED_SECRETS
from paydouble.stateful.interruptions import JOB_INTERRUPTIONS
from paydouble.stateful.troubles import (
    AFTERWARDS,
    DURATIONS,
    INJECTED,
    POST_TROUBLES,
    READ_TROUBLES,
    WEBHOOK_TROUBLES,
    Trouble,
)

HOUR: Final = 3_600_000


def _attempts(play: Play) -> int:
    return sum(entry.method == "POST" for entry in play.sandbox.journal.requests.entries)


@pytest.mark.parametrize(("lasts", "attempts"), [(0, 3), (1, 2), (2, 3), (6, 5), ("end", 5)])
def test_a_trouble_lasts_for_so_many_replies(lasts: int | str, attempts: int) -> None:
    """The merchant gives up after five attempts, and what was never made is not held against it."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay(trouble="503", lasts=lasts)
        assert _attempts(play) == attempts


def test_a_trouble_to_the_end_is_over_then() -> None:
    """The next click meets it as well; the end removes it."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay(trouble="request lost", lasts="end")
        play.retry()
        assert (_attempts(play), play.sandbox.ledger.count(PayIn)) == (10, 0)
        play.end()
        play.retry()
        assert play.sandbox.ledger.count(PayIn) == 1


def test_the_pause_is_that_of_the_429_that_comes() -> None:
    """An earlier one without headers lasts to the end, so nobody has asked for five seconds."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay(trouble="429 without headers", lasts="end")
        play.pay(trouble="429 with requests left")


@pytest.mark.parametrize(("lasts", "attempts"), [(0, 2), (1, 2), (2, 3), (6, 5), ("end", 5)])
def test_a_trouble_of_a_refund_lasts_for_so_many_replies(lasts: int | str, attempts: int) -> None:
    """As one of a deposit; requested again it meets the one that lasts to the end, which the end removes."""
    with Play(ZooMerchant) as play:
        play.pay()
        play.wait("10s")
        before = _attempts(play)
        play.refund(1, "half", "request lost", lasts=lasts)
        assert _attempts(play) - before == attempts
        again = _attempts(play)
        play.refund_again()
        assert (_attempts(play) - again > 1) == (lasts == "end")


@pytest.mark.parametrize(("lasts", "met"), [(0, 2), (1, 1), (6, 6), ("end", 9)])
def test_a_trouble_of_reads_lasts_for_so_many_answers(lasts: int | str, met: int) -> None:
    """Or to the end; without a number it has its own."""
    with Play(ZooMerchant) as play:
        play.pay()
        play.reads("lost", lasts=lasts)
        for _ in range(9):
            play.returns()
        reads = [entry for entry in play.sandbox.journal.requests.entries if entry.method == "GET"]
        assert sum(bool(entry.faults) for entry in reads[:9]) == met


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(("lasts", "lost_then"), [(0, 0), (1, 1), (2, 2), ("end", 2)])
def test_a_line_stays_dead_for_so_many_replies(lasts: int | str, lost_then: int, restarted: bool) -> None:
    """A correct merchant charges once however long it lasts."""
    with Play(ZooMerchant) as play:
        play.order()
        play.dead_line(1, "25h", restarted=restarted, lasts=lasts)
        entries = list(play.sandbox.journal.requests.entries)
        lost = [entry for entry in entries if entry.at - entries[0].at > 24 * HOUR and entry.faults]
        assert len(lost) == lost_then
        play.retry()


def test_another_refund_comes_meanwhile() -> None:
    """Both are made once, if both together are not too much."""
    for share, made in (("half", 2), ("most", 1)):
        with Play(ZooMerchant) as play:
            play.pay()
            play.wait("10s")
            play.refund(1, share, meanwhile="another refund", at=1)
            assert play.sandbox.ledger.count(Refund) == made


def test_an_unknown_duration_is_refused() -> None:
    """With the known ones."""
    with pytest.raises(UsageError, match="there is no duration 3; there are: 0, 1, 2, 6, end"):
        Play(ZooMerchant).pay(lasts=3)


@pytest.mark.parametrize("trouble", [name for name, each in POST_TROUBLES.items() if each.gets_through])
def test_a_correct_merchant_survives_every_duration(trouble: str) -> None:
    """Whatever lasts however long."""
    for lasts in DURATIONS:
        with Play(ZooMerchant) as play:
            play.order()
            play.pay(1, trouble, lasts=lasts)
            play.retry(1)


@pytest.mark.parametrize("then", AFTERWARDS)
@pytest.mark.parametrize("trouble", ["reply lost", "request lost", "none"])
def test_a_correct_merchant_survives_two_troubles_in_a_row(trouble: str, then: str) -> None:
    """The second request meets another one, and no webhook tells what became of the first."""
    with Play(ZooMerchant) as play:
        play.webhooks("drop all")
        play.pay(1, trouble, then=then)
        play.retry()
        play.wait("10s")
        play.refund(1, "half", trouble, then=then)
        play.refund_again(1, then)
        play.refund_again()
        play.wait("10s")


class LimitIsRefusal(EventAdapter):
    """Takes a 429 for a refusal, also after a request without an answer, and tells nobody."""

    bugs = frozenset({"limit_is_refusal"})

    def pay(self, order_id: str) -> None:
        with suppress(Refused):
            super().pay(order_id)


def test_the_next_request_meets_another_trouble() -> None:
    """A deposit that was made is forgotten over a 429, and the next click makes a second one."""
    play = Play(LimitIsRefusal)
    play.webhooks("drop all")
    with pytest.raises(MerchantBug, match="made 2 deposits for order-1") as caught:
        play.pay(1, "reply lost", then="429")
        play.retry()

    sentence = "the reply is lost after the commit; at the next request the service refuses the request (429)"
    assert sentence in str(caught.value)
    assert "play.pay(1, trouble='reply lost', then='429')" in str(caught.value)


def test_several_answers_follow_a_lost_reply_in_their_order() -> None:
    """Each meets one request."""
    with Play(SmallShop) as play:
        play.pay(1, "reply lost", then="429, 409")
        play.wait("10s")
        play.refund(1, "half", "reply lost", then="409, 429")
        play.wait("10s")
        entries = play.sandbox.journal.requests.entries
        told = play.story.sentences[1]
    assert [each.status for each in entries if each.operation == "deposit-creation"] == [200, 429, 409, 200]
    assert [each.status for each in entries if each.operation == "refund-creation"] == [200, 409, 200]
    assert told.endswith("request (429), and at the next request the service answers 409 to an identical request")
    with Play(SmallShop) as play, pytest.raises(UsageError, match="there is no trouble of the next request 'meteor'"):
        play.pay(1, "reply lost", then="429, meteor")


def test_the_trouble_of_the_next_request_waits_for_no_later_click() -> None:
    """A click that is answered at once meets nothing, and neither does the next one."""
    with Play(ZooMerchant) as play:
        play.pay(then="401")
        play.retry(1, "none")
        assert not any(entry.faults for entry in play.sandbox.journal.requests.entries)
        assert Trial("POST", "401", "none", "none") not in play.trials


def test_an_unknown_trouble_of_the_next_request_is_refused() -> None:
    """With the known ones."""
    with pytest.raises(UsageError, match="there is no trouble of the next request 'redirect'; there are: none, 401"):
        Play(ZooMerchant).pay(then="redirect")


@pytest.mark.parametrize("ends", ["dispute won", "dispute lost"])
def test_a_dispute_about_a_half_leaves_the_other_half(ends: str) -> None:
    """Also after a refund of the other half; a merchant that takes all from its books is found."""
    for refunded in (False, True):
        with Play(ZooMerchant) as play:
            play.pay()
            play.wait("10s")
            if refunded:
                play.refund(1, "half")
                play.wait("10s")
            play.provider("dispute half")
            play.provider(ends)
            (dispute,) = play.sandbox.ledger.newest_first(Dispute)
            assert dispute.amount == 2495


class CallsItRefunded(ZooMerchant):
    """Calls an order refunded when refunds and lost disputes together have left nothing of its money."""

    def order_status(self, order_id: str) -> str:
        """Return the zoo's word, or `refunded`."""
        status = super().order_status(order_id)
        return "refunded" if status in {"partly_refunded", "charged_back"} and not self.balance(order_id) else status


def test_a_refund_and_a_lost_dispute_may_be_called_refunded_together() -> None:
    """The contract has no word for an order of which one half was refunded and the other one charged back."""
    with Play(CallsItRefunded) as play:
        play.pay()
        play.wait("10s")
        play.refund(1, "half")
        play.wait("10s")
        play.provider("dispute half")
        play.provider("dispute lost")


class MailsInside(WorkerAdapter):
    """Sends a mail inside a transaction."""

    bugs = frozenset({"mail_before_commit"})


def _paid_and_not_worked_on(merchant: type[Merchant]) -> Play:
    play = Play(merchant)
    play.order()
    play.pay()
    play.wait("5s")
    play.pass_time("5s")
    return play


@pytest.mark.parametrize("what", ["dies", "database down"])
def test_a_commit_can_fail(what: str) -> None:
    """What was done inside the transaction, but outside the database, is done once more."""
    for at in range(12):
        _paid_and_not_worked_on(WorkerAdapter).interrupt_jobs(what, at)
    with pytest.raises(MerchantBug, match="did 'mail' 2 times for order-1"):
        for at in range(12):
            with _paid_and_not_worked_on(MailsInside) as play:
                play.interrupt_jobs(what, at)


def test_no_other_call_comes_inside_a_transaction() -> None:
    """It would find the transaction of the first one."""
    inside: list[bool] = []

    class Watched(WorkerAdapter):
        def pay(self, order_id: str) -> None:
            inside.append(self.db.link.in_transaction)
            super().pay(order_id)

    for at in range(12):
        with Play(Watched) as play:
            play.order()
            play.pay(1, meanwhile="second click", at=at)

    assert len(inside) > 12
    assert not any(inside)


def test_a_database_that_fails_in_a_webhook_during_a_call_is_an_excuse() -> None:
    """The reply is slow, so webhooks come before it, and one of them meets the failure."""
    answers = set()
    for at in range(12):
        with Play(WorkerAdapter) as play:
            play.order()
            play.pay(1, "reply in drips", meanwhile="database down", at=at)
            play.retry()
            play.wait("10s")
            answers |= {status for _, status, _ in play.answers}

    assert answers == {200, 500}


class HalfADigest(Receiver):
    """Compares half of the digest."""

    def digest(self, body: bytes, at: str) -> str:
        return super().digest(body, at)[:32]

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        at, digests = super().read_header(header)
        return at, [each[:32] for each in digests]


class EmptyIsFine(Receiver):
    """Accepts a digest that the right one begins with."""

    def verify(self, body: bytes, header: str | None) -> None:
        at, digests = self.read_header(header)
        if not any(self.digest(body, at).startswith(each) for each in digests):
            super().verify(body, header)


class CutIsFine(Receiver):
    """Compares as many digits as came."""

    def verify(self, body: bytes, header: str | None) -> None:
        at, digests = self.read_header(header)
        if not any(each and self.digest(body, at).startswith(each) for each in digests):
            super().verify(body, header)


class KnowsUnsetSecrets(Receiver):
    """Also verifies with what its code makes of a previous secret that is not set."""

    def verify(self, body: bytes, header: str | None) -> None:
        at, digests = self.read_header(header)
        signed = at.encode() + b"." + body
        if not {hmac.new(each.encode(), signed, sha256).hexdigest() for each in GUESSED_SECRETS.values()} & {*digests}:
            super().verify(body, header)


class KnownIsFine(Receiver):
    """Acknowledges what it knows before it verifies."""

    def receive(self, webhook: Webhook) -> int:
        event = self.parse(webhook.body)
        return 200 if event and not self.is_new(event) else super().receive(webhook)


class AnyVersion(Receiver):
    """Reads the digest of any version."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        return super().read_header((header or "").replace("v0=", "v1="))


class SignsTheBody(Receiver):
    """Does not verify the time: what it signs is the time at which it first saw the digest."""

    seen: dict[str, str]

    def verify(self, body: bytes, header: str | None) -> None:
        at, _ = self.read_header(header)
        self.check_time(at)


class TakesTheFuture(Receiver):
    """Has a tolerance for the past alone."""

    def check_time(self, at: str) -> None:
        if int(at) <= self.service.now():
            super().check_time(at)


class KnowsAllFamilies(Receiver):
    """Refuses an event of a family that it does not know."""

    def accept(self, event: dict[str, Any]) -> int:
        return super().accept(event) if event["type"].partition(".")[0] in {"pay-in", "refund", "dispute"} else 400


class KnowsAllOrders(Receiver):
    """Answers 404 for an order that it does not know."""

    def accept(self, event: dict[str, Any]) -> int:
        named = event["data"]["object"].get("external_identifier")
        return 404 if event["type"].startswith("pay-in") and not self.store.order(named) else super().accept(event)


class KnowsAllPayments(Receiver):
    """Answers 404 for the refund of a payment that it does not know."""

    def accept(self, event: dict[str, Any]) -> int:
        named = event["data"]["object"].get("payin_id")
        known = self.store.one("select * from objects where id = ?", named)
        return 404 if event["type"].startswith("refund") and not known else super().accept(event)


class ReadsTheLastDigest(Receiver):
    """Looks at the last v1 of the header alone."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        at, digests = super().read_header(header)
        return at, digests[-1:]


class ReadsTheFirstDigest(Receiver):
    """Looks at the first v1 of the header alone."""

    def read_header(self, header: str | None) -> tuple[str, list[str]]:
        at, digests = super().read_header(header)
        return at, digests[:1]


BROKEN = {
    "right digest first": ReadsTheLastDigest,
    "right digest last": ReadsTheFirstDigest,
    "half the digest": HalfADigest,
    "empty digest": EmptyIsFine,
    **dict.fromkeys((how for how in CRAFTED if how.startswith("digest cut after")), CutIsFine),
    **dict.fromkeys(GUESSED_SECRETS, KnowsUnsetSecrets),
    "known id": KnownIsFine,
    "digest in v0": AnyVersion,
    "other time": SignsTheBody,
    "302 seconds ahead": TakesTheFuture,
    "unknown family": KnowsAllFamilies,
    "unknown order": KnowsAllOrders,
    "unknown refund": KnowsAllPayments,
    "other environment": AnyEnvironment,
}


@pytest.mark.parametrize("how", CRAFTED)
@pytest.mark.parametrize("dialect", ["plain", "lower-case header"])
def test_each_crafted_webhook_finds_its_mistake(how: str, dialect: str) -> None:
    """The correct receiver does what it should, and one with the mistake that it is made for does not."""
    for receiver, found in ((Receiver, None), (BROKEN[how], MerchantBug)):
        merchant = type("Shop", (ZooMerchant,), {"receiver_part": receiver})
        play = Play(merchant, dialect=dialect)
        play.order()
        play.pay()
        if found is None:
            play.inject(how)
        else:
            with pytest.raises(found):
                play.inject(how)
        play.close()


def test_two_digests_come_only_to_a_shop_that_accepts_them() -> None:
    """The contract knows one; a shop that reads the last one alone is correct until it says otherwise."""
    refuses_two = {"receiver_part": ReadsTheLastDigest, "rotates_secrets": False}
    with Play(type("Shop", (ZooMerchant,), refuses_two)) as play:
        play.order()
        play.pay()
        play.webhooks("two signatures")
        play.inject("right digest first")
        play.wait("1h")
        assert {status for _, status, _ in play.answers} == {200}


class NotesBeforeItVerifies(Receiver):
    """Notes the id of an event before it has verified it."""

    def receive(self, webhook: Webhook) -> int:
        found = re.search(rb'"id": ?"(evt_[^"]*)"', webhook.body)
        seen = type(self).seen
        if found and (found[1], id(self.service)) in seen:
            return 200
        seen.update([(found[1], id(self.service))] if found else [])
        return super().receive(webhook)

    seen: ClassVar[set[tuple[bytes, int]]] = set()


@pytest.mark.parametrize("how", AHEAD)
def test_what_comes_ahead_does_not_hide_the_true_event(how: str) -> None:
    """The correct receiver refuses it and takes the true one; one that notes ids too early loses it."""
    names_it = how not in {"other id", "unknown order"}
    for receiver in (Receiver, NotesBeforeItVerifies):
        merchant = type("Shop", (ZooMerchant,), {"receiver_part": receiver})
        play = Play(merchant, shows="at once")
        play.order()
        play.pay()
        play.pass_time("5s")
        play.webhook_ahead(how)
        if receiver is NotesBeforeItVerifies and names_it:
            with pytest.raises(MerchantBug):
                play.pass_time("5s")
        else:
            play.pass_time("5s")
            assert Trial("webhook ahead", how, "open", "none") in play.trials
        play.close()


@pytest.mark.parametrize("what", JOB_INTERRUPTIONS)
def test_a_correct_merchant_survives_interrupted_jobs(what: str) -> None:
    """At every point of their code."""
    for at in range(8):
        with Play(ZooMerchant) as play:
            play.interrupt_jobs(what)  # there is no order yet
            play.pay(1, "reply lost", lasts=6)
            play.pass_time("10m")
            play.interrupt_jobs(what, at)
            play.wait("10s")
            assert play.status() == "paid"


class Entered(ZooMerchant):
    """Counts how often it is entered while a call is running."""

    interleaves = False
    inside = 0
    twice = 0

    def pay(self, order_id: str) -> None:
        self.inside += 1
        super().pay(order_id)
        self.inside -= 1

    def receive(self, webhook: Webhook) -> int:
        type(self).twice += self.inside > 0
        self.inside += 1
        try:
            return super().receive(webhook)
        finally:
            self.inside -= 1


@pytest.mark.parametrize("meanwhile", ["none", "second click", "webhook first"])
@pytest.mark.parametrize("what", ["again meanwhile", "another meanwhile"])
def test_a_merchant_that_must_not_be_entered_twice_is_not(meanwhile: str, what: str) -> None:
    """Not by a click, not by a webhook, and not while it waits between two attempts."""
    with Play(Entered) as play:
        play.order()
        play.pay(trouble="503", meanwhile=meanwhile)
        play.pass_time("1s")
        play.interrupt_webhook(what)
        play.pass_time("1m")
        assert (Entered.twice, play.status()) == (0, "paid")


def test_another_event_comes_meanwhile() -> None:
    """An earlier one of the same payment is handed over while the next is worked on."""
    bodies = []

    class Nested(ZooMerchant):
        def receive(self, webhook: Webhook) -> int:
            bodies.append(webhook.body)
            return super().receive(webhook)

    with Play(Nested) as play:
        play.order()
        play.interrupt_webhook("another meanwhile")  # there is no earlier one yet
        play.pay()
        play.interrupt_webhook("another meanwhile")
        play.pass_time("2s")

    assert bodies[2] == bodies[0]


# Effects that no trouble uses, and why.
_UNUSED: Final = {
    "expire_rate": "the adapter has no quotes",
    "lost_record": "the service then contradicts itself, and no merchant is right",
    "no_response": "a client sees it as a reply that is too late",
    "chunked": "a call in the process has no framing",
    "hold": "somebody has to release it by hand",
    "schedule": "a receiver that is down shows what fewer attempts do",
}


def test_every_effect_is_a_trouble() -> None:
    """A new effect is tried by the machine, or has a reason here why it is not."""
    tables = (POST_TROUBLES, READ_TROUBLES, WEBHOOK_TROUBLES, INJECTED)
    troubles = [each for table in tables for each in table.values() if isinstance(each, Trouble)]
    used = {fault["effect"]["type"] for trouble in troubles for fault in trouble.faults}

    # A webhook before the response is armed by what happens meanwhile.
    assert {*API_EFFECTS, *WEBHOOK_EFFECTS} - used - set(_UNUSED) == {"before_response"}
    assert used & set(_UNUSED) == set()


def test_a_429_is_judged_by_the_operation_that_it_was_meant_for() -> None:
    """A call for a refund may also ask for the deposit again, which an earlier 429 without headers still meets."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay(1, trouble="429 without headers", lasts="end")
        play.refund(1, trouble="429")
