"""What the report of a reused key says has changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from small_shop import SmallShop, Wish

from paydouble.journal import Log, RequestEntry, Verdict
from paydouble.stateful import MerchantBug, Play
from paydouble.stateful.changed_requests import changes
from paydouble.stateful.rules.requests import of_requests

VERDICTS: tuple[Verdict, ...] = ("none", "new", "conflict")
REUSED = "sent another request under the Idempotency-Key of an earlier one (POST /api/v1/refund/refund-creation"


def entry(body: str | bytes, target: str = "/api/v1/refund/refund-creation") -> RequestEntry:
    """Return a request as the journal has it."""
    raw = body if isinstance(body, bytes) else body.encode()
    return RequestEntry("req_1", 0, "POST", target, None, b"", raw)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('{"amount": 49.90}', '{"amount": 24.95}', "amount was 49.90 and is 24.95"),
        ('{"a": {"b": ["x", 1]}}', '{"a": {"b": ["x", 2]}}', "a.b[1] was 1 and is 2"),
        ('{"a": 1}', '{"a": 1, "reason": "late"}', 'reason was absent and is "late"'),
        ('{"a": 1, "b": null}', '{"a": 1}', "b was null and is absent"),
        ('{"a":1}', '{ "a": 1 }', "it says the same in other bytes"),
        (
            '{"a": 1, "b": 1, "c": 1, "d": 1}',
            '{"a": 2, "b": 2, "c": 2, "d": 2}',
            "a was 1 and is 2, b was 1 and is 2, c was 1 and is 2, and 1 more",
        ),
        ('{"a": "%s"}' % ("x" * 100), '{"a": 1}', f'a was "{"x" * 59}… and is 1'),
        ('{"a": 1}', "[]", "a was 1 and is absent, the body was absent and is []"),
        (b"\xff\x1b", b"\xff", 'the body was "\\ufffd\\\\x1b" and is "\\ufffd"'),
        ("[" * 5000, "[]", None),
    ],
)
def test_what_has_changed_is_named(before: str | bytes, after: str | bytes, told: str | None) -> None:
    """Members by their path, at most three, and nothing that a terminal would obey."""
    found = changes(entry(before), entry(after))

    assert found == told or (told is None and found.isprintable())


def test_another_operation_is_named() -> None:
    """The same key was sent to another address."""
    found = changes(entry("{}", "/api/v1/pay-in/deposit-creation"), entry("{}"))

    assert found == "the earlier one was POST /api/v1/pay-in/deposit-creation"


def test_what_was_carried_out_is_compared() -> None:
    """A request that never came to the check of its key says nothing about it."""
    entries = [entry(f'{{"amount": {amount}}}') for amount in (1, 2, 3)]
    for each, verdict in zip(entries, VERDICTS, strict=True):
        each.key, each.verdict = "a", verdict
    log: Log[RequestEntry] = Log(3)
    for each in entries:
        log.add(each)
    box: Any = SimpleNamespace(journal=SimpleNamespace(requests=log))

    assert [text for _, text in of_requests(box, 0)] == [f"{REUSED}; amount was 2 and is 3)"]
    log.resize(1)
    assert [text for _, text in of_requests(box, 2)] == [f"{REUSED})"]


def test_a_report_says_what_has_changed() -> None:
    """Of two refunds under one key."""

    class OneKey(SmallShop):
        def wish(self, order_id: str, body: str) -> Wish:
            if "payin_id" in body:
                self.keys_made = 7
            return super().wish(order_id, body)

    with pytest.raises(MerchantBug, match=r"amount was 24.95 and is 16.63"), Play(OneKey) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund(1, "half")
        play.refund(1, "third")
