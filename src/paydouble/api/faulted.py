"""Faults on a request: what fires, and what that makes of the answer.

A fault is asked before anything is decided (`before`) and, once the operation has answered, again (`after`). What acts
before the commit leaves no trace: nothing is claimed, carried out or stored. What acts after it finds everything done
and the true answer stored under the key; only the caller does not learn it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from paydouble.api import envelopes
from paydouble.api.execution import Execution
from paydouble.api.values import Reply
from paydouble.config import RateLimit
from paydouble.core import json_text
from paydouble.core.errors import ApiError, UsageError
from paydouble.core.money import to_minor
from paydouble.faults.plans import Answer, Limited, Plan
from paydouble.guards.credentials import CHALLENGE
from paydouble.guards.idempotency import Claim
from paydouble.guards.rate_limit import Wall
from paydouble.guards.rate_limit import headers as limit_headers
from paydouble.payments.resources import AnyResource, Dispute, PayIn, Refund
from paydouble.sandbox.scenario_selector import SCENARIO_DOMAIN

if TYPE_CHECKING:
    from paydouble.faults.api_effects import ApiEffect
    from paydouble.faults.base import Effect
    from paydouble.faults.names import OperationName

RETRIEVALS = frozenset({"pay-in-retrieval", "refund-retrieval", "dispute-retrieval", "payout-retrieval"})
_DOMAIN: Final = SCENARIO_DOMAIN.encode()
# With escapes that domain can be spelled in other ways.
_ESCAPE: Final = b"\\u"


class RequestContext:
    """What a request is, for the matching of faults; bodies and objects are looked at only when a fault asks."""

    __slots__ = ("_known", "call")

    def __init__(self, call: Execution) -> None:
        """Describe a request."""
        self.call = call
        self._known: dict[str, str | int | None] = {}

    def value(self, member: str) -> str | int | None:
        """Return a member of `match`."""
        if member not in self._known:
            self._known[member] = self._find(member)
        return self._known[member]

    def relevant(self, effect: Effect) -> bool:
        """Return whether the effect has something to act on."""
        return cast("ApiEffect", effect).can_act(self)

    @property
    def method(self) -> str:
        """Return the request's method."""
        return self.call.request.method

    @property
    def operation(self) -> OperationName:
        """Return the operation that is called."""
        return self.call.operation.name

    def can_be_stored(self) -> bool:
        """Return whether the key is new, or taken by this very request; any other key has an answer already."""
        return known_claim(self.call) is self.call.claim

    def since_creation_ms(self) -> int | None:
        """Return the age of the object that is read."""
        resource = self._read()
        return None if resource is None else self.call.sandbox.now - resource.created_at

    def since_change_ms(self) -> int | None:
        """Return how long ago the object that is read changed, if it has an older state."""
        resource = self._read()
        if resource is None or not getattr(resource, "previous", None):
            return None
        return self.call.sandbox.now - resource.updated_at

    def _find(self, member: str) -> str | int | None:
        return _MEMBERS[member](self)

    def object_id(self) -> str | None:
        """Return the object that the request has made or names."""
        call = self.call
        return call.made or call.params.get("id") or self._in_body("payin_id")

    def external_identifier(self) -> str | None:
        """Return the merchant's name for what it is about."""
        # A refund or a dispute is about its pay-in's order.
        named = getattr(self._pay_in() or self._resource(), "external_identifier", None)
        return named or self._in_body("external_identifier")

    def scenario(self) -> str | None:
        """Return the life of the pay-in that it is about."""
        pay_in = self._pay_in()
        return pay_in.scenario if pay_in else self.call.scenario_name

    def _in_body(self, member: str) -> str | None:
        parsed = self.call.body().parsed
        value = parsed.get(member) if isinstance(parsed, dict) else None
        return value if isinstance(value, str) else None

    def _resource(self) -> AnyResource | None:
        object_id = self.value("object_id")
        return self.call.sandbox.ledger.find(object_id) if isinstance(object_id, str) else None

    def _pay_in(self) -> PayIn | None:
        resource = self._resource()
        if isinstance(resource, Refund | Dispute):
            resource = self.call.sandbox.ledger.find(resource.payin_id)
        return resource if isinstance(resource, PayIn) else None

    def _read(self) -> AnyResource | None:
        return self._resource() if self.call.operation.name in RETRIEVALS else None


_MEMBERS: Final[Mapping[str, Callable[[RequestContext], str | None]]] = MappingProxyType(
    {
        "operation": lambda context: context.call.operation.name,
        "method": lambda context: context.call.operation.method,  # of HEAD too, which is a GET
        "path": lambda context: context.call.request.target.partition("?")[0],
        "idempotency_key": lambda context: context.call.request.headers.get("Idempotency-Key", "").lower() or None,
        "object_id": RequestContext.object_id,
        "external_identifier": RequestContext.external_identifier,
        "scenario": RequestContext.scenario,
    }
)


def known_claim(call: Execution) -> Claim | None:
    """Return what is known of a request's key, looked up without a check of its form."""
    key = call.request.headers.get("Idempotency-Key", "").lower()
    return call.sandbox.keys.look_up(key, call.sandbox.now, call.sandbox.settings.idempotency_validity)


def prepare(call: Execution) -> None:
    """Put in place what the scenario of a deposit needs before anything is decided about it.

    Only where its choice can matter that early: looking costs a parse of a body that may be refused unread.
    """
    box = call.sandbox
    try:
        selection = box.scenarios.default_selection(box.settings.scenario)
    except UsageError:
        return  # the operation refuses it in its turn
    body = call.request.body
    if not selection.needs_preparation and _DOMAIN not in body and _ESCAPE not in body:
        call.scenario = selection.scenario
        return
    deposit = call.body().parsed
    identifier = deposit.get("external_identifier") if isinstance(deposit, dict) else None
    if not isinstance(identifier, str):
        return
    try:
        scenario = box.choose_scenario(deposit)
    except UsageError:
        return  # the operation refuses it in its turn
    call.scenario_name = scenario.name
    box.prepare(scenario, identifier)


def plan(call: Execution, point: str) -> Plan | None:
    """Return what the faults of an injection point do to a request, or None when none fires."""
    fired = call.sandbox.faults.fire(point, RequestContext(call), call.sandbox.now)
    if not fired:
        return None
    result = Plan()
    for armed, seeded in fired:
        result.fired.append(armed.id)
        armed.fault.effect.apply(result, seeded)  # type: ignore[arg-type]  # a point of the API holds its effects alone
    call.entry.faults += tuple(result.fired)
    return result


def instead(call: Execution, plan: Plan, wall: Wall) -> Reply:
    """Return what is said before anything was done; a wire fault without an answer of its own breaks a 500."""
    context, entry = RequestContext(call), call.entry
    named = context.value("external_identifier")
    entry.key = str(context.value("idempotency_key") or "") or None
    entry.order = str(named) if named is not None else None
    reply = Reply(500, b"", entry.id, (), call.sandbox)
    false = plan.answer or Answer(500, "INTERNAL_ERROR", "A fault answers before the commit.")
    _falsify(call, reply, false, plan, wall)
    return reply


def afterwards(call: Execution, reply: Reply, wall: Wall) -> None:
    """Let the faults after the commit have their way with a true answer."""
    after = plan(call, "after")
    if after is None:
        return
    if after.answer is not None:
        _falsify(call, reply, after.answer, after, wall)
        if after.store_answer and call.claim is not None:
            call.sandbox.keys.record(call.claim, reply.status, reply.body)
    else:
        reply.delay_ms += after.delay_ms
        reply.wire = after.wire


def _falsify(call: Execution, reply: Reply, false: Answer, plan: Plan, wall: Wall) -> None:
    reply.status = false.status
    reply.request_id = call.entry.id  # also where it stands instead of a replay, which has the id of the first answer
    reply.content_type = false.content_type
    reply.headers = false.headers
    if plan.limited is not None:
        reply.headers = (*reply.headers, *_limit_headers(call, plan.limited, wall))
    if false.status == 401:  # noqa: PLR2004 - HTTP
        reply.headers = (*reply.headers, *CHALLENGE)
    reply.body = _envelope(call, false) if false.raw is None else false.raw
    reply.delay_ms += plan.delay_ms
    reply.wire = plan.wire


def _envelope(call: Execution, false: Answer) -> bytes:
    sandbox = call.sandbox
    settings = sandbox.settings
    details = false.details
    if false.code == "IDEMPOTENCY_CONFLICT" and details is None:
        known = known_claim(call)
        original = known.request_id if known is not None else sandbox.ids.derive("req", call.entry.id, 0)
        details = {"original_request_id": original, "key": call.request.headers.get("Idempotency-Key", "")}
    code = false.code if false.code in envelopes.SNAKE_CODES else "INTERNAL_ERROR"
    error = ApiError(code, false.message, edge=false.status in {401, 403, 429} or false.status >= 500)  # noqa: PLR2004
    envelope = false.envelope or envelopes.choose(settings.envelope, error, sandbox.errors)
    sandbox.errors += 1
    return envelopes.spell(
        code=false.code,
        message=false.message,
        status=false.status,
        details=details,
        envelope=envelope,
        request_id=call.entry.id,
        docs_url=settings.docs_url,
    )


def _limit_headers(call: Execution, limited: Limited, wall: Wall) -> tuple[tuple[str, str], ...]:
    if limited.headers == "missing":
        return ()
    if limited.headers == "malformed":
        return (("X-RateLimit-Limit", "many"), ("X-RateLimit-Remaining", "-1"), ("X-RateLimit-Reset", "soon"))
    settings = call.sandbox.settings
    rule = settings.rate_limit or RateLimit(limit=limited.limit)
    now = call.sandbox.now
    reset_at = now - limited.reset_ms if limited.headers == "past" else now + limited.reset_ms
    said = rule.model_copy(update={"limit": limited.limit, "reset_unit": limited.unit or rule.reset_unit})
    headers = limit_headers(said, remaining=limited.remaining, reset_at=reset_at, now=now, wall=wall)
    if settings.retry_after and limited.headers == "full":
        return (*headers, ("Retry-After", str(-(-limited.reset_ms // 1000))))
    return headers


def rewritten(body: bytes, plan: Plan) -> bytes:
    """Return a true answer with the changes of a plan; numbers keep their digits."""
    if not plan.rewrite:
        return body
    document = json_text.loads(body)
    for change in plan.rewrite:
        change(document)
    return json_text.dumps(document)


def carry_out(call: Execution, plan: Plan, body: bytes) -> bytes:
    """Change what the operation itself does or shows; NOT_FOUND when what it reads is not there yet."""
    _drift(call, plan)
    resource = call.sandbox.ledger.find(call.params.get("id", ""))
    if resource is None:
        return body
    if plan.unborn_for_ms is not None:
        raise ApiError("NOT_FOUND", f"There is no {resource.OBJECT} {resource.id!r}.")
    previous = getattr(resource, "previous", None)
    if plan.stale_for_ms is None or not previous:
        return body
    document = json_text.loads(body)
    document["data"].update(previous)
    if document["data"]["status"] != "failed":
        document["data"].pop("failure", None)
    return json_text.dumps(document)


def _drift(call: Execution, plan: Plan) -> None:
    """Let the settled amount of a deposit that was just made differ; never below one minor unit."""
    resource = call.sandbox.ledger.find(call.made or "")
    if plan.drift is None or not isinstance(resource, PayIn):
        return
    try:
        by = to_minor(json_text.Number(plan.drift), resource.digits)
    except ValueError:
        by = 1 if not plan.drift.startswith("-") else -1  # finer than the currency: the smallest difference there is
    resource.settles_at = max(1, resource.amount + by)
