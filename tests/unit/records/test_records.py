"""What the control API shows is described once: what is written is read back as it was, and is as its schema says."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, get_args

import pytest
from drive import deposit_body
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from paydouble import Sandbox
from paydouble.core import json_text
from paydouble.core.clock import ClockMode
from paydouble.core.documents import dump, load, read_json, schema
from paydouble.core.errors import PaydoubleError
from paydouble.records import (
    ERROR_KINDS,
    STATES,
    VERDICTS,
    Advanced,
    Attempt,
    ClockState,
    Delivery,
    DeliverySummary,
    Event,
    Fault,
    Health,
    Request,
    Resource,
    SandboxState,
    Scenario,
    UnclaimedRequest,
    WebhookState,
    attempt_of,
    delivery_of,
    event_of,
    request_of,
    show_attempt,
    show_delivery,
    show_event,
    show_request,
    show_summary,
    show_unclaimed,
    unclaimed_of,
)
from paydouble.testing.calls import encode
from paydouble.web.control.openapi import COMPONENTS

KINDS = [
    *(Request, UnclaimedRequest, Event, Attempt, DeliverySummary, Delivery),
    *(Health, ClockState, Advanced, SandboxState, Scenario, WebhookState),
]
# Their records hold the whole document, so only documents that a sandbox has shown can be compared.
WHOLE_KINDS = [Fault, Resource]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNT = st.integers(0, 2**40)
INSTANT = st.datetimes(datetime(1970, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)).map(  # noqa: DTZ001 - Hypothesis adds the zone
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
BYTES = st.binary(max_size=8) | TEXT.map(str.encode)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    "str": TEXT,
    "int": COUNT,
    "bool": st.booleans(),
    "bytes": BYTES,
    "float": st.floats(0, 10**9).map(lambda number: round(number, 3)),
    "datetime": INSTANT,
    "Document": st.dictionaries(TEXT, COUNT | TEXT, max_size=3),
    "Mapping[str, str]": st.dictionaries(TEXT, TEXT, max_size=3),
    "Headers": st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
    "tuple[str, ...]": st.lists(TEXT, max_size=3).map(tuple),
}
NAMES: dict[tuple[type[Any], str], Collection[str]] = {
    (Request, "verdict"): VERDICTS,
    (UnclaimedRequest, "verdict"): VERDICTS,
    (DeliverySummary, "status"): STATES,
    (Delivery, "status"): STATES,
    (ClockState, "mode"): get_args(ClockMode),
}


def records(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Return records of a kind, whose fields are of their types and nothing else."""
    members = {each.name: values(kind, each.name, str(each.type)) for each in fields(kind)}
    if kind is not Attempt:
        return st.builds(kind, **members)
    # Either both say why no answer came, or neither does.
    without = st.builds(kind, **{**members, "error_kind": st.none(), "error": st.none()})
    return without | st.builds(kind, **{**members, "error_kind": st.sampled_from(sorted(ERROR_KINDS)), "error": TEXT})


def values(kind: type[Any], name: str, written: str) -> st.SearchStrategy[Any]:
    """Return values of a field by its type as it is written."""
    if (kind, name) in NAMES:
        return st.sampled_from(sorted(NAMES[kind, name]))
    if written == "tuple[Attempt, ...]":
        return st.lists(records(Attempt), max_size=2).map(tuple)
    if written == "ClockState":
        return records(ClockState)
    plain = VALUES[written.removesuffix(" | None")]
    return plain | st.none() if written.endswith(" | None") else plain


def validator(kind: type[Any]) -> Draft202012Validator:
    """Return what checks documents of a kind; a member that is not described fails."""
    strict = {**schema(kind), "additionalProperties": False}
    return Draft202012Validator({**strict, "components": {"schemas": dict(COMPONENTS)}})


RECORDS = {kind: records(kind) for kind in KINDS}
VALIDATORS = {kind: validator(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_written_is_read_back_as_it_was(kind: type[Any], data: st.DataObject) -> None:
    """Through JSON text, as it travels."""
    record = data.draw(RECORDS[kind])

    text = json_text.dumps(dump(record))

    assert load(kind, read_json(text)) == record


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_written_is_as_its_schema_says(kind: type[Any], data: st.DataObject) -> None:
    """Each member is described, and there are no others."""
    text = json_text.dumps(dump(data.draw(RECORDS[kind])))

    VALIDATORS[kind].validate(json.loads(text))


@pytest.mark.parametrize("kind", [*KINDS, *WHOLE_KINDS])
def test_each_field_says_where_it_stands(kind: type[Any]) -> None:
    """A field without it could be neither shown nor read."""

    assert [each.name for each in fields(kind) if "place" not in each.metadata] == []


def test_what_the_core_keeps_is_shown_as_its_record_is() -> None:
    """Also without a record in between, before an attempt, after one that failed, and at the end."""
    sandbox = Sandbox(seed=3, receiver=lambda webhook: 500 if webhook.number < 2 else 200)
    sandbox.handle("POST", "/pay-in/deposit-creation", deposit_body())
    sandbox.handle("POST", "/pay-in/deposit-creation", body=b"\xff")
    sandbox.handle("GET", "/nowhere", headers={"Authorization": ""})
    box = sandbox.core.sandbox

    for span in ("0s", "1s", "72h"):
        sandbox.clock.advance(span)
        for request in box.journal.requests.entries:
            assert_same(show_request(request), dump(request_of(request)))
        for event in box.journal.events.entries:
            assert_same(show_event(event), dump(event_of(event)))
        for delivery in box.outbox.deliveries.values():
            whole = dump(delivery_of(delivery))
            assert_same(show_delivery(delivery), whole)
            assert_same({**show_summary(delivery), "attempts": whole["attempts"]}, whole)
            for attempt in delivery.attempts:
                assert_same(show_attempt(attempt), dump(attempt_of(attempt)))
    for stranger in sandbox.core.unclaimed.log.entries:
        assert_same(show_unclaimed(stranger), dump(unclaimed_of(stranger)))


def assert_same(shown: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare byte for byte."""
    assert json_text.dumps(shown) == json_text.dumps(expected)


def test_a_fault_shows_its_declaration_and_its_counts() -> None:
    """Members that were not declared are missing from the document and None in the record."""
    sandbox = Sandbox(seed=3)
    plain = sandbox.faults.add("error", status=503)
    full = sandbox.faults.add(
        "connection_reset", id="f", name="n", phase="after_commit", times=2, ttl="1h", operation="deposit-creation"
    )
    sandbox.handle("POST", "/pay-in/deposit-creation", deposit_body())

    fired = sandbox.faults.get(plain.id)

    assert (plain.name, plain.phase, plain.times, plain.ttl, plain.expires_at, plain.order) == (None,) * 6
    assert (full.name, full.phase, full.times, full.ttl) == ("n", "after_commit", 2, "1h")
    assert (full.effect, full.on, full.match) == ("connection_reset", "api", {"operation": "deposit-creation"})
    assert full.expires_at == full.created_at + timedelta(hours=1)
    assert (fired.times_fired, fired.active, fired.sequence) == (1, True, plain.sequence)
    for fault in (plain, full, fired):
        assert_whole(fault)


def test_a_resource_shows_all_that_the_api_shows() -> None:
    """Its record has the members that every resource has, and the whole document."""
    sandbox = Sandbox(seed=3)
    sandbox.handle("POST", "/pay-in/deposit-creation", deposit_body())

    pay_in = sandbox.pay_ins.list()[0]

    assert (pay_in.object, pay_in.status) == ("payin", "created")
    assert pay_in.document["external_identifier"] == deposit_body()["external_identifier"]
    assert_whole(pay_in, strict=False)


def assert_whole(record: Fault | Resource, *, strict: bool = True) -> None:
    """Check that a record is written as it was read, and that its document is as its schema says."""
    kind = type(record)
    text = encode(dump(record))

    described = {**schema(kind), "additionalProperties": not strict}
    Draft202012Validator(described).validate(json.loads(text))
    assert load(kind, dump(record)) == record


def test_the_clock_shows_what_it_waits_for() -> None:
    """Before a deposit, with its timers set, and when all has happened."""
    sandbox = Sandbox(seed=3, receiver=lambda _: 200)
    start = sandbox.clock.now

    assert sandbox.clock.read() == ClockState("manual", start, 1.0, None, 0, idle=True)
    sandbox.handle("POST", "/pay-in/deposit-creation", deposit_body())
    waiting = sandbox.clock.read()
    moved = sandbox.clock.advance(until_idle=True)
    done = sandbox.clock.read()

    assert (waiting.now, waiting.idle, waiting.pending > 0) == (start, False, True)
    assert waiting.next_due_at is not None
    assert waiting.next_due_at >= start
    assert (moved.now, moved.fired > 0, moved.attempts > 0, moved.idle) == (done.now, True, True, True)
    assert (done.next_due_at, done.pending, done.idle) == (None, 0, True)


def test_bodies_are_read_as_json() -> None:
    """With exact numbers."""
    sandbox = Sandbox()
    sandbox.handle("POST", "/pay-in/deposit-creation", deposit_body())

    assert str(sandbox.requests.last.json()["amount"]) == "49.9"
    assert sandbox.events.last.json()["type"] == "pay-in.created"


def test_json_is_read_alike_from_text_and_bytes() -> None:
    """A number with a fraction is exact in both."""
    assert [read_json('{"a":0.1}'), read_json(b'{"a":0.1}')] == [{"a": Decimal("0.1")}] * 2


def test_a_record_of_an_older_server_is_refused_in_a_sentence() -> None:
    """The message names the record, the member that it lacks, and what to do."""
    clock = dump(Sandbox().clock.read())
    del clock["next_due_at"], clock["mode"]

    with pytest.raises(
        PaydoubleError,
        match=r"^The server's Clock lacks the member 'mode', .* use the same version of paydouble on both sides$",
    ):
        load(ClockState, clock)
