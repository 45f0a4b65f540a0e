"""What a failed test's report says of its sandbox: what faults have done, and why others never fired."""

from __future__ import annotations

import contextlib
import http.client
import re
from collections.abc import Iterator
from typing import Any

import pytest
from bounds import AT_MOST_SECONDS
from kit import deposit

from paydouble.testing import Paydouble, SandboxHandle, Sync, WebhookReceiver
from paydouble.testing.timeline import timeline

Box = SandboxHandle[Sync]
START = "2026-01-01T00:00:00Z"
NOWHERE = "http://127.0.0.1:9/hooks"


@pytest.fixture
def box(server: Paydouble) -> Iterator[Box]:
    """Give a sandbox on a manual clock."""
    with server.sandbox(clock={"mode": "manual", "start": START}) as made:
        yield made


def lines_of(box: Box, who: str) -> list[str]:
    """Return the text after the time and the actor, of the lines of one kind; columns are not padded."""
    lines = [line.partition("  ")[2] for line in timeline(box)]
    return [re.sub("   +", "  ", line.removeprefix(who).strip()) for line in lines if line.startswith(who)]


def fates(box: Box) -> list[str]:
    """Return what became of the faults."""
    return [line for line in timeline(box) if line.startswith(("fault", "…"))]


def test_a_lost_reply_is_no_plain_status(box: Box) -> None:
    """Each broken reply says in a word or two what the caller met, and whether anything was done."""
    box.change(settings={"created_status": 201})
    box.faults.add("connection_reset", phase="after_commit", times=1, idempotency_key="*1")
    box.faults.add("connection_reset", times=1, idempotency_key="*2")
    box.faults.add("truncate", times=1, idempotency_key="*3")
    box.faults.add("error", status=503, phase="after_commit", times=1, idempotency_key="*4", id="busy")
    gone = box.faults.add("unknown_members", times=1, idempotency_key="*5")
    for number in (1, 2, 3, 4, 5, 6):
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            deposit(box, number)
    box.faults.remove(gone.id)

    assert [line.removeprefix("POST /pay-in/deposit-creation ") for line in lines_of(box, "merchant →")] == [
        "order-1 49.90 EUR  201 new, reply lost (fault-1)",
        "order-1  ✗ no answer, nothing done (fault-2)",
        "order-1 49.90 EUR  201 new, reply cut short (fault-3)",
        "order-1  ✗ 503 new, reply replaced (busy)  internal_error: A fault answers 503.",
        "order-1 49.90 EUR  201 new, fired: fault-5",
        "order-1 49.90 EUR  ✓ 201 new",
    ]
    assert fates(box)[0] == "fault fault-1 (connection_reset) fired once"


def test_a_copy_is_shown_from_the_first_delivery(box: Box) -> None:
    """With its number; and an attempt says what was wrong with it."""
    with WebhookReceiver(box.webhook_secret) as receiver:
        box.change(notification_url=receiver.url)
        box.faults.add("duplicate", copies=2)
        box.faults.add("signature", mode="stale", attempt=1, times=1)
        deposit(box)
        box.clock.advance("1s")

        attempts = [
            re.sub(r" in \S+ m?s", "", line.replace(receiver.url, "URL")) for line in lines_of(box, "→ merchant")
        ]

    assert attempts == [
        "pay-in.created order-1  ✗ 400, signature stale (fault-2)  to URL",
        "pay-in.created (copy 1) order-1  ✓ 200  to URL",
        "pay-in.created (copy 2) order-1  ✓ 200  to URL",
    ]
    assert fates(box) == ["fault fault-1 (duplicate) fired once", "fault fault-2 (signature) fired once"]


def test_attempts_stand_in_the_order_in_which_they_were_sent(box: Box) -> None:
    """The one that has overtaken comes first, although all have the same time on a manual clock."""
    with WebhookReceiver(box.webhook_secret) as receiver:
        box.change(notification_url=receiver.url)
        box.faults.add("reorder", window=2, each="sandbox", times=2)
        names: dict[str, str] = {}
        for number in (1, 2, 3):
            names[deposit(box, number)[1]["data"]["id"]] = str(number)
            box.clock.advance("0s")

        seen = [names[each.event["data"]["object"]["id"]] for each in receiver.received]
        attempts = sorted(
            (attempt.sequence, names[each.object_id]) for each in box.deliveries.list() for attempt in each.attempts
        )
        kinds = [line.partition("  ")[2].split("  ")[0] for line in timeline(box) if line.startswith("00:")]

    assert seen == ["2", "1", "3"]
    assert [name for _, name in attempts] == seen
    call, event, attempt = "merchant →", "service", "→ merchant"
    assert kinds == [call, event, call, event, attempt, attempt, call, event, attempt]


def test_a_refusal_says_why(box: Box) -> None:
    """Its code and its message, in either envelope; a reply that a fault has replaced has no words of the service's."""
    for envelope in ("A", "B"):
        box.change(settings={"envelope": envelope})
        _get(box, "/pay-in/payin_unknown")
    box.faults.add("html_error", status=503, times=1)
    _get(box, "/pay-in")
    _get(box, f"/pay-in/{'x' * 300}")

    lines = [line.partition("  ")[2] for line in lines_of(box, "merchant →")]
    assert lines[:3] == [
        "✗ 404  not_found: There is no payin 'payin_unknown'.",
        "✗ 404  NOT_FOUND: There is no payin 'payin_unknown'.",
        "✗ 503, nothing done (fault-1)",
    ]


def test_an_event_that_did_not_leave_at_once_says_why(box: Box) -> None:
    """Held, dropped, late or copied by a fault, held by hand, waiting for its turn, or with nowhere to go."""
    deposit(box)
    with WebhookReceiver(box.webhook_secret) as receiver:
        box.change(notification_url=receiver.url)
        box.faults.add("hold", times=1)
        box.faults.add("drop", times=1)
        gone = box.faults.add("delay", fixed="1m", times=1)
        box.faults.add("reorder", window=2, times=1)
        box.faults.add("duplicate", times=1)
        box.faults.add("delay", fixed="1m", times=1)
        for number in range(2, 8):
            deposit(box, number)
        box.faults.remove(gone.id)
        box.clock.advance("1s")
        (late,) = box.deliveries.list(status="waiting")[1:]
        box.deliveries.hold(late.id)

        lines = [line.split("  ")[1] for line in lines_of(box, "service")]

    assert lines == [
        "no endpoint",
        "✗ held (fault-1)",
        "✗ dropped (fault-2)",
        "due at 00:01:00, fired: fault-3",
        "✗ held, reordered (fault-4)",
        "copied (fault-5)",
        "✗ held, delayed (fault-6)",
    ]


API_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"operation": "refund-creation"}, "2 requests came, none matched operation=refund-creation"),
    ({"operation": "deposit-*", "method": "GET"}, "2 requests came, none matched method=GET"),
    (
        {"operation": "refund-creation", "path": "/v2/*"},
        "2 requests came, none matched operation=refund-creation or path=/v2/*",
    ),
    (
        {"idempotency_key": "*1", "path": "/api/v1/pay-in/deposit-creation", "external_identifier": "order-9"},
        "2 requests came, none matched external_identifier=order-9",
    ),
    ({"skip": 2}, "2 requests matched, which skip=2 lets pass"),
    ({"probability": 0.0}, "2 requests matched, and none was chosen with probability=0.0"),
    ({"enabled": False}, "it is disabled"),
]


@pytest.mark.parametrize(("members", "reason"), API_FAULTS, ids=str)
def test_a_fault_that_never_fired_says_why(box: Box, members: dict[str, Any], reason: str) -> None:
    """Often that is why the test fails."""
    box.faults.add("html_error", **members)
    deposit(box, 1)
    deposit(box, 2)

    assert fates(box) == [f"fault fault-1 (html_error) never fired: {reason}"]


def test_members_that_were_met_but_never_together(box: Box) -> None:
    """Each for itself has nothing wrong with it."""
    box.faults.add("html_error", idempotency_key="*1", operation="pay-in-list")
    deposit(box, 1)
    _get(box, "/pay-in")

    [line] = fates(box)
    assert line.endswith("none matched operation=pay-in-list and idempotency_key=*1 at once")


def test_what_came_before_a_fault_was_armed(box: Box) -> None:
    """A fault that was armed too late, and a ttl that is over, are reported."""
    deposit(box)
    box.clock.advance("1h")
    box.faults.add("html_error", operation="deposit-creation", ttl="1m")
    late = fates(box)
    _get(box, "/pay-in")
    box.clock.advance("1h")

    assert late == ["fault fault-1 (html_error) never fired: 1 request came, before it was armed"]
    assert [line.partition(": ")[2] for line in fates(box)] == [
        "2 requests came, those with operation=deposit-creation before it was armed, and its ttl is over"
    ]


def test_what_came_before_a_fault_was_armed_on_a_clock_that_stands(box: Box) -> None:
    """All of it has the instant at which the fault was armed; a request, an event and an attempt alike."""
    box.change(notification_url=NOWHERE)
    deposit(box)
    box.clock.advance("0s")
    box.faults.add("html_error", operation="deposit-creation")
    box.faults.add("drop", event_type="pay-in.created")
    box.faults.add("tamper", attempt=1)

    assert [line.partition(": ")[2] for line in fates(box)] == [
        "1 request came, before it was armed",
        "1 event was made, before it was armed",
        "1 attempt was made, before it was armed",
    ]


def test_a_fault_that_nothing_came_for(box: Box) -> None:
    """Neither a request nor an event nor an attempt."""
    box.faults.add("html_error", ttl="1m")
    box.faults.add("drop")
    box.faults.add("tamper")
    box.clock.advance("1h")

    assert fates(box) == [
        "fault fault-1 (html_error) never fired: no request came, and its ttl is over",
        "fault fault-2 (drop) never fired: no event was made",
        "fault fault-3 (tamper) never fired: no attempt was made",
    ]


def test_a_fault_behind_another_one(box: Box) -> None:
    """What the records do not tell apart is said as it is."""
    box.faults.add("error", status=503)
    box.faults.add("redirect", to="http://127.0.0.1:9/", id="second")
    deposit(box)

    assert fates(box)[1] == (
        "fault second (redirect) never fired: 1 request came, "
        "but each was refused, met another fault first, or gave redirect nothing to act on"
    )


def test_faults_on_webhooks_are_asked_about_events_and_attempts(box: Box) -> None:
    """Their members are those of an event; without an endpoint there is nothing to spoil."""
    box.faults.add("drop", event_type="refund.*")
    box.faults.add("hold", id="nowhere")
    box.faults.add("tamper", id="never-sent")
    deposit(box, 1)
    first = fates(box)
    box.faults.remove("never-sent")
    box.faults.remove("nowhere")
    box.change(notification_url=NOWHERE)
    box.faults.add("tamper", attempt=3)
    box.faults.add("tamper", event_type="pay-in.created", object_id="payin_other")
    deposit(box, 2)
    box.clock.advance("0s")

    assert first == [
        "fault fault-1 (drop) never fired: 1 event was made, none matched event_type=refund.*",
        "fault nowhere (hold) never fired: 1 event was made, none with an endpoint to go to",
        "fault never-sent (tamper) never fired: no attempt was made: the events had no endpoint to go to",
    ]
    assert fates(box)[1:] == [
        "fault fault-4 (tamper) never fired: 1 attempt was made, none matched attempt=3",
        "fault fault-5 (tamper) never fired: 1 attempt was made, none matched object_id=payin_other",
    ]


def test_many_faults_that_never_fired_stay_short(box: Box) -> None:
    """A report is read for its reason, not for its length."""
    for _ in range(13):
        box.faults.add("html_error")

    lines = fates(box)

    assert len(lines) == 11
    assert lines[-1] == "… 3 more faults never fired"


def _get(box: Box, path: str) -> None:
    host, _, rest = box.base_url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=AT_MOST_SECONDS)
    try:
        connection.request("GET", f"/{rest}{path}", headers={"Authorization": box.auth.header})
        connection.getresponse().read()
    finally:
        connection.close()


def test_nothing_of_a_request_is_shown_raw(box: Box) -> None:
    """A message quotes what was sent, which may hold what a terminal obeys."""
    assert deposit(box, 1, payment_method={"type": "CREDIT_CARD", "code": "\x1b[2J\u202e"})[0] == 422

    assert "CREDIT_CARD \\x1b[2J\\u202e" in timeline(box)[1]
