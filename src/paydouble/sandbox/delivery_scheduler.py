"""From an event to its deliveries, with whatever the faults of the moment do to them.

An event may leave late, be held, dropped, copied, or gathered with others and leave in another order. Whatever is asked
for ends: a gathering goes when it is full or its patience ends, so no event is lost in one. Asked for more than one of
these, an event is dropped rather than held, held rather than gathered, and gathered rather than delayed; its copies go
their own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paydouble.core.ids import Ids
from paydouble.core.timers import Timers
from paydouble.faults.bodies import with_new_id
from paydouble.faults.webhook_plans import Copies, EventPlan, Gathering
from paydouble.payments.events import Event
from paydouble.sandbox.commands import Command, EndGathering, MakeAttempt
from paydouble.webhooks.deliveries import Delivery, Outbox

# The subject of a timer that waits for no delivery of its own.
_GATHERING = "gathering:"


@dataclass(slots=True)
class _Gathered:
    spec: Gathering
    deliveries: list[Delivery]


class DeliveryScheduler:
    """Puts events into an outbox."""

    __slots__ = ("_gathered", "_ids", "_outbox", "_tell", "_timers")

    def __init__(self, outbox: Outbox, timers: Timers[Command], ids: Ids, tell: Callable[[Delivery], None]) -> None:
        """Work on a sandbox's outbox, timers and identifiers, and tell of each copy and each event let go."""
        self._ids = ids
        self._outbox = outbox
        self._timers = timers
        self._tell = tell
        self._gathered: dict[str, _Gathered] = {}

    def move(self, timers: Timers[Command], ids: Ids) -> None:
        """Go on with other timers and identifiers, after a reset of the state."""
        self._timers = timers
        self._ids = ids

    def clear(self) -> None:
        """Forget every gathering."""
        self._gathered.clear()

    def schedule(  # noqa: PLR0913 - what a delivery is made of
        self,
        event: Event,
        *,
        target: str,
        follows_sandbox: bool,
        now: int,
        delay: int = 0,
        plan: EventPlan | None = None,
    ) -> Delivery:
        """Make the deliveries of an event, the first attempt `delay` from now; returns the event's own."""
        outbox = self._outbox
        if plan is None:
            delivery = outbox.create(event, target=target, follows_sandbox=follows_sandbox, now=now, delay=delay)
            if delay:
                self._send(delivery, now, now + delay)
            return delivery
        delivery = outbox.create(event, target=target, follows_sandbox=follows_sandbox, now=now, queued=False)
        delivery.faults += tuple(plan.fired)
        delivery.offsets = plan.offsets
        delivery.most_attempts = plan.attempts
        due = now + delay + plan.delay_ms
        if plan.drop:
            outbox.finish(delivery, "dropped")
        elif plan.hold:
            outbox.withdraw(delivery)
        elif plan.gathering is not None:
            self._gather(delivery, plan.gathering, now)
        else:
            self._send(delivery, now, due)
        for copies in plan.copies:
            if copies.after_success:
                delivery.copies_after_success += (copies,)
            else:
                self._copy(delivery, copies, now, due)
        return delivery

    def succeeded(self, delivery: Delivery, now: int) -> None:
        """Send the copies that were to come after a delivery was taken."""
        for copies in delivery.copies_after_success:
            self._copy(delivery, copies, now, now)
        delivery.copies_after_success = ()

    def hold(self, delivery: Delivery) -> None:
        """Keep a delivery back until it is released by hand, also from a window in which it waits."""
        self.cancel(delivery)
        self._outbox.withdraw(delivery)

    def cancel(self, delivery: Delivery) -> None:
        """Take a delivery off the clock, and out of the window in which it waits."""
        self._forget(delivery)
        self._timers.cancel_subject(delivery.id)

    def release(self, delivery: Delivery, now: int) -> None:
        """Let a held delivery go, now; if its attempt is still on its way, only go on after that one."""
        self._forget(delivery)
        delivery.status = "waiting"
        if self._outbox.in_flight(delivery):
            delivery.next_due_at = delivery.attempts[-1].due_at
        else:
            self._send(delivery, now, now)

    def end_gathering(self, key: str, now: int) -> None:
        """Let a window go, in its order, full or not."""
        gathered = self._gathered.pop(key)
        self._timers.cancel_subject(_GATHERING + key)
        # One that has lost its endpoint meanwhile is held no more.
        waiting = [delivery for delivery in gathered.deliveries if delivery.status == "held"]
        for place in gathered.spec.arrange(len(waiting)):
            delivery = waiting[place]
            delivery.status = "waiting"
            self._send(delivery, now, now)
            self._tell(delivery)

    def _forget(self, delivery: Delivery) -> None:
        """Take a delivery out of the window in which it waits, if it waits in one."""
        for key, gathered in self._gathered.items():
            if delivery in gathered.deliveries:
                gathered.deliveries.remove(delivery)
                if not gathered.deliveries:
                    del self._gathered[key]
                    self._timers.cancel_subject(_GATHERING + key)
                return

    def _gather(self, delivery: Delivery, spec: Gathering, now: int) -> None:
        key = f"{spec.fault_id}/{delivery.event.object_id if spec.each_object else ''}"
        gathered = self._gathered.get(key)
        if gathered is None:
            gathered = self._gathered[key] = _Gathered(spec, [])
            self._timers.schedule(now + spec.patience_ms, EndGathering(key), _GATHERING + key)
        self._outbox.withdraw(delivery)
        gathered.deliveries.append(delivery)
        if len(gathered.deliveries) >= gathered.spec.window:
            self.end_gathering(key, now)

    def _send(self, delivery: Delivery, now: int, due: int) -> None:
        delivery.next_due_at = due
        if not delivery.attempts:
            delivery.first_due_at = due
        if due > now:
            self._timers.schedule(due, MakeAttempt(delivery.id), delivery.id)
        else:
            self._outbox.enqueue(delivery)

    def _copy(self, original: Delivery, copies: Copies, now: int, first: int) -> None:
        for place in range(1, copies.count + 1):
            original.copies += 1  # counted over all faults, so that no two copies have one id
            number = original.copies
            event = original.event
            if copies.new_id:
                copied = self._ids.derive("evt", event.id, number)
                event = event._replace(id=copied, body=with_new_id(event.body, event.id, copied))
            copy = self._outbox.create(
                event,
                target=original.target,
                follows_sandbox=original.follows_sandbox,
                now=now,
                queued=False,
                suffix=f".{number}",
                queue=f"#{number}" if copies.concurrent else "",
            )
            copy.faults += original.faults
            copy.offsets = original.offsets
            copy.most_attempts = original.most_attempts
            self._send(copy, now, first + copies.spacing_ms * place)
            self._tell(copy)
