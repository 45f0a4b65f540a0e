"""Short labels for what faults have done, for timelines.

A request, a delivery and an attempt keep the ids of the faults that acted on them; the labels follow from the faults'
declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

_NOT_RECEIVED = frozenset({"lost", "cut short", "garbled"})
"""What can happen to a reply (`PhasedEffect.reply`) so that no client takes it for a whole one."""
Declaration = Mapping[str, Any]
"""A fault as the control API shows it."""


def to_request(fault: Declaration) -> str:
    """Return what a fault has done to a request: whether anything was done, and what happened to the reply."""
    from paydouble.faults.model import API_EFFECTS  # noqa: PLC0415 - models that are built only once a fault is used

    name: str = fault["effect"]["type"]
    effect = API_EFFECTS.get(name)  # a server of another version may have others
    return name if effect is None else effect.summary(fault.get("phase"))


def broken_reply(fault: Declaration) -> str:
    """Return how a fault has kept a client from a whole reply, such as `reply lost`; empty if it has not."""
    from paydouble.faults.model import API_EFFECTS  # noqa: PLC0415 - as above

    reply = getattr(API_EFFECTS.get(fault["effect"]["type"]), "reply", "")
    return f"reply {reply}" if reply in _NOT_RECEIVED else ""


def to_event(fault: Declaration) -> str:
    """Return what a fault has done to an event."""
    from paydouble.faults.model import WEBHOOK_EFFECTS  # noqa: PLC0415 - as above

    name: str = fault["effect"]["type"]
    effect = WEBHOOK_EFFECTS.get(name)
    return name if effect is None else effect.summary


def to_attempt(fault: Declaration) -> str:
    """Return what a fault has done to an attempt, with the variant of an effect that has several."""
    return " ".join(filter(None, (to_event(fault), fault["effect"].get("mode"))))


def describe(
    fault_ids: Iterable[str], find: Callable[[str], Declaration | None], say: Callable[[Declaration], str]
) -> str:
    """Return what faults have done as the end of a line, such as `, reply lost (fault-1)`; empty without any.

    `find` returns a fault's declaration, or None for one that has been deleted: then only its id is given. `say` is one
    of the functions above.
    """
    labels = []
    for fault_id in fault_ids:
        fault = find(fault_id)
        labels.append(f"fired: {fault_id}" if fault is None else f"{say(fault)} ({fault_id})")
    return "".join(f", {each}" for each in labels)


def copy(delivery_id: str) -> str:
    """Return which copy of an event a delivery is, such as ` (copy 1)`; empty for the event's own."""
    _, dot, number = delivery_id.rpartition(".")
    return f" (copy {number})" if dot else ""
