"""Control calls that ask the journals, and explain their answer; `wait` asks until it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel

from paydouble.core import json_text
from paydouble.core.instants import write_instant
from paydouble.journal import RequestEntry
from paydouble.sandbox import Sandbox
from paydouble.sandbox.publishing import pay_in_of
from paydouble.verification import Criterion, Expectation, Verdict, verify, verify_sequence
from paydouble.web.control.models import DeliveryMatch, DeliveryQuestion, RequestMatch, RequestQuestion
from paydouble.web.control.values import ControlCall, Document
from paydouble.webhooks.deliveries import Delivery

T = TypeVar("T")
_DEEPEST = 100
"""Lists and objects in one another that an answer shows of a journalled body."""


def _body(entry: RequestEntry) -> Any:  # noqa: ANN401 - JSON is any
    try:
        return json_text.read(entry.body)
    except json_text.JsonTextError:
        return None


def _headers(entry: RequestEntry) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in entry.headers}


_Members = Mapping[str, tuple[Callable[[T], Any], bool]]
"""How to read each member of a match, and whether that is costly."""
_REQUEST: _Members[RequestEntry] = {
    "operation": (lambda entry: entry.operation, False),
    "method": (lambda entry: entry.method, False),
    "path": (lambda entry: entry.target.partition("?")[0], False),
    "status": (lambda entry: entry.status, False),
    "external_identifier": (lambda entry: entry.external_identifier, False),
    "object_id": (lambda entry: entry.object_id, False),
    "idempotency_key": (lambda entry: entry.key, False),
    "verdict": (lambda entry: entry.verdict, False),
    "headers": (_headers, True),
    "body": (_body, True),
}
_DELIVERY: _Members[Delivery] = {
    "event_type": (lambda delivery: delivery.event.type, False),
    "object_id": (lambda delivery: delivery.event.object_id, False),
    "status": (lambda delivery: delivery.status, False),
    "attempt_count": (lambda delivery: len(delivery.attempts), False),
}


def request_criteria(match: RequestMatch) -> list[Criterion[RequestEntry]]:
    """Return what a match asks of a request."""
    given = _given(match)
    if "headers" in given:
        given["headers"] = {name.lower(): value for name, value in given["headers"].items()}
    if "idempotency_key" in given:
        given["idempotency_key"] = given["idempotency_key"].lower()
    return [Criterion(name, wanted, *_REQUEST[name]) for name, wanted in given.items()]


def delivery_criteria(match: DeliveryMatch, box: Sandbox) -> list[Criterion[Delivery]]:
    """Return what a match asks of a delivery."""
    members: _Members[Delivery] = {**_DELIVERY, "external_identifier": (partial(order_of, box), False)}
    return [Criterion(name, wanted, *members[name]) for name, wanted in _given(match).items()]


def _given(match: BaseModel) -> dict[str, Any]:
    return {name: value for name, value in match if value is not None}


def order_of(box: Sandbox, delivery: Delivery) -> str | None:
    """Return the `external_identifier` of the pay-in that an event is about, or whose refund or dispute it is."""
    pay_in = pay_in_of(box.ledger, delivery.event.object_id)
    return None if pay_in is None else pay_in.external_identifier


def _exact(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return JSON whose numbers will be written with the digits that they were read with."""
    if isinstance(value, Decimal):
        return value if isinstance(value, json_text.Number) else json_text.Number(str(value))
    if isinstance(value, dict):
        return {name: _exact(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_exact(member) for member in value]
    return value


@dataclass(slots=True, frozen=True)
class _Journal(Generic[T]):
    records: Callable[[Sandbox], Iterable[T]]
    evicted: Callable[[Sandbox], int]
    name: Callable[[T], Document]


_REQUESTS: _Journal[RequestEntry] = _Journal(
    lambda box: box.journal.requests.entries,
    lambda box: box.journal.requests.evicted,
    lambda entry: {"id": entry.id, "at": write_instant(entry.at), "method": entry.method, "target": entry.target},
)
_DELIVERIES: _Journal[Delivery] = _Journal(
    lambda box: box.outbox.deliveries.values(),
    lambda box: box.outbox.evicted,
    lambda delivery: {"id": delivery.id, "event_type": delivery.event.type, "object_id": delivery.event.object_id},
)


def verify_requests(call: ControlCall) -> Document:
    """Say whether the request journal holds what is expected."""
    return _ask_requests(call)


def verify_deliveries(call: ControlCall) -> Document:
    """Say whether the deliveries are as expected."""
    return _ask_deliveries(call)


async def wait_requests(call: ControlCall) -> Document:
    """Answer once the request journal holds what is expected, or when the time is over."""
    wanted: RequestQuestion = call.body
    return await _wait(call, wanted.timeout, lambda: _ask_requests(call))


async def wait_deliveries(call: ControlCall) -> Document:
    """Answer once the deliveries are as expected, or when the time is over."""
    wanted: DeliveryQuestion = call.body
    return await _wait(call, wanted.timeout, lambda: _ask_deliveries(call))


def _ask_requests(call: ControlCall) -> Document:
    wanted: RequestQuestion = call.body
    steps = None if wanted.sequence is None else [request_criteria(each) for each in wanted.sequence]
    return _ask(call.sandbox, _REQUESTS, request_criteria(wanted.match), steps, wanted)


def _ask_deliveries(call: ControlCall) -> Document:
    wanted: DeliveryQuestion = call.body
    box = call.sandbox
    steps = None if wanted.sequence is None else [delivery_criteria(each, box) for each in wanted.sequence]
    return _ask(box, _DELIVERIES, delivery_criteria(wanted.match, box), steps, wanted)


def _ask(
    box: Sandbox,
    journal: _Journal[T],
    criteria: Sequence[Criterion[T]],
    steps: Sequence[Sequence[Criterion[T]]] | None,
    wanted: RequestQuestion | DeliveryQuestion,
) -> Document:
    box.tick()
    records = journal.records(box)
    expectation = Expectation(wanted.count, wanted.at_least, wanted.at_most)
    verdict = verify(records, criteria, expectation) if steps is None else verify_sequence(records, steps)
    return _show(verdict, journal, journal.evicted(box))


def _show(verdict: Verdict[T], journal: _Journal[T], evicted: int) -> Document:
    document: Document = {
        "passed": verdict.passed,
        "count": verdict.count,
        "expected": verdict.expected,
        "closest": [
            {
                **journal.name(miss.record),
                "differences": [
                    {"member": member, "wanted": _exact(wanted), "got": _printable(_exact(got))}
                    for member, wanted, got in miss.differences
                ],
            }
            for miss in verdict.closest
        ],
        "evicted": evicted,
    }
    if evicted:
        document["note"] = (
            f"The journal has let {evicted} older entries go, and what you ask about may have been among them; "
            "raise the settings journal_limit and journal_bytes."
        )
    return document


def _printable(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    try:
        text = json_text.dumps(value)
        json_text.check_depth(text, _DEEPEST)
    except (orjson.JSONEncodeError, json_text.JsonTextError):
        return "(nested too deeply to be shown)"  # the journal keeps what the API refuses
    return value if len(text) <= 2000 else text[:2000].decode("utf-8", "replace")  # noqa: PLR2004 - a page of it


async def _wait(call: ControlCall, timeout_ms: int, ask: Callable[[], Document]) -> Document:
    # Bounded by real time: on a manual clock nothing might ever happen.
    answer: Document = {}

    def holds() -> bool:
        answer.clear()
        answer.update(ask())
        return bool(answer["passed"])

    held = await call.host.until(call.sandbox, holds, timeout_ms / 1000)
    return answer if held else {**answer, "timed_out": True}
