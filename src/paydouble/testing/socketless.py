"""`Sandbox`: the double as a value in this very thread, without sockets and without waiting.

It is the server's own pipeline, sandbox and deliveries; only the shell is another one. A request is answered at once.
Webhooks leave when a test says so (`deliver`) or moves the clock, so that the test decides whether one overtakes a
reply. Tens of thousands of requests a minute are no trouble.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import count
from typing import Any, Final

from multidict import CIMultiDict

from paydouble import inprocess
from paydouble.api.values import Reply, Request
from paydouble.config import Settings, load_settings
from paydouble.core.errors import UsageError
from paydouble.inprocess import RECEIVER_URL, START_MS, InProcess, Unreachable, Webhook
from paydouble.payments.resources import Failure, Living, PayIn, Transaction
from paydouble.testing import from_core
from paydouble.testing.calls import encode
from paydouble.testing.errors import ServiceDown
from paydouble.testing.local import LocalClock, LocalFaults, milliseconds
from paydouble.testing.perceive import Response, perceive
from paydouble.testing.records import Delivery, Event
from paydouble.testing.records import Request as RequestRecord
from paydouble.testing.results import Credentials

__all__ = ["Response", "Sandbox", "Unreachable", "Webhook"]
BASE_URL: Final = "http://paydouble.test/api/v1"
_API: Final = "/api/v1"
Taker = Callable[[Webhook], int | None]
"""A merchant's receiver: returns the status of its answer (None is 200), or raises `Unreachable` to give none."""


class Sandbox:
    """One business and the service that it meets."""

    def __init__(  # noqa: PLR0913 - what a sandbox can be asked to be
        self,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        start: datetime | str | None = None,
        scenario: str | None = None,
        receiver: Taker | None = None,
        notification_url: str | None = RECEIVER_URL,
    ) -> None:
        """Start with empty books, on a clock that stands at `start` (2026-01-01T00:00:00Z) until it is moved.

        Settings are those of the server; with `webhooks.sign_with: sandbox_clock` two runs are the same to the byte.
        `UsageError` names the member that cannot be.
        """
        change = dict(settings) if isinstance(settings, Mapping) else {}
        if scenario is not None:
            change["scenario"] = scenario
        base = settings if isinstance(settings, Settings) else Settings.model_construct()
        self.failures: list[Exception] = []
        """What the receiver has raised; a 500 was taken for its answer, as from a web framework."""
        self.core = InProcess(
            load_settings(change, base) if change else base,
            seed=seed,
            start=START_MS if start is None else milliseconds(start, "start"),
            notification_url=notification_url,
            wall=lambda: int(time.time() * 1000),
        )
        """What this is made of, for whatever has no name here."""
        self.receiver = receiver
        identity = self.core.identity
        self.seed = seed
        self.base_url = BASE_URL
        """What the transports answer for."""
        self.auth = Credentials(identity.business_key, identity.business_secret)
        self.webhook_secret = identity.webhook_secret
        self.clock = LocalClock(self.core)
        self.faults = LocalFaults(self.core)
        self._down = False
        self._keys = count(1)

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

        A `path` is below `/api/v1` unless it begins with it. The credentials are added, and to a POST without a `key`
        a fresh idempotency key, unless `headers` have them. A ready `Request` is taken as it is. `patience` is how
        many seconds the caller would wait. Raises what a network would: `ServiceDown`, `ReplyLost`, `ReplyTimeout`.
        """
        if isinstance(method, Request):
            return perceive(self.reply(method), patience)
        sent = CIMultiDict(headers or {})
        sent.setdefault("Authorization", self.auth.header)
        content = body or b""
        if json is not None:
            content = encode(json)
        if content:
            sent.setdefault("Content-Type", "application/json")
        if method == "POST":
            sent.setdefault("Idempotency-Key", key or f"00000000-0000-4000-8000-{next(self._keys):012x}")
        target = path if path.startswith(_API) else f"{_API}/{path.removeprefix('/')}"
        raw = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items())
        return perceive(self.reply(Request(method, target, sent, content, raw, "127.0.0.1")), patience)

    def reply(self, request: Request) -> Reply:
        """Return the pipeline's own reply to a request, with what a shell is to do to it; for transports."""
        if self._down:
            raise ServiceDown("nobody listens: the sandbox is down")
        return self.core.handle(request)

    def down(self) -> None:
        """Let nobody reach the service until `up`."""
        self._down = True

    def up(self) -> None:
        """Let it be reached again."""
        self._down = False

    @property
    def is_down(self) -> bool:
        """Return whether nobody can reach it."""
        return self._down

    def change(self, settings: Mapping[str, Any]) -> None:
        """Lay settings over the present ones; `UsageError` names the one that cannot be, and then nothing changes."""
        box = self.core.sandbox
        box.apply(load_settings(dict(settings), box.settings))

    # What happens

    @property
    def receiver(self) -> Taker | None:
        """Return who takes the webhooks; without anybody they wait."""
        return self._taker

    @receiver.setter
    def receiver(self, receiver: Taker | None) -> None:
        self._taker = receiver
        self.core.receiver = None if receiver is None else self._guarded(receiver)

    def deliver(self, limit: int | None = None) -> int:
        """Send what is due, in order, until nothing is, or `limit` attempts were made; returns how many were."""
        return self.core.deliver(limit)

    def transition(
        self, object_id: str, to: str, *, failure: Mapping[str, str] | None = None, force: bool = False
    ) -> None:
        """Move a pay-in, refund, dispute or payout to a state now, whatever it was about to do."""
        box = self.core.sandbox
        why = None if failure is None else Failure(failure["code"], failure["message"])
        box.force_transition(self._find(object_id), to, failure=why, force=force)

    def dispute(self, pay_in_id: str, reason: str = "fraudulent") -> str:
        """Let a dispute about a whole pay-in arrive from the provider; returns its id."""
        box = self.core.sandbox
        box.tick()
        pay_in = self._find(pay_in_id)
        if not isinstance(pay_in, PayIn):
            raise UsageError(f"{pay_in_id!r} is a {pay_in.OBJECT}, and disputes are about pay-ins", member="pay_in_id")
        return box.open_dispute(pay_in, reason=reason).id

    # What happened

    @property
    def requests(self) -> list[RequestRecord]:
        """Return the request journal, oldest first."""
        return [from_core.request(entry) for entry in self.core.sandbox.journal.requests.entries]

    @property
    def events(self) -> list[Event]:
        """Return the events, oldest first."""
        return [from_core.event(event) for event in self.core.sandbox.journal.events.entries]

    @property
    def deliveries(self) -> list[Delivery]:
        """Return the deliveries with their attempts, oldest first."""
        return [from_core.delivery(each) for each in self.core.sandbox.outbox.deliveries.values()]

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

    def _find(self, object_id: str) -> Living:
        found = self.core.sandbox.ledger.find(object_id)
        if found is None or isinstance(found, Transaction):
            raise UsageError(
                f"{object_id!r} is no pay-in, refund, dispute or payout of this sandbox", member="object_id"
            )
        return found
