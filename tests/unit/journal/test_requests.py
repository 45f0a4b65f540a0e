"""What the request journal contains about each request."""

from __future__ import annotations

from drive import DEPOSITS, START, Business, deposit_body, key


def test_a_request_is_kept_as_it_came_and_as_it_was_answered() -> None:
    """The entry has its time, line, body, operation, key, answer and events."""
    business = Business()
    business.advance(5)

    reply = business.post(DEPOSITS + "?a=b", deposit_body(), key=key(10).upper())

    (entry,) = business.sandbox.journal.requests.entries
    assert (entry.id, entry.at, entry.method, entry.target) == (
        reply.request_id,
        START + 5,
        "POST",
        f"/api/v1{DEPOSITS}?a=b",
    )
    assert (entry.operation, entry.key, entry.verdict) == ("deposit-creation", key(10), "new")
    assert (entry.status, entry.response_body) == (200, reply.body)
    assert entry.events == tuple(event["id"] for event in business.events())


def test_a_request_in_flight_has_no_status_yet() -> None:
    """Until it is answered an entry's status is None."""
    business = Business(processing_time="1s")
    step = business.begin(DEPOSITS, deposit_body())
    (entry,) = business.sandbox.journal.requests.entries
    before = entry.status

    business.go_on(step)

    assert [before, entry.status] == [None, 200]


def test_the_headers_of_the_answer_are_kept() -> None:
    """A replay has the id of the first request; without an answer there are none."""
    business = Business(processing_time="1s")
    step = business.begin(DEPOSITS, deposit_body(), key=key(1))
    (entry,) = business.sandbox.journal.requests.entries
    assert entry.response_headers == ()

    business.go_on(step)
    business.post(DEPOSITS, deposit_body(), key=key(1))

    shown = [dict(each.response_headers) for each in business.sandbox.journal.requests.entries]
    assert [each["X-Request-Id"] for each in shown] == [entry.id] * 2
    assert {each["Content-Type"] for each in shown} == {"application/json"}


def test_refused_requests_are_kept_too() -> None:
    """Every authenticated request is there, with the verdict `none` when it was refused before idempotency."""
    business = Business()

    business.get("/nowhere")
    business.get("/pay-in/none")
    business.post(DEPOSITS, deposit_body(), key="x")

    seen = [(entry.status, entry.verdict, entry.operation) for entry in business.sandbox.journal.requests.entries]
    assert seen == [(404, "none", None), (404, "none", "pay-in-retrieval"), (400, "none", "deposit-creation")]


def test_the_journal_is_bounded() -> None:
    """At `journal_limit` the oldest request is evicted, and counted."""
    business = Business(journal_limit=3)
    for number in range(5):
        business.post(DEPOSITS, deposit_body(), key=key(number))

    requests = business.sandbox.journal.requests
    assert ([key(2), key(3), key(4)], 2) == ([entry.key for entry in requests.entries], requests.evicted)


def test_events_name_only_the_request_that_caused_them() -> None:
    """An event that the clock causes names no request, even when a request comes first to see it."""
    business = Business()
    business.deposit()
    business.sandbox.clock.jump(START + 60_000)

    reply = business.get("/pay-in")

    requests = business.sandbox.journal.requests.entries
    assert [len(entry.events) for entry in requests] == [1, 0]
    assert reply.request_id not in [event["request_id"] for event in business.events()]
    assert len(business.events()) == 4
