"""One rehearsal: the merchant, the service and a receiver that accepts everything, in one thread and without waiting.

Nothing depends on the time or the machine, so two rehearsals of a scenario with the same seed are the same to the byte.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, assert_never
from uuid import UUID

from paydouble.api.values import Reply
from paydouble.core.errors import ApiError
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.wire import Lost, TimedOut, client_outcome
from paydouble.feed import Note
from paydouble.inprocess import START_MS, InProcess, Webhook
from paydouble.payments.resources import Dispute, PayIn
from paydouble.records import attempt_of, summary_of
from paydouble.rehearsal.calls import Answer, Call, Response
from paydouble.rehearsal.merchant import Merchant
from paydouble.sandbox import Sandbox
from paydouble.scenarios.descriptions import payer_action
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Case, PayerAction
from paydouble.timeline import CALL, MERCHANT, PAYER, Row, attempt_row, delivery_row, faults_of, money, resource_of

MOST_TIMERS: Final = 20_000
"""After so many timers a scenario counts as endless."""


@dataclass(slots=True, frozen=True)
class Arrival:
    """One webhook as the receiver got it."""

    at: int
    type: str
    """The type of the event, even if a fault changed the body."""
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(slots=True, frozen=True)
class Rehearsal:
    """The result of a rehearsal."""

    arrivals: tuple[Arrival, ...]
    answers: tuple[Answer, ...]
    timeline: tuple[Row, ...]
    idle: bool
    """Whether the scenario came to its end."""
    began: int
    ended: int
    sandbox: Sandbox
    """As it was at the end."""

    def record(self) -> tuple[object, ...]:
        """Return everything that must be the same in a second rehearsal."""
        answers = [(answer.call, answer.status, answer.data, answer.message) for answer in self.answers]
        return self.arrivals, answers, self.timeline, self.idle, self.ended


def rehearse(scenario: Scenario, *, seed: int = 0, case: Case | None = None) -> Rehearsal:
    """Play a scenario, or one of its cases, on a manual clock until nothing is left to happen.

    `UsageError` for a scenario that goes on after the year 9998.
    """
    stage = _Rehearsing(scenario, seed)
    randomness = SeededRandom(seed)
    merchant = Merchant(stage, scenario, case, make_key=lambda number: _key(randomness, scenario.name, number))
    merchant.act()
    stage.double.advance(limit=MOST_TIMERS)
    box = stage.double.sandbox
    return Rehearsal(
        tuple(stage.arrivals), tuple(merchant.answers), tuple(stage.timeline), box.idle, START_MS, box.now, box
    )


class _Rehearsing:
    """The stage, without sockets."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.arrivals: list[Arrival] = []
        self.timeline: list[Row] = []
        self.double = InProcess(seed=seed, receiver=self._receive)
        box = self.double.sandbox
        box.upload_scenario(scenario)
        box.activate_scenario(scenario.name)
        self._seen = box.feed.sequence
        box.feed.listen(self._note)

    def send(self, call: Call) -> Response:
        return response_of(self.double.handle(self.double.request(call.method, call.path, call.body, key=call.key)))

    def answered(self, answer: Answer) -> None:
        self.timeline.append(call_row(answer, self.double.sandbox.now))
        self.double.deliver()

    def wait(self, milliseconds: int) -> None:
        self.double.advance(by=milliseconds)

    def latest_dispute(self, pay_in_id: str) -> str | None:
        newest = self.double.sandbox.ledger.newest_first(Dispute)
        return next((dispute.id for dispute in newest if dispute.payin_id == pay_in_id), None)

    def payer(self, pay_in_id: str, done: PayerAction) -> None:
        box = self.double.sandbox
        try:
            box.payer_acts(box.ledger.get(PayIn, pay_in_id), done)
            self.timeline.append(Row(box.now, PAYER, payer_action(done)))
        except ApiError as error:
            self.timeline.append(Row(box.now, PAYER, payer_action(done), error.message, good=False))
        self.double.deliver()

    def remark(self, text: str) -> None:
        self.timeline.append(Row(self.double.sandbox.now, MERCHANT, text, good=False))

    def _receive(self, webhook: Webhook) -> int:
        kind = webhook.delivery.event.type
        self.arrivals.append(Arrival(self.double.sandbox.now, kind, webhook.headers, webhook.body))
        return 200

    def _note(self) -> None:
        box = self.double.sandbox
        for note in box.feed.since(self._seen)[0]:
            self._seen = note.sequence
            self.timeline.extend(_rows(note, box))


def _rows(note: Note, box: Sandbox) -> list[Row]:
    """Return what of the sandbox's feed belongs into a timeline; requests are shown as the merchant's calls."""
    find = faults_of(box)
    match note.kind:
        case "attempt":
            about = money(resource_of(note.record.event.body))
            row = attempt_row(summary_of(note.record), attempt_of(note.detail), about, find)
            return [replace(row, at=box.now, latency_ms=None)]
        case "delivery" if note.record.status in {"held", "dropped"}:
            return [delivery_row(summary_of(note.record), box.now, money(resource_of(note.record.event.body)), find)]
        case "delivery" | "request" | "event" | "clock" | "fault" | "reset":
            return []
        case _:
            assert_never(note.kind)


def call_row(answer: Answer, at: int) -> Row:
    """Return a call and what it got as a row of a timeline."""
    call = answer.call
    result = f"{answer.status} {answer.summary}".rstrip()
    return Row(at, CALL, f"{call.operation} {call.about}".rstrip(), result, answer.good)


def response_of(reply: Reply) -> Response:
    """Return what a client without a timeout gets of a reply, which a fault may break."""
    outcome = client_outcome(reply.body, reply.wire)
    if isinstance(outcome, TimedOut):
        return Response(None, why="silence")
    if isinstance(outcome, Lost):
        return Response(None, why=outcome.how)
    return Response(reply.status, outcome.body)


def _key(randomness: SeededRandom, name: str, number: int) -> str:
    """Return the idempotency key of a merchant's n-th operation: a UUID v4 that follows from the seed."""
    return str(UUID(bytes=randomness.digest("rehearsal-key", name, number)[:16], version=4))
