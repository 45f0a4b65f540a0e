"""What a client gets of a broken answer, by its two timeouts."""

from __future__ import annotations

import pytest

from paydouble.faults.wire import Received, TimedOut, Wire, client_outcome

SLOW = Wire("drip", seconds=8.0, chunks=4)


@pytest.mark.parametrize(
    ("wire", "delay", "quiet_limit", "total_limit", "after"),
    [
        (None, 10.0, 5.0, None, 5.0),
        (None, 10.0, None, 3.0, 3.0),
        (None, 10.0, 5.0, 3.0, 3.0),
        (None, 10.0, 3.0, 5.0, 3.0),
        (None, 5.0, 5.0, None, 5.0),
        (None, 5.0, None, 5.0, 5.0),
        (SLOW, 1.0, 2.0, None, 3.0),
        (SLOW, 1.0, 2.0, 2.5, 2.5),
        (SLOW, 1.0, 2.5, 9.0, 9.0),
        (Wire("silence"), 0.0, 4.0, 7.0, 4.0),
        (Wire("silence", seconds=6.0), 1.0, None, 7.0, 7.0),
    ],
)
def test_the_timeout_that_ends_first_counts(
    wire: Wire | None, delay: float, quiet_limit: float | None, total_limit: float | None, after: float
) -> None:
    """An answer that takes exactly as long as a timeout is too late."""
    outcome = client_outcome(b"body", wire, delay_seconds=delay, quiet_limit=quiet_limit, total_limit=total_limit)

    assert isinstance(outcome, TimedOut)
    assert outcome.after_seconds == after


def test_a_slow_body_that_never_pauses_too_long_is_received() -> None:
    """Each part begins the quiet time again."""
    assert client_outcome(b"body", SLOW, delay_seconds=1.0, quiet_limit=2.1) == Received(b"body", 9.0)


@pytest.mark.parametrize(
    ("fraction", "body", "sent"), [(0.5, b"0123456789", b"01234"), (1.0, b"0123456789", b"012345678"), (1.0, b"", b"")]
)
def test_a_cut_body_is_never_whole(fraction: float, body: bytes, sent: bytes) -> None:
    """At least one byte is missing, so that a client can see the cut."""
    assert Wire("cut", fraction=fraction).sent(body) == sent
