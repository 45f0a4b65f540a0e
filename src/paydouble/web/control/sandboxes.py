"""Control calls about sandboxes and their clocks."""

from __future__ import annotations

from paydouble.config import load_settings
from paydouble.core.documents import dump, instant
from paydouble.core.errors import UsageError
from paydouble.records import Advanced, clock_of, sandbox_of
from paydouble.runtime.host import ClockSpec, SandboxSpec
from paydouble.sandbox import Sandbox
from paydouble.sandbox.business import RESET_SCOPES
from paydouble.web.control import views
from paydouble.web.control.models import Advance, ChangeSandbox, ClockBody, ClockChoice, CreateSandbox, Reset
from paydouble.web.control.values import ControlCall, ControlError, Document


def create(call: ControlCall) -> Document:
    """Make a sandbox."""
    wanted: CreateSandbox = call.body
    change = dict(wanted.settings or {})
    if wanted.scenario is not None:
        change["scenario"] = wanted.scenario
    spec = SandboxSpec(
        id=wanted.id,
        seed=wanted.seed,
        clock=None if wanted.clock is None else _clock_spec(wanted.clock, start=call.host.options.clock.start),
        notification_url=wanted.notification_url,
        settings=load_settings(change, call.host.options.settings) if change else None,
        business_key=wanted.business_key,
        business_secret=wanted.business_secret,
        webhook_secret=wanted.webhook_secret,
    )
    return _show(call, call.host.create(spec))


def list_all(call: ControlCall) -> Document:
    """List the sandboxes."""
    return views.listing(call.host.registry, lambda box: _show(call, box), call.queries)


def read(call: ControlCall) -> Document:
    """Show a sandbox."""
    return _show(call, call.sandbox)


def change(call: ControlCall) -> Document:
    """Change a living sandbox; nothing is changed when anything is refused."""
    wanted: ChangeSandbox = call.body
    box = call.sandbox
    settings = dict(wanted.settings or {})
    if wanted.scenario is not None:
        settings["scenario"] = wanted.scenario
    if settings:
        call.host.act(box, lambda: box.apply(load_settings(settings, box.settings)))
    if "notification_url" in wanted.model_fields_set:
        call.host.act(box, lambda: box.set_notification_url(wanted.notification_url))
    return _show(call, box)


async def delete(call: ControlCall) -> Document:
    """Let a sandbox go."""
    await call.host.delete(call.sandbox)
    return {"deleted": call.sandbox.identity.id}


async def reset(call: ControlCall) -> Document:
    """Forget everything, or what the scope names; pending work is cancelled."""
    wanted: Reset = call.body
    scope = frozenset(RESET_SCOPES if wanted.scope is None else wanted.scope)
    removed = await call.host.reset(call.sandbox, scope, same_ids=wanted.same_ids)
    return {"scope": sorted(scope), "removed": removed}


def read_clock(call: ControlCall) -> Document:
    """Show the clock."""
    call.sandbox.tick()
    return dump(clock_of(call.sandbox))


def set_clock(call: ControlCall) -> Document:
    """Put another clock in; it starts where this one stands unless it says otherwise."""
    wanted: ClockBody = call.body
    box = call.sandbox
    box.tick()
    spec = _clock_spec(wanted, "rate")
    if spec.start is None:
        spec = ClockSpec(spec.mode, box.now, spec.rate)
    call.host.act(box, lambda: box.set_clock(spec.make()))
    return dump(clock_of(box))


async def advance(call: ControlCall) -> Document:
    """Move the clock forward and let everything due happen on the way."""
    wanted: Advance = call.body
    box = call.sandbox
    given = [name for name in ("by", "to", "until_idle") if getattr(wanted, name) is not None]
    if len(given) != 1:
        what = f"{' and '.join(given)} contradict each other" if given else "how far is missing"
        raise ControlError(400, "invalid", f"by: {what}; give exactly one of by, to, until_idle.", "by")
    done = await call.host.pump(box).advance(to=wanted.to, by=wanted.by, limit=wanted.limit)
    return dump(Advanced(instant(done.now), done.fired, done.attempts, done.idle))


def _show(call: ControlCall, box: Sandbox) -> Document:
    return dump(sandbox_of(box, f"{call.reached.api}/api/v1"))


def _clock_spec(choice: ClockChoice, rate_member: str = "clock.rate", start: int | None = None) -> ClockSpec:
    if isinstance(choice, str):
        return ClockSpec(choice, start)
    if choice.rate is not None and choice.mode != "real":
        raise UsageError(f"only a real clock has a rate, not a {choice.mode} one", member=rate_member)
    begin = start if choice.start is None else choice.start
    return ClockSpec(choice.mode, begin, 1.0 if choice.rate is None else choice.rate)
