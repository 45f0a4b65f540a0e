"""Control calls that ask the journals, and explain their answer; `wait` asks until it holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel

from paydouble.core.instants import write_instant
from paydouble.journal import RequestEntry
from paydouble.sandbox import Sandbox
from paydouble.verification import Criterion, Expectation, Verdict, verify, verify_sequence
from paydouble.web.control.models import DeliveryMatch, DeliveryQuestion, RequestMatch, RequestQuestion
from paydouble.web.control.values import ControlCall, ControlError, Document
from paydouble.webhooks.deliveries import Delivery

T = TypeVar("T")


def _body(entry: RequestEntry) -> Any:  # noqa: ANN401 - JSON is any
    try:
        return orjson.loads(entry.body)
    except orjson.JSONDecodeError:
        return None


def _headers(entry: RequestEntry) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in entry.headers}


_REQUEST: Mapping[str, tuple[Callable[[RequestEntry], Any], bool]] = {
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
_DELIVERY: Mapping[str, tuple[Callable[[Delivery], Any], bool]] = {
    "event_type": (lambda delivery: delivery.event.type, False),
    "object_id": (lambda delivery: delivery.event.object_id, False),
    "status": (lambda delivery: delivery.status, False),
    "attempt_count": (lambda delivery: len(delivery.attempts), False),
}


def request_criteria(match: RequestMatch) -> list[Criterion[RequestEntry]]:
    """Return what a match asks of a request."""
    given = _given(match)
    if "body" in given:
        given["body"] = _plain(given["body"])
    if "headers" in given:
        given["headers"] = {name.lower(): value for name, value in given["headers"].items()}
    if "idempotency_key" in given:
        given["idempotency_key"] = given["idempotency_key"].lower()
    return [Criterion(name, wanted, *_REQUEST[name]) for name, wanted in given.items()]


def delivery_criteria(match: DeliveryMatch) -> list[Criterion[Delivery]]:
    """Return what a match asks of a delivery."""
    return [Criterion(name, wanted, *_DELIVERY[name]) for name, wanted in _given(match).items()]


def _given(match: BaseModel) -> dict[str, Any]:
    return {name: value for name, value in match if value is not None}


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    # A journalled body is read with floats, so what it is compared with must be floats too: 49.90 is 49.9.
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
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
    steps = None if wanted.sequence is None else [delivery_criteria(each) for each in wanted.sequence]
    return _ask(call.sandbox, _DELIVERIES, delivery_criteria(wanted.match), steps, wanted)


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
                    {"member": member, "wanted": wanted, "got": _printable(got)}
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
            "raise the setting journal_limit."
        )
    return document


def _printable(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    text = orjson.dumps(value, default=str)
    return value if len(text) <= 2000 else text[:2000].decode("utf-8", "replace")  # noqa: PLR2004 - a page of it


async def _wait(call: ControlCall, timeout_ms: int, ask: Callable[[], Document]) -> Document:
    # Bounded by real time: whoever waits for a manual clock would wait for ever.
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_ms / 1000
    feed = call.host.feed(call.sandbox)
    while True:
        changed = feed.changed()
        answer = ask()
        left = end - loop.time()
        if answer["passed"] or left <= 0:
            changed.cancel()
            return answer if answer["passed"] else {**answer, "timed_out": True}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await changed
        if feed.closed:
            raise ControlError(404, "not_found", f"Sandbox {call.sandbox.identity.id!r} has gone meanwhile.")
