"""The outbox: which deliveries are sent, in which order, and when they are retried. It never touches a socket.

A **delivery** is one event on its way to one endpoint (a URL). An **attempt** is one POST of it: the event's frozen
bytes, with a signature made at that moment. The shell asks `next_attempt` for an attempt, posts it, and hands the
outcome to `settle`, which returns the due time of the next attempt, or None. The caller sets a timer for that time and
calls `enqueue` when the timer fires.

**Status.** `waiting` and `held` are open; the others are settled:

                     ┌────────────────────────── redeliver ───────────────────────────┐
                     ▼                                                                │
    event ──┬───► waiting ───┬── last attempt of the schedule failed ─► exhausted ────┤
            │     │    ▲     └── 2xx ────────────────────────────┬────► delivered ────┤
            │    hold  release                                   │                    │
            │     ▼    │                                         │                    │
            ├───► held ───────── 2xx of an attempt in flight ────┘                    │
            ├─── fault `drop` ────────────────────────────────────────► dropped ──────┤
            └─── no URL, or the URL is removed while it is open ──────► no_endpoint ──┘

Faults can hold an event from the start: `hold` until a call releases it, `reorder` until its window ends. A delivery
can be held, or lose its URL, while an attempt of it is in flight. If that attempt succeeds, it is delivered; if it
fails, the delivery stays held, or ends as `no_endpoint`. Redelivery sends an open delivery now, and makes a single
attempt for a settled one. When that fails, the delivery returns to its former status (from `no_endpoint` to
`exhausted`).

**Queue.** Each endpoint has one, first in, first out. A delivery enters it when it is due, so first attempts are in the
order of their events. A failed attempt blocks nothing: its retry waits for its due time outside the queue and then
enters at the end (assumptions, "Webhooks", Order). The caller says how many attempts of an endpoint may be in flight.
With one, events are sent in order. With more, they are in order for each object: the next event of an object is sent
when the attempt of the previous one has ended. Concurrent copies of an event have queues of their own.

**Retry schedule.** `WebhookSettings.offsets`, or the delivery's own `offsets`: for each attempt, the milliseconds from
the event to its due time. Each due time is computed from the previous one, so a slow answer does not move the schedule.

**Limits.** At most `limit` deliveries are kept. Beyond it the oldest settled one is evicted and counted; an open one is
never evicted. `sandbox/trimming.py` calls `evict` and `Attempt.strip` to stay within the journals' bytes. A delivery
has no more attempts than its schedule, plus one for each redelivery. An event without a URL is kept as `Unsent`, and
its delivery is only made when it is read, which few tests do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple, get_args

from paydouble.config import WebhookSettings
from paydouble.faults.plans import AttemptPlan, Copies
from paydouble.payments.events import Event
from paydouble.webhooks.attempts import PLAIN, Transport, sign_attempt, transport

DeliveryStatus = Literal["waiting", "held", "delivered", "exhausted", "dropped", "no_endpoint"]
DELIVERY_STATUSES = get_args(DeliveryStatus)
SETTLED = frozenset(DELIVERY_STATUSES) - {"waiting", "held"}


class AttemptError(NamedTuple):
    """Why there was no answer: a kind that never changes (`refused`, `timeout`, `reset`, `tls`, …) and a sentence."""

    kind: str
    message: str


class Outcome(NamedTuple):
    """The result of an attempt: a status, or an error. Times are wall time in milliseconds."""

    sent_at: int
    latency_ms: float
    status: int | None = None
    error: AttemptError | None = None
    response_body: bytes = b""
    response_headers: tuple[tuple[str, str], ...] = ()
    """As they arrived, as far as they are kept."""

    @property
    def size(self) -> int:
        """Return how many bytes of the receiver's answer are kept."""
        return len(self.response_body) + sum(len(name) + len(value) for name, value in self.response_headers)

    @property
    def succeeded(self) -> bool:
        """Return whether the receiver accepted the event: 2xx (contract section 6, delivery rule 2)."""
        return self.error is None and self.status is not None and 200 <= self.status < 300  # noqa: PLR2004 - HTTP


@dataclass(slots=True)
class Attempt:
    """One POST. `due_at` is on the sandbox's clock; `signed_at` is the signature's `t`, in seconds."""

    number: int
    due_at: int
    url: str
    signed_at: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    outcome: Outcome | None = None
    transport: Transport = PLAIN
    faults: tuple[str, ...] = ()
    sequence: int = 0
    """Its number among the requests, events and attempts of its sandbox, given when it is sent."""
    evicted: bool = False
    """Whether `strip` has removed its own bytes, because the journals had no room for them."""

    def own_bytes(self, event: Event) -> int:
        """Return how many bytes it keeps besides those that it shares with its event."""
        answer = 0 if self.outcome is None else self.outcome.size
        return answer + (0 if self.body is event.body else len(self.body))

    def strip(self, event: Event) -> None:
        """Remove the bytes that `own_bytes` counts."""
        self.evicted = True
        self.body = self.body if self.body is event.body else b""
        self.outcome = self.outcome and self.outcome._replace(response_body=b"", response_headers=())


@dataclass(slots=True, eq=False)
class Delivery:
    """One event on its way to one endpoint."""

    id: str
    event: Event
    target: str | None
    follows_sandbox: bool
    """Whether the target is the sandbox's notification URL, and changes with it."""
    first_due_at: int
    next_due_at: int | None
    status: DeliveryStatus = "waiting"
    attempts: tuple[Attempt, ...] = ()
    queue: str = ""
    """Suffix of the queue's name; concurrent copies have one, so that each has a queue of its own."""
    faults: tuple[str, ...] = ()
    offsets: tuple[int, ...] | None = None
    """Its own retry schedule (milliseconds after the event), or None for the sandbox's."""
    most_attempts: int | None = None
    """The largest number of attempts if it is below the schedule's, or None."""
    copies_after_success: tuple[Copies, ...] = ()
    copies: int = 0
    """The number of copies made so far."""
    resent_from: DeliveryStatus | None = None
    """The status before its redelivery, to which it returns if that attempt fails."""

    @property
    def endpoint(self) -> str:
        """Return the name of its queue."""
        return f"{self.target}{self.queue}"

    @property
    def note_kind(self) -> Literal["delivery"]:
        """Return the kind of its note in the feed."""
        return "delivery"

    def noted(self) -> Delivery:
        """Return the record of its note: the delivery."""
        return self

    @property
    def settled(self) -> bool:
        """Return whether it will not be sent again without a call."""
        return self.status in SETTLED


class Unsent:
    """An event without an endpoint; its delivery is only made when it is read."""

    __slots__ = ("_due", "_made", "event")

    def __init__(self, event: Event, due: int) -> None:
        """Take an event, and the instant at which it would have been due."""
        self.event = event
        self._due = due
        self._made: Delivery | None = None

    def delivery(self) -> Delivery:
        """Return its delivery, the same on each call, even after the outbox has evicted it."""
        made = self._made
        if made is None:
            self._made = made = Delivery(
                f"dlv_{self.event.id[4:]}",
                self.event,
                target=None,
                follows_sandbox=True,
                first_due_at=self._due,
                next_due_at=None,
                status=self.status,
            )
        return made

    @property
    def status(self) -> Literal["no_endpoint"]:
        """Return the state of its delivery."""
        return "no_endpoint"

    @property
    def note_kind(self) -> Literal["delivery"]:
        """Return the kind of its note in the feed."""
        return "delivery"

    def noted(self) -> Delivery:
        """Return the record of its note: its delivery, made now if it has not been."""
        return self.delivery()


@dataclass(slots=True)
class Secrets:
    """The webhook secret and, during the grace period of a rotation, the previous one."""

    current: str
    previous: str | None = None
    previous_until: int = 0

    def at(self, now: int) -> tuple[str, ...]:
        """Return the secrets to sign with at an instant, the current one first."""
        if self.previous is not None and now < self.previous_until:
            return (self.current, self.previous)
        return (self.current,)

    def replace(self, new: str) -> None:
        """Set the secret without a grace period."""
        self.current, self.previous = new, None

    def rotate(self, new: str, now: int, grace: int) -> None:
        """Make a new secret current; webhooks are signed with the old one too for `grace` milliseconds."""
        self.previous, self.previous_until = (self.current, now + grace) if grace else (None, 0)
        self.current = new


class _Queue:
    """The due deliveries of one endpoint, and those in flight."""

    __slots__ = ("_blocked", "_waiting", "in_flight")

    def __init__(self) -> None:
        self._waiting: deque[Delivery] = deque()
        self._blocked: dict[str, deque[Delivery]] = {}
        """By object: deliveries that were first in the queue while another one of their object was in flight. They
        are older than all in `_waiting`."""
        self.in_flight: dict[str, Delivery] = {}
        """By object: the delivery in flight."""

    def __contains__(self, delivery: Delivery) -> bool:
        return delivery in self._waiting or delivery in self._blocked.get(delivery.event.object_id, ())

    def __iter__(self) -> Iterator[Delivery]:
        return chain(*self._blocked.values(), self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting or self._blocked or self.in_flight)

    def add(self, delivery: Delivery) -> None:
        self._waiting.append(delivery)

    def remove(self, delivery: Delivery) -> None:
        if delivery in self._waiting:
            self._waiting.remove(delivery)
        else:
            object_id = delivery.event.object_id
            self._blocked[object_id].remove(delivery)
            if not self._blocked[object_id]:
                del self._blocked[object_id]

    def ready(self, most: int) -> bool:
        """Return whether a delivery can be sent with at most `most` in flight."""
        waiting = self._waiting
        if len(self.in_flight) >= most:
            return False
        while waiting and waiting[0].event.object_id in self.in_flight:
            delivery = waiting.popleft()
            self._blocked.setdefault(delivery.event.object_id, deque()).append(delivery)
        return bool(waiting)

    def take(self) -> Delivery:
        """Take the first delivery, which must be ready, and count it as in flight."""
        delivery = self._waiting.popleft()
        self.in_flight[delivery.event.object_id] = delivery
        return delivery

    def end_attempt(self, delivery: Delivery) -> None:
        """End an attempt; deliveries of the same object that it blocked go back to the front."""
        del self.in_flight[delivery.event.object_id]
        self._waiting.extendleft(reversed(self._blocked.pop(delivery.event.object_id, ())))

    def put_back(self, delivery: Delivery) -> None:
        """Put a delivery that was in flight to the front, before those that it blocked."""
        self._waiting.appendleft(delivery)


class Outbox:
    """The deliveries of one sandbox."""

    __slots__ = ("_kept", "_queues", "_settled", "_unsent", "evicted", "limit")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` deliveries by evicting settled ones; an open one is never evicted."""
        self.limit = limit
        self.evicted = 0
        self._kept: dict[str, Delivery] = {}
        self._settled: deque[Delivery] = deque()
        self._unsent: deque[Unsent] = deque()
        """Events whose deliveries have not been made yet; all are newer than the deliveries in `_kept`."""
        self._queues: dict[str, _Queue] = {}
        """By endpoint; empty queues are removed."""

    @property
    def deliveries(self) -> dict[str, Delivery]:
        """Return the deliveries that are kept, by id, in the order of their creation."""
        while self._unsent:
            delivery = self._unsent.popleft().delivery()
            self._kept[delivery.id] = delivery
            self._settled.append(delivery)
        return self._kept

    def create(  # noqa: PLR0913 - what a delivery is made of
        self,
        event: Event,
        *,
        target: str | None,
        follows_sandbox: bool,
        now: int,
        delay: int = 0,
        queued: bool = True,
        suffix: str = "",
        queue: str = "",
    ) -> Delivery:
        """Make a delivery of an event, and enqueue it; without a target it ends as `no_endpoint`.

        With a `delay` (milliseconds), or with `queued` false, the caller enqueues it when it is due. `suffix` ends a
        copy's id, `queue` the name of its queue.
        """
        due = now + delay
        delivery = Delivery(f"dlv_{event.id[4:]}{suffix}", event, target, follows_sandbox, due, due, queue=queue)
        self.deliveries[delivery.id] = delivery
        if target is None:
            self.finish(delivery, "no_endpoint")
        else:
            self._bound()
            if queued and not delay:
                self.enqueue(delivery)
        return delivery

    def keep_unsent(self, event: Event, due: int) -> Unsent:
        """Keep an event that has no endpoint; `due` is the instant at which it would have been sent."""
        unsent = Unsent(event, due)
        self._unsent.append(unsent)
        self._bound()
        return unsent

    def resend(self, delivery: Delivery, sandbox_url: str | None, now: int) -> None:
        """Put a delivery at the end of its queue, due now; a settled one gets one attempt."""
        if delivery.follows_sandbox:
            delivery.target = sandbox_url
        if delivery.settled:
            self._settled.remove(delivery)
            delivery.resent_from = delivery.status
        if delivery.target is None:
            self.finish(delivery, "no_endpoint")
            return
        delivery.status = "waiting"
        delivery.next_due_at = now
        if delivery not in self._queues.get(delivery.endpoint, ()):
            self.enqueue(delivery)

    def withdraw(self, delivery: Delivery) -> None:
        """Take a delivery out of its queue and mark it as held."""
        queue = self._queues.get(delivery.endpoint)
        if queue is not None and delivery in queue:
            queue.remove(delivery)
            self._drop_empty(delivery.endpoint)
        delivery.status = "held"
        delivery.next_due_at = None

    def in_flight(self, delivery: Delivery) -> bool:
        """Return whether an attempt of a delivery is in flight."""
        # Its endpoint may have changed since the attempt was sent, so all queues are searched.
        object_id = delivery.event.object_id
        return any(queue.in_flight.get(object_id) is delivery for queue in self._queues.values())

    def enqueue(self, delivery: Delivery) -> None:
        """Put a due delivery at the end of its queue."""
        if not delivery.settled and delivery.target is not None:
            queue = self._queues.get(delivery.endpoint)
            if queue is None:
                queue = self._queues[delivery.endpoint] = _Queue()
            queue.add(delivery)

    def retarget(self, url: str | None) -> list[Delivery]:
        """Change the sandbox's URL, None for none; returns the deliveries that this has ended as `no_endpoint`."""
        ended = []
        queued = [each for queue in self._queues.values() for each in queue if each.follows_sandbox]
        for delivery in queued:
            self._queues[delivery.endpoint].remove(delivery)
            self._drop_empty(delivery.endpoint)
        in_flight = {id(each) for queue in self._queues.values() for each in queue.in_flight.values()}
        for delivery in tuple(self.deliveries.values()):
            if delivery.follows_sandbox and not delivery.settled:
                delivery.target = url
                if url is None and id(delivery) not in in_flight:
                    self.finish(delivery, "no_endpoint")
                    ended.append(delivery)
        for delivery in queued:
            self.enqueue(delivery)
        return ended

    def ready_endpoints(self, most: int) -> list[str]:
        """Return the endpoints with a delivery to send, with at most `most` in flight for each."""
        return [endpoint for endpoint, queue in self._queues.items() if queue.ready(most)]

    @property
    def quiet(self) -> bool:
        """Return whether no delivery is due or in flight."""
        return not self._queues

    def next_attempt(  # noqa: PLR0913 - what an attempt is made of
        self,
        endpoint: str,
        *,
        settings: WebhookSettings,
        secrets: Secrets,
        now: int,
        wall: int,
        most: int = 1,
        plan_for: Callable[[Delivery], AttemptPlan | None] | None = None,
    ) -> tuple[Delivery, Attempt] | None:
        """Take the next delivery of an endpoint and make its signed attempt; None when nothing can be sent.

        `now` is the sandbox's time, `wall` the machine's, both in milliseconds; at most `most` attempts of an endpoint
        are in flight; `plan_for` returns what faults do to a delivery's next attempt.
        """
        queue = self._queues.get(endpoint)
        if queue is None or not queue.ready(most):
            return None
        delivery = queue.take()
        signed_at = (now if settings.sign_with == "sandbox_clock" else wall) // 1000
        plan = plan_for(delivery) if plan_for is not None else None
        name = settings.signature_header
        body, headers, signed_at = sign_attempt(delivery.event.body, secrets.at(now), signed_at, name, plan)
        attempt = Attempt(
            number=len(delivery.attempts) + 1,
            due_at=delivery.next_due_at if delivery.next_due_at is not None else now,
            url=delivery.target or "",
            signed_at=signed_at,
            headers=headers,
            body=body,
            transport=transport(plan),
            faults=() if plan is None else tuple(plan.fired),
        )
        delivery.attempts += (attempt,)
        return delivery, attempt

    def settle(
        self, delivery: Delivery, attempt: Attempt, outcome: Outcome, *, settings: WebhookSettings
    ) -> int | None:
        """Record the outcome of an attempt; returns the due time of the next one, or None if there is none."""
        attempt.outcome = outcome
        if self.deliveries.get(delivery.id) is not delivery:
            return None  # a reset removed it while the attempt was in flight
        endpoint = f"{attempt.url}{delivery.queue}"
        self._queues[endpoint].end_attempt(delivery)
        self._drop_empty(endpoint)
        offsets = delivery.offsets or settings.offsets
        if delivery.most_attempts is not None:
            offsets = offsets[: delivery.most_attempts]
        if delivery.status == "held" and not outcome.succeeded and delivery.target is not None:
            return None  # held while the attempt was in flight; it is sent again when it is released
        resent_from, delivery.resent_from = delivery.resent_from, None
        if outcome.succeeded:
            self.finish(delivery, "delivered")
        elif delivery.target is None:
            self.finish(delivery, "no_endpoint")
        elif resent_from is not None:
            self.finish(delivery, "exhausted" if resent_from == "no_endpoint" else resent_from)
        elif attempt.number >= len(offsets):
            self.finish(delivery, "exhausted")
        else:
            delivery.next_due_at = attempt.due_at + offsets[attempt.number] - offsets[attempt.number - 1]
            return delivery.next_due_at
        return None

    def take_back(self) -> None:
        """Forget the attempts in flight; their deliveries are again the first of their queues, unless they are held."""
        for endpoint, queue in tuple(self._queues.items()):
            for delivery in reversed(tuple(queue.in_flight.values())):
                delivery.attempts = delivery.attempts[:-1]
                queue.end_attempt(delivery)
                if delivery.target is None:
                    self.finish(delivery, "no_endpoint")
                elif delivery.status == "waiting" and delivery.endpoint == endpoint:
                    queue.put_back(delivery)
                elif delivery.status == "waiting":
                    self.enqueue(delivery)  # its endpoint has changed since the attempt was sent
            self._drop_empty(endpoint)

    def clear(self) -> tuple[int, int]:
        """Remove everything; returns how many deliveries there were, and how many of them were open."""
        waiting = sum(not each.settled for each in self._kept.values())
        count = len(self._kept) + len(self._unsent)
        self._kept = {}
        self._unsent.clear()
        self._settled.clear()
        self._queues.clear()
        self.evicted = 0
        return count, waiting

    def evict(self) -> Delivery | None:
        """Remove and return the oldest settled delivery; None when all are open."""
        if not (self._settled or self._unsent):
            return None
        deliveries = self.deliveries
        delivery = self._settled.popleft()
        del deliveries[delivery.id]
        self.evicted += 1
        return delivery

    def finish(self, delivery: Delivery, status: DeliveryStatus) -> None:
        """Settle a delivery; beyond the limit the oldest settled one is evicted."""
        delivery.status = status
        delivery.next_due_at = None
        _ = self.deliveries  # makes the deliveries of unsent events, which were settled before this one
        self._settled.append(delivery)
        self._bound()

    def _drop_empty(self, endpoint: str) -> None:
        if not self._queues[endpoint]:
            del self._queues[endpoint]

    def _bound(self) -> None:
        while len(self._kept) + len(self._unsent) > self.limit and (self._settled or self._unsent):
            if self._settled:
                del self._kept[self._settled.popleft().id]
            else:
                self._unsent.popleft()
            self.evicted += 1
