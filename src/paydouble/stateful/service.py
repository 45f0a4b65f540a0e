"""The payment service as the merchant's code meets it: a call, the time, and points at which things come in between.

Whatever the pipeline answers is performed here as a client would feel it: a reset is a `ConnectionResetError`, a late
reply a `TimeoutError` with the time gone, a cut one a `ConnectionError`. Time is the sandbox's; while a merchant
waits, webhooks arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from multidict import CIMultiDict, CIMultiDictProxy

from paydouble.api.values import Reply, Request
from paydouble.faults.wire import Loss, Lost, TimedOut, client_outcome
from paydouble.inprocess import InProcess
from paydouble.stateful.verdicts import Died, Runaway

BASE_URL: Final = "http://paydouble.test"
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
# Five attempts are what the contract asks for; a look-up or two for each, and then some.
MOST_CALLS: Final = 40
# Nobody waits for a payment longer than this in one go.
LONGEST_SECONDS: Final = 4 * 3600.0
# A third identical request in the same instant is a loop without a pause.
_AT_ONCE: Final = 3
_LEAST_PAUSE: Final = 0.05
# Twice what any gateway waits.
_LONGEST_ANSWER_SECONDS: Final = 120
# What a client raises for a connection that ended before a whole answer.
_ERRORS: Final[Mapping[Loss, type[ConnectionError]]] = MappingProxyType(
    {"reset": ConnectionResetError, "empty": ConnectionAbortedError, "garbage": ConnectionError, "cut": ConnectionError}
)


@dataclass(slots=True, frozen=True)
class Response:
    """An HTTP answer."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes


@dataclass(slots=True)
class Ambush:
    """Something that happens at a point of the merchant's code: `after` points have passed when it does."""

    after: int
    act: Callable[[], None]
    in_database: bool = False
    """Only a checkpoint is such a point, not a request."""


@dataclass(slots=True)
class _Spent:
    """What one operation has used up."""

    earliest: float | None = None
    calls: int = 0
    waited: float = 0.0
    limited_at: float | None = None
    last: tuple[float, str, str, str | None] | None = None
    at_once: int = 0


class Service:
    """What a merchant is made with; see `ServiceLike` for what its members mean."""

    def __init__(self, double: InProcess, accuse: Callable[[str], None]) -> None:
        """Serve one merchant of a double; `accuse` is told what a client must not do."""
        identity = double.identity
        self.base_url = BASE_URL
        self.business_key = identity.business_key
        self.business_secret = identity.business_secret
        self.webhook_secret = identity.webhook_secret
        self.ambushes: list[Ambush] = []
        self.failures = 0
        """Answers that never came, for whatever reason; who fails after one is excused."""
        self.dying = False
        """The process has been killed while somebody else's call was running; that one ends at its next point."""
        self._double = double
        self._accuse = accuse
        self._spent = _Spent()
        self._raised: list[BaseException] = []

    @contextmanager
    def operation(self, earliest: float | None = None) -> Iterator[None]:
        """Count what happens inside the block as one operation; `earliest` is what a 429 in it will ask for."""
        before, self._spent = self._spent, _Spent(earliest)
        try:
            yield
        finally:
            self._spent = before

    def is_own(self, error: BaseException) -> bool:
        """Return whether an error is one that `call` raised, or was made of one."""
        seen: BaseException | None = error
        while seen is not None:
            if any(seen is each for each in self._raised):
                return True
            seen = seen.__cause__ or seen.__context__
        return False

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self._double.sandbox.tick() / 1000

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self._spent.waited += seconds
        if self._spent.waited > LONGEST_SECONDS:
            raise Runaway(f"waits for {_long(self._spent.waited)} in the middle of one operation")
        self._double.advance(by=int(seconds * 1000))
        self._pass_point()

    def checkpoint(self) -> None:
        """Be hit, if something is waiting for a point like this."""
        self._pass_point(in_database=True)

    def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes = b"",
        timeout: float | None = 30.0,
    ) -> Response:
        """Send a request and return its answer, or raise as a client does."""
        self._pass_point()
        sent = CIMultiDict(headers)
        target = path.removeprefix(BASE_URL)
        if not target.startswith("/"):
            return self._elsewhere(target, sent)
        self._count(method, target, sent.get("Idempotency-Key"))
        reply = self._double.handle(Request(method, target, sent, body, remote="127.0.0.1"))
        if method == "HEAD" and reply.wire is not None and reply.wire.sends_head:
            reply.wire = None  # it breaks what follows the headers, which is nothing
        answer = self._perform(reply, timeout)
        if method == "HEAD":
            answer = replace(answer, body=b"")
        if answer.status == 429 and self._spent.earliest is not None:  # noqa: PLR2004 - HTTP
            self._spent.limited_at = self.now()
        self._pass_point()
        return answer

    def _pass_point(self, *, in_database: bool = False) -> None:
        if self.dying:
            raise Died
        for ambush in tuple(self.ambushes):
            if ambush.in_database and not in_database:
                continue
            if ambush.after > 0:
                ambush.after -= 1
            elif ambush in self.ambushes:
                self.ambushes.remove(ambush)
                ambush.act()

    def _count(self, method: str, target: str, key: str | None) -> None:
        spent = self._spent
        spent.calls += 1
        if spent.calls > MOST_CALLS:
            raise Runaway(f"sends more than {MOST_CALLS} requests in one operation, the last {method} {target}")
        if method != "POST":
            return
        now = self.now()
        same = (now, method, target, key)
        spent.at_once = spent.at_once + 1 if same == spent.last else 1
        spent.last = same
        if spent.at_once >= _AT_ONCE:
            self._accuse(f"sends {method} {target} {_AT_ONCE} times without a pause between them")
        if spent.limited_at is not None and spent.earliest is not None:
            pause, spent.limited_at = now - spent.limited_at, None
            # The reset is a whole second, and may have been rounded down.
            if pause < max(spent.earliest - 1, _LEAST_PAUSE):
                self._accuse(f"asks again {pause:g} s after a 429 that asked for {spent.earliest:g} s")

    def _perform(self, reply: Reply, timeout: float | None) -> Response:
        """Let the time of an answer pass, and return it or raise what a client would."""
        delay = reply.delay_ms / 1000
        outcome = client_outcome(reply.body, reply.wire, delay_seconds=delay, total_limit=timeout)
        took = LONGEST_SECONDS if outcome.after_seconds is None else outcome.after_seconds
        timed_out = isinstance(outcome, TimedOut) and outcome.after_seconds is not None
        if took > _LONGEST_ANSWER_SECONDS and not timed_out:
            raise Runaway(f"waits {_long(took)} for one answer, as it sets no timeout")
        if took:
            self._double.advance(by=int(took * 1000))
        if isinstance(outcome, TimedOut):
            raise self._lost(TimeoutError(f"no answer within {took:g} s"))
        if isinstance(outcome, Lost):
            raise self._lost(_ERRORS[outcome.how](outcome.message))
        body = outcome.body
        headers = CIMultiDict(reply.headers)
        headers["Content-Type"] = reply.content_type
        headers["Content-Length"] = str(len(body))
        headers["X-Request-Id"] = reply.request_id
        if reply.status >= 500 or len(body) < len(reply.body):  # noqa: PLR2004 - HTTP
            self.failures += 1
        return Response(reply.status, CIMultiDictProxy(headers), body)

    def _lost(self, error: OSError) -> OSError:
        self.failures += 1
        self._raised.append(error)
        return error

    def _elsewhere(self, url: str, headers: CIMultiDict[str]) -> Response:
        if "Authorization" in headers:
            self._accuse(f"sends its credentials to another host, {url}")
        return Response(200, CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"})), b"{}")


def _long(seconds: float) -> str:
    for unit, size in (("years", 365 * 86_400), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:g} seconds"
