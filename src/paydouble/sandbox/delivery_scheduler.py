"""From an event to its deliveries: what is sent, when, how often, and in which order.

An event becomes one delivery, and one more for each copy that a fault asks for. An `EventPlan` says what faults do to
the event; the first of these branches that applies decides about the event's own delivery:

    event ─┬─ drop ────► finished as `dropped`, never sent
           ├─ hold ────► `held` until a test releases it
           ├─ reorder ─► `held` in a window ── full, or `max_wait_ms` is over ──┐
           └─ else ──────────────── after the delay ────────────────────────────┴──► outbox queue ──► attempts

Copies are sent in each of these cases, `spacing_ms` apart: after the time at which the event is due, or after its
delivery has succeeded. The id of a copy ends with its number, which counts the copies of all faults. A copy that is to
arrive concurrently has its own queue.

A delayed delivery has a `MakeAttempt` timer. A window has a `CloseWindow` timer, so each delivery in it is sent at some
time. A window belongs to one fault, and to one object unless the fault reorders the events of all objects together.

A delivery may leave its window early: a test may hold it, release it or send it again, or it may lose its endpoint.
Therefore `cancel` also takes a delivery out of its window, and a window that closes sends only what is still held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paydouble.core.ids import Ids
from paydouble.core.timers import Timers
from paydouble.faults.bodies import with_new_id
from paydouble.faults.plans import Copies, EventPlan, Reordering
from paydouble.payments.events import Event
from paydouble.sandbox.commands import CloseWindow, Command, MakeAttempt
from paydouble.webhooks.deliveries import Delivery, Outbox

# The subject of a window's timer begins with this, so that it is not the id of a delivery.
_WINDOW = "window:"


@dataclass(slots=True)
class _Window:
    spec: Reordering
    deliveries: list[Delivery]


class DeliveryScheduler:
    """Makes the deliveries of events and puts them into an outbox when they are due."""

    __slots__ = ("_ids", "_note", "_outbox", "_timers", "_windows")

    def __init__(self, outbox: Outbox, timers: Timers[Command], ids: Ids, note: Callable[[Delivery], None]) -> None:
        """Work on a sandbox's outbox, timers and ids; `note` is called for each copy and each delivery of a window."""
        self._ids = ids
        self._outbox = outbox
        self._timers = timers
        self._note = note
        self._windows: dict[str, _Window] = {}

    def move(self, timers: Timers[Command], ids: Ids) -> None:
        """Use other timers and ids from now on, after a reset of the state."""
        self._timers = timers
        self._ids = ids

    def clear(self) -> None:
        """Forget every window."""
        self._windows.clear()

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
        """Make the deliveries of an event, due `delay` milliseconds from now; returns the delivery that is not a copy.

        `follows_sandbox` says whether the delivery moves with the sandbox's notification URL.
        """
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
        elif plan.reordering is not None:
            self._add_to_window(delivery, plan.reordering, now)
        else:
            self._send(delivery, now, due)
        for copies in plan.copies:
            if copies.after_success:
                delivery.copies_after_success += (copies,)
            else:
                self._copy(delivery, copies, now, due)
        return delivery

    def succeeded(self, delivery: Delivery, now: int) -> None:
        """Send the copies that faults have asked for after a success."""
        for copies in delivery.copies_after_success:
            self._copy(delivery, copies, now, now)
        delivery.copies_after_success = ()

    def hold(self, delivery: Delivery) -> None:
        """Hold a delivery until it is released by hand; if it waits in a window, take it out."""
        self.cancel(delivery)
        self._outbox.withdraw(delivery)

    def cancel(self, delivery: Delivery) -> None:
        """Cancel the timer of a delivery, and take it out of the window that it waits in."""
        self._leave_window(delivery)
        self._timers.cancel_subject(delivery.id)

    def release(self, delivery: Delivery, now: int) -> None:
        """Send a held delivery now; if an attempt of it is in flight, only its retries go on after that attempt."""
        self._leave_window(delivery)
        delivery.status = "waiting"
        if self._outbox.in_flight(delivery):
            delivery.next_due_at = delivery.attempts[-1].due_at
        else:
            self._send(delivery, now, now)

    def close_window(self, key: str, now: int) -> None:
        """Send the deliveries of a window in the order that its fault asks for, whether it is full or not."""
        window = self._windows.pop(key)
        self._timers.cancel_subject(_WINDOW + key)
        # A delivery whose endpoint was removed in the meantime is no longer held.
        waiting = [delivery for delivery in window.deliveries if delivery.status == "held"]
        for place in window.spec.arrange(len(waiting)):
            delivery = waiting[place]
            delivery.status = "waiting"
            self._send(delivery, now, now)
            self._note(delivery)

    def _leave_window(self, delivery: Delivery) -> None:
        """Take a delivery out of the window that it waits in, if there is one."""
        for key, window in self._windows.items():
            if delivery in window.deliveries:
                window.deliveries.remove(delivery)
                if not window.deliveries:
                    del self._windows[key]
                    self._timers.cancel_subject(_WINDOW + key)
                return

    def _add_to_window(self, delivery: Delivery, spec: Reordering, now: int) -> None:
        key = f"{spec.fault_id}/{delivery.event.object_id if spec.each_object else ''}"
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(spec, [])
            self._timers.schedule(now + spec.max_wait_ms, CloseWindow(key), _WINDOW + key)
        self._outbox.withdraw(delivery)
        window.deliveries.append(delivery)
        if len(window.deliveries) >= window.spec.window:
            self.close_window(key, now)

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
            original.copies += 1  # counted over all faults, so that no two copies have the same id
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
            self._note(copy)
