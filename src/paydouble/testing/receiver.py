"""A webhook receiver as the contract requires: it verifies, keeps the exact bytes, and gives programmed answers.

While it is down no socket listens, so connections are refused. The port stays reserved by a second socket that is bound
to it and never listens; otherwise another process could take the port during the outage.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from paydouble.core.errors import UsageError
from paydouble.testing.loops import check_asyncio, in_daemon_thread
from paydouble.web.listening import Listener, listen
from paydouble.webhooks.diagnosis import Diagnosis, diagnose
from paydouble.webhooks.signing import DEFAULT_HEADER_NAME, SignatureError, verify

DEFAULT_SECRET = "whsec_sandbox"  # noqa: S105 - everybody's, as the documentation says
# Connections that are still open when the receiver goes down get this long to end by themselves.
_GRACE_SECONDS = 0.2
# A receiver that runs for days must not grow without a limit.
_KEPT = 10_000
# Input that is not HTTP is its sender's mistake: it is logged, but without a traceback on a terminal.
_LOG = logging.getLogger("paydouble.receiver")
_LOG.addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Received:
    """One delivery as it arrived, and what it was answered."""

    at: float
    """When it arrived, in Unix seconds of this machine."""
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """The exact bytes, which are what is signed."""
    event: dict[str, Any]
    """The body as JSON, numbers with a fraction as `Decimal`; empty when it is not a JSON object."""
    answered: int
    """The status that it got; 0 when it got none, and while a function decides."""
    error: SignatureError | None
    """Why the signature does not verify; None when it does."""
    attempt: int
    """How many times this event has now come, this one included; 0 when it does not verify."""
    duplicate: bool
    """Whether this event had been taken with a 2xx before (contract section 6, delivery rule 4)."""

    secret: str = field(repr=False)
    """What it was verified with."""

    @property
    def verified(self) -> bool:
        """Return whether the signature holds."""
        return self.error is None

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Return the likely cause of `error` and the remedy, None without one; found when asked for, as it is slow."""
        if self.error is None:
            return None
        return diagnose(self.body, CIMultiDict(self.headers), self.secret, now=int(self.at))


Work = Callable[[Received], Any]
"""A function that is given the delivery."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `work`, if there is any, is done first; with the ending `work` its result is what is answered."""

    status: int = 200
    after: float = 0.0
    """Seconds of real time before it leaves."""
    ending: Literal["answer", "hang", "crash", "work"] = "answer"
    work: Work | None = None


Answering = int | Answer | Work
"""A status, an answer, or a function that is given the delivery and returns one of them (None is 200)."""


def slow(seconds: float, status: int = 200) -> Answer:
    """Return an answer that leaves after a time (real seconds)."""
    return Answer(status, after=seconds)


def hang(work: Work | None = None) -> Answer:
    """Return an answer that never comes: the connection stays open until the sender or the receiver ends."""
    return Answer(ending="hang", work=work)


def crash(work: Work | None = None) -> Answer:
    """Return the end of a process after its work is done: the connection breaks off without an answer."""
    return Answer(ending="crash", work=work)


def _as_answer(answering: object) -> Answer:
    """Return what was meant; `UsageError` when that is no answer."""
    if answering is None:
        return Answer()
    if isinstance(answering, Answer):
        return answering
    if isinstance(answering, int) and 200 <= answering <= 599:  # noqa: PLR2004 - HTTP
        return Answer(answering)
    if callable(answering):
        return Answer(ending="work", work=answering)
    message = f"{answering!r} is no answer; give a status from 200 to 599, an Answer, or a function that returns one"
    raise UsageError(message, member="answers")


def _decision(result: object) -> Answer:
    """Return what a function that answers has decided; `UsageError` when that is no answer, or wants more work."""
    answer = _as_answer(result)
    if answer.work is not None:
        raise UsageError("a function answered with more work; do that in the function", member="answers")
    return answer


class Receiver:
    """A receiver on a port of its own. `async with Receiver(secret) as receiver` starts and stops it.

    What verifies is answered with what was given to `answer_next`, each once and in order, and then with `status`.
    What does not is answered 400 or 401, as the contract recommends (section 5.5.6).
    """

    def __init__(
        self,
        secret: str = DEFAULT_SECRET,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        on_delivery: Callable[[Received], None] | None = None,
    ) -> None:
        """Verify with a secret; port 0 takes a free one. `UsageError` for a blank secret."""
        if not secret.strip():
            raise UsageError("the webhook secret is blank; give the one that the sandbox shows", member="--secret")
        self.secret = secret
        self.host = host
        self.port = port
        self.status = 200
        self.received: list[Received] = []
        """The newest 10 000 deliveries, oldest first."""
        self.failures: list[Exception] = []
        """What functions that should have answered have raised; a 500 was answered for each."""
        self._on_delivery = on_delivery
        self._answers: deque[Answer] = deque()
        self._times_seen: Counter[str] = Counter()
        self._taken: set[str] = set()
        self._family = socket.AF_INET
        self._reservation: socket.socket | None = None
        self._listener: Listener | None = None
        self._released = asyncio.Event()

    @property
    def url(self) -> str:
        """Return where to deliver, from this machine."""
        host = "localhost" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - compared with, not bound to
        return f"http://[{host}]:{self.port}/" if ":" in host else f"http://{host}:{self.port}/"

    def answer_next(self, *answers: Answering) -> None:
        """Answer the next verified deliveries with these; `UsageError` when one is no answer."""
        self._answers.extend([_as_answer(each) for each in answers])

    async def start(self) -> None:
        """Take the port and listen; `UsageError` when it cannot be had."""
        check_asyncio("Receiver", "under trio use WebhookReceiver, which has a thread of its own")
        try:
            found = await asyncio.get_running_loop().getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
            self._family = found[0][0]
            self._reservation = self._bind(self.port)
            self.port = self._reservation.getsockname()[1]
            await self.up()
        except (OSError, OverflowError) as error:
            await self.stop()
            raise self._unusable(error) from None

    async def stop(self) -> None:
        """Go down for good and free the port."""
        await self.down()
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None

    async def down(self) -> None:
        """Refuse every connection, open ones included, until `up`."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            self._released.set()  # what hangs ends now
            await listener.close()

    async def up(self) -> None:
        """Listen, again at the same port."""
        if self._listener is None:
            self._released = asyncio.Event()
            # Not decompressed: what is signed, and kept, is the bytes that came.
            server = web.Server(self._answer, access_log=None, logger=_LOG, auto_decompress=False)
            self._listener = await listen(server, self._bind(self.port), _GRACE_SECONDS)

    async def __aenter__(self) -> Receiver:  # noqa: PYI034 - final in practice
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop."""
        await self.stop()

    def _unusable(self, error: Exception) -> UsageError:
        place = f"{self.host}:{self.port}"
        reason = str(getattr(error, "strerror", None) or error).lower()
        if getattr(error, "errno", None) in {errno.EADDRINUSE, errno.EACCES}:
            return UsageError(
                f"{place} cannot be used ({reason}); choose another, or 0 for a free one", member="--port"
            )
        return UsageError(f"{place} cannot be used ({reason}); give an address of this machine", member="--host")

    def _bind(self, port: int) -> socket.socket:
        bound = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            # Lets two sockets of ours share the port as long as only one listens; a stranger that listens is an error.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, port))
        except BaseException:
            bound.close()
            raise
        return bound

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405, headers={"Allow": "POST"}, text="Webhooks come here by POST.\n")
        try:
            body = await request.read()
        except (web.RequestPayloadError, HttpProcessingError, ConnectionError):
            return web.Response(status=400, text="The body broke off.\n")
        delivery = self._judge(request, body)
        answer = Answer(delivery.answered) if delivery.error is not None else await self._decide(delivery)
        answered = answer.status if answer.ending == "answer" else 0
        delivery = replace(delivery, answered=answered)
        if delivery.verified and 200 <= answered < 300:  # noqa: PLR2004 - HTTP
            self._taken.add(str(delivery.event.get("id")))
        self.received.append(delivery)
        del self.received[:-_KEPT]
        if self._on_delivery is not None:
            self._on_delivery(delivery)
        return await self._perform(request, answer)

    async def _decide(self, delivery: Received) -> Answer:
        """Return the answer of a delivery that verifies; what it wants done is done by then."""
        answer = self._answers.popleft() if self._answers else Answer(self.status)
        work = answer.work
        if work is None:
            return answer
        try:
            # In a thread: it may call the double, or block for longer than the next delivery wants to wait.
            result = await in_daemon_thread(lambda: work(delivery))
            if answer.ending != "work":
                return answer
            return _decision(result)
        except Exception as error:  # noqa: BLE001 - a merchant's handler that fails answers 500, as its framework would
            _LOG.exception("the function that answers has failed")
            self.failures.append(error)
            return Answer(500)

    async def _perform(self, request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
        if answer.after:
            await asyncio.sleep(answer.after)
        response = web.Response(status=answer.status)
        if answer.ending == "answer":
            return response
        if answer.ending == "hang":
            await self._released.wait()
        if request.transport is not None:
            request.transport.abort()
        response.force_close()
        return response

    def _judge(self, request: web.BaseRequest, body: bytes) -> Received:
        at = time.time()
        event = _event(body)
        error = self._refusal(request, body, int(at))
        attempt, duplicate = (0, False) if error is not None else self._remember(event.get("id"))
        answered = 0 if error is None else error.recommended_status
        headers = tuple(request.headers.items())
        return Received(at, request.path, headers, body, event, answered, error, attempt, duplicate, self.secret)

    def _refusal(self, request: web.BaseRequest, body: bytes, now: int) -> SignatureError | None:
        try:
            verify(body, request.headers.get(DEFAULT_HEADER_NAME), self.secret, now=now)
        except SignatureError as error:
            return error
        return None

    def _remember(self, event_id: object) -> tuple[int, bool]:
        if not isinstance(event_id, str):
            return 1, False  # signed, but not an event: it has no id
        self._times_seen[event_id] += 1
        return self._times_seen[event_id], event_id in self._taken


def _event(body: bytes) -> dict[str, Any]:
    try:
        event = json.loads(body, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
