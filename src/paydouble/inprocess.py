"""A sandbox in this process, without sockets and without waiting: the harness that everything without a server uses.

The pipeline and the deliveries are the server's; only the shell differs. `request` builds a request, `handle` answers
it at once. Webhooks are sent when the caller says so (`deliver`) or moves the clock (`advance`), so that a test decides
whether a webhook overtakes a reply. A receiver is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from multidict import CIMultiDict

from paydouble.api.execution import Delayed, Joined
from paydouble.api.operations import PREFIX, operations
from paydouble.api.pipeline import Pipeline
from paydouble.api.values import Reply, Request
from paydouble.config import Settings
from paydouble.core.clock import Clock
from paydouble.core.errors import UsageError
from paydouble.core.ids import DEFAULT_ID
from paydouble.guards.credentials import basic_header
from paydouble.journal import Unclaimed
from paydouble.sandbox import Registry, Sandbox
from paydouble.sandbox.business import MOST_TIMERS
from paydouble.sandbox.identity import Identity, Secrets
from paydouble.scenarios.library import Library
from paydouble.webhooks.deliveries import Attempt, AttemptError, Delivery, Outcome

if TYPE_CHECKING:
    from paydouble.sandbox.forking import ForkSpec

# 2026-01-01T00:00:00Z: where a clock begins by default.
START_MS: Final = 1_767_225_600_000
RECEIVER_URL: Final = "http://receiver.test/webhooks"
SERVER_URL: Final = "http://paydouble.test"
"""Where transports answer for a sandbox in a process; no network knows the name."""
BASE_URL: Final = SERVER_URL + PREFIX
"""The base URL of such a sandbox: like every base URL of this package it ends with the prefix of the API."""
_DEFAULT: Final = Settings.model_construct()


@dataclass(slots=True, frozen=True)
class Webhook:
    """One attempt, as a receiver gets it."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    delivery: Delivery
    number: int
    """1 for the first attempt."""


class Unreachable(Exception):
    """Raised by a receiver that gives no answer: the connection is refused, times out or is reset."""

    def __init__(self, kind: str = "refused", message: str = "the receiver is down") -> None:
        """Take a stable kind (`refused`, `timeout`, `reset`, …) and a message for people."""
        super().__init__(message)
        self.kind = kind
        self.message = message


Receiver = Callable[[Webhook], int]
"""Takes a webhook and returns the HTTP status of its answer, or raises `Unreachable`."""


class InProcess:
    """One sandbox in this thread, with its pipeline."""

    def __init__(  # noqa: PLR0913 - what a sandbox is made with
        self,
        settings: Settings = _DEFAULT,
        *,
        seed: int = 0,
        start: int = START_MS,
        receiver: Receiver | None = None,
        notification_url: str | None = RECEIVER_URL,
        library: Library | None = None,
        identity: Identity | None = None,
        wall: Callable[[], int] | None = None,
        paths: Mapping[str, str] | None = None,
        shares_clock: bool = False,
        beside: InProcess | None = None,
    ) -> None:
        """Start at an instant (milliseconds), on a manual clock.

        Without a `receiver` events wait. `wall` returns the machine's time (milliseconds) for signatures and for the
        reset of a quota; without it both use the sandbox's clock, so that two runs are the same to the byte. For a
        caller that `shares_clock`, and so sleeps by the sandbox's clock, quotas use that one in any case. `beside` is
        another business of the same service: one base URL answers for both, and the credentials tell them apart.
        `UsageError` for a setting that cannot be, or an id or key that `beside` already has.
        """
        self.identity = identity or Identity(DEFAULT_ID, seed, *Secrets())
        self.receiver = receiver
        self._wall = wall
        self.sandbox = sandbox = Sandbox(
            self.identity,
            settings,
            lambda: Clock(lambda: 0, start=start, mode="manual"),
            notification_url=notification_url,
            library=library,
        )
        self.registry: Registry = Registry() if beside is None else beside.registry
        self.unclaimed: Unclaimed = Unclaimed(lambda: sandbox.now) if beside is None else beside.unclaimed
        """The requests that did not come with the key of a business."""
        if beside is not None:
            self._pipeline_of: Callable[..., Pipeline] = beside._pipeline_of  # noqa: SLF001 - of its own class
            self.pipeline: Pipeline = beside.pipeline
        else:
            self._pipeline_of = partial(
                Pipeline,
                operations=operations(paths or {}),
                defaults=settings,
                seed=seed,
                wall=None if shares_clock else wall,
            )
            self.pipeline = self._pipeline_of(self.registry, unclaimed=self.unclaimed)
        self.registry.add(self.sandbox)
        self.authorization = basic_header(self.identity.business_key, self.identity.business_secret)
        """The value of the Authorization header of the business."""
        self.on_moved: Callable[[int], None] | None = None
        """Called with the instant (milliseconds) whenever `advance` has moved the clock, before deliveries are made."""
        self.attempts = 0
        self.fell_due = 0
        """How many attempts the latest `advance` has made that fell due on its way."""
        self._counts_after = start
        self._keys = 0

    def fork(self, spec: ForkSpec, checkpoint_id: str | None = None) -> InProcess:
        """Return a fork of its sandbox as it is now, or as it was at a checkpoint, as the one business of a service.

        The receiver is the same until the caller sets another. `UnknownThing` when there is no such checkpoint.
        """
        from paydouble.sandbox.forking import fork  # noqa: PLC0415 - few tests fork a sandbox

        made = copy(self)
        made.sandbox = sandbox = fork(self.sandbox, spec, checkpoint_id, seed=self.identity.seed)
        made.identity = sandbox.identity
        made.registry = Registry()
        made.registry.add(sandbox)
        made.unclaimed = Unclaimed(lambda: sandbox.now)
        made.pipeline = self._pipeline_of(made.registry, unclaimed=made.unclaimed)
        made.authorization = basic_header(made.identity.business_key, made.identity.business_secret)
        made.on_moved = None
        return made

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Request:
        """Return a request of the business, ready for `handle`.

        A `path` is below `/api/v1` unless it begins with it. The credentials are added, the Content-Type of a body,
        and to a POST its idempotency `key` (without one, the next of a row), unless `headers` have them.
        """
        sent = CIMultiDict(headers or {})
        sent.setdefault("Authorization", self.authorization)
        if body:
            sent.setdefault("Content-Type", "application/json")
        if method == "POST" and "Idempotency-Key" not in sent:
            if not key:
                self._keys += 1
            sent["Idempotency-Key"] = key or f"00000000-0000-4000-8000-{self._keys:012x}"
        target = path if path.startswith(PREFIX) else f"{PREFIX}/{path.removeprefix('/')}"
        return Request(method, target, sent, body, remote="127.0.0.1")

    def handle(self, request: Request) -> Reply:
        """Answer a request at once; `delay_ms` of the reply says how long the service would have taken.

        Deliveries that a fault lets overtake the reply have arrived when this returns. `UsageError` when a request with
        the same key is in flight, which only a caller of the pipeline itself can bring about.
        """
        step = self.pipeline.handle(request)
        in_flight_ms = 0
        if isinstance(step, Joined):
            raise UsageError("a request with this key is in flight, and nobody in this thread can end it", member="key")
        if isinstance(step, Delayed):
            in_flight_ms = round(step.seconds * 1000)
            step = self.pipeline.execute(step.call)
        step.delay_ms += in_flight_ms + max((lead for _, lead in step.overtaken), default=0)
        if step.overtaken:
            self.deliver()
        return step

    def deliver(self, limit: int | None = None) -> int:
        """Send what is due, in order, until nothing is or `limit` attempts were made; return how many were made."""
        before = self.attempts
        self.sandbox.tick()
        while self.receiver is not None:
            endpoints = self.sandbox.ready_endpoints()
            if not endpoints:
                break
            for endpoint in endpoints:
                if limit is not None and self.attempts - before >= limit:
                    return self.attempts - before
                self._attempt(endpoint, self.receiver)
        return self.attempts - before

    def advance(self, *, by: int | None = None, to: int | None = None, limit: int = MOST_TIMERS) -> int:
        """Move the clock by or to (milliseconds), or with neither until nothing is left to happen.

        What is due happens instant by instant, and what it sends is delivered before the next (`Sandbox.instants`).
        Returns how many timers fired; after `limit` timers the clock stays where it is. `UsageError` for an instant in
        the past or after the year 9998.
        """
        sandbox = self.sandbox
        self.fell_due, self._counts_after = 0, sandbox.tick()
        before = sandbox.fired
        for instant in sandbox.instants(by=by, to=to, limit=limit):
            if self.on_moved is not None:
                self.on_moved(instant)
            self.deliver()
        if self.on_moved is not None:
            self.on_moved(sandbox.now)
        return sandbox.fired - before

    def _attempt(self, endpoint: str, receiver: Receiver) -> None:
        sandbox = self.sandbox
        taken = sandbox.next_attempt(endpoint, sandbox.now if self._wall is None else self._wall())
        if taken is None:
            return  # a receiver that calls `deliver` has sent it already
        delivery, attempt = taken
        self.attempts += 1
        self.fell_due += attempt.due_at > self._counts_after
        sent_at = sandbox.now if self._wall is None else self._wall()
        try:
            outcome = _ask(receiver, delivery, attempt, sent_at)
        except BaseException:
            # The caller sees its own bug; the endpoint must not stay busy because of it.
            error = AttemptError("reset", "the receiver raised something else than Unreachable")
            sandbox.settle(delivery, attempt, Outcome(sent_at, 0.0, error=error))
            raise
        sandbox.settle(delivery, attempt, outcome)


def _ask(receiver: Receiver, delivery: Delivery, attempt: Attempt, sent_at: int) -> Outcome:
    if attempt.transport.kind == "reset":
        error = AttemptError("reset", "a fault reset the connection in the middle of the request")
        return Outcome(sent_at, 0.0, error=error)
    webhook = Webhook(attempt.url, attempt.headers, attempt.body, delivery, attempt.number)
    try:
        return Outcome(sent_at, 0.0, status=receiver(webhook))
    except Unreachable as unreachable:
        return Outcome(sent_at, 0.0, error=AttemptError(unreachable.kind, unreachable.message))
