"""A request's way to its reply, check by check in the documented order (assumptions, "Order of checks").

Nothing in here waits, so nothing needs a lock and a client that goes away cannot split a commit. Where a real service
would keep a request in flight, `handle` answers with a value that says so (`Delayed`, `Joined`) and the shell comes
back through `execute` or `rejoin` when the time has come.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from paydouble.api import envelopes
from paydouble.api.operations import PREFIX, Operation
from paydouble.api.routes import Routes
from paydouble.api.values import Call, Delayed, Joined, Reply, Request, Step
from paydouble.config import Settings, explain
from paydouble.core import json_text
from paydouble.core.draws import Draws
from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.core.ids import Ids
from paydouble.guards import idempotency
from paydouble.guards.credentials import address_allowed, permitted
from paydouble.guards.idempotency import Claim
from paydouble.journal import RequestEntry
from paydouble.sandbox import Registry, Sandbox


class Pipeline:
    """The API of every sandbox of a process."""

    def __init__(self, registry: Registry, operations: Sequence[Operation], *, defaults: Settings, seed: int) -> None:
        """Answer for the sandboxes of a registry; `defaults` and `seed` serve requests that no sandbox claims."""
        self._registry = registry
        self._routes = Routes(operations, PREFIX)
        self._defaults = defaults
        self._ids = Ids(Draws(seed))

    def handle(self, request: Request) -> Step:
        """Take one request as far as it goes."""
        target = request.target
        path = target.partition("?")[0] if "?" in target else target
        found = self._routes.match(request.method, path)
        sandbox, authentic = self._registry.find(request.headers.get("Authorization"))
        if found is None:
            message = f"There is no {request.method[:16]} {path[:128]}."
            return self._refuse_at_edge(
                request, sandbox if authentic else None, ApiError("NOT_FOUND", message, edge=True)
            )
        if sandbox is None or not authentic:
            error = self._stranger(request, sandbox)
            return self._refuse_at_edge(request, None, error)
        operation, params = found
        now = sandbox.tick()
        entry = RequestEntry(
            sandbox.ids.make("req"),
            now,
            request.method,
            target,
            operation.name,
            request.raw_headers,
            request.body,
        )
        sandbox.journal.requests.add(entry)
        call = Call(request, operation, sandbox, entry, params)
        try:
            self._admit(call, now)
            if operation.method == "GET":
                call.queries = request.query()
                return self.execute(call)
            entry.key = idempotency.parse_key(request.headers.getall("Idempotency-Key", ()))
            return self._deduplicate(call)
        except ApiError as error:
            return self._refuse(call, error)

    def rejoin(self, joined: Joined) -> Step:
        """Go on with a request whose predecessor has ended: replay its answer, or claim the key anew."""
        call = joined.call
        call.sandbox.tick()
        try:
            return self._deduplicate(call, joined=True)
        except ApiError as error:
            return self._refuse(call, error)

    def execute(self, call: Call) -> Reply:
        """Run the operation and record its answer."""
        sandbox = call.sandbox
        operation = call.operation
        claim = call.claim
        sandbox.tick()
        sandbox.cause = call.entry
        try:
            body = envelopes.success(operation.handler(call))
            status = sandbox.settings.created_status if operation.creates else 200
        except IllegalTransition as error:
            return self._refuse(call, ApiError("VALIDATION_ERROR", str(error)))
        except ApiError as error:
            return self._refuse(call, error)
        except BaseException:
            if claim is not None:
                sandbox.keys.release(claim)
            raise
        finally:
            sandbox.cause = None
        if claim is not None:
            sandbox.keys.record(claim, status, body)
        return self._reply(call, status, body)

    def abandon(self, call: Call) -> None:
        """Forget a request that was in flight when its shell was torn down; a retry starts anew."""
        if call.claim is not None:
            call.sandbox.keys.release(call.claim)

    def internal_error(self, request: Request) -> Reply:
        """Return the 500 for a failure of our own, which no caller should ever see."""
        error = ApiError("INTERNAL_ERROR", "The double failed; its log says why. Please report it.")
        return self._refuse_at_edge(request, None, error)

    def unreadable(self, message: str) -> Reply:
        """Return the 400 for bytes that are no HTTP request at all."""
        return self._refuse_at_edge(None, None, ApiError("INVALID_INPUT", message, edge=True))

    # The checks

    def _stranger(self, request: Request, sandbox: Sandbox | None) -> ApiError:
        if sandbox is not None:
            error = self._address_error(request, sandbox)
            if error is not None:
                return error
        if "Authorization" not in request.headers:
            return ApiError(
                "UNAUTHORIZED", "The Authorization header is missing; send HTTP Basic with the business key."
            )
        return ApiError("UNAUTHORIZED", "The business key or the business secret is wrong.")

    def _address_error(self, request: Request, sandbox: Sandbox) -> ApiError | None:
        networks = sandbox.settings.networks
        if networks is None or (request.remote is not None and address_allowed(request.remote, networks)):
            return None
        return ApiError("FORBIDDEN", f"The address {request.remote} is not on the business's allow-list.")

    def _admit(self, call: Call, now: int) -> None:
        sandbox = call.sandbox
        settings = sandbox.settings
        if settings.allowed_addresses is not None:
            error = self._address_error(call.request, sandbox)
            if error is not None:
                raise error
        if settings.permissions is not None and not permitted(call.operation.name, settings.permissions):
            raise ApiError("FORBIDDEN", f"The business has no permission for {call.operation.name}.")
        rule = settings.rate_limit
        if rule is not None:
            passes, headers = sandbox.quota.take(rule, now)
            if rule.headers == "always":
                call.extra_headers = headers
            if not passes:
                call.extra_headers = headers
                if settings.retry_after:
                    seconds = -((now - (now // rule.window + 1) * rule.window) // 1000)
                    call.extra_headers = (*headers, ("Retry-After", str(seconds)))
                raise ApiError("RATE_LIMITED", "Too many requests.")

    def _deduplicate(self, call: Call, *, joined: bool = False) -> Step:
        sandbox, entry, request = call.sandbox, call.entry, call.request
        settings = sandbox.settings
        parsed, problem = _parse(request, settings)
        raw = idempotency.digest(request.body)
        path, _, query = request.target.partition("?")
        content = raw if problem or settings.fingerprint == "raw" else json_text.canonical(parsed)
        fingerprint = idempotency.digest(request.method.encode(), path.encode(), query.encode(), content)
        known = sandbox.keys.look_up(entry.key or "", sandbox.now, settings.idempotency_validity)
        if known is not None:
            return self._known(call, known, fingerprint, raw, joined=joined)
        if problem:
            raise ApiError("INVALID_INPUT", problem)
        entry.verdict = "new"
        call.payload = _validate(call.operation, parsed, settings)
        claim = Claim(entry.key or "", fingerprint, entry.id, sandbox.now, raw)
        sandbox.keys.claim(claim, settings.idempotency_validity)
        call.claim = claim
        if settings.processing_time:
            return Delayed(call, settings.processing_time / 1000)
        return self.execute(call)

    def _known(self, call: Call, known: Claim, fingerprint: bytes, raw: bytes, *, joined: bool) -> Step:
        entry = call.entry
        entry.bytes_differ = raw != known.raw
        if known.fingerprint != fingerprint:
            entry.verdict = "conflict"
            raise idempotency.conflict(known)
        if known.status is None:
            if call.sandbox.settings.in_flight == "conflict":
                entry.verdict = "conflict"
                raise idempotency.conflict(known, running=True)
            entry.verdict = "joined"
            return Joined(call, known)
        entry.verdict = "joined" if joined else "replay"
        if call.sandbox.settings.idempotent_replayed:
            call.extra_headers = (*call.extra_headers, ("Idempotent-Replayed", "true"))
        return self._reply(call, known.status, known.body)

    # The answers

    def _refuse(self, call: Call, error: ApiError) -> Reply:
        sandbox = call.sandbox
        settings = sandbox.settings
        envelope = envelopes.choose(settings.envelope, error, sandbox.errors)
        sandbox.errors += 1
        body = envelopes.failure(error, envelope, request_id=call.entry.id, docs_url=settings.docs_url)
        if call.claim is not None:
            # Whatever execution answered is stored; a malformed request is not (assumptions, "Stored").
            if error.status in {404, 422}:
                sandbox.keys.record(call.claim, error.status, body)
            else:
                sandbox.keys.release(call.claim)
        return self._reply(call, error.status, body)

    def _reply(self, call: Call, status: int, body: bytes) -> Reply:
        entry = call.entry
        entry.status = status
        entry.response_body = body
        return Reply(status, body, entry.id, call.extra_headers, call.sandbox)

    def _refuse_at_edge(self, request: Request | None, sandbox: Sandbox | None, error: ApiError) -> Reply:
        # No operation, so no sandbox's rules apply; one that is known still journals what came.
        if sandbox is None or request is None:
            request_id = self._ids.make("req")
            envelope = envelopes.choose(self._defaults.envelope, error, 0)
            docs_url = self._defaults.docs_url
            return Reply(
                error.status, envelopes.failure(error, envelope, request_id=request_id, docs_url=docs_url), request_id
            )
        now = sandbox.tick()
        entry = RequestEntry(
            sandbox.ids.make("req"), now, request.method, request.target, None, request.raw_headers, request.body
        )
        sandbox.journal.requests.add(entry)
        envelope = envelopes.choose(sandbox.settings.envelope, error, sandbox.errors)
        sandbox.errors += 1
        entry.status = error.status
        entry.response_body = envelopes.failure(
            error, envelope, request_id=entry.id, docs_url=sandbox.settings.docs_url
        )
        return Reply(error.status, entry.response_body, entry.id)


def _parse(request: Request, settings: Settings) -> tuple[object, str | None]:
    """Return the parsed body, or why it cannot be taken."""
    if request.body_error:
        return None, request.body_error
    if len(request.body) > settings.body_limit:
        return None, f"The body is larger than {settings.body_limit} bytes."
    if not request.body:
        return {}, None  # as to cancel or to accept; many clients then send a Content-Type of their own
    content_type = request.headers.get("Content-Type", "")
    if content_type != "application/json" and content_type.partition(";")[0].strip().lower() != "application/json":
        return None, f"The Content-Type is {content_type[:64]!r}; it must be application/json."
    try:
        parsed = json_text.loads(request.body)
        json_text.canonical(parsed)
    except json_text.JsonTextError as error:
        return None, f"The body is not valid JSON: {error}."
    return parsed, None


def _validate(operation: Operation, parsed: object, settings: Settings) -> object:
    """Return the operation's payload; INVALID_INPUT names the first member that is wrong."""
    if operation.payload is None:
        return None
    try:
        return operation.payload.model_validate(parsed, extra="forbid" if settings.unknown_fields == "refuse" else None)
    except ValidationError as error:
        place, message = explain(error)
        raise ApiError("INVALID_INPUT", f"{place}: {message}." if place else f"The body: {message}.") from None
