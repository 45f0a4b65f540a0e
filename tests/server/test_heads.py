"""The head of an answer that is written in one piece."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest

from paydouble.api.values import Reply
from paydouble.web import replies

NOON = 1_790_000_000.25


def _head(status: int) -> dict[str, str]:
    first, _, rest = replies.written(Reply(status, b"{}", "req_1")).partition(b"\r\n")
    lines = rest.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return {"": first.decode(), **dict(line.split(": ", 1) for line in lines)}


def test_the_date_is_that_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of one second share a date, whatever their status; the next second has another."""
    dates = []
    for now in (NOON, NOON + 0.5, NOON + 0.7, NOON + 1.7):
        monkeypatch.setattr(replies, "time", lambda now=now: now)
        dates += [parsedate_to_datetime(_head(status)["Date"]).timestamp() for status in (200, 404)]

    start = int(NOON)
    assert dates == [start] * 6 + [start + 1] * 2


def test_the_head_says_what_follows() -> None:
    """Status, type, length and the request's id, each once."""
    head = _head(404)
    del head["Date"]

    assert head == {
        "": "HTTP/1.1 404 Not Found",
        "Server": "paydouble",
        "Content-Type": "application/json",
        "X-Request-Id": "req_1",
        "Content-Length": "2",
    }
