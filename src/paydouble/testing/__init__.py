"""For tests of a merchant's own code: the double as a server or in this process, and a webhook receiver.

Each name is loaded when it is first used, so that a test run which has the plugin and does not use it stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paydouble.core.errors import UsageError
    from paydouble.records import (
        Advanced,
        Attempt,
        ClockState,
        Delivery,
        Event,
        Fault,
        Health,
        Request,
        Resource,
        SandboxState,
        Scenario,
        UnclaimedRequest,
        WebhookState,
    )
    from paydouble.testing.calls import Async, Sync
    from paydouble.testing.errors import (
        ControlRefused,
        NotAsExpected,
        ReplyLost,
        ReplyTimeout,
        ServerGone,
        ServiceDown,
    )
    from paydouble.testing.receiver import Answer, Received, Receiver, crash, hang, slow
    from paydouble.testing.sandboxes import Credentials, SandboxHandle
    from paydouble.testing.servers import AsyncPaydouble, Paydouble
    from paydouble.testing.socketless import Response, Sandbox
    from paydouble.testing.webhook_receiver import WebhookReceiver

_HOME: Final = {
    "UsageError": "paydouble.core.errors",
    **dict.fromkeys(("Async", "Sync"), "paydouble.testing.calls"),
    **dict.fromkeys(
        ("ControlRefused", "NotAsExpected", "ReplyLost", "ReplyTimeout", "ServerGone", "ServiceDown"),
        "paydouble.testing.errors",
    ),
    **dict.fromkeys(("Answer", "Received", "Receiver", "crash", "hang", "slow"), "paydouble.testing.receiver"),
    **dict.fromkeys(
        (
            "Advanced",
            "Attempt",
            "ClockState",
            "Delivery",
            "Event",
            "Fault",
            "Health",
            "Request",
            "Resource",
            "SandboxState",
            "Scenario",
            "UnclaimedRequest",
            "WebhookState",
        ),
        "paydouble.records",
    ),
    **dict.fromkeys(("Credentials", "SandboxHandle"), "paydouble.testing.sandboxes"),
    **dict.fromkeys(("AsyncPaydouble", "Paydouble"), "paydouble.testing.servers"),
    **dict.fromkeys(("Response", "Sandbox"), "paydouble.testing.socketless"),
    "WebhookReceiver": "paydouble.testing.webhook_receiver",
}
__all__ = [
    "Advanced",
    "Answer",
    "Async",
    "AsyncPaydouble",
    "Attempt",
    "ClockState",
    "ControlRefused",
    "Credentials",
    "Delivery",
    "Event",
    "Fault",
    "Health",
    "NotAsExpected",
    "Paydouble",
    "Received",
    "Receiver",
    "ReplyLost",
    "ReplyTimeout",
    "Request",
    "Resource",
    "Response",
    "Sandbox",
    "SandboxHandle",
    "SandboxState",
    "Scenario",
    "ServerGone",
    "ServiceDown",
    "Sync",
    "UnclaimedRequest",
    "UsageError",
    "WebhookReceiver",
    "WebhookState",
    "crash",
    "hang",
    "slow",
]


def __getattr__(name: str) -> object:
    """Load a public name."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
