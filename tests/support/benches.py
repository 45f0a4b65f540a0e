"""A sandbox without its API, for tests of what happens by itself: deposits in one line, events as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from paydouble.config import load_settings
from paydouble.core.clock import Clock, ClockMode
from paydouble.core.money import MINOR_DIGITS
from paydouble.inprocess import START_MS, InProcess
from paydouble.payments.resources import Customer, Order, PayIn, PaymentMethod
from paydouble.sandbox import Sandbox
from paydouble.sandbox.identity import Identity
from paydouble.scenarios.library import Library
from paydouble.scenarios.model import Scenario

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
START = START_MS
URL = "http://127.0.0.1:9/hook"
CARD = PaymentMethod("CREDIT_CARD", "card", "Credit card")
CUSTOMER = Customer("Ada", "Lovelace", "ada@shop.test")


class Wall:
    """The machine's time in milliseconds, as a test sets it."""

    def __init__(self, at: int = START) -> None:
        """Start at an instant."""
        self.at = at

    def __call__(self) -> int:
        """Return the time."""
        return self.at


def bench(
    *,
    mode: ClockMode = "manual",
    wall: Wall | None = None,
    url: str | None = URL,
    scenarios: Mapping[str, Scenario] | None = None,
    seed: int = 1,
    **settings: Any,  # noqa: ANN401 - the members of Settings
) -> Sandbox:
    """Return a sandbox that starts at START; its settings are given as plain JSON."""
    box = InProcess(
        load_settings(settings),
        identity=Identity("bench", seed, "key", "secret", "whsec_bench"),
        notification_url=url,
        library=Library(given=scenarios.values()) if scenarios else None,
    ).sandbox
    if mode != "manual":
        box.set_clock(Clock(wall or Wall(), mode=mode, start=START))
    return box


def script(name: str = "scripted", **lifecycle: Any) -> dict[str, Scenario]:  # noqa: ANN401 - as in a file
    """Return scenarios with one in it, made as from a file."""
    return {name: Scenario.model_validate({"name": name, "summary": "A test's own.", "lifecycle": lifecycle})}


def deposit(sandbox: Sandbox, amount: int = 4990, currency: str = "EUR", **members: Any) -> PayIn:  # noqa: ANN401
    """Create a pay-in that expires after a day unless the members say otherwise."""
    name = members.pop("scenario", None) or sandbox.active_scenario or sandbox.settings.scenario
    wanted = {
        **dict.fromkeys(each.name for each in fields(Order)),
        "external_identifier": "order-1",
        "amount": amount,
        "currency": currency,
        "payment_method": CARD,
        "customer": CUSTOMER,
        "expires_in_ms": DAY,
        "digits": MINOR_DIGITS[currency],
        **members,
    }
    return sandbox.create_pay_in(sandbox.scenario(name), Order(**wanted))[0]


def paid(sandbox: Sandbox, amount: int = 4990, **members: Any) -> PayIn:  # noqa: ANN401 - as for `deposit`
    """Create a pay-in and let it succeed by the happy path, six seconds later."""
    pay_in = deposit(sandbox, amount, scenario="happy-path", **members)
    advance(sandbox, 6 * SECOND)
    return pay_in


def advance(sandbox: Sandbox, by: int) -> None:
    """Move the clock by milliseconds and let everything that is due happen."""
    for _ in sandbox.instants(by=by):
        pass


def timeline(sandbox: Sandbox, since: int = START) -> list[tuple[int, str]]:
    """Return every event as (milliseconds after `since`, type)."""
    return [(event.created_at - since, event.type) for event in sandbox.journal.events.entries]


def bodies(sandbox: Sandbox) -> list[dict[str, Any]]:
    """Return every event's body, parsed."""
    return [json.loads(event.body) for event in sandbox.journal.events.entries]
