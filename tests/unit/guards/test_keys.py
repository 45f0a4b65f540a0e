"""The corners of keeping keys that only show when a request is in flight for long."""

from __future__ import annotations

from drive import DAY, DEPOSITS, Business, deposit_body, key, settled

from paydouble.api.values import Delayed

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

    business.world.pipeline.abandon(overtaken.call)
    again = settled(business.begin(DEPOSITS, deposit_body(), key=key(1)))

    assert first.body == again.body


def test_keys_are_counted_while_they_are_kept() -> None:
    """A stored key counts, and one that was released does not."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=key(1))
    business.post(DEPOSITS, deposit_body(amount=1.234), key=key(2))

    assert len(business.sandbox.keys) == 1
