"""The corners of keeping keys that only show when a request is in flight for long."""

from __future__ import annotations

import json

import pytest
from drive import DAY, DEPOSITS, Business, deposit_body, key, settled

from paydouble.api.execution import Delayed

EVERYTHING = frozenset({"state", "deliveries", "requests", "clock"})


def test_a_key_that_was_renewed_is_not_swept_away_with_its_past() -> None:
    """While an older request blocks the sweep a key expires and is used anew; the late sweep leaves it alone."""
    business = Business(processing_time="2s")
    blocking = business.begin(DEPOSITS, deposit_body(), key=key(1))
    business.go_on(business.begin(DEPOSITS, deposit_body(), key=key(2)))
    business.advance(DAY)
    renewed = settled(business.go_on(business.begin(DEPOSITS, deposit_body(), key=key(2))))
    business.go_on(blocking)

    business.go_on(business.begin(DEPOSITS, deposit_body(), key=key(3)))
    again = settled(business.begin(DEPOSITS, deposit_body(), key=key(2)))

    assert renewed.body == again.body


def test_a_request_from_before_a_reset_takes_no_key_from_one_after_it() -> None:
    """A request that a reset overtook is abandoned; the key's new owner still replays."""
    business = Business(processing_time="2s")
    overtaken = business.begin(DEPOSITS, deposit_body(), key=key(1))
    business.sandbox.reset(EVERYTHING)
    first = settled(business.go_on(business.begin(DEPOSITS, deposit_body(), key=key(1))))
    assert isinstance(overtaken, Delayed)

    business.pipeline.abandon(overtaken.call)
    again = settled(business.begin(DEPOSITS, deposit_body(), key=key(1)))

    assert first.body == again.body


def test_keys_are_counted_while_they_are_kept() -> None:
    """A stored key counts, and one that was released does not."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=key(1))
    business.post(DEPOSITS, deposit_body(amount=1.234), key=key(2))

    assert len(business.sandbox.keys) == 1


@pytest.mark.parametrize(
    ("retry", "verdict"),
    [
        (b'{"note":"late","n":1.50,', "replay"),
        (b' { "n" : 1.50 ,\n "note" : "l\\u0061te" , ', "replay"),
        (b'{"note":"late","n":1.5,', "conflict"),
        (b'{"note":"late","n":15e-1,', "conflict"),
        (b'{"note":"late",', "conflict"),
        (b'{"note":"late","n":1.50,"n":1.50,', "conflict"),
    ],
)
def test_a_body_that_is_written_anew_is_compared_as_parsed(retry: bytes, verdict: str) -> None:
    """Order, white space and escapes make no difference, a number's digits do, and what cannot be read is another."""
    business = Business()
    rest = json.dumps(deposit_body()).encode()[1:]
    original = b'{"note":"late","n":1.50,'
    first = business.post(DEPOSITS, original + rest, key=key(1))

    again = business.post(DEPOSITS, retry + rest, key=key(1))

    entry = business.sandbox.journal.requests.entries[-1]
    assert (first.status, entry.verdict, entry.bytes_differ) == (200, verdict, retry != original)
    assert (again.body == first.body) == (verdict == "replay")


def test_a_number_out_of_any_range_is_refused_though_nobody_reads_it() -> None:
    """What a retry could not be compared with is not taken in the first place."""
    business = Business()
    rest = json.dumps(deposit_body()).encode()[1:]

    reply = business.post(DEPOSITS, b'{"n":1e999999999999999999999,' + rest, key=key(1))

    assert (reply.status, len(business.sandbox.keys)) == (400, 0)
