"""Every effect on webhooks in each of its modes, as declarations."""

from __future__ import annotations

from typing import Any, get_args

from paydouble.faults.plans import SignatureMode
from paydouble.faults.webhook_effects import Formatting, Payload

Json = dict[str, Any]


def _modes(effect: type[Any]) -> tuple[str, ...]:
    return get_args(effect.model_fields["mode"].annotation)


EFFECTS: list[Json] = [
    {"type": "delay", "fixed": "10s"},
    {"type": "delay", "uniform": ["1s", "1m"]},
    {"type": "delay", "lognormal": {"median": "5s", "sigma": 1.5, "max": "1m"}},
    {"type": "drop"},
    {"type": "hold"},
    {"type": "duplicate"},
    {"type": "duplicate", "copies": 3},
    {"type": "duplicate", "copies": 2, "spacing": "10s"},
    {"type": "duplicate", "copies": 3, "concurrent": True},
    {"type": "duplicate", "copies": 2, "new_id": True},
    {"type": "duplicate", "after_success": True, "spacing": "1m"},
    {"type": "duplicate", "after_success": True, "copies": 2, "concurrent": True, "new_id": True},
    *[
        {"type": "reorder", "strategy": strategy, "window": 3, "each": each, "patience": "1m"}
        for strategy in ("reverse", "swap", "shuffle")
        for each in ("object", "sandbox")
    ],
    {"type": "reorder", "strategy": "permutation", "window": 3, "order": [2, 3, 1], "patience": "1m"},
    {
        "type": "reorder",
        "strategy": "permutation",
        "window": 3,
        "order": [3, 1, 2],
        "each": "sandbox",
        "patience": "1m",
    },
    {"type": "before_response"},
    {"type": "before_response", "lead": "20ms"},
    *[{"type": "signature", "mode": mode} for mode in get_args(SignatureMode)],
    {"type": "signature", "mode": "stale", "age": "290s"},
    {"type": "signature", "mode": "future", "age": "290s"},
    {"type": "tamper"},
    {"type": "tamper", "path": "data.object.status", "value": "succeeded"},
    *[{"type": "payload", "mode": mode} for mode in _modes(Payload)],
    *[{"type": "formatting", "mode": mode} for mode in _modes(Formatting)],
    {"type": "tie"},
    {"type": "change_on_resend"},
    {"type": "change_on_resend", "path": "data.object.status", "value": "failed"},
    {"type": "foreign"},
    {"type": "livemode"},
    {"type": "livemode", "value": False},
    {"type": "chunked"},
    {"type": "slow_body", "chunks": 4, "over": "40ms"},
    {"type": "connection_reset"},
    {"type": "schedule"},
    {"type": "schedule", "attempts": 3, "delays": ["5s", "10s"]},
]


def label(effect: Json) -> str:
    """Return a name for a parametrised test."""
    rest = [f"{name}={value}" for name, value in effect.items() if name != "type"]
    return "-".join([effect["type"], *rest]).replace(" ", "").replace("'", "")
