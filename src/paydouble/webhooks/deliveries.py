"""From an event to a settled delivery: a value machine that never touches a socket.

An event becomes a delivery. A delivery is `waiting` until one of its attempts gets a 2xx (`delivered`) or the last
attempt of the schedule has failed (`exhausted`); without a target it is `no_endpoint` from the start. A due delivery
queues at its endpoint, and an endpoint has one attempt in flight at a time, so events leave in the order in which
they were made and a failed one does not block those behind it (assumptions, "Webhooks", Order).

The shell asks `next_attempt` for something to send and hands the outcome to `settle`. `settle` answers with the
instant of the next attempt, if there is to be one; whoever owns the timers sets it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from paydouble.config import WebhookSettings
from paydouble.faults.mischief import AttemptPlan, Copies
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
    lane: str = ""
    """Copies that travel in parallel with the original queue in a lane of their own."""
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
        return f"{self.target}{self.lane}"

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


class Outbox:
    """The deliveries of one sandbox."""

    __slots__ = ("_busy", "_kept", "_queues", "_settled", "_unsent", "evicted", "limit")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` settled deliveries; one that waits is never let go."""
        self.limit = limit
        self.evicted = 0
        self._kept: dict[str, Delivery] = {}
        self._settled: deque[Delivery] = deque()
        self._unsent: deque[Unsent] = deque()
        """Those whose deliveries have not been made yet; all of them are younger than what has been."""
        self._queues: dict[str, deque[Delivery]] = {}
        self._busy: dict[str, Delivery] = {}

    @property
    def deliveries(self) -> dict[str, Delivery]:
        """Return the deliveries that are still kept, by id, in the order in which they were made."""
        while self._unsent:
            delivery = self._unsent.popleft().delivery()
            self._kept[delivery.id] = delivery
            self._settled.append(delivery)
        return self._kept

    def post(  # noqa: PLR0913 - what a delivery is made of
        self,
        event: Event,
        *,
        target: str | None,
        follows_sandbox: bool,
        now: int,
        delay: int = 0,
        queued: bool = True,
        suffix: str = "",
        lane: str = "",
    ) -> Delivery:
        """Make a delivery of an event; its first attempt is due now, or is left to the caller.

        It is left to the caller with a `delay` and when it is not to be `queued`. A copy has a `suffix` to its id.
        """
        due = now + delay
        delivery = Delivery(f"dlv_{event.id[4:]}{suffix}", event, target, follows_sandbox, due, due, lane=lane)
        self.deliveries[delivery.id] = delivery
        if target is None:
            self.finish(delivery, "no_endpoint")
        elif queued and not delay:
            self.enqueue(delivery)
        return delivery

    def leave(self, event: Event, due: int) -> Unsent:
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
            if not queue:
                del self._queues[delivery.endpoint]
        delivery.status = "held"
        delivery.next_due_at = None

    def in_flight(self, delivery: Delivery) -> bool:
        """Return whether an attempt of a delivery is on its way."""
        # Not by its endpoint, which may be another one since the attempt has left.
        return any(each is delivery for each in self._busy.values())

    def enqueue(self, delivery: Delivery) -> None:
        """Put a delivery that is due at the end of its endpoint's queue."""
        if not delivery.settled and delivery.target is not None:
            self._queues.setdefault(delivery.endpoint, deque()).append(delivery)

    def retarget(self, url: str | None) -> list[Delivery]:
        """Aim what waits for the sandbox's endpoint at another one; returns what has no endpoint any more."""
        lost = []
        queued = [each for queue in self._queues.values() for each in queue if each.follows_sandbox]
        for target, queue in tuple(self._queues.items()):
            rest = deque(each for each in queue if not each.follows_sandbox)
            self._queues[target] = rest
            if not rest:
                del self._queues[target]
        flying = set(map(id, self._busy.values()))
        for delivery in tuple(self.deliveries.values()):
            if delivery.follows_sandbox and not delivery.settled:
                delivery.target = url
                if url is None and id(delivery) not in flying:
                    self.finish(delivery, "no_endpoint")
                    lost.append(delivery)
        for delivery in queued:
            self.enqueue(delivery)
        return lost

    def idle_endpoints(self) -> list[str]:
        """Return the endpoints that have something to send and nothing in flight."""
        return [target for target in self._queues if target not in self._busy]

    @property
    def quiet(self) -> bool:
        """Return whether nothing is due and nothing is in flight."""
        return not self._queues and not self._busy

    def next_attempt(  # noqa: PLR0913 - what an attempt is made of
        self,
        endpoint: str,
        *,
        settings: WebhookSettings,
        secrets: Secrets,
        now: int,
        wall: int,
        plan_for: Callable[[Delivery], AttemptPlan | None] | None = None,
    ) -> tuple[Delivery, Attempt] | None:
        """Take the next delivery of an endpoint and make its attempt, signed; None when there is nothing to send.

        `now` is the sandbox's instant, `wall` the machine's, both in milliseconds; `plan_for` says what the faults of
        the moment do to a delivery's next attempt.
        """
        queue = self._queues.get(endpoint)
        if queue is None or endpoint in self._busy:
            return None
        delivery = queue.popleft()
        if not queue:
            del self._queues[endpoint]
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
        self._busy[endpoint] = delivery
        return delivery, attempt

    def settle(
        self, delivery: Delivery, attempt: Attempt, outcome: Outcome, *, settings: WebhookSettings
    ) -> int | None:
        """Close an attempt; returns the instant of the next one, or None when the delivery has come to its end."""
        attempt.outcome = outcome
        if self.deliveries.get(delivery.id) is not delivery:
            return None  # a reset let it go while it was in flight
        del self._busy[f"{attempt.url}{delivery.lane}"]
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
        self._busy.clear()
        self.evicted = 0
        return count, waiting

    def finish(self, delivery: Delivery, status: DeliveryStatus) -> None:
        """Bring a delivery to its end; beyond the limit the oldest that has come to its end is let go."""
        delivery.status = status
        delivery.next_due_at = None
        _ = self.deliveries  # those without an endpoint have come to their end before this one
        self._settled.append(delivery)
        self._bound()

    def _bound(self) -> None:
        while len(self._kept) + len(self._unsent) > self.limit and (self._settled or self._unsent):
            if self._settled:
                del self._kept[self._settled.popleft().id]
            else:
                self._unsent.popleft()
            self.evicted += 1
