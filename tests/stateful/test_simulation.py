"""More than a thousand random runs of a business, with every invariant checked after every command."""

from __future__ import annotations

from random import Random

import pytest
from random_runs import RandomRun
from scripts import draw, failure, reproduction

from paydouble.guards.idempotency import Keys
from paydouble.payments.ledger import Ledger
from paydouble.webhooks.deliveries import Outbox

PARTS, RUNS = 4, 300
LENGTH = 30


@pytest.mark.parametrize("part", range(PARTS))
def test_no_run_breaks_an_invariant(part: int) -> None:
    """Whatever a merchant, a payer, a provider, a receiver and a clock do, what must hold holds."""
    for seed in range(part * RUNS, (part + 1) * RUNS):
        script = draw(Random(seed), LENGTH)

        assert failure(script, seed) is None, f"\n{reproduction(script, seed)}"


def _first_failure() -> str:
    for seed in range(400):
        script = draw(Random(seed), LENGTH)
        if failure(script, seed) is not None:
            return reproduction(script, seed)
    return "nothing was found"


def test_a_forgotten_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When no key is ever known, a deposit and its retry are what the reproduction comes down to."""
    monkeypatch.setattr(Keys, "look_up", lambda *_: None)

    calls = [line.partition("(")[0] for line in _first_failure().splitlines() if line != "run.check()"]

    assert calls[1:-2] == ["run = RandomRun", "run.deposit"] or calls[1:-2] == ["run = RandomRun", "run.payout"]
    assert calls[-2] in {"run.retry", "run.misuse"}


def test_a_refund_that_gives_nothing_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a failed refund keeps its amount, the reproduction is short and says so."""
    monkeypatch.setattr(Ledger, "_reserve_again", lambda *_: None)

    found = _first_failure()

    assert "refunds and what they hold differ" in found
    assert len(found.splitlines()) <= 2 + 2 * 5 + 1


def test_a_delivery_that_is_never_tried_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a failed attempt sets no timer, a failing receiver and one deposit show it."""
    settle = Outbox.settle
    monkeypatch.setattr(Outbox, "settle", lambda *args, **options: settle(*args, **options) and None)

    found = _first_failure()

    assert "a waiting delivery is on no clock" in found
    assert len(found.splitlines()) <= 2 + 2 * 3 + 1


def test_a_reproduction_can_be_pasted() -> None:
    """The printed calls are calls of a run."""
    run = RandomRun(7)
    run.deposit(amount=100, scenario="happy-path", expires_in=86_400)
    run.check()
    run.advance(by=6_000)
    run.check()
    run.force(kind="payin", which=0, to="failed", force=True)
    run.check()
    run.end()

    assert [event["type"] for event in run.business.events()][-1] == "pay-in.failed"
