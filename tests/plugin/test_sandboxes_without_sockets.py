"""The report of a failed test that uses the double as a value: the timeline of what the test has used of it."""

from __future__ import annotations

from children import Child

HEAD = """
from paydouble import Sandbox

def order(box):
    body = {
        "amount": 10, "currency": "EUR", "external_identifier": "order-1", "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
    }
    return box.handle("POST", "/pay-in/deposit-creation", body).status
"""


def test_a_failure_shows_what_happened(child: Child) -> None:
    """As of a server's sandbox: requests, events, attempts, faults, unclaimed requests, and the receiver's errors."""
    run = child(
        HEAD
        + """
def test_fails():
    box = Sandbox(seed=5, receiver=lambda webhook: 1 / 0)
    box.faults.add("html_error", times=1)
    box.faults.add("drop", event_type="refund.*")
    assert order(box) == 502
    box.handle("GET", "/pay-in", headers={"Authorization": "Basic bGl2ZTp4"})
    order(box)
    box.deliver()
    assert False

def test_passes():
    order(Sandbox())
"""
    )
    report = run.text.partition("paydouble timeline")[2]

    assert run.counts == {"failed": 1, "passed": 1}, run.text
    assert "sandbox without sockets, seed 5" in report
    for line in (
        "00:00:00.000  merchant →  POST /pay-in/deposit-creation order-1  ✗ 502, nothing done (fault-1)",
        "00:00:00.000  merchant →  POST /pay-in/deposit-creation order-1 10.00 EUR  ✓ 200 new",
        "00:00:00.000  service     pay-in.created order-1       payin_",
        "00:00:00.000  → merchant  pay-in.created order-1       ✗ 500 in <1 ms  to http://receiver.test/webhooks",
        "fault fault-1 (html_error) fired once",
        "fault fault-2 (drop) never fired: 1 event was made, none matched event_type=refund.*",
        "1 request came meanwhile that no sandbox claims; this one's business key is 'sandbox_key'",
        "GET /pay-in  ✗ 401  no sandbox claims it (business key 'live')",
        "the test's own receiver function has raised ZeroDivisionError",
    ):
        assert line in report, report
    assert report.count("paydouble timeline") == 0


def test_only_what_the_test_has_used_is_shown(child: Child) -> None:
    """Not the sandbox of another test or of the module, unless something has happened in it; and not too many."""
    run = child(
        HEAD
        + """
shared, idle = Sandbox(seed=1), Sandbox(seed=2)

def test_passes():
    order(shared)

def test_fails():
    assert False

def test_shared():
    order(shared)
    assert False

def test_many():
    boxes = [Sandbox(seed=seed) for seed in range(10, 15)]
    assert False
"""
    )
    _, alone, of_shared, many = run.text.split("_ test_", 3)

    assert run.counts == {"failed": 3, "passed": 1}, run.text
    assert "paydouble timeline" not in alone
    assert of_shared.count("paydouble timeline") == of_shared.count("sandbox without sockets, seed 1\n") == 1
    assert many.count("paydouble timeline") == 3
    assert "seed 14" in many
    assert "seed 11" not in many


def test_a_property_shows_the_example_that_fails(child: Child) -> None:
    """The last one, of the many that a property-based test makes."""
    run = child(
        HEAD
        + """
from hypothesis import given, settings, strategies as st

@settings(database=None, deadline=None)
@given(st.integers(0, 1000))
def test_fails(seed):
    box = Sandbox(seed=seed)
    order(box)
    assert seed < 10
"""
    )

    assert run.counts == {"failed": 1}, run.text
    assert run.text.count("paydouble timeline") == 1
    assert "sandbox without sockets, seed 10\n" in run.text
