"""From a request to its reply: the checks in a fixed order, the operation, and the record of both.

A shell hands a whole request to `handle`. The request passes these stages, each of which can end it with an answer:

    Request
      │  handle
      ├─ route ────────────── 404 ──────────────────┐ no operation is reached: no faults, no quota
      ├─ credentials ──────── 403 (address), 401 ───┘
      │     recorded in the sandbox's journal; if no sandbox has the key, among the unclaimed requests
      ├─ scenario ─────────── of a deposit; chosen here if its faults or settings may apply to the next stages
      ├─ faults, before ───── the answer of a fault; the operation is not carried out
      ├─ admission ────────── 403 (address, permission), 429
      ├─ key and body ─────── 400 ──────────────────┐
      ├─ look-up of the key ─ a replay, 409, Joined │ POST only
      ├─ payload, claim ───── 400 ──────────────────┘
      ├─ delay ────────────── Delayed, if a setting or a fault makes the operation slow
      │  execute
      ├─ handler ──────────── 400 (an amount, a query parameter), 404, 422
      ├─ record ───────────── 2xx, 404 and 422 are stored under the key; after any other answer the key is free
      ├─ faults, after ────── another answer, or this one broken on the wire; only `sticky_5xx` changes the stored one
      ▼
    Reply, in the journal

The last stage also applies to a replay.

Nothing in here waits, so nothing needs a lock, and a client that disconnects cannot interrupt a commit. Where a real
service keeps a request in flight, `handle` returns a value instead of a reply, and the shell continues later. `Delayed`
says after how many seconds to call `execute`. `Joined` says that another request has claimed the key, and the shell
calls `rejoin` when that request has ended. A request in flight is in the journal without a status, and its key is
claimed without an answer. `abandon` frees the key when the server stops.

The contract leaves the order open (assumptions, "Order of checks"). What each stage answers is in its sections 5, 7 and
8 and "Idempotency rules".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import ValidationError

from paydouble.api import envelopes, faulted
from paydouble.api.bodies import Body
from paydouble.api.execution import Delayed, Execution, Joined, Step
from paydouble.api.operations import PREFIX, Operation
from paydouble.api.routes import Routes
from paydouble.api.schemas import PayInView
from paydouble.api.values import AUTHORIZATION, IDEMPOTENCY_KEY, Reply, Request
from paydouble.config import Settings, explain
from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.core.ids import Ids
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.plans import Plan
from paydouble.guards import idempotency
from paydouble.guards.credentials import CHALLENGE, address_allowed, parse_basic, permitted
from paydouble.guards.idempotency import Claim
from paydouble.guards.rate_limit import Wall, retry_after
from paydouble.journal import (
    MOST_UNCLAIMED_BODY_BYTES,
    RequestEntry,
    Unclaimed,
    UnclaimedEntry,
    header_block,
    named_in,
    without_secrets,
)
from paydouble.payments.resources import Document
from paydouble.sandbox import Registry, Sandbox
from paydouble.sandbox.recording import Answered, Continued
from paydouble.sandbox.trimming import size_of_request

# Characters that are kept of a business key that no sandbox has.
_MOST_KEY_CHARACTERS = 128


class Pipeline:
    """The API of every sandbox of a process."""

    def __init__(  # noqa: PLR0913 - what a service is made of
        self,
        registry: Registry,
        operations: Sequence[Operation],
        *,
        defaults: Settings,
        seed: int,
        unclaimed: Unclaimed,
        wall: Callable[[], int] | None = None,
        checkout_for: Callable[[Request], str] | None = None,
    ) -> None:
        """Answer the requests to the sandboxes of a registry.

        `defaults` and `seed` are for requests that belong to no sandbox, and `unclaimed` keeps those. `wall` returns
        the machine's time in milliseconds, by which clients wait for a quota; without it they wait by the sandbox's
        clock. `checkout_for` returns the base URL of the payers' pages as the client of a request reaches it; without
        it that is the sandbox's `checkout_base`.
        """
        self._wall = wall
        self.has_wall = wall is not None
        """Whether it knows the machine's time."""
        self.operations = tuple(operations)
        self._arrival = wall or int  # without a wall clock, 0
        self._checkout_for = checkout_for
        self._registry = registry
        self._routes = Routes(operations, PREFIX)
        # Bound once, since pydantic's metaclass makes each look-up in a model's class slow.
        self._validated = {row.name: row.payload.validated for row in operations if row.payload is not None}
        self._defaults = defaults
        self._ids = Ids(SeededRandom(seed))
        self._unclaimed = unclaimed

    def handle(self, request: Request) -> Step:
        """Answer a request, or return why it has to wait."""
        target = self._routes.fixed.get(request.target, request.target)  # one string for all entries of the journal
        path = target.partition("?")[0] if "?" in target else target
        # HEAD is answered like GET; the shell leaves the body out.
        method = "GET" if request.method == "HEAD" else request.method
        found = self._routes.match(method, path)
        sandbox, authentic = self._registry.find(request.headers.get(AUTHORIZATION))
        if found is None:
            message = f"There is no {method[:16]} {path[:128]}."
            return self._refuse_at_edge(
                request, sandbox if authentic else None, ApiError("NOT_FOUND", message, edge=True)
            )
        if sandbox is None or not authentic:
            # The key names the sandbox even if the secret is wrong: its settings apply, its journal has the request.
            return self._refuse_at_edge(request, sandbox, _credentials_error(request, sandbox))
        operation, params = found
        now = sandbox.tick()
        entry = RequestEntry(
            sandbox.ids.make("req"),
            now,
            request.method,
            target,
            operation.name,
            header_block(request.raw_headers or request.encoded_headers()),
            request.body[: sandbox.settings.body_limit],  # whole, unless it is refused for its size
        )
        entry.sequence = sandbox.journal.next()
        entry.arrived = self._arrival()
        sandbox.journal.requests.add(entry)
        _record(request, entry, sandbox)
        call = Execution(request, sandbox, params, operation=operation, entry=entry, wall_ms=entry.arrived)
        try:
            if operation.name == "deposit-creation":
                faulted.prepare(call)
            if "before" in sandbox.faults.active_points:
                call.plan = faulted.plan(call, "before")
                if call.plan is not None and call.plan.speaks:
                    return self._answer_instead(call, call.plan)
            if sandbox.guarded:
                self._admit(call, now)
            if operation.method == "GET":
                return self._execute_after(call, 0)
            entry.key = idempotency.parse_key(request.headers.getall(IDEMPOTENCY_KEY, ()))
            return self._deduplicate(call)
        except ApiError as error:
            if entry.key is None and operation.method == "POST":
                _note_unread(call)
            return self._refuse(call, error)

    def rejoin(self, joined: Joined) -> Step:
        """Continue a `Joined` request when the other one has ended: replay its answer, or claim the key again."""
        call = joined.call
        self._continue(call, joined=True)
        try:
            return self._deduplicate(call, joined=joined.claim)
        except ApiError as error:
            return self._refuse(call, error)

    def execute(self, call: Execution) -> Reply:
        """Continue a `Delayed` request: run the operation and record its answer."""
        self._continue(call, joined=False)
        call.scenario = None  # another may have been chosen meanwhile
        return self._execute(call)

    def _continue(self, call: Execution, *, joined: bool) -> None:
        sandbox = call.sandbox
        now = sandbox.tick()
        call.wall_ms = self._arrival()
        recording = sandbox.recording
        recording.waiting -= 1
        recording.add(Continued(call.entry, now, call.wall_ms, joined))

    def _wall_of(self, call: Execution) -> Wall:
        """Return the machine's time for a request: one reading for all, so that a repeated run has the same."""
        return None if self._wall is None else call.wall_ms

    def _execute(self, call: Execution) -> Reply:
        sandbox = call.sandbox
        operation = call.operation
        claim = call.claim
        publisher = sandbox.publisher
        publisher.cause = call.entry
        try:
            document = operation.handler(call)
            self._set_payment_urls(call, document)
            if operation.creates:
                call.made = document["id"]
            body = envelopes.success(document)
            if call.plan is not None:
                body = faulted.change_operation(call, call.plan, body)
            status = sandbox.settings.created_status if operation.creates else 200
        except IllegalTransition as error:
            return self._refuse(call, ApiError("VALIDATION_ERROR", str(error)), executed=True)
        except ApiError as error:
            return self._refuse(call, error, executed=True)
        except BaseException:
            if claim is not None:
                sandbox.keys.release(claim)
            raise
        finally:
            publisher.cause = None
            if publisher.overtaking:
                call.overtaken = tuple(publisher.overtaking)
                publisher.overtaking.clear()
        if claim is not None:
            claim.made = call.made
            sandbox.keys.record(claim, status, body)
            if call.plan is not None and call.plan.forget:
                sandbox.keys.release(claim)
        return self._reply(call, status, body, executed=True)

    def _set_payment_urls(self, call: Execution, document: Document) -> None:
        """Write the URLs of the payers' pages as this client reaches them; another client may have made the pay-in."""
        if call.operation.answer is PayInView and self._checkout_for is not None:
            base = self._checkout_for(call.request)
            call.entry.checkout = base if base != call.sandbox.checkout_base else None
            for shown in document["items"] if call.operation.listed else (document,):
                shown["payment_url"] = base + shown["id"]

    def abandon(self, call: Execution) -> None:
        """Give up a request in flight, and free its key, so that a retry is carried out."""
        if call.claim is not None:
            call.sandbox.keys.release(call.claim)

    def internal_error(self) -> Reply:
        """Return the 500 for a bug in the double."""
        error = ApiError("INTERNAL_ERROR", "The double failed; its log says why. Please report it.")
        return self._refuse_at_edge(None, None, error)

    def unreadable(self, message: str) -> Reply:
        """Return the 400 for bytes that are not an HTTP request, which are noted as an unclaimed request."""
        reply = self._refuse_at_edge(None, None, ApiError("INVALID_INPUT", message, edge=True))
        entry = UnclaimedEntry(reply.request_id, 0, "", "", None, b"", b"", reply.status, reply.body)
        self._unclaimed.add(entry)
        return reply

    # The checks

    def _admit(self, call: Execution, now: int) -> None:
        sandbox = call.sandbox
        settings = sandbox.settings
        if settings.allowed_addresses is not None and (error := _address_error(call.request, sandbox)) is not None:
            raise error
        if settings.permissions is not None and not permitted(call.operation.name, settings.permissions):
            raise ApiError("FORBIDDEN", f"The business has no permission for {call.operation.name}.")
        rule = settings.rate_limit
        if rule is not None:
            passes, headers, left = sandbox.quota.take(rule, now, self._wall_of(call))
            if not passes or rule.headers == "always":
                call.extra_headers = headers
            if not passes:
                if settings.retry_after:
                    call.extra_headers = (*headers, retry_after(left))
                raise ApiError("RATE_LIMITED", "Too many requests.")

    def _deduplicate(self, call: Execution, *, joined: Claim | None = None) -> Step:
        sandbox, entry = call.sandbox, call.entry
        settings = sandbox.settings
        body = call.body()
        if body.incomparable:
            raise ApiError("INVALID_INPUT", body.problem or "")
        claim = _claim(call, body)
        entry.order = named_in(body.parsed)
        # A joined request gets the answer that it waited for, even if the key has expired since.
        known = joined if joined is not None and joined.status else None
        validity = settings.idempotency_validity
        known = known or sandbox.keys.look_up(entry.key or "", sandbox.now, validity)
        if known is not None:
            return self._answer_known(call, known, claim, joined=joined is not None)
        if body.problem:
            raise ApiError("INVALID_INPUT", body.problem)
        entry.verdict = "new"
        call.payload = self._validate(call.operation, body.parsed, sandbox)
        sandbox.keys.claim(claim, validity)
        call.claim = claim
        return self._execute_after(call, settings.processing_time)

    def _validate(self, operation: Operation, parsed: object, sandbox: Sandbox) -> object:
        """Return the operation's payload; `INVALID_INPUT` names the first member that is wrong."""
        extra: Literal["forbid"] | None = "forbid" if sandbox.settings.unknown_fields == "refuse" else None
        if operation.completed is not None:
            parsed = operation.completed(sandbox, parsed)
        try:
            return self._validated[operation.name](parsed, extra)
        except ValidationError as error:
            place, message = explain(error, operation.payload)
            raise ApiError("INVALID_INPUT", f"{place}: {message}." if place else f"The body: {message}.") from None

    def _execute_after(self, call: Execution, milliseconds: int) -> Step:
        if call.plan is not None:
            milliseconds += call.plan.delay_ms
            call.waited = True
        if not milliseconds:
            return self._execute(call)
        call.sandbox.recording.waiting += 1
        return Delayed(call, milliseconds / 1000)

    def _answer_known(self, call: Execution, known: Claim, mine: Claim, *, joined: bool) -> Step:
        entry = call.entry
        entry.bytes_differ = not known.same_bytes(mine)
        if not known.same(mine):
            entry.verdict = "conflict"
            raise idempotency.conflict(known, _sent_key(call))
        if known.status is None:
            if call.sandbox.settings.in_flight == "conflict":
                entry.verdict = "conflict"
                raise idempotency.conflict(known, _sent_key(call), running=True)
            entry.verdict = "joined"
            call.sandbox.recording.waiting += 1
            return Joined(call, known)
        entry.verdict = "joined" if joined else "replay"
        if call.sandbox.settings.idempotent_replayed:
            call.extra_headers = (*call.extra_headers, ("Idempotent-Replayed", "true"))
        call.made = known.made
        return self._reply(call, known.status, known.body, request_id=known.request_id, executed=True)

    # The answers

    def _answer_instead(self, call: Execution, plan: Plan) -> Reply:
        # Nothing was claimed or carried out, whatever status the fault answers with.
        if plan.store_answer:
            call.entry.key = idempotency.parse_key(call.request.headers.getall(IDEMPOTENCY_KEY, ()))
        reply = faulted.before_commit(call, plan, self._wall_of(call))
        if plan.store_answer:
            keys = call.sandbox.keys
            claim = _claim(call, call.body())
            keys.claim(claim, call.sandbox.settings.idempotency_validity)
            keys.record(claim, reply.status, reply.body)
            call.entry.verdict = "new"
        return self._journal(call, reply)

    def _refuse(self, call: Execution, error: ApiError, *, executed: bool = False) -> Reply:
        sandbox = call.sandbox
        settings = sandbox.settings
        envelope = envelopes.choose(settings.envelope, error, sandbox.errors)
        sandbox.errors += 1
        body = envelopes.failure(error, envelope, request_id=call.entry.id, docs_url=settings.docs_url)
        if call.claim is not None:
            # An answer of the operation is stored, the refusal of a malformed request is not (assumptions, "Stored").
            if error.status in {404, 422} and not (call.plan is not None and call.plan.forget):
                sandbox.keys.record(call.claim, error.status, body)
            else:
                sandbox.keys.release(call.claim)
        return self._reply(call, error.status, body, executed=executed)

    def _reply(
        self, call: Execution, status: int, body: bytes, *, request_id: str = "", executed: bool = False
    ) -> Reply:
        """Return the reply with an answer; if the operation gave it (`executed`), faults may change it.

        `request_id` is that of the first request when this is a replay.
        """
        reply = Reply(status, body, request_id or call.entry.id, call.extra_headers, call.sandbox)
        if call.plan is not None:
            reply.body = faulted.rewritten(body, call.plan)
            reply.delay_ms = 0 if call.waited else call.plan.delay_ms
        if executed and "after" in call.sandbox.faults.active_points:
            faulted.after_commit(call, reply, self._wall_of(call))
        reply.overtaken = call.overtaken
        return self._journal(call, reply, executed=executed)

    def _journal(self, call: Execution, reply: Reply, *, executed: bool = False) -> Reply:
        entry, sandbox, wire = call.entry, call.sandbox, reply.wire
        if wire is None or executed or wire.sends_head:
            entry.status, entry.response_body = reply.status, reply.body
            entry.answer_type, entry.answer_id, entry.answer_headers = (
                reply.content_type,
                reply.request_id,
                reply.headers,
            )
        else:
            entry.response_body = wire.data  # nothing was carried out, and no answer is sent
        entry.object_id = call.made or call.params.get("id")
        if entry.object_id and entry.order is None:
            resource = sandbox.ledger.find(entry.object_id)
            entry.order = getattr(resource, "external_identifier", None)
        if entry.faults or sandbox.awaited:
            sandbox.note_answer(entry)
        sandbox.recording.add(Answered(entry, reply.delay_ms, wire))
        sandbox.feed.add(entry)
        sandbox.trimmer.keep(size_of_request(entry))
        return reply

    def _refuse_at_edge(self, request: Request | None, sandbox: Sandbox | None, error: ApiError) -> Reply:
        # The request reaches no operation. If its sandbox is known, that sandbox's journal has the request.
        if sandbox is None or request is None:
            request_id = self._ids.make("req")
            envelope = envelopes.choose(self._defaults.envelope, error, 0)
            body = envelopes.failure(error, envelope, request_id=request_id, docs_url=self._defaults.docs_url)
            reply = Reply(error.status, body, request_id, _challenge(error))
            if request is not None:
                self._unclaimed.add(_unclaimed(request, reply))
            return reply
        now = sandbox.tick()
        entry = RequestEntry(
            sandbox.ids.make("req"),
            now,
            request.method,
            request.target,
            None,
            header_block(request.raw_headers or request.encoded_headers()),
            request.body[: sandbox.settings.body_limit],  # whole, unless it is refused for its size
            unread=True,
        )
        entry.sequence = sandbox.journal.next()
        entry.arrived = self._arrival()
        sandbox.journal.requests.add(entry)
        _record(request, entry, sandbox)
        settings = sandbox.settings
        envelope = envelopes.choose(settings.envelope, error, sandbox.errors)
        sandbox.errors += 1
        entry.status = error.status
        entry.response_body = envelopes.failure(
            error, envelope, request_id=entry.id, docs_url=sandbox.settings.docs_url
        )
        reply = Reply(error.status, entry.response_body, entry.id, _challenge(error))
        entry.answer_type, entry.answer_id, entry.answer_headers = reply.content_type, reply.request_id, reply.headers
        sandbox.recording.add(Answered(entry, 0, None))
        sandbox.feed.add(entry)
        sandbox.trimmer.keep(size_of_request(entry))
        return reply


def _record(request: Request, entry: RequestEntry, sandbox: Sandbox) -> None:
    """Add a request to the recording of its sandbox."""
    entry.remote = request.remote
    entry.body_error = request.body_error
    if len(entry.body) != len(request.body):
        entry.whole_body = request.body
    sandbox.recording.add(entry)


def _unclaimed(request: Request, reply: Reply) -> UnclaimedEntry:
    """Return the journal's entry for a request that belongs to no sandbox."""
    credentials = parse_basic(request.headers.get(AUTHORIZATION, ""))
    return UnclaimedEntry(
        reply.request_id,
        0,
        request.method,
        request.target,
        None,
        header_block(without_secrets(request.raw_headers)),
        request.body[:MOST_UNCLAIMED_BODY_BYTES],
        status=reply.status,
        response_body=reply.body,
        unread=True,
        answer_type=reply.content_type,
        answer_id=reply.request_id,
        answer_headers=reply.headers,
        business_key=None if credentials is None else credentials[0][:_MOST_KEY_CHARACTERS],
    )


def _credentials_error(request: Request, sandbox: Sandbox | None) -> ApiError:
    """Return why a request without the right credentials is refused; `sandbox` is the one that has its key."""
    if sandbox is not None and (error := _address_error(request, sandbox)) is not None:
        return error
    if AUTHORIZATION not in request.headers:
        return ApiError("UNAUTHORIZED", "The Authorization header is missing; send HTTP Basic with the business key.")
    return ApiError("UNAUTHORIZED", "The business key or the business secret is wrong.")


def _address_error(request: Request, sandbox: Sandbox) -> ApiError | None:
    networks = sandbox.settings.networks
    if networks is None or (request.remote is not None and address_allowed(request.remote, networks)):
        return None
    return ApiError("FORBIDDEN", f"The address {request.remote} is not on the business's allow-list.")


def _note_unread(call: Execution) -> None:
    """Note the key of a request that was refused before its key and its body were read.

    Tests search for refused requests by key and by order. Its body, which names the order, is marked as unread and only
    parsed for such a search, since that may take long.
    """
    entry = call.entry
    with suppress(ApiError):
        entry.key = idempotency.parse_key(call.request.headers.getall(IDEMPOTENCY_KEY, ()))
    entry.unread = True


def _claim(call: Execution, body: Body) -> Claim:
    """Return the claim that a request would make: its key, and what it asks for."""
    request, sandbox, entry = call.request, call.sandbox, call.entry
    parsed = body.problem is None and sandbox.settings.fingerprint == "parsed"
    return Claim(entry.key or "", request.method, entry.target, entry.body, parsed, entry.id, sandbox.now)


def _sent_key(call: Execution) -> str:
    """Return the key as the client sent it; the journal has it in lower case."""
    return call.request.headers[IDEMPOTENCY_KEY]


def _challenge(error: ApiError) -> tuple[tuple[str, str], ...]:
    """Return the extra headers of a refusal at the edge: a 401 says how to authenticate."""
    return CHALLENGE if error.code == "UNAUTHORIZED" else ()
