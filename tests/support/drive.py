"""A business without sockets, for tests that look inside: `Business` stands on `paydouble.inprocess.InProcess`.

It adds what only a test wants: requests that are wrong in one place, and requests that stay in flight until the test
goes on with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from multidict import CIMultiDict

from paydouble.api.execution import Delayed, Joined, Step
from paydouble.api.operations import PREFIX
from paydouble.api.values import Reply, Request
from paydouble.config import Settings, load_settings
from paydouble.faults.armed import Armed
from paydouble.faults.model import parse_fault
from paydouble.inprocess import START_MS, InProcess, Unreachable, Webhook
from paydouble.payments.resources import PayIn
from paydouble.sandbox.identity import Identity
from paydouble.webhooks.deliveries import Attempt, AttemptError, Outcome

START = START_MS
URL = "http://127.0.0.1:9/hooks"
API = PREFIX
DEPOSITS = "/pay-in/deposit-creation"
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
# Returns the HTTP status of its answer to an attempt, or None when nobody listens.
Receiver = Callable[[Attempt], int | None]


def deposit_body(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    """Return a deposit that is accepted, with other members laid over it; a member set to `...` is left out."""
    body = {
        "amount": 49.9,
        "currency": "EUR",
        "external_identifier": "order-1",
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
        **changes,
    }
    return {name: value for name, value in body.items() if value is not ...}


def key(number: int) -> str:
    """Return the n-th idempotency key."""
    return f"00000000-0000-4000-8000-{number:012x}"


def settings(**changes: Any) -> Settings:  # noqa: ANN401 - JSON is any
    """Return the default settings with some of them changed, given as in a YAML file."""
    return load_settings(changes, Settings())


def data(reply: Reply) -> Any:  # noqa: ANN401 - JSON is any
    """Return the `data` of a success envelope."""
    body = json.loads(reply.body)
    assert body["success"] is True, body
    return body["data"]


def error_code(reply: Reply) -> str:
    """Return an error's code from either envelope, in the spelling of envelope B."""
    code: str = json.loads(reply.body)["error"]["code"]
    return "INVALID_INPUT" if code == "invalid_request" else code.upper()


class Business:
    """A business in this process (`InProcess`), with what a test needs to hold a moment still."""

    def __init__(
        self,
        name: str = "default",
        *,
        seed: int = 1,
        notification_url: str | None = URL,
        receiver: Receiver = lambda _: 200,
        wall: Callable[[], int] | None = None,
        beside: Business | None = None,
        **changes: Any,  # noqa: ANN401 - JSON is any
    ) -> None:
        self.received: list[Attempt] = []
        self.core: InProcess = InProcess(
            settings(**changes),
            receiver=_keeping(self.received, receiver),
            notification_url=notification_url,
            identity=Identity(name, seed, f"key_{name}", "secret", f"whsec_{name}"),
            wall=wall,
            beside=None if beside is None else beside.core,
        )
        self.sandbox = self.core.sandbox
        self.pipeline = self.core.pipeline
        self._keys = 0xF00000000000

    # Requests

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        keys: Iterable[str] = (),
        headers: Iterable[tuple[str, str]] = (),
        authorization: str | None = "",
        content_type: str | None = "application/json",
        remote: str | None = "127.0.0.1",
        body_error: str | None = None,
    ) -> Step:
        """Hand one request to the pipeline; an empty `authorization` is replaced by the right one, None by none."""
        sent = CIMultiDict(headers)
        for each in keys:
            sent.add("Idempotency-Key", each)
        if authorization is not None:
            sent["Authorization"] = authorization or self.core.authorization
        if content_type is not None and method == "POST":
            sent["Content-Type"] = content_type
        return self.pipeline.handle(Request(method, PREFIX + path, sent, body, remote=remote, body_error=body_error))

    def get(self, path: str, **options: Any) -> Reply:  # noqa: ANN401 - those of `request`
        """GET a path below `/api/v1`."""
        return settled(self.request("GET", path, **options))

    def post(
        self,
        path: str,
        body: Any = None,  # noqa: ANN401 - JSON is any, and bytes are sent as they are
        *,
        key: str | None = None,
        **options: Any,  # noqa: ANN401 - those of `request`
    ) -> Reply:
        """POST a body below `/api/v1`, under a key of its own unless one is given."""
        return settled(self.begin(path, body, key=key, **options))

    def begin(
        self,
        path: str,
        body: Any = None,  # noqa: ANN401 - JSON is any, and bytes are sent as they are
        *,
        key: str | None = None,
        **options: Any,  # noqa: ANN401 - those of `request`
    ) -> Step:
        """POST like `post`, and return the step at which the pipeline has stopped."""
        if key is None:
            self._keys += 1
            key = f"00000000-0000-4000-8000-{self._keys:012x}"
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.request("POST", path, raw, **{"keys": [key], **options})

    def go_on(self, step: Step) -> Step:
        """Go on with a request in flight, as the shell does after its time."""
        if isinstance(step, Delayed):
            return self.pipeline.execute(step.call)
        if isinstance(step, Joined):
            return self.pipeline.rejoin(step)
        return step

    def deposit(self, **changes: Any) -> str:  # noqa: ANN401 - JSON is any
        """Create a deposit and return its id."""
        pay_in_id: str = data(self.post(DEPOSITS, deposit_body(**changes)))["id"]
        return pay_in_id

    def paid(self, **changes: Any) -> str:  # noqa: ANN401 - JSON is any
        """Create a deposit, let its payer pay, and return its id."""
        pay_in_id = self.deposit(**changes)
        for state in ("pending", "processing", "succeeded"):
            self.sandbox.force_transition(self.pay_in(pay_in_id), state)
        return pay_in_id

    def pay_in(self, pay_in_id: str) -> PayIn:
        """Return a pay-in."""
        return self.sandbox.ledger.get(PayIn, pay_in_id)

    def arm(
        self,
        kind: str,
        match: dict[str, str] | None = None,
        **attributes: Any,  # noqa: ANN401 - JSON is any
    ) -> Armed:
        """Arm a fault on the API, at once and for good."""
        fault = {"on": "api", "match": match or {}, "effect": {"type": kind, **attributes}}
        return self.sandbox.faults.add(parse_fault(fault), self.sandbox.now)

    # Time and deliveries

    def answer_with(self, receiver: Receiver) -> None:
        """Let another receiver take the attempts from now on."""
        self.core.receiver = _keeping(self.received, receiver)

    @property
    def wall(self) -> int:
        """The machine's time, which here is the sandbox's, so that signatures can be compared."""
        return self.sandbox.now

    def deliver_all(self) -> int:
        """Make every attempt that is due, endpoint by endpoint; return how many there were."""
        return self.core.deliver()

    def advance(self, by: int) -> None:
        """Move the clock, instant by instant; the attempts of one settle before the next begins."""
        self.core.advance(by=by)

    def until_idle(self) -> None:
        """Move the clock until nothing is left to happen."""
        self.core.advance()

    def events(self) -> list[Any]:
        """Return the events that were recorded, oldest first, as a receiver would read them."""
        return [json.loads(event.body) for event in self.sandbox.journal.events.entries]


def _keeping(received: list[Attempt], receiver: Receiver) -> Callable[[Webhook], int]:
    """Return a receiver of webhooks that keeps each attempt, and no business alive."""

    def receive(webhook: Webhook) -> int:
        attempt = webhook.delivery.attempts[-1]
        received.append(attempt)
        status = receiver(attempt)
        if status is None:
            raise Unreachable
        return status

    return receive


def settled(step: Step) -> Reply:
    """Return a step that is an answer; a test that expects a request in flight uses `begin`."""
    assert isinstance(step, Reply), step
    return step


def outcome(status: int | None, at: int) -> Outcome:
    """Return the outcome of an attempt that is answered with a status, or that nobody answers."""
    if status is None:
        return Outcome(at, 1.0, None, AttemptError("refused", "nobody listens at the target"))
    return Outcome(at, 1.0, status)
