"""A sandbox has no reference cycle, so it is freed with the last reference to it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from benches import advance, bench, deposit, script

from paydouble.inprocess import InProcess


@pytest.fixture(autouse=True)
def _without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_an_unreferenced_sandbox_is_freed() -> None:
    """Its ledger, its timers and the settings of a scenario do not keep it in memory."""
    sandbox = bench(scenarios=script(pay_in=[{"after": "1s", "to": "pending"}]), scenario="scripted")
    deposit(sandbox)
    advance(sandbox, 2_000)
    sandbox.reset(frozenset({"state", "clock", "scenarios"}))
    deposit(sandbox)
    weak = weakref.ref(sandbox)

    del sandbox

    assert weak() is None


def test_an_unreferenced_in_process_sandbox_is_freed() -> None:
    """The in-process sandbox is freed too."""
    business = InProcess()
    deposit(business.sandbox)
    weak = weakref.ref(business.sandbox)

    del business

    assert weak() is None


def test_the_ledger_of_a_freed_sandbox_makes_no_events() -> None:
    """A ledger that outlives its sandbox can still move resources, and makes no events."""
    sandbox = bench()
    pay_in = deposit(sandbox)
    ledger, events = sandbox.ledger, sandbox.journal.events
    del sandbox

    ledger.transition(pay_in, "pending", 0)

    assert pay_in.status == "pending"
    assert [event.type for event in events.entries] == ["pay-in.created"]


def test_a_closed_sandbox_notifies_no_listener() -> None:
    """Its listeners are not called for what is still in flight."""
    sandbox = bench()
    heard: list[int] = []
    sandbox.feed.listen(lambda: heard.append(sandbox.feed.sequence))
    deposit(sandbox)
    before = list(heard)

    sandbox.close()
    deposit(sandbox, external_identifier="order-2")

    assert heard == before != []
