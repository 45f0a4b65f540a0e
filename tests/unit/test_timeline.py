"""Rows of a timeline, and the lines that they become."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from paydouble import timeline
from paydouble.core.documents import instant
from paydouble.records import Attempt, DeliverySummary, Event, Request, UnclaimedRequest
from paydouble.timeline import CALL, WEBHOOK, Plain, Renderer, Row

START = datetime(2026, 1, 1, tzinfo=UTC)
START_MS = 1_767_225_600_000
FAULTS: dict[str, dict[str, Any]] = {
    "lost": {"effect": {"type": "connection_reset"}, "phase": "after_commit"},
    "hold": {"effect": {"type": "hold"}},
}


def request(**members: Any) -> Request:  # noqa: ANN401 - any member
    """Return a request that was answered with 200."""
    path = members.pop("path", "/api/v1/pay-in/deposit-creation")
    usual: dict[str, Any] = {
        "id": "req_1", "at": START, "method": "POST", "path": path, "target": path, "operation": None, "headers": (),
        "response_headers": (), "body": b"", "status": 200,
        "response_body": b'{"data":{"amount":49.90,"currency":"EUR"}}',
        "idempotency_key": None, "verdict": "new", "bytes_differ": False, "faults": (), "events": (), "sequence": 1,
    }  # fmt: skip
    kind = UnclaimedRequest if "business_key" in members else Request
    return kind(**{**usual, **members})


def delivery(status: str = "waiting", **members: Any) -> DeliverySummary:  # noqa: ANN401 - any member
    """Return a delivery."""
    usual: dict[str, Any] = {
        "id": "dlv_1", "event_id": "evt_1", "event_type": "pay-in.created", "object_id": "payin_1", "target": None,
        "next_due_at": None, "faults": (),
    }  # fmt: skip
    return DeliverySummary(**{**usual, **members}, status=status)


def attempt(**members: Any) -> Attempt:  # noqa: ANN401 - any member
    """Return an attempt that is in flight."""
    usual: dict[str, Any] = {
        "number": 1, "due_at": START, "sent_at": None, "signed_at": 0, "headers": (), "body": b"", "status": None,
        "error_kind": None, "error": None, "latency_ms": None, "response_body": None, "faults": (), "sequence": 1,
    }  # fmt: skip
    return Attempt(**{**usual, **members})


@pytest.mark.parametrize(
    ("members", "names", "text"),
    [
        ({}, ("order-1",), "POST /pay-in/deposit-creation order-1 49.90 EUR  ✓ 200 new"),
        ({"verdict": "none", "method": "GET"}, (None,), "GET /pay-in/deposit-creation  ✓ 200"),
        ({"path": "/api/v1/pay-in/p_1", "method": "GET"}, ("p_1",), "GET /pay-in/p_1  ✓ 200 new"),
        ({"status": None}, (), "POST /pay-in/deposit-creation 49.90 EUR  ✗ no answer"),
        ({"faults": ("lost",)}, (), "POST /pay-in/deposit-creation 49.90 EUR  200 new, reply lost (lost)"),
        ({"faults": ("gone",)}, (), "POST /pay-in/deposit-creation 49.90 EUR  200 new, fired: gone"),
        (
            {"status": 422, "response_body": b'{"error":{"code":"X","message":"No."}}'},
            (),
            "POST /pay-in/deposit-creation  ✗ 422 new  X: No.",
        ),
        ({"status": 503, "response_body": b"<html>"}, (), "POST /pay-in/deposit-creation  ✗ 503 new"),
    ],
)
def test_a_request_says_what_it_was_about_and_what_became_of_it(
    members: dict[str, Any], names: tuple[str | None, ...], text: str
) -> None:
    """The status with the verdict of idempotency, what faults did, and why it was refused."""
    assert Renderer(Plain()).text(timeline.request_row(request(**members), FAULTS.get, names)) == text


def test_a_long_message_is_cut() -> None:
    """The whole of it is in the journal."""
    body = b'{"error":{"code":"X","message":"' + b"m" * 300 + b'"}}'
    [note] = timeline.request_row(request(status=400, response_body=body), FAULTS.get).notes

    assert note == f"X: {'m' * 197}…"


@pytest.mark.parametrize(
    ("key", "said"),
    [("live", "no sandbox claims it (business key 'live')"), (None, "no sandbox claims it (no business key)")],
)
def test_a_request_of_nobodys_says_its_business_key(key: str | None, said: str) -> None:
    """A wrong key is what such a request is about."""
    made = request(status=401, business_key=key, response_body=b"")
    assert isinstance(made, UnclaimedRequest)

    assert timeline.unclaimed_row(made).notes == (said,)


def test_bytes_that_are_no_request_have_a_row() -> None:
    """It says what was wrong with them, and nothing about credentials."""
    answer = b'{"error":{"code":"INVALID_INPUT","message":"The request cannot be read."}}'
    made = request(method="", path="", status=400, response_body=answer, business_key=None)
    assert isinstance(made, UnclaimedRequest)
    row = timeline.unclaimed_row(made)

    assert (row.what, row.result, row.notes) == (
        "unreadable bytes",
        "400",
        ("INVALID_INPUT: The request cannot be read.",),
    )


@pytest.mark.parametrize(
    ("kind", "body", "about", "expected"),
    [
        (
            "pay-in.created",
            b'{"data":{"object":{"external_identifier":"o","id":"p"}}}',
            "",
            ("pay-in.created o", ("p",)),
        ),
        ("pay-in.created", b"{}", "p", ("pay-in.created p", ())),
        ("pay-in.failed", b'{"data":{"object":{"amount":5,"currency":"EUR"}}}', "o", ("pay-in.failed o", ("5 EUR",))),
        ("pay-in.failed", b"[", "", ("pay-in.failed", ())),
    ],
)
def test_an_event_names_its_payment(kind: str, body: bytes, about: str, expected: tuple[str, tuple[str, ...]]) -> None:
    """And its object where that is made, or the amount."""
    row = timeline.event_row(Event("evt_1", kind, "p", START, None, body, 1), about)

    assert (row.at, (row.what, row.notes)) == (START_MS, expected)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (delivery(next_due_at=instant(START_MS + 60_000)), ("due at 00:01:00", "", None)),
        (delivery(next_due_at=instant(START_MS + 86_400_000)), ("due on 2026-01-02 at 00:00:00", "", None)),
        (delivery(), ("", "", None)),
        (delivery("no_endpoint"), ("no endpoint", "", None)),
        (delivery("held"), ("held", "", False)),
        (delivery("held", faults=("hold",)), ("", ", held (hold)", False)),
        (delivery("dropped", faults=("gone",)), ("dropped", ", fired: gone", False)),
        (delivery("delivered"), ("delivered", "", True)),
    ],
)
def test_what_becomes_of_an_event_that_is_not_sent_at_once(
    made: DeliverySummary, expected: tuple[str, str, bool | None]
) -> None:
    """Its state, unless the words for the fault say it."""
    row = timeline.delivery_row(made, START_MS, "order-1", FAULTS.get)

    assert (row.result, row.faults, row.good) == expected
    assert row.what == "pay-in.created order-1"


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({}, "pay-in.created  in flight"),
        ({"status": 204, "latency_ms": 0.2}, "pay-in.created  ✓ 204 in <1 ms"),
        ({"status": 300, "latency_ms": 12.4, "number": 2}, "pay-in.created  ✗ 300 in 12 ms, attempt 2"),
        ({"error_kind": "timeout", "error": "?", "latency_ms": 1250.0}, "pay-in.created  ✗ timeout in 1.2 s"),
    ],
)
def test_an_attempt_says_how_it_ended(members: dict[str, Any], text: str) -> None:
    """The status or why there is none, how long it took, and which attempt it was after the first."""
    assert Renderer(Plain()).text(timeline.attempt_row(delivery(), attempt(**members), "", FAULTS.get)) == text


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ({"amount": "49.90", "currency": "EUR"}, "49.90 EUR"),
        ({"amount": True, "currency": "EUR"}, ""),
        ({"amount": 5}, ""),
        ({}, ""),
    ],
)
def test_an_amount_needs_a_number_and_a_currency(resource: dict[str, Any], said: str) -> None:
    """Whatever a body holds, nothing breaks."""
    assert timeline.money(resource) == said


def test_an_order_is_a_text() -> None:
    """Another value is none."""
    assert (timeline.order_in({"external_identifier": "o"}), timeline.order_in({"external_identifier": 5})) == ("o", "")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "+0s"),
        (2_000, "+2s"),
        (60_000, "+1m"),
        (210_960_000, "+58h36m"),
        (3_600_000, "+1h"),
        (1_500, "+1s500ms"),
        (2_592_006_000, "+30d6s"),
    ],
)
def test_times_are_read_at_a_glance(milliseconds: int, text: str) -> None:
    """Up to 99 hours are not written as days, so that they can be compared with the contract's table."""
    assert timeline.offset(milliseconds) == text


def test_times_are_the_clocks_with_a_line_for_each_date() -> None:
    """With what the heading and each line are told to name."""
    renderer = Renderer(Plain(), heading="mine", name="mine")
    rows = [Row(START_MS + after, CALL, "GET /x", "200", good=True) for after in (0, 1, 86_400_000)]

    assert [line for row in rows for line in renderer.lines(row)] == [
        "2026-01-01 UTC  mine",
        f"00:00:00.000  mine  merchant →  {'GET /x':<27}  ✓ 200",
        f"00:00:00.001  mine  merchant →  {'GET /x':<27}  ✓ 200",
        "2026-01-02 UTC  mine",
        f"00:00:00.000  mine  merchant →  {'GET /x':<27}  ✓ 200",
    ]


def test_a_line_of_80_columns_is_folded_between_its_parts_and_then_between_words() -> None:
    """Each part begins under what happened."""
    row = Row(START_MS, WEBHOOK, "pay-in.created", "200", good=True, notes=("n" * 30, "word " * 14, "end"))

    assert list(Renderer(Plain(), began=START_MS).lines(row)) == [
        f"  +0s        → merchant  {'pay-in.created':<27}  ✓ 200",
        f"{'':25}{'n' * 30}",
        f"{'':25}{('word ' * 11).rstrip()}",
        f"{'':25}word word word  end",
    ]


def test_nothing_of_a_row_can_forge_a_line() -> None:
    """Control characters are shown, in every part."""
    row = Row(START_MS, CALL, "a\nb", "c\nd", faults=", e\x1b[1m", notes=("f\rg",))

    shown = "a\\nb"
    lines = list(Renderer(Plain(), heading="h\n", name="n\n").lines(row))

    assert lines == ["2026-01-01 UTC  h\\n", f"00:00:00.000  n\\n  merchant →  {shown:<27}  c\\nd, e\\x1b[1m  f\\rg"]


def test_colours_follow_the_result() -> None:
    """Green when it is right, red when it is wrong or a fault fired, and dim for what is known besides."""

    class Marked(Plain):
        def green(self, text: str) -> str:
            return f"G({text})"

        def red(self, text: str) -> str:
            return f"R({text})"

        def dim(self, text: str) -> str:
            return f"D({text})"

    rows = [
        Row(0, CALL, "x", "200", good=True),
        Row(0, CALL, "x", "404", good=False, notes=("n",)),
        Row(0, CALL, "x", "200", faults=", late (f)"),
        Row(0, CALL, "x", "200"),
        Row(0, CALL, "x"),
    ]

    assert [line.split("x", 1)[1].strip() for row in rows for line in Renderer(Marked(), began=0).lines(row)] == [
        "G(✓ 200)",
        "R(✗ 404)  D(n)",
        "R(200, late (f))",
        "D(200)",
        "",
    ]
