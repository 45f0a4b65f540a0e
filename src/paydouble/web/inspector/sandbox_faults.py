"""Faults of a sandbox: the form that adds one, made from the schema of its effect, and what can be done to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.faults.names import OPERATIONS
from paydouble.payments.events import EVENT_TYPES
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector.control_calls import perform
from paydouble.web.inspector.sandbox import page
from paydouble.web.inspector.schema_forms import Field, body, component, effects, fields
from paydouble.web.inspector.visits import Page, PageRoute, Refused, Shown, Visit, sandbox_url, sandboxes_url, see

if TYPE_CHECKING:
    from paydouble.faults.base import Effect

SIDES: Final[Mapping[str, tuple[str, Mapping[str, type[Effect]]]]] = {
    "api": ("Api", API_EFFECTS),
    "webhooks": ("Webhook", WEBHOOK_EFFECTS),
}
"""The sides that a fault can be on: the beginning of their schemas' names, and their effects."""


def show(visit: Visit) -> Page:
    """Show the form of the effect that the query names as `SIDE.EFFECT`."""
    return _form(visit, visit.query.get("effect", ""))


def _form(visit: Visit, effect: str, problem: str = "", status: int = 200) -> Page:
    name = visit.sandbox.identity.id
    side, kind = _known(effect)
    groups = _groups(side, kind, visit)
    known = SIDES[side][1][kind]
    return Page(
        "fault.html",
        {
            "title": f"Add the fault {kind}",
            "sandbox": name,
            "url": sandbox_url(name),
            "list": sandboxes_url(),
            "action": sandbox_url(name, "faults"),
            "effect": effect,
            "kind": kind,
            "side": "the API" if side == "api" else "webhooks",
            "text": effects(side)[kind].get("description", ""),
            "exposes": known.exposes,
            "groups": groups,
            "choices": {"match.operation": OPERATIONS, "match.event_type": tuple(EVENT_TYPES)},
            "suggestions": {"match.scenario": visit.sandbox.scenarios.names()},
            "problem": problem,
        },
        status,
    )


def _known(effect: str) -> tuple[str, str]:
    side, _, kind = effect.partition(".")
    if side not in SIDES or kind not in SIDES[side][1]:
        raise Refused(
            404, "There is no such fault", f"{effect[:80]!r} is not an effect. Choose one on the sandbox's page."
        )
    return side, kind


def _groups(side: str, kind: str, visit: Visit) -> list[tuple[str, list[Field]]]:
    """Return the fields of a fault in groups, with their headings."""
    whole = component(f"{SIDES[side][0]}Fault")
    phase = [each for each in fields(whole, visit.form) if each.name == "phase"]
    return [
        ("What it does", [*phase, *fields(effects(side)[kind], visit.form, within="effect.")]),
        ("What it matches", list(fields(component(f"{SIDES[side][0]}Match"), visit.form, within="match."))),
        ("When it fires", list(fields(whole, visit.form, skip={"effect", "match", "phase"}))),
    ]


async def add(visit: Visit) -> Shown:
    """Arm a fault."""
    effect = visit.form.get("effect", "")
    side, kind = _known(effect)
    name = visit.sandbox.identity.id
    wanted = [field for _, group in _groups(side, kind, visit) for field in group]
    try:
        made = await perform(
            visit, "POST", "sandboxes", name, "faults", body=body(wanted, {"on": side, "effect.type": kind})
        )
    except ControlError as error:
        return _form(visit, effect, str(error), error.status)
    return see(sandbox_url(name), f"Fault {made['id']} was added.")


async def pause(visit: Visit) -> Shown:
    """Pause a fault, or let it go on."""
    enabled = visit.form.get("enabled") == "true"
    return await _change(visit, "PATCH", "is active again" if enabled else "is paused", {"enabled": enabled})


async def remove(visit: Visit) -> Shown:
    """Remove a fault."""
    return await _change(visit, "DELETE", "was removed")


async def _change(visit: Visit, method: str, done: str, members: dict[str, bool] | None = None) -> Shown:
    name, fault = visit.sandbox.identity.id, visit.params["id"]
    try:
        await perform(visit, method, "sandboxes", name, "faults", fault, body=members or b"")
    except ControlError as error:
        return page(visit, str(error), error.status)
    return see(sandbox_url(name), f"Fault {fault} {done}.")


async def clear(visit: Visit) -> Shown:
    """Remove all faults."""
    name = visit.sandbox.identity.id
    await perform(visit, "DELETE", "sandboxes", name, "faults")
    return see(sandbox_url(name), "All faults were removed.")


_AT: Final = "inspector/sandboxes/{s}/faults"
ROUTES: Final = (
    PageRoute("GET", f"{_AT}/new", show),
    PageRoute("POST", _AT, add),
    PageRoute("POST", f"{_AT}/clear", clear),
    PageRoute("POST", f"{_AT}/{{id}}/enabled", pause),
    PageRoute("POST", f"{_AT}/{{id}}/remove", remove),
)
