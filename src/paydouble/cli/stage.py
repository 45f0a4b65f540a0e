"""Where `trigger` and `demo` play a scenario: a sandbox of a running server, and its timeline as things happen.

The merchant of a scenario calls `send`, `answered` and `wait` (the protocol `rehearsal.merchant.Stage`). A manual clock
is advanced from one due timer to the next; a real one is waited for. What happens meanwhile comes from the sandbox's
stream of server-sent events, which ends with a note of the clock once everything due has settled.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from paydouble.cli.remote import Box, Document, Refused
from paydouble.cli.terminal import Terminal
from paydouble.core.documents import load
from paydouble.core.durations import format_duration
from paydouble.core.errors import UsageError
from paydouble.core.instants import parse_instant, write_instant
from paydouble.core.json_text import loads
from paydouble.records import Attempt, DeliverySummary
from paydouble.rehearsal import Arrival
from paydouble.rehearsal.calls import Answer, Call, Response
from paydouble.rehearsal.rehearsing import call_row
from paydouble.scenarios.descriptions import payer_action
from paydouble.scenarios.play import PayerAction
from paydouble.timeline import MERCHANT, PAYER, Renderer, Row, attempt_row, delivery_row, money, resource_of

# Longer than a server under load takes to send what has happened already.
_PATIENCE_SECONDS: Final = 20.0
_GRAIN_MS: Final = 100
_SETTLE_SECONDS: Final = 0.05
_LONGEST_LOOK_SECONDS: Final = 1.0
# Longer pauses are announced.
_ANNOUNCE_SECONDS: Final = 3.0


class LiveStage:
    """A sandbox of a running server as a merchant's stage."""

    def __init__(self, box: Box, terminal: Terminal, show: Callable[[Row], None] | None = None) -> None:
        """Play in a sandbox, and print to a terminal; with `show` each row of the timeline is passed to it instead."""
        self._box = box
        self._out = terminal
        self._show = show or self._print
        self._stream = box.follow()
        self._ours: set[str] = set()
        """The order numbers and the ids of everything that belongs to them."""
        self._disputes: dict[str, str] = {}
        self._made: dict[str, int] = {}
        self._amounts: dict[str, str] = {}
        self._faults: dict[str, Document | None] = {}
        self._announced: int | None = None
        self._idle = False
        clock = box.control("GET", "/clock")
        self.mode: str = clock["mode"]
        self.rate = float(clock["rate"])
        self.now = self.began = parse_instant(clock["now"])
        self._renderer = Renderer(terminal, began=self.began)
        self.pending: int = clock["pending"]
        """Timers of other payments that were pending at the start."""
        self.arrivals: list[Arrival] = []
        """The webhooks that the receiver accepted."""
        self.events: list[Arrival] = []
        """All events, sent or not."""

    def since(self, at: int) -> int:
        """Return how long after its beginning something was, without the milliseconds by which a real clock is late."""
        return at - self.began - ((at - self.began) % _GRAIN_MS if self.mode == "real" else 0)

    def close(self) -> None:
        """Stop following the sandbox."""
        self._stream.close()

    # What a merchant acts on

    def send(self, call: Call) -> Response:
        """Make a call."""
        if call.operation == "deposit-creation":
            self._ours.add(loads(call.body)["external_identifier"])
        self._look()
        return self._box.call(call)

    def answered(self, answer: Answer) -> None:
        """Show the response to a call, and what the call caused."""
        if answer.data is not None and "id" in answer.data:
            self._ours.add(answer.data["id"])
        self._add(call_row(answer, self.now))
        if self.mode == "real":
            self._catch_up()
        else:
            self._advance(self.now)

    def wait(self, milliseconds: int) -> None:
        """Let the sandbox's time pass: move the clock, or wait for it."""
        acted = self.now
        due = self._look()
        # An automatic clock may have moved by itself since the merchant acted: the file counts from there.
        target = (acted if self.mode == "auto" else self.now) + milliseconds
        if self.mode == "real":
            while self.now < target:
                self._pause(target if due is None else min(due, target))
                due = self._look()
            self._catch_up()
            return
        while due is not None and due <= target:
            self._advance(due)
            due = self._look()
        self._advance(target)

    def latest_dispute(self, pay_in_id: str) -> str | None:
        """Return the id of the latest dispute of a pay-in."""
        return self._disputes.get(pay_in_id)

    def payer(self, pay_in_id: str, done: PayerAction) -> None:
        """Let the payer of a pay-in act, or show why the payer cannot."""
        self._look()
        try:
            self._box.control("POST", f"/pay-ins/{quote(pay_in_id, safe='')}/payer", done.model_dump(exclude_none=True))
            self._add(Row(self.now, PAYER, payer_action(done)))
        except Refused as refused:
            self._add(Row(self.now, PAYER, payer_action(done), str(refused), good=False))
        if self.mode == "real":
            self._catch_up()
        else:
            self._advance(self.now)

    def remark(self, text: str, *, good: bool | None = False) -> None:
        """Add a row about the merchant: what it could not do, or with another `good` what else is to be known."""
        self._add(Row(self.now, MERCHANT, text, good=good))

    def finish(self) -> None:
        """Wait until nothing is left to happen."""
        due = self._look()
        while due is not None or not self._idle:
            if self.mode == "real":
                self._pause(due)
            else:
                self._advance(self.now if due is None else due)
            due = self._look()
        self._catch_up()

    # Time

    def _look(self) -> int | None:
        """Read the clock; returns when the next timer is due."""
        clock = self._box.control("GET", "/clock")
        self.now = parse_instant(clock["now"])
        self._idle = bool(clock["idle"])
        return None if clock["next_due_at"] is None else parse_instant(clock["next_due_at"])

    def _advance(self, to: int) -> None:
        """Move the clock, and show what happened."""
        try:
            done = self._box.control("POST", "/clock/advance", {"to": write_instant(to)})
        except Refused:
            if self.mode == "manual":
                raise
            self._catch_up()  # an automatic clock has gone there by itself
            return
        self.now = parse_instant(done["now"])
        self._drain(_PATIENCE_SECONDS, until=self.now)

    def _pause(self, due: int | None) -> None:
        """Wait on a real clock for what is due, and say so when it is long."""
        seconds = _LONGEST_LOOK_SECONDS if due is None else max(0, due - self.now) / 1000 / self.rate
        if due is not None and seconds >= _ANNOUNCE_SECONDS and due != self._announced:
            self._announced = due
            self._drain(_SETTLE_SECONDS)  # show what has happened before
            at = f"at {format_duration(self.since(due))}"
            self._out.say(self._out.dim(f"  the next thing is due {at}, in {seconds:.0f} s; Ctrl-C leaves it there"))
        self._drain(min(seconds + 0.01, _LONGEST_LOOK_SECONDS))

    # The stream

    def _drain(self, seconds: float, until: int | None = None) -> None:
        """Show what comes within some seconds of real time; with `until` stop once the clock has reached an instant."""
        end = time.monotonic() + seconds
        while (note := self._stream.take(end - time.monotonic())) is not None:
            self._note(*note)
            kind, document = note
            if kind == "clock" and until is not None and parse_instant(document["now"]) >= until:
                return
        if until is not None:
            raise UsageError("the server has moved its clock, but its stream does not report it")

    def _catch_up(self) -> None:
        """Show everything that has happened by now: the stream can be behind what a call has answered."""
        newest, end = self._box.newest(), time.monotonic() + _PATIENCE_SECONDS
        while self._stream.seen < newest:
            note = self._stream.take(end - time.monotonic())
            if note is None:
                raise UsageError("something has happened in the sandbox, but the server's stream does not report it")
            self._note(*note)

    def _note(self, kind: str, document: Document) -> None:
        if kind == "event":
            self._event(document)
        elif kind == "attempt" and document["object_id"] in self._ours:
            self._attempt(document)
        elif kind == "delivery" and document["object_id"] in self._ours:
            self._delivery(document)
        elif kind == "gap":
            evicted = f"  {document['evicted']} notes of the server were evicted before they could be read"
            self._out.say(self._out.dim(evicted))

    def _event(self, event: Document) -> None:
        body = _bytes(event["body"])
        resource = resource_of(body)
        links = (resource.get("id"), resource.get("payin_id"), resource.get("external_identifier"))
        if not self._ours.intersection(link for link in links if link is not None):
            return
        self._ours.add(event["object_id"])
        at = self._made[event["id"]] = parse_instant(event["created_at"])
        if event["type"] == "dispute.created":
            self._disputes[resource.get("payin_id", "")] = event["object_id"]
        self._amounts[event["id"]] = money(resource)
        self.events.append(Arrival(at, event["type"], (), body))

    def _attempt(self, delivery: Document) -> None:
        attempt = load(Attempt, delivery["attempt"])
        row = attempt_row(load(DeliverySummary, delivery), attempt, self._amount(delivery), self._fault)
        if row.good:
            self.arrivals.append(Arrival(row.at, delivery["event_type"], (), attempt.body))
        self._add(row)

    def _delivery(self, delivery: Document) -> None:
        if delivery["status"] in {"held", "dropped", "no_endpoint"}:
            at = self._made.get(delivery["event_id"], self.now)
            self._add(delivery_row(load(DeliverySummary, delivery), at, self._amount(delivery), self._fault))

    def _amount(self, delivery: Document) -> str:
        return self._amounts.get(delivery["event_id"], "")

    def _fault(self, fault_id: str) -> Document | None:
        """Return the declaration of a fault, asked for once; None when there is no such fault any more."""
        if fault_id not in self._faults:
            try:
                self._faults[fault_id] = self._box.control("GET", f"/faults/{quote(fault_id, safe='')}")
            except Refused:
                self._faults[fault_id] = None
        return self._faults[fault_id]

    def _add(self, row: Row) -> None:
        self._show(replace(row, at=self.began + self.since(row.at)))

    def _print(self, row: Row) -> None:
        for line in self._renderer.lines(row):
            self._out.say(line)


def _bytes(shown: str | Document) -> bytes:
    """Return the bytes of a body that the control API shows as text or as base64."""
    return shown.encode() if isinstance(shown, str) else base64.b64decode(shown["base64"])
