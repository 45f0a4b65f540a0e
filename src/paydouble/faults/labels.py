"""What faults have done, in a word or two, for the timelines that people read.

A request, a delivery and an attempt keep the ids of the faults that acted on them; what those did follows from the
declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Declaration = Mapping[str, Any]
"""A fault as the control API shows it."""


def to_request(fault: Declaration) -> str:
    """Return what a fault has done to a request and its reply: whether anything was done, and what the caller got."""
    from paydouble.faults.model import API_EFFECTS  # noqa: PLC0415 - models that are built only once a fault is used

    name: str = fault["effect"]["type"]
    effect = API_EFFECTS.get(name)  # a server of another version may have others
    return name if effect is None else effect.summary(fault.get("phase"))


def to_event(fault: Declaration) -> str:
    """Return what a fault has done to an event on its way."""
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
