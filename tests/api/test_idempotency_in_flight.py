"""Two requests with one key at the same time: joined, refused, or processed after all (assumptions, "Idempotency")."""

from __future__ import annotations

import json

from drive import DAY, DEPOSITS, Business, deposit_body, settled

from paydouble.api.execution import Delayed, Joined

KEY = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"


def _verdicts(business: Business) -> list[tuple[str, bool]]:
    return [(entry.verdict, entry.bytes_differ) for entry in business.sandbox.journal.requests.entries]


def test_a_request_that_takes_time_is_in_flight() -> None:
    """With `processing_time` nothing has happened until the time has come."""
    business = Business(processing_time="3s")

    step = business.begin(DEPOSITS, deposit_body(), key=KEY)
    before = business.events()
    reply = settled(business.go_on(step))

    assert isinstance(step, Delayed)
    assert (step.seconds, before, reply.status, len(business.events())) == (3.0, [], 200, 1)


def test_a_concurrent_request_joins_and_gets_the_same_bytes() -> None:
    """The second request waits for the first, gets its stored answer, and creates nothing."""
    business = Business(processing_time="3s")
    first = business.begin(DEPOSITS, deposit_body(), key=KEY)

    second = business.begin(DEPOSITS, deposit_body(), key=KEY)
    still = business.go_on(second)
    replies = [settled(business.go_on(first)), settled(business.go_on(still))]

    assert isinstance(second, Joined)
    assert isinstance(still, Joined)
    assert replies[0].body == replies[1].body
    assert len(business.events()) == 1
    assert [verdict for verdict, _ in _verdicts(business)] == ["new", "joined"]


def test_another_body_conflicts_with_a_request_in_flight() -> None:
    """A different request under the key of a running one is 409 at once."""
    business = Business(processing_time="3s")
    first = business.begin(DEPOSITS, deposit_body(), key=KEY)

    reply = settled(business.begin(DEPOSITS, deposit_body(amount=1), key=KEY))

    assert isinstance(first, Delayed)
    details = {"original_request_id": first.call.entry.id, "key": KEY}
    assert (409, details) == (reply.status, json.loads(reply.body)["error"]["details"])


def test_a_request_in_flight_can_be_a_conflict() -> None:
    """With `in_flight: conflict` the same request is 409 while the first runs, and a replay afterwards."""
    business = Business(processing_time="3s", in_flight="conflict")
    first = business.begin(DEPOSITS, deposit_body(), key=KEY)

    during = settled(business.begin(DEPOSITS, deposit_body(), key=KEY))
    answer = settled(business.go_on(first))
    after = settled(business.begin(DEPOSITS, deposit_body(), key=KEY))

    assert [during.status, answer.status, after.status] == [409, 200, 200]
    assert answer.body == after.body


def test_a_joiner_claims_the_key_anew_when_the_first_ends_unstored() -> None:
    """When the request that is waited for was abandoned, the one that waits is processed in its stead."""
    business = Business(processing_time="3s")
    first = business.begin(DEPOSITS, deposit_body(), key=KEY)
    joiners = [business.begin(DEPOSITS, deposit_body(), key=KEY) for _ in range(2)]
    assert isinstance(first, Delayed)

    business.pipeline.abandon(first.call)
    second, third = (business.go_on(each) for each in joiners)

    assert isinstance(second, Delayed)
    assert isinstance(third, Joined)
    replies = [settled(business.go_on(each)) for each in (second, third)]
    assert replies[0].body == replies[1].body
    assert len(business.events()) == 1


def test_a_joiner_of_a_malformed_request_is_judged_for_itself() -> None:
    """When the first ends with a 400 that only execution could find, it is unstored, and so is the joiner's."""
    business = Business(processing_time="3s")
    body = deposit_body(amount=1.234)
    first = business.begin(DEPOSITS, body, key=KEY)
    joiner = business.begin(DEPOSITS, body, key=KEY)

    replies = [settled(business.go_on(first)), settled(business.go_on(business.go_on(joiner)))]

    assert [reply.status for reply in replies] == [400, 400]
    assert settled(business.go_on(business.begin(DEPOSITS, deposit_body(), key=KEY))).status == 200


def test_a_key_in_flight_does_not_expire() -> None:
    """However long a request takes, the same one joins it."""
    business = Business(processing_time="3s")
    business.begin(DEPOSITS, deposit_body(), key=KEY)
    business.advance(2 * DAY)

    assert isinstance(business.begin(DEPOSITS, deposit_body(), key=KEY), Joined)


def test_who_has_waited_gets_the_answer_however_late() -> None:
    """A joiner gets the first request's bytes even when the key has expired by the time that it is answered."""
    business = Business(processing_time="3s")
    first = business.begin(DEPOSITS, deposit_body(), key=KEY)
    joiner = business.begin(DEPOSITS, deposit_body(), key=KEY)
    business.advance(2 * DAY)

    replies = [settled(business.go_on(first)), settled(business.go_on(joiner))]

    assert replies[0].body == replies[1].body


def test_a_get_takes_no_time() -> None:
    """`processing_time` is for POST."""
    assert Business(processing_time="3s").get("/pay-in").status == 200
