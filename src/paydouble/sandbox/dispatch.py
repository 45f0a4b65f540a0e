"""From an event to its deliveries, with whatever the faults of the moment do to them.

An event may leave late, be held, dropped, copied, or gathered with others and leave in another order. Whatever is asked
for ends: a gathering goes when it is full or its patience ends, so no event is lost in one.
"""

from __future__ import annotations

from dataclasses import dataclass

from paydouble.core.ids import Ids
from paydouble.core.timers import Timers
from paydouble.faults.bodies import with_new_id
from paydouble.faults.mischief import Copies, EventPlan, Gathering
from paydouble.payments.events import Event
from paydouble.sandbox.commands import Command, EndGathering, MakeAttempt, PostCopies
from paydouble.webhooks.deliveries import Delivery, Outbox

# The subject of a timer that waits for no delivery of its own.
_GATHERING = "gathering:"


@dataclass(slots=True)
class _Gathered:
    spec: Gathering
    deliveries: list[Delivery]


class Dispatch:
    """Puts events into an outbox."""

    __slots__ = ("_gathered", "_ids", "_outbox", "_timers")

    def __init__(self, outbox: Outbox, timers: Timers[Command], ids: Ids) -> None:
        """Work on a sandbox's outbox, timers and identifiers."""
        self._ids = ids
        self._outbox = outbox
        self._timers = timers
        self._gathered: dict[str, _Gathered] = {}

    def move(self, timers: Timers[Command], ids: Ids) -> None:
        """Go on with other timers and identifiers, after a reset of the state."""
        self._timers = timers
        self._ids = ids

    def clear(self) -> None:
        """Forget every gathering."""
        self._gathered.clear()

    def post(  # noqa: PLR0913 - what a delivery is made of
        self,
        event: Event,
        *,
        target: str | None,
        follows_sandbox: bool,
        now: int,
        delay: int = 0,
        plan: EventPlan | None = None,
    ) -> Delivery:
        """Make the deliveries of an event, the first attempt `delay` from now; returns the event's own."""
        outbox = self._outbox
        if plan is None or target is None:
            delivery = outbox.post(event, target=target, follows_sandbox=follows_sandbox, now=now, delay=delay)
            if delay and target is not None:
                self._later(delivery, now + delay)
            return delivery
        delivery = outbox.post(event, target=target, follows_sandbox=follows_sandbox, now=now, queued=False)
        delivery.faults.extend(plan.fired)
        delivery.offsets = plan.offsets
        delivery.most_attempts = plan.attempts
        if plan.drop:
            outbox.finish(delivery, "dropped")
        elif plan.hold:
            outbox.withdraw(delivery)
        elif plan.gathering is not None:
            self._gather(delivery, plan.gathering, now)
        elif delay + plan.delay_ms:
            self._later(delivery, now + delay + plan.delay_ms)
        else:
            outbox.enqueue(delivery)
        for copies in plan.copies:
            if copies.after_success:
                delivery.copies_after_success.append(copies)
            else:
                self._copy(delivery, copies, now)
        return delivery

    def succeeded(self, delivery: Delivery, now: int) -> None:
        """Send the copies that were to come after a delivery was taken."""
        for copies in delivery.copies_after_success:
            self._copy(delivery, copies, now)
        delivery.copies_after_success.clear()

    def release(self, delivery: Delivery, now: int) -> None:
        """Let a held delivery go, now."""
        delivery.status = "waiting"
        delivery.next_due_at = delivery.first_due_at = now
        for gathered in self._gathered.values():
            if delivery in gathered.deliveries:
                gathered.deliveries.remove(delivery)
        self._outbox.enqueue(delivery)

    def end_gathering(self, key: str, now: int) -> None:
        """Let a window go, in its order, full or not."""
        gathered = self._gathered.pop(key, None)
        if gathered is None:
            return
        self._timers.cancel_subject(_GATHERING + key)
        waiting = [delivery for delivery in gathered.deliveries if delivery.status == "held"]
        for place in gathered.spec.arrange(len(waiting)):
            delivery = waiting[place]
            delivery.status = "waiting"
            delivery.next_due_at = delivery.first_due_at = now
            self._outbox.enqueue(delivery)

    def post_copies(self, command: PostCopies, now: int) -> None:
        """Send one copy whose time has come."""
        original = self._outbox.deliveries.get(command.delivery_id)
        if original is not None:
            self._post_copy(original, command.number, now, concurrent=command.concurrent, new_id=command.new_id)

    def _gather(self, delivery: Delivery, spec: Gathering, now: int) -> None:
        key = f"{spec.fault_id}/{delivery.event.object_id if spec.each_object else ''}"
        gathered = self._gathered.get(key)
        if gathered is None:
            gathered = self._gathered[key] = _Gathered(spec, [])
            self._timers.schedule(now + spec.patience_ms, EndGathering(key), _GATHERING + key)
        self._outbox.withdraw(delivery)
        gathered.deliveries.append(delivery)
        if len(gathered.deliveries) >= spec.window:
            self.end_gathering(key, now)

    def _later(self, delivery: Delivery, due: int) -> None:
        delivery.next_due_at = delivery.first_due_at = due
        self._timers.schedule(due, MakeAttempt(delivery.id), delivery.id)

    def _copy(self, delivery: Delivery, copies: Copies, now: int) -> None:
        for number in range(1, copies.count + 1):
            due = now + copies.spacing_ms * number
            command = PostCopies(delivery.id, number, copies.concurrent, copies.new_id)
            if due > now:
                self._timers.schedule(due, command, delivery.id + "/copy")
            else:
                self.post_copies(command, now)

    def _post_copy(self, original: Delivery, number: int, now: int, *, concurrent: bool, new_id: bool) -> None:
        event = original.event
        if new_id:
            copied = self._ids.derive("evt", event.id, number)
            event = event._replace(id=copied, body=with_new_id(event.body, event.id, copied))
        copy = self._outbox.post(
            event,
            target=original.target,
            follows_sandbox=original.follows_sandbox,
            now=now,
            queued=False,
            suffix=f".{number}",
            lane=f"#{number}" if concurrent else "",
        )
        copy.faults.extend(original.faults)
        self._outbox.enqueue(copy)
