"""Short ways to make scenarios and faults."""

from __future__ import annotations

from typing import Any

from paydouble.scenarios.model import Scenario

PAID: list[dict[str, Any]] = [
    {"after": "2s", "to": "pending"},
    {"after": "1s", "to": "processing"},
    {"after": "3s", "to": "succeeded"},
]
PAID_EVENTS = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]
REFUND_EVENTS = ["refund.created", "refund.processing", "refund.succeeded"]


def scenario(pay_in: list[dict[str, Any]] | None = None, **members: Any) -> Scenario:  # noqa: ANN401 - JSON is any
    """Return a scenario that pays in six seconds, or as `pay_in` says; `refund` and `dispute` are its other scripts."""
    life: dict[str, Any] = {"pay_in": PAID if pay_in is None else pay_in}
    life |= {name: members.pop(name) for name in ("refund", "dispute") if name in members}
    return Scenario.model_validate({"name": "tried", "summary": "A life.", "lifecycle": life, **members})


def fault(kind: str, *, times: int | None = None, **members: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    """Return a fault on the deposit; what is not `on`, `phase`, `match` or `ttl` belongs to the effect."""
    own: dict[str, Any] = {name: members.pop(name) for name in ("on", "phase", "match", "ttl") if name in members}
    if own.get("on", "api") == "api":
        own.setdefault("match", {"operation": "deposit-creation"})
    if times is not None:
        own["times"] = times
    return {**own, "effect": {"type": kind, **members}}
