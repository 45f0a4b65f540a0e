"""How long a case waits for what a shop does."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from paydouble.conformance import case as cases
from paydouble.conformance.case import Case, Order
from paydouble.conformance.levels import Level
from paydouble.stateful import Refused


def test_a_computer_that_was_paused_is_not_the_shops_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the limit the jobs still run once, and the books are read once more."""
    now = 0.0
    done: list[str] = []

    def pause(_: float) -> None:
        nonlocal now
        now += 60

    driver = SimpleNamespace(
        tick=lambda: done.append("tick"),
        order_status=lambda _: "paid" if done else "pending",
        shipments=lambda _: None,
        balance=lambda _: None,
        effects=lambda _: {},
    )
    stage: Any = SimpleNamespace(sandbox=None, listen=lambda _: None, driver=driver, works_at_once=False)
    monkeypatch.setattr(cases, "time", SimpleNamespace(monotonic=lambda: now, sleep=pause))

    books = Case(stage, "W1.1", Level.MUST).wait(
        Order("order-1", Decimal(5), "EUR"), lambda held: held.status == "paid"
    )

    assert books is not None
    assert done == ["tick"]


@pytest.mark.parametrize("button", ["pay", "click_again"])
def test_a_customer_who_is_declined_sees_a_page(button: str) -> None:
    """A clause goes on, as after any other page: the shop has not failed."""

    def decline(_: str) -> None:
        raise Refused("all is sold")

    driver = SimpleNamespace(pay=decline, retry=decline)
    journal = SimpleNamespace(requests=SimpleNamespace(list=lambda **_: []))
    stage: Any = SimpleNamespace(sandbox=journal, listen=lambda _: None, driver=driver, works_at_once=False)

    assert getattr(Case(stage, "C1.1", Level.MUST), button)(Order("order-1", Decimal(5), "EUR")) == ""
