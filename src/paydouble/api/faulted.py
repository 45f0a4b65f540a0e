"""Faults on a request: which of them fire, and how they change the answer.

There are two injection points: `before`, ahead of all checks, and `after`, when the operation has answered. If a fault
answers before the commit, nothing is claimed, carried out or stored. If it acts after the commit, everything is done
and the operation's answer is stored under the key; only what the client gets is different. The exception is
`sticky_5xx`, which stores its own answer under the key in both phases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from paydouble.api import envelopes
from paydouble.api.execution import Execution
from paydouble.api.values import IDEMPOTENCY_KEY, Reply
from paydouble.config import RateLimit
from paydouble.core import json_text
from paydouble.core.errors import ApiError, UsageError
from paydouble.core.money import to_minor
from paydouble.faults.plans import Answer, Limited, Plan
from paydouble.guards.credentials import CHALLENGE
from paydouble.guards.idempotency import Claim
from paydouble.guards.rate_limit import RESET, Wall, retry_after
from paydouble.guards.rate_limit import headers as limit_headers
from paydouble.payments.resources import AnyResource, Currency, Dispute, Document, PayIn, Payout, Refund, Resource
from paydouble.sandbox.scenario_selector import SCENARIO_DOMAIN

if TYPE_CHECKING:
    from paydouble.faults.api_effects import ApiEffect
    from paydouble.faults.base import Effect
    from paydouble.faults.names import OperationName

_DOMAIN: Final = SCENARIO_DOMAIN.encode()
# JSON can spell the domain with escapes, too. One byte of a bytes object is a number, and is found at once.
_BACKSLASH: Final = ord("\\")


class RequestContext:
    """A request as faults match it; its body and its objects are looked up only when a fault needs them."""

    __slots__ = ("_known", "call")

    def __init__(self, call: Execution) -> None:
        """Describe a request; what is looked up is kept for the next fault."""
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
        """Return the age of the youngest object that is read, in milliseconds."""
        now = self.call.sandbox.now
        return min((now - each.created_at for each in self._read()), default=None)

    def since_change_ms(self) -> int | None:
        """Return the milliseconds since the last change of an object that is read; None when none has changed."""
        now = self.call.sandbox.now
        return min((now - each.updated_at for each in self._read() if each.previous), default=None)

    def _find(self, member: str) -> str | int | None:
        return _MEMBERS[member](self)

    def object_id(self) -> str | None:
        """Return the object that the request has made or names; of a list the one whose refunds or disputes it has."""
        call = self.call
        return call.made or call.params.get("id") or self._in_query("payin_id") or self._in_body("payin_id")

    def external_identifier(self) -> str | None:
        """Return the order that it is about; for a refund or a dispute that of its pay-in."""
        named = getattr(self._pay_in() or self._resource(), "external_identifier", None)
        return named or self._in_query("external_identifier") or self._in_body("external_identifier")

    def scenario(self) -> str | None:
        """Return the scenario of the pay-in that it is about."""
        pay_in = self._pay_in()
        return pay_in.scenario if pay_in else self.call.scenario_name

    def _in_query(self, member: str) -> str | None:
        is_filter = any(query.name == member for query in self.call.operation.queries)
        return self.call.queries.get(member) if is_filter else None

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

    def _read(self) -> list[Resource]:
        """Return what is read: one object, or those that fit a list's filters. A transaction never changes."""
        call = self.call
        if call.operation.listed:
            return _listed(call)
        resource = self._resource() if call.operation.method == "GET" else None
        return [resource] if isinstance(resource, Resource) else []


_LISTS: Final[Mapping[OperationName, type[Resource]]] = MappingProxyType(
    {"pay-in-list": PayIn, "refund-list": Refund, "dispute-list": Dispute, "payout-list": Payout}
)
_FILTERS: Final = frozenset({"external_identifier", "status", "payin_id"})
_MEMBERS: Final[Mapping[str, Callable[[RequestContext], str | None]]] = MappingProxyType(
    {
        "operation": lambda context: context.call.operation.name,
        "method": lambda context: context.call.operation.method,  # of HEAD too, which is a GET
        "path": lambda context: context.call.request.target.partition("?")[0],
        "idempotency_key": lambda context: context.call.request.headers.get(IDEMPOTENCY_KEY, "").lower() or None,
        "object_id": RequestContext.object_id,
        "external_identifier": RequestContext.external_identifier,
        "scenario": RequestContext.scenario,
    }
)


def _listed(call: Execution) -> list[Resource]:
    kind = _LISTS.get(call.operation.name)
    if kind is None:
        return []
    wanted = {name: value for name, value in call.queries.items() if name in _FILTERS}
    return [
        resource
        for resource in call.sandbox.ledger.newest_first(kind)
        if all(getattr(resource, name, value) == value for name, value in wanted.items())
    ]


def known_claim(call: Execution) -> Claim | None:
    """Return the claim of a request's key, if there is one; the form of the key is not checked."""
    key = call.request.headers.get(IDEMPOTENCY_KEY, "").lower()
    return call.sandbox.keys.look_up(key, call.sandbox.now, call.sandbox.settings.idempotency_validity)


def prepare(call: Execution) -> None:
    """Choose the scenario of a deposit and set up its faults and settings, ahead of all checks.

    Only where that can matter so early: it takes a parse of a body that may be refused unread.
    """
    box = call.sandbox
    try:
        selection = box.scenarios.default_selection(box.settings.scenario)
    except UsageError:
        return  # the operation refuses it
    body = call.request.body
    if not selection.needs_preparation and _DOMAIN not in body and _BACKSLASH not in body:
        call.scenario = selection.scenario
        return
    deposit = call.body().parsed
    identifier = deposit.get("external_identifier") if isinstance(deposit, dict) else None
    if not isinstance(identifier, str):
        return
    try:
        scenario = box.choose_scenario(deposit)
    except UsageError:
        return  # the operation refuses it
    call.scenario_name = scenario.name
    with suppress(UsageError):  # settings that do not fit: the operation refuses it
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


def before_commit(call: Execution, plan: Plan, wall: Wall) -> Reply:
    """Return the answer of a fault before the commit; a wire fault without its own answer breaks a 500."""
    context, entry = RequestContext(call), call.entry
    named = context.value("external_identifier")
    entry.key = str(context.value("idempotency_key") or "") or None
    entry.order = str(named) if named is not None else None
    reply = Reply(500, b"", entry.id, (), call.sandbox)
    answer = plan.answer or Answer(500, "INTERNAL_ERROR", "A fault answers before the commit.")
    _replace(call, reply, answer, plan, wall)
    return reply


def after_commit(call: Execution, reply: Reply, wall: Wall) -> None:
    """Replace, delay or break the operation's answer, as the faults after the commit say."""
    after = plan(call, "after")
    if after is None:
        return
    if after.answer is not None:
        _replace(call, reply, after.answer, after, wall)
        if after.store_answer and call.claim is not None:
            call.sandbox.keys.record(call.claim, reply.status, reply.body)
    else:
        reply.delay_ms += after.delay_ms
        reply.wire = after.wire


def _replace(call: Execution, reply: Reply, answer: Answer, plan: Plan, wall: Wall) -> None:
    reply.status = answer.status
    reply.request_id = call.entry.id  # a replay has the id of the first request; a fault's answer has this request's
    reply.content_type = answer.content_type
    reply.headers = answer.headers
    if plan.limited is not None:
        reply.headers = (*reply.headers, *_limit_headers(call, plan.limited, wall))
    if answer.status == 401:  # noqa: PLR2004 - HTTP
        reply.headers = (*reply.headers, *CHALLENGE)
    reply.body = _envelope(call, answer) if answer.raw is None else answer.raw
    reply.delay_ms += plan.delay_ms
    reply.wire = plan.wire


def _envelope(call: Execution, answer: Answer) -> bytes:
    sandbox = call.sandbox
    settings = sandbox.settings
    details = answer.details
    if answer.code == "IDEMPOTENCY_CONFLICT" and details is None:
        known = known_claim(call)
        original = known.request_id if known is not None else sandbox.ids.derive("req", call.entry.id, 0)
        details = {"original_request_id": original, "key": call.request.headers.get(IDEMPOTENCY_KEY, "")}
    code = answer.code if answer.code in envelopes.SNAKE_CODES else "INTERNAL_ERROR"
    error = ApiError(code, answer.message, edge=answer.status in {401, 403, 429} or answer.status >= 500)  # noqa: PLR2004
    envelope = answer.envelope or envelopes.choose(settings.envelope, error, sandbox.errors)
    sandbox.errors += 1
    return envelopes.spell(
        code=answer.code,
        message=answer.message,
        status=answer.status,
        details=details,
        envelope=envelope,
        request_id=call.entry.id,
        docs_url=settings.docs_url,
    )


def _limit_headers(call: Execution, limited: Limited, wall: Wall) -> tuple[tuple[str, str], ...]:
    if limited.headers == "missing":
        return ()
    if limited.headers == "malformed":
        return (("X-RateLimit-Limit", "many"), ("X-RateLimit-Remaining", "-1"), (RESET, "soon"))
    settings = call.sandbox.settings
    rule = settings.rate_limit or RateLimit(limit=limited.limit)
    now = call.sandbox.now
    reset_at = now - limited.reset_ms if limited.headers == "past" else now + limited.reset_ms
    shown = rule.model_copy(update={"limit": limited.limit, "reset_unit": limited.unit or rule.reset_unit})
    headers = limit_headers(shown, remaining=limited.remaining, reset_at=reset_at, now=now, wall=wall)
    if settings.retry_after and limited.headers == "full":
        return (*headers, retry_after(limited.reset_ms))
    return headers


def rewritten(body: bytes, plan: Plan) -> bytes:
    """Return the body of the operation's answer with the changes of a plan; numbers keep their digits."""
    if not plan.rewrite:
        return body
    document = json_text.loads(body)
    for change in plan.rewrite:
        change(document)
    return json_text.dumps(document)


def change_operation(call: Execution, plan: Plan, body: bytes) -> bytes:
    """Change what the operation did or shows, and return its body; `NOT_FOUND` when a fault hides what it reads."""
    _drift(call, plan)
    if call.operation.listed:
        return _change_list(call, plan, body)
    resource = call.sandbox.ledger.find(call.params.get("id", ""))
    if resource is None:
        return body
    if plan.not_found_for_ms is not None:
        raise ApiError("NOT_FOUND", f"There is no {resource.OBJECT} {resource.id!r}.")
    if plan.stale_for_ms is None or not getattr(resource, "previous", None):
        return body
    document = json_text.loads(body)
    _show_previous(document["data"], resource)
    return json_text.dumps(document)


def _change_list(call: Execution, plan: Plan, body: bytes) -> bytes:
    """Hide the items of a list that are too young, and show the older state of those that have just changed."""
    if plan.not_found_for_ms is None and plan.stale_for_ms is None:
        return body
    now = call.sandbox.now
    document = json_text.loads(body)
    shown = []
    for item in document["data"]["items"]:
        # Never a list of transactions: no effect can act on it.
        resource = cast("Resource", call.sandbox.ledger.find(item["id"]))
        if _is_within(plan.not_found_for_ms, now - resource.created_at):
            continue
        if resource.previous and _is_within(plan.stale_for_ms, now - resource.updated_at):
            _show_previous(item, resource)
        shown.append(item)
    document["data"]["items"] = shown
    return json_text.dumps(document)


def _is_within(limit_ms: int | None, age_ms: int) -> bool:
    # 0 stands for any age.
    return limit_ms is not None and (limit_ms == 0 or age_ms < limit_ms)


def _show_previous(document: Document, resource: AnyResource) -> None:
    document.update(getattr(resource, "previous", None) or {})
    if document["status"] != "failed":
        document.pop("failure", None)


def _drift(call: Execution, plan: Plan) -> None:
    """Make what will be settled for a new deposit differ; the amount stays at least one minor unit."""
    resource = call.sandbox.ledger.find(call.made or "")
    if not isinstance(resource, PayIn):
        return
    if plan.drift is not None:
        try:
            by = to_minor(json_text.Number(plan.drift), resource.digits)
        except ValueError:
            by = 1 if not plan.drift.startswith("-") else -1  # finer than the currency: the smallest difference
        resource.settles_at = max(1, resource.amount + by)
    if plan.settled_in is not None and plan.settled_in != resource.currency:
        # The same number, in the digits of the other currency.
        digits = call.sandbox.catalogue.digits.get(plan.settled_in, resource.digits)
        number = Decimal(resource.settles_at or resource.amount).scaleb(digits - resource.digits)
        resource.settles_at = max(1, int(number))
        resource.settles_in = Currency(plan.settled_in, digits)
