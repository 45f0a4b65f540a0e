"""Control calls about faults and quotas."""

from __future__ import annotations

from types import ModuleType

from paydouble.config import RateLimit
from paydouble.core.errors import UsageError
from paydouble.records import show_fault
from paydouble.sandbox import Sandbox
from paydouble.web.control import views
from paydouble.web.control.models import Quota
from paydouble.web.control.values import ControlCall, Document


def fault_models() -> ModuleType:
    """Return the module of the fault models; forty of them, which a server that is asked for no fault never builds."""
    from paydouble.faults import model  # noqa: PLC0415 - see above

    return model


def _note(box: Sandbox, action: str, document: Document) -> Document:
    box.feed.note("fault", {"action": action, **document})
    return document


def list_all(call: ControlCall) -> Document:
    """Show the faults, in the order in which they are asked."""
    now = call.sandbox.tick()
    return views.listing(call.sandbox.faults, lambda armed: show_fault(armed, now), call.queries)


def add(call: ControlCall) -> Document:
    """Arm a fault."""
    box = call.sandbox
    now = box.tick()
    armed = box.faults.add(fault_models().parse_fault(call.body), now, box.journal.next())
    return _note(box, "added", show_fault(armed, now))


def read(call: ControlCall) -> Document:
    """Show a fault."""
    return show_fault(call.sandbox.faults.get(call.params["id"]), call.sandbox.tick())


def change(call: ControlCall) -> Document:
    """Lay members over a fault; its counts stay. Null takes a member back to its default."""
    box = call.sandbox
    now = box.tick()
    armed = box.faults.get(call.params["id"])
    wanted: Document = call.body
    if wanted.get("id", armed.id) != armed.id:
        raise UsageError(f"the fault is {armed.id!r}, and an id cannot be changed", member="id")
    merged = {**fault_models().document(armed.fault), **wanted, "id": armed.id}
    fault = fault_models().parse_fault({name: value for name, value in merged.items() if value is not None})
    return _note(box, "changed", show_fault(box.faults.change(armed.id, fault), now))


def remove(call: ControlCall) -> Document:
    """Disarm a fault."""
    armed = call.sandbox.faults.get(call.params["id"])
    call.sandbox.faults.remove(armed.id)
    return _note(call.sandbox, "removed", {"deleted": armed.id, "times_fired": armed.fired})


def clear(call: ControlCall) -> Document:
    """Disarm all."""
    return {"deleted": call.sandbox.reset(frozenset({"faults"}))["faults"]}


def set_quota(call: ControlCall) -> Document:
    """Put a real quota in place; its first window starts unused."""
    wanted: Quota = call.body
    box = call.sandbox
    rule = RateLimit.model_validate(wanted.model_dump(mode="json", exclude_none=True))
    box.apply(box.settings.model_copy(update={"rate_limit": rule}))
    box.quota.restart()
    return rule.model_dump(mode="json")


def clear_quota(call: ControlCall) -> Document:
    """Take the quota away."""
    call.sandbox.apply(call.sandbox.settings.model_copy(update={"rate_limit": None}))
    return {"deleted": "rate-limit"}
