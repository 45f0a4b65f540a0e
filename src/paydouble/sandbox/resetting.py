"""Forgetting what a sandbox has seen, all of it or in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.sandbox.commands import DELIVERY_COMMANDS

if TYPE_CHECKING:
    from paydouble.sandbox.business import Sandbox


def reset(box: Sandbox, scope: frozenset[str]) -> dict[str, int]:
    """Forget what the scope names; returns how much of each was removed and cancelled."""
    removed: dict[str, int] = {}
    if "deliveries" in scope:
        removed |= _forget_deliveries(box)
    if "faults" in scope:
        removed["faults"] = box.faults.clear()
    if "requests" in scope:
        removed["requests"] = box.journal.requests.clear()
    if "scenarios" in scope:
        removed |= _forget_scenarios(box)
    if "state" in scope:
        removed |= _forget_state(box, scope)
    box.feed.say("reset", {"scope": sorted(scope), "removed": removed})
    return removed


def _forget_state(box: Sandbox, scope: frozenset[str]) -> dict[str, int]:
    removed = {
        "pay_ins": box.ledger.count(PayIn),
        "refunds": box.ledger.count(Refund),
        "disputes": box.ledger.count(Dispute),
        "idempotency_keys": len(box.keys),
        "timers_cancelled": len(box.timers),
    }
    waiting = box.timers.pending()
    clock, ids = box.clock, box.ids
    box.scenarios.restart()
    box.faults.forget_orders()
    box.start()
    # What is kept keeps its ids, so new events and requests must not be given them again.
    kept = (("evt", "deliveries"), ("req", "requests"))
    box.ids.go_on_from(ids, *(prefix for prefix, part in kept if part not in scope))
    if "clock" not in scope:
        box.clock = clock
        box.now = clock.now()
    for timer in waiting:
        if isinstance(timer.command, DELIVERY_COMMANDS):
            removed["timers_cancelled"] -= 1
            box.timers.schedule(timer.due, timer.command, timer.subject)
    return removed


def _forget_deliveries(box: Sandbox) -> dict[str, int]:
    for timer in box.timers.pending():
        if isinstance(timer.command, DELIVERY_COMMANDS):
            box.timers.cancel(timer)
    box.dispatch.clear()
    events = box.journal.events.clear()
    deliveries, cancelled = box.outbox.clear()
    return {"events": events, "deliveries": deliveries, "deliveries_cancelled": cancelled}


def _forget_scenarios(box: Sandbox) -> dict[str, int]:
    uploads, active = box.scenarios.clear()
    if box.settings.scenario not in box.scenarios.names():
        # The setting named an upload; deposits go on with the life that the sandbox was made with.
        box.put(box.settings.model_copy(update={"scenario": box.first_scenario}))
    box.overlay.follow()
    return {"scenarios": uploads, "active_scenario": active}
