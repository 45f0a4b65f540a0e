"""What a client perceives of a reply, without a network."""

from __future__ import annotations

import pytest

from paydouble.api.values import Reply
from paydouble.faults.wire import Wire
from paydouble.testing import ReplyLost, ReplyTimeout
from paydouble.testing.client_responses import client_response


def _reply(wire: Wire | None = None, body: bytes = b'{"amount": 1.10}', delay_ms: int = 0) -> Reply:
    return Reply(200, body, "req_1", (("X-More", "1"),), wire=wire, delay_ms=delay_ms)


def test_a_sound_reply_is_an_answer() -> None:
    """With the headers that the server sends."""
    response = client_response(_reply(delay_ms=250))

    assert (response.status, response.seconds, str(response.json()["amount"])) == (200, 0.25, "1.10")
    assert dict(response.headers) == {
        "Content-Type": "application/json",
        "X-Request-Id": "req_1",
        "Server": "paydouble",
        "X-More": "1",
        "Content-Length": "16",
    }


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (Wire("reset"), "reset"),
        (Wire("empty"), "empty"),
        (Wire("garbage", data=b"x"), "garbage"),
        (Wire("cut", fraction=0.5), "cut"),
        (Wire("length", by=3), "cut"),
        (Wire("silence", seconds=2), "empty"),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_a_broken_wire_loses_the_reply(wire: Wire, kind: str) -> None:
    """Each in its own way, which the error names."""
    with pytest.raises(ReplyLost) as lost:
        client_response(_reply(wire), 3)

    assert lost.value.kind == kind


@pytest.mark.parametrize(
    ("reply", "patience"),
    [
        (_reply(delay_ms=5000), 5),
        (_reply(Wire("silence")), None),
        (_reply(Wire("silence", seconds=9)), 5),
        (_reply(Wire("drip", seconds=20, chunks=2)), 5),
    ],
    ids=["late", "never", "closed too late", "drips too slow"],
)
def test_patience_ends_without_waiting(reply: Reply, patience: float | None) -> None:
    """Nobody sleeps: what would come too late is a timeout at once."""
    with pytest.raises(ReplyTimeout):
        client_response(reply, patience)


@pytest.mark.parametrize(
    ("wire", "body", "seen"),
    [
        (Wire("drip", seconds=4, chunks=10), b"abcd", b"abcd"),
        (Wire("length", by=-3), b"abcd", b"a"),
        (Wire("length", by=-9), b"abcd", b""),
        (Wire("cut", fraction=0.5), b"", b""),
    ],
)
def test_some_damage_looks_like_an_answer(wire: Wire, body: bytes, seen: bytes) -> None:
    """A drip ends, a short Content-Length ends too early, and of nothing nothing can be cut."""
    response = client_response(_reply(wire, body), 1)

    assert (response.body, response.seconds) == (seen, wire.seconds or 0.0)
