"""`Sandbox`: the double in this thread, without sockets and without waiting.

It uses the server's own pipeline, sandbox and deliveries; only the shell is different. A request is answered at once.
Webhooks are sent when a test calls `deliver` or moves the clock, so the test decides whether one overtakes a reply.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self

from paydouble import inprocess, records
from paydouble.api.values import Reply, Request
from paydouble.config import Settings, load_settings
from paydouble.core.documents import load
from paydouble.core.errors import UsageError
from paydouble.core.seeded_random import check_seed
from paydouble.inprocess import BASE_URL, RECEIVER_URL, START_MS, InProcess, Unreachable, Webhook
from paydouble.payments.resources import Failure, PayIn, Resource, Transaction
from paydouble.records import SandboxState, UnclaimedRequest, delivery_of, event_of, request_of, unclaimed_of
from paydouble.testing.calls import Call, Handle, Steps, Sync, ask, encode, given, segment
from paydouble.testing.client_responses import Response, client_response
from paydouble.testing.errors import ServiceDown
from paydouble.testing.handles import Faults, Objects, Payer, PayIns, RateLimit, Scenarios
from paydouble.testing.handles import Webhook as WebhookHandle
from paydouble.testing.in_process import LocalExecutor
from paydouble.testing.journals import Records
from paydouble.testing.local import LocalClock, LocalDeliveries, LocalEvents, LocalRequests, milliseconds
from paydouble.testing.sandboxes import Credentials, SandboxHandle, forked, leased

__all__ = ["Response", "Sandbox", "Unreachable", "Webhook"]
Taker = Callable[[Webhook], int | None]
"""A merchant's receiver: returns the status of its answer (None is 200), or raises `Unreachable` to give none."""


# The newest sandboxes, for the report of a failed test. The references are weak, so they keep no sandbox in memory.
_MADE: Final[deque[weakref.ref[Sandbox]]] = deque(maxlen=8)
# The sandboxes that each active `holding` keeps: a test that has ended has no reference to its sandbox any more.
_HELD: Final[list[deque[Sandbox]]] = []


def made_last() -> list[Sandbox]:
    """Return the newest sandboxes that still exist, the oldest first."""
    return [box for box in (each() for each in _MADE) if box is not None]


@contextmanager
def holding() -> Iterator[None]:
    """Keep in memory the newest sandboxes that are made inside the block."""
    held: deque[Sandbox] = deque(maxlen=_MADE.maxlen)
    _HELD.append(held)
    try:
        yield
    finally:
        _HELD.remove(held)


class Sandbox(Handle[Sync]):
    """One business and its service.

    It has every call of a `SandboxHandle`, with the same arguments and results; a call that is refused raises an error
    that is both a `ControlRefused` and a `UsageError`.
    """

    def __init__(  # noqa: PLR0913 - what a sandbox can be asked to be
        self,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        start: datetime | str | None = None,
        scenario: str | None = None,
        receiver: Taker | None = None,
        notification_url: str | None = RECEIVER_URL,
        paths: Mapping[str, str] | None = None,
    ) -> None:
        """Start without any data, on a manual clock at `start` (default 2026-01-01T00:00:00Z).

        `settings` are those of the server; with `webhooks.sign_with: sandbox_clock` two runs have the same bytes.
        `paths` are those of assumed operations, by operation name. Without a `receiver` webhooks wait. `UsageError`
        names a member that is wrong.
        """
        check_seed(seed)
        change = dict(settings) if isinstance(settings, Mapping) else {}
        if scenario is not None:
            change["scenario"] = scenario
        base = settings if isinstance(settings, Settings) else Settings.model_construct()
        self.failures: list[Exception] = []
        """The exceptions that the receiver raised; each counts as a 500, as in a web framework."""
        self.core = InProcess(
            load_settings(change, base) if change else base,
            seed=seed,
            start=START_MS if start is None else milliseconds(start, "start"),
            notification_url=notification_url,
            wall=lambda: int(time.time() * 1000),
            paths=paths,
        )
        """The shell and the sandbox, for what this class has no method for."""
        self._hold(receiver)

    def _hold(self, receiver: Taker | None) -> None:
        """Begin to control the sandbox of `core`."""
        identity = self.core.identity
        self._executor: LocalExecutor = LocalExecutor(self.core)
        super().__init__(self._executor, f"/sandboxes/{segment(identity.id)}")
        self.receiver = receiver
        self.seed = identity.seed
        self.base_url = BASE_URL
        """The URL of the API, which ends with `/api/v1`; the transports answer it."""
        self.auth = Credentials(identity.business_key, identity.business_secret)
        self.webhook_secret = self.core.sandbox.secrets.current
        self.id = identity.id
        self.business_key = identity.business_key
        self.business_secret = identity.business_secret
        self._down = False
        _MADE.append(weakref.ref(self))
        for held in _HELD:
            held.append(self)

    # The API

    def handle(  # noqa: PLR0913 - what a request is made of
        self,
        method: str | Request,
        path: str = "",
        json: Mapping[str, Any] | None = None,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
        patience: float | None = None,
    ) -> Response:
        """Return the service's answer to a request of the business.

        `/api/v1` is put before a `path` that does not begin with it. The credentials are added, and a new idempotency
        key to a POST without a `key`, unless `headers` have them. A `Request` as the only argument is sent unchanged.
        `patience` is how many seconds the caller would wait. Raises `ServiceDown`, `ReplyLost` or `ReplyTimeout` where
        a client would get no answer.
        """
        if isinstance(method, Request):
            return client_response(self.reply(method), patience, method=method.method)
        content = (body or b"") if json is None else encode(json)
        asked = self.core.request(method, path, content, key=key, headers=headers)
        asked.raw_headers = tuple(
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in asked.headers.items()
        )
        return client_response(self.reply(asked), patience, method=method)

    def reply(self, request: Request) -> Reply:
        """Return the pipeline's reply to a request, with the faults that a shell must carry out; for transports."""
        if self._down:
            raise ServiceDown("nobody listens: the sandbox is down")
        return self.core.handle(request)

    def down(self) -> None:
        """Make the service unreachable until `up`."""
        self._down = True

    def up(self) -> None:
        """Make it reachable again."""
        self._down = False

    @property
    def is_down(self) -> bool:
        """Return whether it is unreachable."""
        return self._down

    # The same calls as for a sandbox of a server. The handles are made when they are used.

    read = SandboxHandle.read
    reset = SandboxHandle.reset
    checkpoint = SandboxHandle.checkpoint
    export = SandboxHandle.export
    export_text = SandboxHandle.export_text
    delete = SandboxHandle.delete

    def fork(  # noqa: PLR0913 - what a fork can be asked to have of its own
        self,
        checkpoint: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - as the control API calls it
        business_key: str | None = None,
        business_secret: str | None = None,
        webhook_secret: str | None = None,
        notification_url: Any = ...,  # noqa: ANN401 - a text, None, or `...` for left out
        ttl: Any = ...,  # noqa: ANN401 - see above
        labels: Any = ...,  # noqa: ANN401 - see above
    ) -> Sandbox:
        """Return a sandbox that goes on from where this one is now, or was at a checkpoint.

        As that of a server's handle, and with the same receiver until another is set. Nothing but this object refers to
        the fork, so it needs no deleting; `ttl` and `labels` have no effect.
        """
        self._executor.run(
            forked(
                self._path,
                {
                    "checkpoint": checkpoint,
                    "id": id,
                    "business_key": business_key,
                    "business_secret": business_secret,
                    "webhook_secret": webhook_secret,
                },
                **given(notification_url=notification_url, **leased(ttl, labels)),
            )
        )
        made = Sandbox.__new__(Sandbox)
        made.failures = []
        made.core = self._executor.forked()
        made._hold(self._taker)  # noqa: SLF001 - of its own class
        return made

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete it."""
        self.delete()

    @Call
    def change(
        self,
        settings: Any = ...,  # noqa: ANN401 - a mapping, or `...` for left out
        *,
        notification_url: Any = ...,  # noqa: ANN401 - see above
        scenario: Any = ...,  # noqa: ANN401 - see above
        ttl: Any = ...,  # noqa: ANN401 - see above
        labels: Any = ...,  # noqa: ANN401 - see above
    ) -> Steps[SandboxState]:
        """Change some settings, the target of events (None for none), or the default scenario.

        `ttl` and `labels` have no effect: they are for a server, which deletes and lists its sandboxes.
        """
        body = given(notification_url=notification_url, scenario=scenario, settings=settings, **leased(ttl, labels))
        return load(SandboxState, (yield from ask("PATCH", self._path, body)))

    @cached_property
    def clock(self) -> LocalClock:
        """Its time."""
        return LocalClock(self._executor, f"{self._path}/clock", self.core)

    @cached_property
    def faults(self) -> Faults[Sync]:
        """What goes wrong on purpose."""
        return Faults(self._executor, f"{self._path}/faults")

    @cached_property
    def rate_limit(self) -> RateLimit[Sync]:
        """A real quota."""
        return RateLimit(self._executor, f"{self._path}/rate-limit")

    @cached_property
    def scenarios(self) -> Scenarios[Sync]:
        """The scenarios that pay-ins play."""
        return Scenarios(self._executor, f"{self._path}/scenarios")

    @cached_property
    def webhook(self) -> WebhookHandle[Sync]:
        """Where events go and what signs them."""
        return WebhookHandle(self._executor, f"{self._path}/webhook")

    @cached_property
    def pay_ins(self) -> PayIns[Sync]:
        """Its pay-ins."""
        return PayIns(self._executor, f"{self._path}/pay-ins")

    @cached_property
    def refunds(self) -> Objects[Sync]:
        """Its refunds."""
        return Objects(self._executor, f"{self._path}/refunds")

    @cached_property
    def disputes(self) -> Objects[Sync]:
        """Its disputes."""
        return Objects(self._executor, f"{self._path}/disputes")

    @cached_property
    def payouts(self) -> Objects[Sync]:
        """Its payouts."""
        return Objects(self._executor, f"{self._path}/payouts")

    def payer(self, pay_in: str | records.Resource) -> Payer[Sync]:
        """Return the payer of a pay-in, which is given by its id or as another call has returned it."""
        return Payer(self._executor, self._path, pay_in)

    # What happens

    @property
    def receiver(self) -> Taker | None:
        """Return the function that receives the webhooks; without one they wait."""
        return self._taker

    @receiver.setter
    def receiver(self, receiver: Taker | None) -> None:
        self._taker = receiver
        self.core.receiver = None if receiver is None else self._guarded(receiver)

    def deliver(self, limit: int | None = None) -> int:
        """Send what is due, in order, until nothing is due or `limit` attempts were made; returns their number."""
        return self.core.deliver(limit)

    def transition(
        self, object_id: str, to: str, *, failure: Mapping[str, str] | None = None, force: bool = False
    ) -> None:
        """Move a pay-in, refund, dispute or payout to a state now, whatever its script would do next."""
        box = self.core.sandbox
        why = None if failure is None else Failure(failure["code"], failure["message"])
        box.force_transition(self._find(object_id), to, failure=why, force=force)

    def dispute(self, pay_in_id: str, reason: str = "fraudulent", *, force: bool = False) -> str:
        """Open a dispute, as the provider does, about all of a pay-in that is not disputed yet; returns its id.

        With `force` it is about the whole amount, even when it is disputed or charged back already.
        """
        box = self.core.sandbox
        box.tick()
        pay_in = self._find(pay_in_id)
        if not isinstance(pay_in, PayIn):
            raise UsageError(f"{pay_in_id!r} is a {pay_in.OBJECT}, and disputes are about pay-ins", member="pay_in_id")
        return box.open_dispute(pay_in, reason=reason, force=force).id

    # What happened

    @property
    def requests(self) -> LocalRequests:
        """Return the request journal, oldest first: a list with the calls of a server's handle."""
        kept = self.core.sandbox.journal.requests.entries
        return LocalRequests(map(request_of, kept), self._executor, f"{self._path}/requests")

    @property
    def unclaimed_requests(self) -> Records[UnclaimedRequest]:
        """Return the newest requests without the key of this business, oldest first."""
        return Records(map(unclaimed_of, self.core.unclaimed.log.entries), "unclaimed requests")

    @property
    def events(self) -> LocalEvents:
        """Return the events, oldest first: a list with the calls of a server's handle."""
        kept = self.core.sandbox.journal.events.entries
        return LocalEvents(map(event_of, kept), self._executor, f"{self._path}/events")

    @property
    def deliveries(self) -> LocalDeliveries:
        """Return the deliveries, oldest first: a list with the calls of a server's handle."""
        kept = self.core.sandbox.outbox.deliveries.values()
        return LocalDeliveries(map(delivery_of, kept), self._executor, f"{self._path}/deliveries")

    def _guarded(self, receiver: Taker) -> inprocess.Receiver:
        def take(webhook: Webhook) -> int:
            try:
                status = receiver(webhook)
            except Unreachable:
                raise
            except Exception as error:  # noqa: BLE001 - a handler that fails answers 500, as its framework would
                self.failures.append(error)
                return 500
            return 200 if status is None else status

        return take

    def _find(self, object_id: str) -> Resource:
        found = self.core.sandbox.ledger.find(object_id)
        if found is None or isinstance(found, Transaction):
            raise UsageError(
                f"{object_id!r} is no pay-in, refund, dispute or payout of this sandbox", member="object_id"
            )
        return found
