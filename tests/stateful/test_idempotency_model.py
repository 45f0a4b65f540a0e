"""Idempotency against a reference of a few lines: retries, conflicts, joins, expiry, failures, several businesses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from drive import DAY, DEPOSITS, HOUR, Business, deposit_body, error_code, key
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from paydouble.api.execution import Delayed, Joined, Step
from paydouble.api.values import Reply

# What is sent, the fingerprint that it stands for, and what processing it answers. None: refused before the claim.
BODIES: dict[str, tuple[bytes, str, int]] = {
    "a": (json.dumps(deposit_body()).encode(), "a", 200),
    "a, spelt anew": (json.dumps(deposit_body(), indent=1).encode(), "a", 200),
    "b": (json.dumps(deposit_body(external_identifier="order-2")).encode(), "b", 200),
    "against a rule": (json.dumps(deposit_body(currency="ZZZ")).encode(), "rule", 422),
    "too many digits": (json.dumps(deposit_body(amount=1.234)).encode(), "digits", 400),
    "lacks a member": (json.dumps(deposit_body(amount=...)).encode(), "lacks", 400),
    "no JSON": (b"{", "broken", 400),
}
BEFORE_THE_CLAIM = {"lacks a member", "no JSON"}


@dataclass
class Known:
    """What the reference knows of a key."""

    fingerprint: str
    at: int
    request_id: str
    answer: tuple[int, bytes] | None = None


@dataclass
class Flight:
    """A request that has no answer yet: who runs has a claim of its own, who joined waits for another's."""

    business: int
    key: str
    sent: str
    """The key as it was spelled."""
    body: str
    step: Delayed | Joined
    known: Known


class Idempotency(RuleBasedStateMachine):
    """Two businesses share their keys' texts; the first answers at once, the second takes its time."""

    def __init__(self) -> None:
        super().__init__()
        one = Business("one")
        self.businesses = [one, Business("two", beside=one, processing_time="2s")]
        self.known: list[dict[str, Known]] = [{}, {}]
        self.flights: list[Flight] = []
        self.created = [0, 0]

    @rule(
        which=st.integers(0, 1),
        number=st.integers(0, 2),
        upper=st.booleans(),
        body=st.sampled_from(sorted(BODIES)),
    )
    def send(self, which: int, number: int, upper: bool, body: str) -> None:
        """Send a request."""
        text = key(0xABC0 + number)
        sent = text.upper() if upper else text
        step = self.businesses[which].begin(DEPOSITS, BODIES[body][0], key=sent)
        self._expect(which, text, sent, body, step)

    @precondition(lambda self: self.flights)
    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        """Let the time of a request in flight come."""
        flight = self.flights.pop(data.draw(st.integers(0, len(self.flights) - 1)))
        step = self.businesses[flight.business].go_on(flight.step)
        if isinstance(flight.step, Delayed):
            self._ran(flight.business, flight.key, flight.body, flight.known, step)
        elif flight.known.answer is not None:
            self._same(step, flight.known.answer)
        else:
            self._expect(flight.business, flight.key, flight.sent, flight.body, step)

    @precondition(lambda self: any(isinstance(flight.step, Delayed) for flight in self.flights))
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        """Break a running request off before it has done anything."""
        running = [flight for flight in self.flights if isinstance(flight.step, Delayed)]
        flight = running[data.draw(st.integers(0, len(running) - 1))]
        self.flights.remove(flight)
        self.businesses[flight.business].pipeline.abandon(flight.step.call)
        self._forget(flight.business, flight.key, flight.known)

    @rule(which=st.integers(0, 1), by=st.sampled_from([1, HOUR, DAY - 1, DAY]))
    def advance(self, which: int, by: int) -> None:
        """Let time pass for one business."""
        self.businesses[which].advance(by)

    @invariant()
    def nothing_was_created_twice(self) -> None:
        """There are as many deposits as were processed with success."""
        for business, created in zip(self.businesses, self.created, strict=True):
            events = business.sandbox.journal.events.entries
            assert sum(event.type == "pay-in.created" for event in events) == created

    def _expect(self, which: int, text: str, sent: str, body: str, step: Step) -> None:
        # The reference: the contract's rules 3 to 6, one after the other.
        now = self.businesses[which].sandbox.now
        known = self.known[which].get(text)
        if known is not None and known.answer is not None and now - known.at >= DAY:
            known = None
        if known is None and body in BEFORE_THE_CLAIM:
            self._error(step, 400)
        elif known is None:
            known = Known(BODIES[body][1], now, _entry_id(step))
            self.known[which][text] = known
            if which == 1:
                assert isinstance(step, Delayed)
                self.flights.append(Flight(which, text, sent, body, step, known))
            else:
                self._ran(which, text, body, known, step)
        elif known.fingerprint != BODIES[body][1]:
            details = self._error(step, 409).get("details")
            assert details == {"original_request_id": known.request_id, "key": sent}
        elif known.answer is None:
            assert isinstance(step, Joined)
            self.flights.append(Flight(which, text, sent, body, step, known))
        else:
            self._same(step, known.answer)

    def _ran(self, which: int, text: str, body: str, known: Known, step: Step) -> None:
        status = BODIES[body][2]
        assert isinstance(step, Reply)
        assert step.status == status
        if status == 400:
            self._forget(which, text, known)
        else:
            known.answer = (status, step.body)
            self.created[which] += status == 200

    def _forget(self, which: int, text: str, known: Known) -> None:
        if self.known[which].get(text) is known:
            del self.known[which][text]

    def _same(self, step: Step, answer: tuple[int, bytes]) -> None:
        assert isinstance(step, Reply)
        assert (step.status, step.body) == answer

    def _error(self, step: Step, status: int) -> dict[str, Any]:
        assert isinstance(step, Reply)
        assert step.status == status
        assert error_code(step) == ("INVALID_INPUT" if status == 400 else "IDEMPOTENCY_CONFLICT")
        error: dict[str, Any] = json.loads(step.body)["error"]
        return error


def _entry_id(step: Step) -> str:
    return step.request_id if isinstance(step, Reply) else step.call.entry.id


Idempotency.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
# A name like a function's, since it is collected by that.
test_idempotency_is_the_references = Idempotency.TestCase
