"""The page of a sandbox: its clock, its faults, where its events go, what it plays, and how to begin again.

Every action is a control call. A refusal is shown on the page, in the words of the control API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from paydouble.core.durations import format_duration
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.resources import PayIn
from paydouble.records import sandbox_of, webhook_of
from paydouble.sandbox.business import RESET_SCOPES
from paydouble.scenarios import descriptions
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector import advances
from paydouble.web.inspector.activity import Tone
from paydouble.web.inspector.control_calls import perform
from paydouble.web.inspector.inbox import Due, due_of
from paydouble.web.inspector.schema_forms import Field, body, component, effects, fields
from paydouble.web.inspector.visits import (
    Page,
    PageRoute,
    Shown,
    Visit,
    home,
    sandbox_url,
    sandboxes_url,
    scenarios_url,
    see,
)

if TYPE_CHECKING:
    from paydouble.faults.armed import Armed
    from paydouble.sandbox import Sandbox

STEPS: Final = (("1m", "+1 min"), ("1h", "+1 h"), ("24h", "+24 h"), ("72h", "+72 h"))
"""The durations of the buttons that move a clock, and their labels."""
MOST_FAULTS: Final = 200
"""Faults that the page lists. A scenario arms its own for every order."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault."""

    id: str
    name: str
    text: str
    """Its side, effect, attributes, and what it matches."""
    matched: int
    fired: int
    times: int | None
    """How often it fires at most."""
    state: str
    tone: Tone
    enabled: bool
    order: str
    """The order for which a scenario has armed it."""
    url: str


@dataclass(frozen=True, slots=True)
class ClockView:
    """The clock, and what is still to happen."""

    mode: str
    rate: float
    now: int
    due: Due | None
    pending: int
    idle: bool


def show(visit: Visit) -> Page:
    """Show a sandbox."""
    return page(visit)


def page(visit: Visit, problem: str = "", status: int = 200) -> Page:
    """Return the page of a sandbox, with the reason why an action was refused."""
    box = visit.sandbox
    name = box.identity.id
    now = box.tick()
    secrets = webhook_of(box)
    return Page(
        "sandbox.html",
        {
            "title": f"Sandbox {name}",
            "url": sandbox_url(name),
            "list": sandboxes_url(),
            "inbox": home(sandbox=name),
            "state": sandbox_of(
                box, f"{visit.reached.api}/api/v1", visit.host.tenancy(box), visit.host.expires_at(box)
            ),
            "created": visit.host.created_at(box),
            "requests": box.journal.requests.total,
            "payments": box.ledger.count(PayIn),
            "deliveries": _waiting(box),
            **_clock_values(visit),
            "clock_fields": list(fields(component("ClockBody"), visit.form, within="clock.")),
            "faults": [fault_row(box, each, now) for each in islice(box.faults, MOST_FAULTS)],
            "more_faults": len(box.faults) - MOST_FAULTS,
            "effects": _effects(),
            "add_fault": sandbox_url(name, "faults", "new"),
            "limit": _limit(box),
            "limit_fields": _limit_fields(visit.form),
            "webhook": secrets,
            "secrets_shown": visit.query.get("show") == "secrets",
            "show_secrets": sandbox_url(name, show="secrets") + "#webhooks",
            "event_types": tuple(EVENT_TYPES),
            "active": box.active_scenario or "",
            "default": box.settings.scenario,
            "scenarios": box.scenarios.names(),
            "library": scenarios_url(sandbox=name),
            "scopes": RESET_SCOPES,
            "given": visit.form,
            "problem": problem,
        },
        status,
    )


def _waiting(box: Sandbox) -> int:
    return sum(each.status == "waiting" for each in box.outbox.deliveries.values())


def _clock_values(visit: Visit) -> dict[str, Any]:
    box = visit.sandbox
    due = box.timers.next_due()
    clock = ClockView(
        box.clock.mode,
        box.clock.rate,
        box.tick(),
        None if due is None else due_of(box, due),
        len(box.timers),
        box.idle,
    )
    url = sandbox_url(box.identity.id, "clock")
    return {"clock": clock, "advance": advances.last(box), "steps": STEPS, "clock_url": url, "given": visit.form}


def show_clock(visit: Visit) -> Page:
    """Show the clock alone, for a page that replaces it while an advance runs."""
    return Page("clock.html", _clock_values(visit))


def fault_row(box: Sandbox, armed: Armed, now: int) -> FaultRow:
    """Return the row of a fault."""
    fault = armed.fault
    state: tuple[str, Tone] = ("active", "good")
    if not fault.enabled:
        state = ("paused", "idle")
    elif fault.times is not None and armed.fired >= fault.times:
        state = ("used up", "idle")
    elif not armed.is_active(now):
        state = ("expired", "idle")
    return FaultRow(
        id=armed.id,
        name=fault.name or "",
        text=descriptions.fault(fault),
        matched=armed.matched,
        fired=armed.fired,
        times=fault.times,
        state=state[0],
        tone=state[1],
        enabled=fault.enabled,
        order="" if armed.order is None else armed.order[0],
        url=sandbox_url(box.identity.id, "faults", armed.id),
    )


def _effects() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the names of the effects of each side and what they do, from the schema of faults."""
    sides = (("api", "On the API"), ("webhooks", "On webhooks"))
    return [
        (label, [(f"{side}.{name}", schema.get("description", "")) for name, schema in effects(side).items()])
        for side, label in sides
    ]


def _limit(box: Sandbox) -> str:
    rule = box.settings.rate_limit
    if rule is None:
        return ""
    requests = "1 request" if rule.limit == 1 else f"{rule.limit:,} requests"
    return f"{requests} each {format_duration(rule.window)}, with headers {rule.headers.replace('_', ' ')}."


def _limit_fields(given: Mapping[str, str]) -> list[Field]:
    return list(fields(component("Quota"), given, within="quota."))


# Actions


async def _act(visit: Visit, notice: str, method: str, *segments: str, body: Mapping[str, Any] | bytes = b"") -> Shown:
    """Make a control call about the sandbox, and lead back with a notice or with the reason of the refusal."""
    name = visit.sandbox.identity.id
    try:
        await perform(visit, method, "sandboxes", name, *segments, body=body)
    except ControlError as error:
        return page(visit, str(error), error.status)
    return see(sandbox_url(name), notice)


async def advance(visit: Visit) -> Shown:
    """Move the clock."""
    box = visit.sandbox
    by = visit.form.get("by", "").strip()
    if not by and "until_idle" not in visit.form:
        return page(visit, "by: how far is missing; give a duration such as 90s, 2h or 3d.", 400)
    try:
        done = await advances.start(visit, "" if "until_idle" in visit.form else by)
    except ControlError as error:
        return page(visit, str(error), error.status)
    way = f"by {done.by}" if done.by else "until nothing is left to happen"
    return see(
        sandbox_url(box.identity.id), f"The clock is moving {way}." if done.running else f"The clock was moved {way}."
    )


def stop(visit: Visit) -> Shown:
    """Stop the advance that runs."""
    present = advances.last(visit.sandbox)
    if present is not None:
        present.stop()
    return see(sandbox_url(visit.sandbox.identity.id))


async def set_clock(visit: Visit) -> Shown:
    """Replace the clock."""
    wanted = fields(component("ClockBody"), visit.form, within="clock.")
    return await _act(visit, "The clock was replaced.", "PUT", "clock", body=body(wanted, within="clock."))


async def activate(visit: Visit) -> Shown:
    """Make a scenario active, or none."""
    name = visit.form.get("name", "")
    if not name:
        notice = "No scenario is active: each payment plays its own."
        return await _act(visit, notice, "DELETE", "scenarios", "active")
    return await _act(visit, f"Every new payment plays {name}.", "PUT", "scenarios", "active", body={"name": name})


async def set_target(visit: Visit) -> Shown:
    """Change where events go."""
    url = visit.form.get("notification_url", "").strip() or None
    notice = "Events go to the new target." if url else "Events have no target any more."
    return await _act(visit, notice, "PATCH", "webhook", body={"notification_url": url})


async def rotate(visit: Visit) -> Shown:
    """Make a new secret, or take the one that is given."""
    secret, grace = visit.form.get("secret", ""), visit.form.get("grace", "").strip()
    if secret:
        return await _act(visit, "The webhook secret was replaced.", "PATCH", "webhook", body={"secret": secret})
    given = {"grace": grace} if grace else {}
    notice = "A new webhook secret was made" + (f"; the old one signs too for {grace}." if grace else ".")
    return await _act(visit, notice, "POST", "webhook", "rotate-secret", body=given)


async def send_sample(visit: Visit) -> Shown:
    """Send a sample event."""
    kind = visit.form.get("type", "")
    notice = f"A sample {kind} event was made."
    return await _act(visit, notice, "POST", "webhook", "test", body={"type": kind})


async def set_limit(visit: Visit) -> Shown:
    """Set the rate limit."""
    wanted = _limit_fields(visit.form)
    return await _act(visit, "The rate limit was set.", "PUT", "rate-limit", body=body(wanted, within="quota."))


async def clear_limit(visit: Visit) -> Shown:
    """Remove the rate limit."""
    return await _act(visit, "The rate limit was removed.", "DELETE", "rate-limit")


async def reset(visit: Visit) -> Shown:
    """Reset what is ticked."""
    scope = [each for each in RESET_SCOPES if f"scope.{each}" in visit.form]
    if not scope:
        return page(visit, "scope: tick what is to be reset.", 400)
    given = {"scope": scope, "same_ids": "same_ids" in visit.form}
    return await _act(visit, f"Reset: {', '.join(scope)}.", "POST", "reset", body=given)


async def delete(visit: Visit) -> Shown:
    """Delete the sandbox."""
    name = visit.sandbox.identity.id
    await perform(visit, "DELETE", "sandboxes", name)
    return see(sandboxes_url(), f"Sandbox {name} was deleted.")


_AT: Final = "inspector/sandboxes/{s}"
ROUTES: Final = (
    PageRoute("GET", _AT, show),
    PageRoute("GET", f"{_AT}/clock", show_clock),
    PageRoute("POST", f"{_AT}/clock", set_clock),
    PageRoute("POST", f"{_AT}/clock/advance", advance),
    PageRoute("POST", f"{_AT}/clock/stop", stop),
    PageRoute("POST", f"{_AT}/scenario", activate),
    PageRoute("POST", f"{_AT}/target", set_target),
    PageRoute("POST", f"{_AT}/secret", rotate),
    PageRoute("POST", f"{_AT}/sample", send_sample),
    PageRoute("POST", f"{_AT}/rate-limit", set_limit),
    PageRoute("POST", f"{_AT}/rate-limit/clear", clear_limit),
    PageRoute("POST", f"{_AT}/reset", reset),
    PageRoute("POST", f"{_AT}/delete", delete),
)
