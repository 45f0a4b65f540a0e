"""From an event to a settled delivery: a value machine that never touches a socket.

An event becomes a delivery. A delivery is `waiting` until one of its attempts gets a 2xx (`delivered`) or the last
attempt of the schedule has failed (`exhausted`); without a target it is `no_endpoint` from the start.

A due delivery queues at its endpoint, in the order in which events were made. So many attempts of an endpoint are in
flight at a time as the caller allows; with one, events also arrive in that order. With more, a slow answer holds up
only what is about the same object: its next event leaves when the attempt of the one before has ended. A failed attempt
holds up nothing (assumptions, "Webhooks", Order).

The shell asks `next_attempt` for something to send and hands the outcome to `settle`. `settle` answers with the
instant of the next attempt, if there is to be one; whoever owns the timers sets it.
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
SETTLED = frozenset({"delivered", "exhausted", "dropped", "no_endpoint"})


class AttemptError(NamedTuple):
    """Why no answer came: a stable kind (`refused`, `timeout`, `reset`, `tls`, …) and a sentence."""

    kind: str
    message: str


class Outcome(NamedTuple):
    """What the shell met. A status without an error is an answer; times are wall time in milliseconds."""

    sent_at: int
    latency_ms: float
    status: int | None = None
    error: AttemptError | None = None
    response_body: bytes = b""

    @property
    def succeeded(self) -> bool:
        """Return whether the receiver took the event (contract section 6, delivery rule 2)."""
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
    """Its place among the requests, events and attempts of its sandbox, numbered when it is sent."""
    evicted: bool = False
    """Whether bytes of it were removed, since the journals had no room for them."""

    def own_bytes(self, event: Event) -> int:
        """Return how many bytes it has beside its event's."""
        answer = 0 if self.outcome is None else len(self.outcome.response_body)
        return answer + (0 if self.body is event.body else len(self.body))

    def strip(self, event: Event) -> None:
        """Remove those bytes."""
        self.evicted = True
        self.body = self.body if self.body is event.body else b""
        self.outcome = self.outcome and self.outcome._replace(response_body=b"")


@dataclass(slots=True, eq=False)
class Delivery:
    """One event on its way to one target."""

    id: str
    event: Event
    target: str | None
    follows_sandbox: bool
    """Aimed at the sandbox's notification URL, wherever that points when an attempt is made."""
    first_due_at: int
    next_due_at: int | None
    status: DeliveryStatus = "waiting"
    attempts: tuple[Attempt, ...] = ()
    queue: str = ""
    """Copies that travel in parallel with the original queue in a queue of their own."""
    faults: tuple[str, ...] = ()
    offsets: tuple[int, ...] | None = None
    """A ladder of its own, when it has one; else the sandbox's."""
    most_attempts: int | None = None
    copies_after_success: tuple[Copies, ...] = ()
    copies: int = 0
    """How many copies it has been given so far."""
    resent_from: DeliveryStatus | None = None
    """What it was when it was sent once more by hand; a failure takes it back there."""

    @property
    def endpoint(self) -> str:
        """Return the queue in which it waits its turn."""
        return f"{self.target}{self.queue}"

    def noted(self) -> tuple[Literal["delivery"], Delivery]:
        """Return what a note of it holds."""
        return "delivery", self

    @property
    def settled(self) -> bool:
        """Return whether nothing more will happen to it."""
        return self.status in SETTLED


class Unsent:
    """An event without an endpoint to go to. Its delivery is made when somebody looks at it, which few ever do."""

    __slots__ = ("_due", "_event", "_made")

    def __init__(self, event: Event, due: int) -> None:
        """Take an event, and when it would have been due."""
        self._event = event
        self._due = due
        self._made: Delivery | None = None

    def delivery(self) -> Delivery:
        """Return its delivery: always the same, whatever has become of it."""
        made = self._made
        if made is None:
            self._made = made = Delivery(
                f"dlv_{self._event.id[4:]}",
                self._event,
                target=None,
                follows_sandbox=True,
                first_due_at=self._due,
                next_due_at=None,
                status="no_endpoint",
            )
        return made

    def noted(self) -> tuple[Literal["delivery"], Delivery]:
        """Return what a note of it holds."""
        return "delivery", self.delivery()


@dataclass(slots=True)
class Secrets:
    """The webhook secret and, during a rotation's grace, the one before it."""

    current: str
    previous: str | None = None
    previous_until: int = 0

    def at(self, now: int) -> tuple[str, ...]:
        """Return the secrets that sign at an instant, the current one first."""
        if self.previous is not None and now < self.previous_until:
            return (self.current, self.previous)
        return (self.current,)

    def replace(self, new: str) -> None:
        """Set the secret, as of now and without a grace."""
        self.current, self.previous = new, None

    def rotate(self, new: str, now: int, grace: int) -> None:
        """Make a new secret current; the old one signs along for `grace` milliseconds."""
        self.previous, self.previous_until = (self.current, now + grace) if grace else (None, 0)
        self.current = new


class _Queue:
    """What is due at one endpoint, and what is on its way to it."""

    __slots__ = ("_behind", "_waiting", "flying")

    def __init__(self) -> None:
        self._waiting: deque[Delivery] = deque()
        self._behind: dict[str, deque[Delivery]] = {}
        """By object: those whose turn came while another event of their object was on its way. They are older than
        all that still waits."""
        self.flying: dict[str, Delivery] = {}
        """By object: the one that is on its way."""

    def __contains__(self, delivery: Delivery) -> bool:
        return delivery in self._waiting or delivery in self._behind.get(delivery.event.object_id, ())

    def __iter__(self) -> Iterator[Delivery]:
        return chain(*self._behind.values(), self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting or self._behind or self.flying)

    def add(self, delivery: Delivery) -> None:
        self._waiting.append(delivery)

    def remove(self, delivery: Delivery) -> None:
        if delivery in self._waiting:
            self._waiting.remove(delivery)
        else:
            object_id = delivery.event.object_id
            self._behind[object_id].remove(delivery)
            if not self._behind[object_id]:
                del self._behind[object_id]

    def ready(self, most: int) -> bool:
        """Return whether one can leave while at most so many are on their way."""
        waiting = self._waiting
        if len(self.flying) >= most:
            return False
        while waiting and waiting[0].event.object_id in self.flying:
            delivery = waiting.popleft()
            self._behind.setdefault(delivery.event.object_id, deque()).append(delivery)
        return bool(waiting)

    def take(self) -> Delivery:
        """Send the first on its way, which must be ready."""
        delivery = self._waiting.popleft()
        self.flying[delivery.event.object_id] = delivery
        return delivery

    def land(self, delivery: Delivery) -> None:
        """End an attempt, and let in what has waited for that alone."""
        del self.flying[delivery.event.object_id]
        self._waiting.extendleft(reversed(self._behind.pop(delivery.event.object_id, ())))


class Outbox:
    """The deliveries of one sandbox."""

    __slots__ = ("_kept", "_queues", "_settled", "_unsent", "evicted", "limit")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` settled deliveries; one that waits is never let go."""
        self.limit = limit
        self.evicted = 0
        self._kept: dict[str, Delivery] = {}
        self._settled: deque[Delivery] = deque()
        self._unsent: deque[Unsent] = deque()
        """Those whose deliveries have not been made yet; all of them are younger than what has been."""
        self._queues: dict[str, _Queue] = {}
        """By endpoint; those with nothing in them are not kept."""

    @property
    def deliveries(self) -> dict[str, Delivery]:
        """Return the deliveries that are still kept, by id, in the order in which they were made."""
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
        """Make a delivery of an event; its first attempt is due now, or is left to the caller.

        It is left to the caller with a `delay` and when it is not to be `queued`. A copy has a `suffix` to its id.
        """
        due = now + delay
        delivery = Delivery(f"dlv_{event.id[4:]}{suffix}", event, target, follows_sandbox, due, due, queue=queue)
        self.deliveries[delivery.id] = delivery
        if target is None:
            self.finish(delivery, "no_endpoint")
        elif queued and not delay:
            self.enqueue(delivery)
        return delivery

    def keep_unsent(self, event: Event, due: int) -> Unsent:
        """Keep an event that has no endpoint to go to, and would have been due at an instant."""
        unsent = Unsent(event, due)
        self._unsent.append(unsent)
        self._bound()
        return unsent

    def resend(self, delivery: Delivery, sandbox_url: str | None, now: int) -> None:
        """Put a delivery back at the end of its endpoint's queue, due now; a settled one gets this one attempt."""
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
        """Take a delivery out of its queue; it is then held until somebody lets it go."""
        queue = self._queues.get(delivery.endpoint)
        if queue is not None and delivery in queue:
            queue.remove(delivery)
            self._drop_empty(delivery.endpoint)
        delivery.status = "held"
        delivery.next_due_at = None

    def in_flight(self, delivery: Delivery) -> bool:
        """Return whether an attempt of a delivery is on its way."""
        # Not by its endpoint, which may be another one since the attempt has left.
        object_id = delivery.event.object_id
        return any(queue.flying.get(object_id) is delivery for queue in self._queues.values())

    def enqueue(self, delivery: Delivery) -> None:
        """Put a delivery that is due at the end of its endpoint's queue."""
        if not delivery.settled and delivery.target is not None:
            queue = self._queues.get(delivery.endpoint)
            if queue is None:
                queue = self._queues[delivery.endpoint] = _Queue()
            queue.add(delivery)

    def retarget(self, url: str | None) -> list[Delivery]:
        """Aim what waits for the sandbox's endpoint at another one; returns what has no endpoint any more."""
        lost = []
        queued = [each for queue in self._queues.values() for each in queue if each.follows_sandbox]
        for delivery in queued:
            self._queues[delivery.endpoint].remove(delivery)
            self._drop_empty(delivery.endpoint)
        flying = {id(each) for queue in self._queues.values() for each in queue.flying.values()}
        for delivery in tuple(self.deliveries.values()):
            if delivery.follows_sandbox and not delivery.settled:
                delivery.target = url
                if url is None and id(delivery) not in flying:
                    self.finish(delivery, "no_endpoint")
                    lost.append(delivery)
        for delivery in queued:
            self.enqueue(delivery)
        return lost

    def ready_endpoints(self, most: int) -> list[str]:
        """Return the endpoints that have something to send, while at most so many of each are in flight."""
        return [endpoint for endpoint, queue in self._queues.items() if queue.ready(most)]

    @property
    def quiet(self) -> bool:
        """Return whether nothing is due and nothing is in flight."""
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
        """Take the next delivery of an endpoint and make its attempt, signed; None when there is nothing to send.

        `now` is the sandbox's instant, `wall` the machine's, both in milliseconds; at `most` so many attempts of an
        endpoint are in flight at a time; `plan_for` says what the faults of
        the moment do to a delivery's next attempt.
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
        """Close an attempt; returns the instant of the next one, or None when the delivery has come to its end."""
        attempt.outcome = outcome
        if self.deliveries.get(delivery.id) is not delivery:
            return None  # a reset let it go while it was in flight
        endpoint = f"{attempt.url}{delivery.queue}"
        self._queues[endpoint].land(delivery)
        self._drop_empty(endpoint)
        offsets = delivery.offsets or settings.offsets
        if delivery.most_attempts is not None:
            offsets = offsets[: delivery.most_attempts]
        if delivery.status == "held" and not outcome.succeeded and delivery.target is not None:
            return None  # withdrawn while it was in flight; whoever releases it sends it again
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

    def clear(self) -> tuple[int, int]:
        """Forget everything; returns how many deliveries that were and how many of them still waited."""
        waiting = sum(not each.settled for each in self._kept.values())
        count = len(self._kept) + len(self._unsent)
        self._kept = {}
        self._unsent.clear()
        self._settled.clear()
        self._queues.clear()
        self.evicted = 0
        return count, waiting

    def evict(self) -> Delivery | None:
        """Remove the oldest delivery that has come to its end, and return it; None when all still wait."""
        if not (self._settled or self._unsent):
            return None
        deliveries = self.deliveries
        delivery = self._settled.popleft()
        del deliveries[delivery.id]
        self.evicted += 1
        return delivery

    def finish(self, delivery: Delivery, status: DeliveryStatus) -> None:
        """Bring a delivery to its end; beyond the limit the oldest that has come to its end is let go."""
        delivery.status = status
        delivery.next_due_at = None
        _ = self.deliveries  # those without an endpoint have come to their end before this one
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
