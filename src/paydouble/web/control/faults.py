"""Control calls about faults and about the rate limit."""

from __future__ import annotations

from types import ModuleType
from typing import Final, Literal

from pydantic import Field

from paydouble.config import RateLimit, SomeDuration, Whole
from paydouble.core.documents import Document, components_of
from paydouble.core.errors import UsageError
from paydouble.core.json_schema import COUNT, TEXT, object_of
from paydouble.records import Fault, show_fault
from paydouble.sandbox import Sandbox
from paydouble.web.control.calls import PAGE, SANDBOX, Body, ControlCall, Noun, listed, listing, shown
from paydouble.web.control.calls import ControlRoute as Row


class Quota(Body):
    """A real rate limit."""

    limit: Whole = Field(ge=0, le=1_000_000_000)
    window: SomeDuration = 60_000
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] | None = None
    clock: Literal["wall_clock", "sandbox_clock"] | None = None
    headers: Literal["on_429", "always"] | None = None


def fault_models() -> ModuleType:
    """Return the module of the fault models. It has forty, so it is loaded for the first fault."""
    from paydouble.faults import model  # noqa: PLC0415 - see above

    return model


def _note(box: Sandbox, action: str, document: Document) -> Document:
    box.feed.note("fault", {"action": action, **document})
    return document


def list_all(call: ControlCall) -> Document:
    """Show the faults, in the order in which they are evaluated."""
    now = call.sandbox.tick()
    return listing(call.sandbox.faults, lambda armed: show_fault(armed, now), call.queries)


def add(call: ControlCall) -> Document:
    """Arm a fault."""
    box = call.sandbox
    armed = box.add_fault(fault_models().parse_fault(call.body))
    return _note(box, "added", show_fault(armed, box.now))


def read(call: ControlCall) -> Document:
    """Show a fault."""
    return show_fault(call.sandbox.faults.get(call.params["id"]), call.sandbox.tick())


def change(call: ControlCall) -> Document:
    """Change members of a fault; its counts stay. Null resets a member to its default."""
    box = call.sandbox
    armed = box.faults.get(call.params["id"])
    wanted: Document = call.body
    if wanted.get("id", armed.id) != armed.id:
        raise UsageError(f"the fault is {armed.id!r}, and an id cannot be changed", member="id")
    merged = {**fault_models().document(armed.fault), **wanted, "id": armed.id}
    fault = fault_models().parse_fault({name: value for name, value in merged.items() if value is not None})
    return _note(box, "changed", show_fault(box.change_fault(armed.id, fault), box.now))


def remove(call: ControlCall) -> Document:
    """Remove a fault."""
    armed = call.sandbox.faults.get(call.params["id"])
    call.sandbox.remove_fault(armed.id)
    return _note(call.sandbox, "removed", {"deleted": armed.id, "times_fired": armed.fired})


def clear(call: ControlCall) -> Document:
    """Remove all faults."""
    return {"deleted": call.sandbox.reset(frozenset({"faults"}))["faults"]}


def set_quota(call: ControlCall) -> Document:
    """Set the rate limit; its first window starts unused."""
    wanted: Quota = call.body
    rule = RateLimit.model_validate(wanted.model_dump(mode="json", exclude_none=True))
    call.sandbox.set_quota(rule)
    return rule.model_dump(mode="json")


def clear_quota(call: ControlCall) -> Document:
    """Remove the rate limit."""
    call.sandbox.set_quota(None)
    return {"deleted": "rate-limit"}


NOUN: Final = Noun(
    routes=(
        Row(
            "fault-list",
            "GET",
            f"{SANDBOX}/faults",
            "The faults, with how often they fired.",
            list_all,
            listed(shown(Fault)),
            queries=PAGE,
        ),
        Row(
            "fault-add",
            "POST",
            f"{SANDBOX}/faults",
            "Arm a fault.",
            add,
            shown(Fault),
            dict,
            status=201,
            body="NewFault",
            advice=(
                "Without `on` an effect that only one side has chooses that side; one that both have "
                "is on the API. The first enabled fault that matches and fires decides; with `compose` "
                "the next may act too."
            ),
        ),
        Row("fault-clear", "DELETE", f"{SANDBOX}/faults", "Remove all faults.", clear, object_of({"deleted": COUNT})),
        Row("fault-read", "GET", f"{SANDBOX}/faults/{{id}}", "One fault.", read, shown(Fault)),
        Row(
            "fault-change",
            "PATCH",
            f"{SANDBOX}/faults/{{id}}",
            "Change members of a fault.",
            change,
            shown(Fault),
            dict,
            body="FaultChange",
            advice=(
                "Any members of a fault; `match` and `effect` are replaced whole, null takes a member "
                "back to its default, and the counts stay."
            ),
        ),
        Row(
            "fault-remove",
            "DELETE",
            f"{SANDBOX}/faults/{{id}}",
            "Remove a fault.",
            remove,
            object_of({"deleted": TEXT, "times_fired": COUNT}),
        ),
        Row(
            "quota-set",
            "PUT",
            f"{SANDBOX}/rate-limit",
            "Set a real rate limit.",
            set_quota,
            object_of({"limit": COUNT, "window": TEXT, "reset_unit": TEXT, "clock": TEXT, "headers": TEXT}),
            Quota,
        ),
        Row(
            "quota-clear",
            "DELETE",
            f"{SANDBOX}/rate-limit",
            "Remove the rate limit.",
            clear_quota,
            object_of({"deleted": TEXT}),
        ),
    ),
    tags={
        "fault": "What goes wrong on purpose.",
        "quota": "A real rate limit.",
    },
    components=components_of(Fault),
)
