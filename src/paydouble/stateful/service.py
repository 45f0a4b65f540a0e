"""The payment service as a merchant's code uses it: calls, the time, and points at which it can be interrupted.

An answer of the pipeline has here the effect that it has on a client: a reset raises `ConnectionResetError`, a late
reply raises `TimeoutError` after its time has passed, a cut one raises `ConnectionError`. The time is the sandbox's;
webhooks arrive while a merchant waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from types import MappingProxyType
from typing import Final, NamedTuple

from multidict import CIMultiDict, CIMultiDictProxy

from paydouble.api.operations import PREFIX
from paydouble.api.values import Reply, Request
from paydouble.faults.wire import Loss, Lost, Outcome, Received, TimedOut, client_outcome
from paydouble.guards.rate_limit import RESET
from paydouble.inprocess import SERVER_URL, InProcess
from paydouble.stateful.disturbance import Limit
from paydouble.stateful.findings import Rule
from paydouble.stateful.interruptions import AFTER_REQUEST, BEFORE_COMMIT, BEFORE_REQUEST, NamedPoint
from paydouble.stateful.shared_limit import Sent, SharedLimit
from paydouble.stateful.verdicts import ProcessKilled, Runaway
from paydouble.web.addresses import CONTROL_PREFIX

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
# The contract asks for at most five attempts (section 7); the rest leaves room for look-ups.
MOST_CALLS: Final = 40
# A job may read each of many payments, such as those of another system. Without a limit a client that makes its targets
# itself, such as by counting pages, would never be stopped.
_MOST_READ: Final = 2_000
# No shop waits longer than this within one operation.
LONGEST_SECONDS: Final = 4 * 3600.0
# A third identical request in the same instant is a loop without a pause.
_AT_ONCE: Final = 3
# Twice what the contract asks for (section 7: at most five attempts, with exponential backoff).
_MOST_ATTEMPTS: Final = 10
_EQUAL_PAUSES: Final = 3
_LEAST_PAUSE: Final = 0.05
# Pauses in real time are shortened in tests. Less is what a shop takes to send its next request.
_LEAST_REAL_PAUSE: Final = 0.005
# A shop's first pause is longer, and a computer seldom stalls for so long between two requests.
_REAL_PAUSE: Final = 0.5
_BY_THE_OTHER: Final = "; if it reckons with another clock than the one that is set, let it use that one"
_REAL_SLEEP: Final = (
    "it seems to wait in real time; a sleep that is kept in a default argument does not follow the play's time"
)
_DONE: Final = range(200, 300)
# A timeout, a first request that may still be running, too early, too many requests.
_NOT_FINAL: Final = frozenset({408, 409, 425, 429})
# After these a client may renew its credentials, once.
_OF_CREDENTIALS: Final = frozenset({401, 403})
# Twice the usual timeout of a gateway.
_LONGEST_ANSWER_SECONDS: Final = 120
# What a client raises for a connection that ended before the answer was complete.
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
class Interruption:
    """An act at a point of the merchant's code, after `after` earlier points."""

    after: int
    act: Callable[[], object]
    in_database: bool = False
    """Whether it acts at checkpoints only, not at requests."""
    enters: bool = False
    """Whether it enters the merchant's code once more: inside a transaction only where another one can go on."""
    waits_for: NamedPoint | None = None
    """The named point that it waits for; then it acts at the next point at which it can."""


class Points(NamedTuple):
    """A number of points of the merchant's code."""

    all: int = 0
    checkpoints: int = 0
    """Those at which a database can fail."""
    carried_out: int = 0
    """Those at which a POST had just been carried out."""
    sent: int = 0
    """Those at which a POST was on its way."""
    open: int = 0
    """Those in a transaction at which the database takes another one."""

    def since(self, earlier: Points) -> Points:
        """Return how many were passed after an earlier count."""
        return Points(*(now - before for now, before in zip(self, earlier, strict=True)))


@dataclass(slots=True)
class _Usage:
    """What one operation has used of its limits."""

    limit: Limit | None = None
    """What a 429 asks for."""
    acts: int = 0
    """How many interruptions had acted when it began."""
    number: int = 0
    """How many had begun before it."""
    calls: int = 0
    """Besides the first read of each thing."""
    most_calls: int = MOST_CALLS
    read: set[str] = field(default_factory=set)
    """The targets of reads so far."""
    waited: float = 0.0
    limited: tuple[float, Sent, str | None] | None = None
    """When a POST met a 429; that POST; the reset that was announced. Until the next one is sent."""
    last: tuple[float, str, str, str | None] | None = None
    at_once: int = 0
    attempts: int = 0
    """Of the same request."""
    failed_at: float | None = None
    """When the latest attempt failed in a way after which a client retries; None when it did not."""
    pauses: list[float] = field(default_factory=list)
    refusals: dict[tuple[str, str, str | None, bytes], tuple[int, int]] = field(default_factory=dict)
    """Method, target, key and body of a POST → how often it was refused, and the latest status."""


class Service:
    """What a merchant is made with; `ServiceLike` describes the members."""

    def __init__(
        self, double: InProcess, add_finding: Callable[[Rule, str], None], server_url: str = SERVER_URL
    ) -> None:
        """Serve one merchant of a double; `add_finding` takes each rule that its client breaks.

        `server_url` is the base URL without the prefix of the API.
        """
        identity = double.identity
        self.base_url = server_url + PREFIX
        self.clock_url = f"{server_url}{CONTROL_PREFIX}/sandboxes/{identity.id}/clock"
        self.business_key = identity.business_key
        self.business_secret = identity.business_secret
        self.webhook_secret = identity.webhook_secret
        self.interruptions: list[Interruption] = []
        self.calls_running = 0
        """How many calls of the adapter are running, one within the other."""
        self.points = Points()
        """How many points the merchant's code has passed at which an interruption can act."""
        self.acts = 0
        """How many interruptions have acted; the time that one takes is not the merchant's."""
        self.answers_took = 0.0
        """How many seconds passed until the answers that arrived whole; this time is not the merchant's.

        One that takes longer than a webhook may is not counted: a receiver needs a shorter timeout.
        """
        self.lost: set[int] = set()
        """Numbers of the journal's requests whose answer did not arrive whole; an error that follows is excused."""
        self.limits_met = 0
        """How many requests were refused with 429; a webhook that needs their answer may be asked for again."""
        self.reads_refused = 0
        """How often a fault has refused a read, as with the page of a proxy."""
        self.database_failures = 0
        """How often the merchant's database has failed; what it answers then is excused."""
        self.transactions_entered = 0
        """How often another call has come in inside a transaction, which the database may refuse to commit then."""
        self.counts_real_pauses = False
        """Whether the merchant waits in real time, and its pauses are measured so."""
        self.has_two_clocks = False
        """Whether the merchant sleeps in real time, and the clock that it reads is set."""
        self.answered_at = monotonic()
        """When the latest answer was sent, on the computer's monotonic clock; for a merchant over sockets."""
        self.killed = False
        """Whether the process was killed inside a nested call; the outer call ends at its next point."""
        self._double = double
        self._add_finding = add_finding
        self._usage = _Usage()
        self._operations = 0
        self.shared_limit = SharedLimit()
        """The 429 until whose reset a merchant may have promised to ask for nothing."""
        self._real_pauses = 0.0
        self._returned_at = perf_counter()
        """When the latest call has returned, in real time that no shop is shown."""
        self._raised: list[BaseException] = []

    @property
    def webhook_seconds(self) -> float:
        """Return how long the service waits for the answer to a webhook (contract section 6, delivery rule 2)."""
        return self._double.sandbox.settings.webhooks.timeout / 1000

    @contextmanager
    def operation(self, limit: Limit | None = None, *, more_calls: int = 0) -> Iterator[None]:
        """Count the requests inside the block as one operation; `limit` is what a 429 in it asks for.

        `more_calls` than `MOST_CALLS` are allowed, besides the first read of each thing.
        """
        self._operations += 1
        usage = _Usage(limit, self.acts, self._operations, most_calls=MOST_CALLS + more_calls)
        before, self._usage = self._usage, usage
        try:
            yield
        finally:
            self._usage = before

    def is_own(self, error: BaseException) -> bool:
        """Return whether an error was raised by `call`, or caused by one that was."""
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
        """Let time pass; `ValueError` for a negative number."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self._usage.waited += seconds
        if self._usage.waited > LONGEST_SECONDS:
            raise Runaway(f"waits for {_duration(self._usage.waited)} in the middle of one operation")
        self._double.advance(by=int(seconds * 1000))
        self._interruption_point()

    @property
    def is_nested(self) -> bool:
        """Whether the call that is running has come within another one."""
        return self.calls_running > 1

    def checkpoint(self, *, in_transaction: bool = False, concurrent: bool = False) -> None:
        """Mark a point at which an interruption can act.

        In a transaction that is a kill or a failure of the database alone, unless the database is `concurrent`: unless
        it takes another transaction meanwhile.
        """
        self._interruption_point(in_database=True, in_transaction=in_transaction, concurrent=concurrent)

    def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = b"",
        timeout: float | None = 30.0,
    ) -> Response:
        """Send a request and return its answer; `OSError` when no whole answer arrives. `body` None is an empty one."""
        sent = CIMultiDict(headers)
        target = path.removeprefix(self.base_url.removesuffix(PREFIX))
        if not target.startswith("/"):
            self._interruption_point()
            return self._other_host(target, sent)
        reply, outcome = self.exchange(Request(method, target, sent, body or b"", remote="127.0.0.1"), timeout)
        if isinstance(outcome, TimedOut):
            raise self._own(TimeoutError(f"no answer within {outcome.after_seconds:g} s"))
        if isinstance(outcome, Lost):
            raise self._own(_ERRORS[outcome.how](outcome.message))
        received = CIMultiDict(reply.headers)
        received["Content-Type"] = reply.content_type
        received["Content-Length"] = str(len(outcome.body))
        received["X-Request-Id"] = reply.request_id
        return Response(reply.status, CIMultiDictProxy(received), b"" if method == "HEAD" else outcome.body)

    def exchange(
        self, request: Request, timeout: float | None, arrived_at: float | None = None
    ) -> tuple[Reply, Outcome]:
        """Carry out a request and let the time of its answer pass.

        `arrived_at` is when it came over a socket, on the computer's monotonic clock. Returns the reply, and what a
        client gets of it that waits `timeout` seconds.
        """
        self._interruption_point(sent=request.method == "POST")
        if arrived_at is not None and self.counts_real_pauses and arrived_at - self.answered_at >= _LEAST_REAL_PAUSE:
            self._real_pauses += arrived_at - self.answered_at
        if request.target.startswith(f"{PREFIX}{PREFIX}/"):
            # A client that writes the prefix before each path itself can be given the same base URL.
            request.target = request.target.removeprefix(PREFIX)
        method = request.method
        key = request.headers.get("Idempotency-Key")
        self._count(method, request.target, key)
        sent = method, request.target, key, request.body
        self._check_repetition(sent)
        self._check_shared_limit(sent[:3])
        number = self._double.sandbox.journal.requests.total
        reply = self._double.handle(request)
        if method == "HEAD" and reply.wire is not None and reply.wire.sends_head:
            reply.wire = None  # it would break the body, and HEAD has none
        outcome = self._wait(reply, timeout)
        has_failed = not isinstance(outcome, Received) or is_outage(reply.status)
        if has_failed or (isinstance(outcome, Received) and len(outcome.body) < len(reply.body)):
            self.lost.add(number)
        log = self._double.sandbox.journal.requests
        is_refused = method == "GET" and is_final(reply.status)
        self.reads_refused += is_refused and any(entry.faults for entry in log.since(number, number + 1))
        if method == "POST":
            self._usage.failed_at = self._moment() if has_failed else None
            if not has_failed and is_final(reply.status):
                self._usage.refusals[sent] = self._usage.refusals.get(sent, (0, 0))[0] + 1, reply.status
        if isinstance(outcome, Received):
            if reply.status == 429:  # noqa: PLR2004 - HTTP
                self.limits_met += 1
                entry = log.entries[number - log.evicted]
                now = self._double.sandbox.tick()
                self.shared_limit.note(sent[:3], entry, now, self._usage.number, self._operations)
                limit = self._usage.limit
                if limit is not None and entry.operation == limit.operation:
                    reset = next((value for name, value in reply.headers if name == RESET), None)
                    self._usage.limited = self._moment(), (method, request.target, key), reset
            self._interruption_point(carried_out=method == "POST" and reply.status in _DONE)
        self._returned_at = perf_counter()
        return reply, outcome

    def _interruption_point(
        self,
        *,
        in_database: bool = False,
        in_transaction: bool = False,
        concurrent: bool = False,
        carried_out: bool = False,
        sent: bool = False,
    ) -> None:
        if self.killed:
            raise ProcessKilled
        passed = self.points
        self.points = Points(
            passed.all + 1,
            passed.checkpoints + in_database,
            passed.carried_out + carried_out,
            passed.sent + sent,
            passed.open + (in_transaction and concurrent),
        )
        reached: NamedPoint | None = AFTER_REQUEST if carried_out else BEFORE_REQUEST if sent else None
        if in_transaction and concurrent:
            reached = BEFORE_COMMIT
        for interruption in tuple(self.interruptions):
            if interruption.waits_for == reached:
                interruption.waits_for = None
            if interruption.waits_for is not None:
                continue
            if interruption.in_database and not in_database:
                continue
            if interruption.enters and in_transaction and not concurrent:
                continue
            if interruption.after > 0:
                interruption.after -= 1
            elif interruption in self.interruptions:
                self.interruptions.remove(interruption)
                self.database_failures += interruption.in_database
                self.transactions_entered += interruption.enters and in_transaction
                self.acts += 1
                interruption.act()

    def _count(self, method: str, target: str, key: str | None) -> None:
        usage = self._usage
        if method == "GET" and target not in usage.read and len(usage.read) < _MOST_READ:
            usage.read.add(target)
            return
        usage.calls += 1
        if usage.calls > usage.most_calls:
            raise Runaway(f"sends more than {usage.most_calls} requests in one operation, the last {method} {target}")
        if method != "POST":
            return
        now = self._moment()
        self._count_attempt(method, target, key, now)
        same = (now, method, target, key)
        usage.at_once = usage.at_once + 1 if same == usage.last else 1
        usage.last = same
        if usage.at_once >= _AT_ONCE:
            told = f"sends {method} {target} {_AT_ONCE} times without a pause between them"
            has_waited = perf_counter() - self._returned_at >= _REAL_PAUSE
            self._add_finding(Rule.RETRIES, f"{told} ({_REAL_SLEEP})" if has_waited else told)
        self._check_limit(now, (method, target, key))

    def _check_limit(self, now: float, sent: Sent) -> None:
        usage = self._usage
        if usage.limited is None or usage.limit is None:
            return
        limited_at, refused, reset = usage.limited
        # Another call that came in between, such as a cancellation, need not know of a 429 that this one has met.
        if sent != refused and self.acts != usage.acts:
            return
        usage.limited = None
        pause = now - limited_at
        # The reset is a whole second, and may have been rounded down.
        if pause < max(usage.limit.seconds - 1, _LEAST_REAL_PAUSE if self.counts_real_pauses else _LEAST_PAUSE):
            told = f", {RESET}: {reset}" if reset is not None else ""
            seconds = usage.limit.seconds
            wanted = f"that asked for {seconds:g} s" if seconds >= 1 else "without a usable reset"
            asked = f"a 429 {wanted} (at {limited_at:.0f}{told})"
            hint = _BY_THE_OTHER if self.has_two_clocks and reset is not None else ""
            self._add_finding(Rule.RETRIES, f"asks again {pause:g} s after {asked}: {sent[0]} {sent[1]}{hint}")

    def _check_shared_limit(self, sent: Sent) -> None:
        # Real pauses may be shortened in tests.
        if not (self.counts_real_pauses or self.has_two_clocks):
            self.shared_limit.check(sent, self._double.sandbox.tick(), self._usage.number)

    def _check_repetition(self, sent: tuple[str, str, str | None, bytes]) -> None:
        count, status = self._usage.refusals.get(sent, (0, 0))
        if count == (2 if status in _OF_CREDENTIALS else 1):
            self._add_finding(Rule.RETRIES, f"repeats {sent[0]} {sent[1]} at once, though it was refused ({status})")

    def _moment(self) -> float:
        # What pauses are measured by: a merchant that does not follow the play's time also waits in real time.
        return self.now() + self._real_pauses

    def _count_attempt(self, method: str, target: str, key: str | None, now: float) -> None:
        usage = self._usage
        if usage.last is None or usage.last[1:] != (method, target, key):
            usage.attempts, usage.failed_at, usage.pauses = 0, None, []
        usage.attempts += 1
        if usage.attempts == _MOST_ATTEMPTS + 1:
            self._add_finding(
                Rule.RETRIES, f"sends {method} {target} more than {_MOST_ATTEMPTS} times in one operation"
            )
        if usage.failed_at is None:
            usage.pauses = []
            return
        usage.pauses.append(now - usage.failed_at)
        first, *others = usage.pauses
        # With jitter two pauses are never the same.
        if len(others) == _EQUAL_PAUSES - 1 and first and all(abs(each - first) < first / 100 for each in others):
            again = f"{_EQUAL_PAUSES} times after {first:g} s each"
            self._add_finding(Rule.RETRIES, f"repeats {method} {target} {again}; the pauses have to grow")

    def _wait(self, reply: Reply, timeout: float | None) -> Outcome:
        """Let the time of an answer pass, and return what a client gets that waits `timeout` seconds."""
        delay = reply.delay_ms / 1000
        outcome = client_outcome(reply.body, reply.wire, delay_seconds=delay, total_limit=timeout)
        took = LONGEST_SECONDS if outcome.after_seconds is None else outcome.after_seconds
        timed_out = isinstance(outcome, TimedOut) and outcome.after_seconds is not None
        if took > _LONGEST_ANSWER_SECONDS and not timed_out:
            raise Runaway(f"waits {_duration(took)} for one answer, as it sets no timeout")
        if took:
            self._double.advance(by=int(took * 1000))
        if isinstance(outcome, Received) and took <= self.webhook_seconds:
            self.answers_took += took
        return outcome

    def _own(self, error: OSError) -> OSError:
        self._raised.append(error)
        return error

    def _other_host(self, url: str, headers: CIMultiDict[str]) -> Response:
        if "Authorization" in headers:
            self._add_finding(Rule.CREDENTIALS, f"sends its credentials to another host, {url}")
        return Response(200, CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"})), b"{}")


def is_final(status: int | None) -> bool:
    """Return whether a status refuses a request for good; section 7 of the contract repeats 5xx and network errors."""
    return status is not None and 400 <= status < 500 and status not in _NOT_FINAL  # noqa: PLR2004 - HTTP


def settles(status: int | None) -> bool:
    """Return whether a status says what has become of a request; a refusal of the credentials may follow a lost one."""
    return is_final(status) and status not in _OF_CREDENTIALS


def is_outage(status: int | None) -> bool:
    """Return whether a status is one that section 7 of the contract repeats, with growing pauses."""
    return status is not None and status >= 500  # noqa: PLR2004 - HTTP


def _duration(seconds: float) -> str:
    for unit, size in (("years", 365 * 86_400), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:g} seconds"
