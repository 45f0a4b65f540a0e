"""A business that plays lists of commands, and the invariants that must hold after each command.

A command is a name and its arguments, so that a list can be drawn, played, shortened and printed as calls to paste
into a test. `which` counts around what there is, so that any command makes sense anywhere, also in a shortened list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drive import DAY, DEPOSITS, Business, deposit_body, key

from paydouble.api.values import Reply
from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.payments.lifecycle import TABLES, first, is_final
from paydouble.payments.resources import Dispute, PayIn, Payout, Refund, Resource

REFUNDS = "/refund/refund-creation"
KINDS: dict[str, type[Resource]] = {"payin": PayIn, "refund": Refund, "dispute": Dispute, "payout": Payout}
INITIAL = {name: first(kind.TABLE) for name, kind in KINDS.items()}


@dataclass
class Sent:
    """A POST that was sent, and what came back."""

    key: str
    path: str
    body: dict[str, Any]
    at: int
    reply: Reply


class RandomRun:
    """One business, its commands, and its invariants."""

    def __init__(self, seed: int = 1) -> None:
        self.answer: int | None = 200
        self.business = Business(seed=seed, receiver=lambda _: self.answer)
        self.sandbox = self.business.sandbox
        self.sent: list[Sent] = []
        self.keys = 0
        self.requests = 0
        self.seen_events = 0
        self.latest_event = 0
        self.states: dict[str, str] = {}
        self.forced: set[str] = set()

    # Commands

    def deposit(self, amount: int, scenario: str, expires_in: int) -> None:
        """Create a deposit of some cents."""
        customer = {**deposit_body()["customer"], "email": f"{scenario}@scenario.test"}
        self._send(DEPOSITS, deposit_body(amount=amount / 100, customer=customer, expires_in=expires_in))

    def cancel(self, which: int) -> None:
        """Cancel a pay-in, if it is not too late."""
        if pay_in := self._one(PayIn, which):
            reply = self._send(f"/pay-in/{pay_in.id}/cancellation", {})
            assert reply.status in {200, 422}

    def refund(self, which: int, amount: int | None) -> None:
        """Refund a pay-in in part or in whole; it may not be possible."""
        if pay_in := self._one(PayIn, which):
            rest = pay_in.amount - pay_in.refund_reserved - self._disputed(pay_in)
            possible = pay_in.status == "succeeded" and 0 < (rest if amount is None else amount) <= rest
            body = {"payin_id": pay_in.id} | ({} if amount is None else {"amount": amount / 100})
            assert (self._send(REFUNDS, body).status == 200) == possible

    def dispute(self, which: int) -> None:
        """A chargeback arrives for a pay-in that succeeded."""
        pay_in = self._one(PayIn, which)
        if pay_in and pay_in.status == "succeeded":
            possible = self._disputed(pay_in) < pay_in.amount
            try:
                self.sandbox.open_dispute(pay_in)
            except ApiError:
                assert not possible, "a possible dispute was refused"
                return
            assert possible, "the same money was disputed twice"

    def evidence(self, which: int) -> None:
        """Hand in evidence."""
        if dispute := self._one(Dispute, which):
            closed = is_final(dispute.TABLE, dispute.status)
            late = self.sandbox.now >= dispute.evidence_due_by
            reply = self._send(f"/dispute/{dispute.id}/evidence-submission", {"evidence": {"receipt": "r"}})
            assert reply.status == (422 if closed or late else 200)

    def payout(self, amount: int) -> None:
        """Pay something out."""
        beneficiary = {"name": "Ada", "account": "DE02"}
        body = {"amount": amount / 100, "currency": "EUR", "external_identifier": "o", "beneficiary": beneficiary}
        self._send("/payout/payout-initiation", body)

    def retry(self, which: int) -> None:
        """Send an earlier POST again: within its day the same answer, later a new one."""
        if self.sent:
            first = self.sent[which % len(self.sent)]
            reply = self._post(first)
            if self.sandbox.now - first.at < DAY:
                assert (reply.status, reply.body) == (first.reply.status, first.reply.body), "a retry is no replay"
            else:
                assert reply.body != first.reply.body, "an expired key was replayed"
                first.at, first.reply = self.sandbox.now, reply

    def misuse(self, which: int) -> None:
        """Send something else under the key of an earlier POST of the last day."""
        if self.sent:
            first = self.sent[which % len(self.sent)]
            if self.sandbox.now - first.at < DAY:
                reply = self._post(Sent(first.key, first.path, {**first.body, "other": 1}, 0, first.reply))
                assert reply.status == 409, "another body under a known key was taken"

    def force(self, kind: str, which: int, to: str, *, force: bool) -> None:
        """Move a resource by hand; without `force` only along its table, and never to give back more than was paid."""
        if resource := self._one(KINDS[kind], which):
            legal = to in resource.TABLE[resource.status]
            possible = (legal or force) and not self._overdraws(resource, to)
            try:
                self.sandbox.force_transition(resource, to, force=force)
            except IllegalTransition:
                assert not possible, "a possible transition was refused"
                return
            assert possible, "an impossible transition was made"
            self.forced |= set() if legal else {resource.id}

    def receive(self, status: int | None) -> None:
        """Set the answer of the receiver from now on."""
        self.answer = status

    def advance(self, by: int) -> None:
        """Let time pass."""
        self.business.advance(by)

    def rotate(self, grace: int) -> None:
        """Make a new webhook secret."""
        self.sandbox.rotate_secret(grace)

    def aim(self, url: str | None) -> None:
        """Move the notification URL."""
        self.sandbox.set_notification_url(url)

    def reset(self, scope: list[str], *, same_ids: bool = False) -> None:
        """Reset a part, or everything."""
        self.sandbox.reset(frozenset(scope), same_ids=same_ids)
        if "state" in scope:
            self.sent, self.states, self.forced = [], {}, set()
            self.latest_event = 0
        if "deliveries" in scope:
            self.seen_events = 0
        if "requests" in scope:
            self.requests = 0

    def _disputed(self, pay_in: PayIn) -> int:
        disputes = [each for each in self.sandbox.ledger.newest_first(Dispute) if each.payin_id == pay_in.id]
        return sum(each.amount for each in disputes if each.status != "won")

    # Invariants

    def check(self) -> None:
        """Check every invariant."""
        self.business.deliver_all()
        self._check_events()
        self._check_deliveries()
        self._check_resources()
        sandbox = self.sandbox
        assert len(sandbox.journal.requests.entries) == self.requests, "the request journal lost count"
        assert all(entry.status is not None for entry in sandbox.journal.requests.entries)
        assert sandbox.idle == (sandbox.timers.next_due() is None), "idle with a timer, or busy without one"
        due = sandbox.timers.next_due()
        assert due is None or due > sandbox.now, "something due was left behind"

    def end(self) -> None:
        """Move the clock until nothing is left to happen, and check that everything has ended."""
        self.business.until_idle()
        self.check()
        assert all(each.settled for each in self.sandbox.outbox.deliveries.values()), "a delivery never ended"
        for pay_in in self.sandbox.ledger.newest_first(PayIn):
            if pay_in.status == "created":
                assert pay_in.id in self.forced, "a pay-in never ended"

    def _check_events(self) -> None:
        entries = self.sandbox.journal.events.entries
        fresh = [entries[index] for index in range(self.seen_events, len(entries))]
        self.seen_events = len(entries)
        for event in fresh:
            assert event.created_at >= self.latest_event, "an event is older than the one before it"
            self.latest_event = event.created_at
            resource = self.sandbox.ledger.find(event.object_id)
            if resource is None or event.object_id in self.forced or resource.OBJECT == "dispute":
                continue
            state, before = event.type.partition(".")[2], self.states.get(event.object_id)
            allowed = (INITIAL[resource.OBJECT],) if before is None else TABLES[resource.OBJECT][before]
            assert state in allowed, f"{event.object_id} went from {before} to {state}"
            self.states[event.object_id] = state

    def _check_deliveries(self) -> None:
        sandbox, deliveries = self.sandbox, self.sandbox.outbox.deliveries
        assert {each.event.id for each in deliveries.values()} == {each.id for each in sandbox.journal.events.entries}
        assert len(deliveries) == len(sandbox.journal.events.entries), "an event without a delivery"
        for delivery in deliveries.values():
            dues = [timer.due for timer in sandbox.timers.of(delivery.id)]
            if delivery.settled:
                assert (dues, delivery.next_due_at) == ([], None), "a delivery goes on after its end"
            else:
                assert dues == [delivery.next_due_at], "a waiting delivery is on no clock, or on two"
            assert len(delivery.attempts) <= len(sandbox.settings.webhooks.offsets)

    def _check_resources(self) -> None:
        ledger, timers = self.sandbox.ledger, self.sandbox.timers
        refunds = list(ledger.newest_first(Refund))
        for pay_in in ledger.newest_first(PayIn):
            held = sum(each.amount for each in refunds if each.payin_id == pay_in.id and each.status != "failed")
            assert pay_in.refund_reserved == held, "refunds and what they hold differ"
            assert held <= pay_in.amount, "more was refunded than paid"
        for kind in KINDS.values():
            for resource in ledger.newest_first(kind):
                assert resource.updated_at >= resource.created_at
                final = is_final(resource.TABLE, resource.status)
                assert not (final and timers.of(resource.id)), "something is to happen to what is final"
                failed = resource.status == "failed"
                assert isinstance(resource, Dispute) or failed == (resource.failure is not None)

    def _overdraws(self, resource: Resource, to: str) -> bool:
        if not isinstance(resource, Refund) or resource.status != "failed" or to == "failed":
            return False
        pay_in = self.business.pay_in(resource.payin_id)
        return resource.amount > pay_in.amount - pay_in.refund_reserved

    # Sending

    def _one(self, kind: type[Any], which: int) -> Any:  # noqa: ANN401 - a resource of that kind
        everything = list(self.sandbox.ledger.newest_first(kind))
        return everything[which % len(everything)] if everything else None

    def _send(self, path: str, body: dict[str, Any]) -> Reply:
        self.keys += 1
        sent = Sent(key(self.keys), path, body, self.sandbox.tick(), Reply(0, b"", ""))
        sent.reply = self._post(sent)
        self.sent.append(sent)
        return sent.reply

    def _post(self, sent: Sent) -> Reply:
        self.requests += 1
        return self.business.post(sent.path, sent.body, key=sent.key)
