"""What faults have done, in a word or two, for the timelines that people read.

A request, a delivery and an attempt keep the ids of the faults that acted on them; what those did follows from the
declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Declaration = Mapping[str, Any]
"""A fault as the control API shows it."""

_NOTHING_DONE: Final = "nothing done"
_LOST: Final = frozenset({"no_response", "connection_reset", "empty_response"})
_FALSE_ANSWERS: Final = frozenset(
    {"error", "rate_limit", "html_error", "redirect", "sticky_5xx", "force_conflict", "unknown_code"}
)
_DISTORTED: Final = {
    "truncate": "reply cut short",
    "wrong_content_length": "reply of a wrong length",
    "slow_body": "reply in drips",
}
_EVENTS: Final = {
    "before_response": "sent before the reply",
    "delay": "delayed",
    "drop": "dropped",
    "duplicate": "copied",
    "foreign": "a foreign one beside it",
    "hold": "held",
    "livemode": "with another livemode",
    "reorder": "reordered",
    "schedule": "on another schedule",
    "tie": "of the same instant as the one before",
}
_ATTEMPTS: Final = {
    "connection_reset": "broken off half-way",
    "slow_body": "sent in drips",
    "tamper": "tampered with",
    "change_on_resend": "changed on resend",
}


def to_request(fault: Declaration) -> str:
    """Return what a fault has done to a request and its reply: whether anything was done, and what the caller got."""
    effect: str = fault["effect"]["type"]
    phase = fault.get("phase")
    after = phase == "after_commit"
    if effect in _LOST:
        return "reply lost" if after else _NOTHING_DONE
    if effect in _FALSE_ANSWERS:
        return "reply replaced" if after else _NOTHING_DONE
    if effect == "garbage":
        return "reply garbled" if after else f"{_NOTHING_DONE}, garbage sent"
    if effect in _DISTORTED:  # without a phase it is the true reply that they distort
        said = _DISTORTED[effect]
        return f"{_NOTHING_DONE}, {said}" if phase == "before_commit" else said
    return "delayed" if effect == "latency" else effect


def to_event(fault: Declaration) -> str:
    """Return what a fault has done to an event on its way."""
    effect: str = fault["effect"]["type"]
    return _EVENTS.get(effect, effect)


def to_attempt(fault: Declaration) -> str:
    """Return what a fault has done to an attempt."""
    effect = fault["effect"]
    return _ATTEMPTS.get(effect["type"]) or " ".join(filter(None, (effect["type"], effect.get("mode"))))


def told(fault_ids: Iterable[str], find: Callable[[str], Declaration | None], say: Callable[[Declaration], str]) -> str:
    """Return what faults have done as the end of a line, such as `, reply lost (fault-1)`; empty without any.

    Of one that is not to be found any more only the id is known.
    """
    said = []
    for fault_id in fault_ids:
        fault = find(fault_id)
        said.append(f"struck by {fault_id}" if fault is None else f"{say(fault)} ({fault_id})")
    return "".join(f", {each}" for each in said)


def copy(delivery_id: str) -> str:
    """Return which copy of an event a delivery is, such as ` (copy 1)`; empty for the event's own."""
    _, dot, number = delivery_id.rpartition(".")
    return f" (copy {number})" if dot else ""
