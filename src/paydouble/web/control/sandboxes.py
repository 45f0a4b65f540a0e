"""Control calls about sandboxes and their clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, Field, WithJsonSchema

from paydouble.api.schemas import WebUrl
from paydouble.config import Duration, Flag, Real, Whole, load_settings
from paydouble.core.clock import ClockMode
from paydouble.core.documents import Document, components_of, dump, instant, schema
from paydouble.core.durations import format_duration
from paydouble.core.errors import UsageError
from paydouble.core.json_schema import COUNT, TEXT, list_of, object_of
from paydouble.core.seeded_random import SEEDS
from paydouble.records import Advanced, ClockState, SandboxState, clock_of, sandbox_of
from paydouble.runtime.host import ClockSpec, SandboxSpec
from paydouble.runtime.leases import LOOK_MS
from paydouble.sandbox import Sandbox
from paydouble.sandbox.business import RESET_SCOPES
from paydouble.sandbox.tenancy import Tenancy
from paydouble.web.control.calls import PAGE, SANDBOX, Body, ControlCall, Instant, Noun, Secret, listed, listing, shown
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.replies import ControlError

LINES: Final = "application/x-ndjson"
"""The media type of JSON lines."""


class ClockBody(Body):
    """How a clock runs."""

    mode: ClockMode
    start: Instant | None = None
    rate: Real | None = Field(None, gt=0, le=1_000_000, allow_inf_nan=False)


ClockChoice = ClockMode | ClockBody


SandboxId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Credential = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x39\x3b-\x7e]+$")]


_LABEL_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
# No comma: it separates the labels of a query.
_LABEL_VALUE: Final = r"^[^,]*$"
_LONGEST_VALUE: Final = 256
_MOST_LABELS: Final = 32
Labels = Annotated[
    dict[
        Annotated[str, Field(pattern=_LABEL_NAME)],
        Annotated[str, Field(pattern=_LABEL_VALUE, max_length=_LONGEST_VALUE)],
    ],
    Field(max_length=_MOST_LABELS),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": _LABEL_NAME},
            "additionalProperties": {"type": "string", "pattern": _LABEL_VALUE, "maxLength": _LONGEST_VALUE},
            "maxProperties": _MOST_LABELS,
        }
    ),
]


def _not_short(milliseconds: int) -> int:
    if milliseconds < LOOK_MS:
        message = f"must be at least {format_duration(LOOK_MS)}, since expired leases are looked for so often"
        raise ValueError(message)
    return milliseconds


Ttl = Annotated[Duration, AfterValidator(_not_short)]
"""For how long a sandbox may be unused."""


class CreateSandbox(Body):
    """A new, isolated business."""

    id: SandboxId | None = None
    seed: Whole | None = Field(None, ge=SEEDS.start, lt=SEEDS.stop)
    clock: ClockChoice | None = None
    notification_url: WebUrl | None = None
    scenario: str | None = None
    settings: dict[str, Any] | None = None
    business_key: Credential | None = None
    business_secret: Credential | None = None
    webhook_secret: Secret | None = None
    ttl: Ttl | None = None
    labels: Labels | None = None


class ChangeSandbox(Body):
    """Changes to a sandbox; settings are merged into the present ones, member by member, and labels are replaced."""

    notification_url: WebUrl | None = None
    scenario: str | None = None
    settings: dict[str, Any] | None = None
    ttl: Ttl | None = None
    labels: Labels | None = None


class Reset(Body):
    """What to reset; everything when absent. New ids are used afterwards, unless `same_ids` is true."""

    scope: tuple[Literal["state", "faults", "requests", "deliveries", "clock", "scenarios"], ...] | None = None
    same_ids: Flag = False


class Checkpoint(Body):
    """A checkpoint of the sandbox as it is now."""


class Fork(Body):
    """What the fork starts from, and what it has of its own; what is left out is derived, or stays the same."""

    checkpoint: str | None = None
    """The id of a checkpoint; without it the fork starts from now."""
    id: SandboxId | None = None
    business_key: Credential | None = None
    business_secret: Credential | None = None
    webhook_secret: Secret | None = None
    notification_url: WebUrl | None = None
    ttl: Ttl | None = None
    labels: Labels | None = None


class Export(Body):
    """How the run is written."""

    raw: Flag = False
    """Whether personal data stays in it."""


class Advance(Body):
    """How far to move the clock: exactly one of the three."""

    by: Duration | None = None
    to: Instant | None = None
    until_idle: Literal[True] | None = None
    limit: Whole = Field(1_000_000, ge=1, le=100_000_000)


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
        tenancy=Tenancy(wanted.ttl, wanted.labels or {}),
    )
    return _show(call, call.host.create(spec))


def list_all(call: ControlCall) -> Document:
    """List the sandboxes, all or those with some labels."""
    wanted = (
        [each.partition(":") for each in call.queries.get("label", "").split(",")] if "label" in call.queries else []
    )
    if any(not name for name, _, _ in wanted):
        raise ControlError(
            400, "invalid", "label: write it as name:value, or as a name; commas separate several.", "label"
        )
    found = [box for box in call.host.registry if _has(call.host.tenancy(box).labels, wanted)]
    return listing(found, lambda box: _show(call, box), call.queries)


def _has(labels: Mapping[str, str], wanted: list[tuple[str, str, str]]) -> bool:
    """Return whether there are all the wanted labels; one without a colon may have any value."""
    return all(name in labels and (not colon or labels[name] == value) for name, colon, value in wanted)


def read(call: ControlCall) -> Document:
    """Show a sandbox."""
    return _show(call, call.sandbox)


def change(call: ControlCall) -> Document:
    """Change a sandbox; when anything is refused, nothing is changed."""
    wanted: ChangeSandbox = call.body
    box = call.sandbox
    settings = dict(wanted.settings or {})
    if wanted.scenario is not None:
        settings["scenario"] = wanted.scenario
    if settings:
        call.host.act(box, lambda: box.apply(load_settings(settings, box.settings)))
    if "notification_url" in wanted.model_fields_set:
        call.host.act(box, lambda: box.set_notification_url(wanted.notification_url))
    _change_tenancy(call, box, wanted)
    return _show(call, box)


def _change_tenancy(call: ControlCall, box: Sandbox, wanted: ChangeSandbox | Fork) -> None:
    """Give a sandbox the lease and the labels that were sent; null takes them away."""
    sent = wanted.model_fields_set & {"ttl", "labels"}
    if sent:
        present = call.host.tenancy(box)
        ttl = wanted.ttl if "ttl" in sent else present.ttl
        labels = wanted.labels or {} if "labels" in sent else present.labels
        call.host.change_tenancy(box, Tenancy(ttl, labels))


async def delete(call: ControlCall) -> Document:
    """Delete a sandbox."""
    await call.host.delete(call.sandbox)
    return {"deleted": call.sandbox.identity.id}


async def reset(call: ControlCall) -> Document:
    """Reset everything, or what the scope names; pending work is cancelled."""
    wanted: Reset = call.body
    scope = frozenset(RESET_SCOPES if wanted.scope is None else wanted.scope)
    removed = await call.host.reset(call.sandbox, scope, same_ids=wanted.same_ids)
    return {"scope": sorted(scope), "removed": removed}


def checkpoint(call: ControlCall) -> Document:
    """Keep a sandbox as it is now."""
    from paydouble.sandbox.forking import checkpoint as keep  # noqa: PLC0415 - most servers never keep one

    box = call.sandbox
    return {"id": call.host.act(box, lambda: keep(box)), "at": instant(box.now)}


def fork(call: ControlCall) -> Document:
    """Make a sandbox that goes on from where this one is, or was."""
    from paydouble.sandbox.forking import ForkSpec  # noqa: PLC0415 - see `checkpoint`

    wanted: Fork = call.body
    box = call.sandbox
    spec = ForkSpec(wanted.id, wanted.business_key, wanted.business_secret, wanted.webhook_secret)
    made = call.host.act(box, lambda: call.host.fork(box, spec, wanted.checkpoint))
    if "notification_url" in wanted.model_fields_set:
        call.host.act(made, lambda: made.set_notification_url(wanted.notification_url))
    _change_tenancy(call, made, wanted)
    return _show(call, made)


def export(call: ControlCall) -> web.Response:
    """Write the run of a sandbox as the lines of a run file."""
    from paydouble.runfile.files import text_of  # noqa: PLC0415 - most servers never write a run
    from paydouble.runfile.lines import RunFileError  # noqa: PLC0415
    from paydouble.runfile.recorded import recorded_run  # noqa: PLC0415
    from paydouble.runfile.redaction import redacted  # noqa: PLC0415

    wanted: Export = call.body
    try:
        run = recorded_run(call.sandbox, call.host.pipeline)
        text = text_of(run if wanted.raw else redacted(run))
    except (RunFileError, UsageError) as error:
        raise ControlError(409, "no_run", f"{error}.") from None
    headers = {"Server": "paydouble", "Cache-Control": "no-store", "Content-Type": LINES}
    return web.Response(body=text, headers=headers)


def read_clock(call: ControlCall) -> Document:
    """Show the clock."""
    call.sandbox.tick()
    return dump(clock_of(call.sandbox))


def set_clock(call: ControlCall) -> Document:
    """Replace the clock; without `start` it continues at the present time."""
    wanted: ClockBody = call.body
    box = call.sandbox
    box.tick()
    spec = _clock_spec(wanted, "rate")
    if spec.start is None:
        spec = ClockSpec(spec.mode, box.now, spec.rate)
    call.host.act(box, lambda: box.set_clock(spec.make()))
    return dump(clock_of(box))


async def advance(call: ControlCall) -> Document:
    """Move the clock forward; everything that becomes due on the way happens."""
    wanted: Advance = call.body
    box = call.sandbox
    given = [name for name in ("by", "to", "until_idle") if getattr(wanted, name) is not None]
    if len(given) != 1:
        what = f"{' and '.join(given)} contradict each other" if given else "how far is missing"
        raise ControlError(400, "invalid", f"by: {what}; give exactly one of by, to, until_idle.", "by")
    done = await call.host.pump(box).advance(to=wanted.to, by=wanted.by, limit=wanted.limit)
    return dump(Advanced(instant(done.now), done.fired, done.attempts, done.idle))


def _show(call: ControlCall, box: Sandbox) -> Document:
    host = call.host
    return dump(sandbox_of(box, f"{call.reached.api}/api/v1", host.tenancy(box), host.expires_at(box)))


def _clock_spec(choice: ClockChoice, rate_member: str = "clock.rate", start: int | None = None) -> ClockSpec:
    if isinstance(choice, str):
        return ClockSpec(choice, start)
    if choice.rate is not None and choice.mode != "real":
        raise UsageError(f"only a real clock has a rate, not a {choice.mode} one", member=rate_member)
    begin = start if choice.start is None else choice.start
    return ClockSpec(choice.mode, begin, 1.0 if choice.rate is None else choice.rate)


NOUN: Final = Noun(
    routes=(
        Row(
            "sandbox-create",
            "POST",
            "/sandboxes",
            "Make an isolated business.",
            create,
            shown(SandboxState),
            CreateSandbox,
            status=201,
            advice=(
                "With a `ttl` it is deleted when nobody has used it for so long in real time: each request to the API "
                "and each control call of the sandbox starts the time again. 429 when the server has as many sandboxes "
                "as it may have (`--max-sandboxes`)."
            ),
        ),
        Row(
            "sandbox-list",
            "GET",
            "/sandboxes",
            "List the sandboxes.",
            list_all,
            listed(shown(SandboxState)),
            queries=("label", *PAGE),
            advice="`label=job:1234` is for those with this label, `label=job:1234,shard:7` for those with both.",
        ),
        Row("sandbox-read", "GET", SANDBOX, "Show a sandbox.", read, shown(SandboxState)),
        Row("sandbox-change", "PATCH", SANDBOX, "Change a sandbox.", change, shown(SandboxState), ChangeSandbox),
        Row("sandbox-delete", "DELETE", SANDBOX, "Delete a sandbox.", delete, object_of({"deleted": TEXT})),
        Row(
            "sandbox-reset",
            "POST",
            f"{SANDBOX}/reset",
            "Reset a sandbox, and cancel its pending work.",
            reset,
            object_of({"scope": list_of(TEXT), "removed": {"type": "object", "additionalProperties": COUNT}}),
            Reset,
        ),
        Row(
            "sandbox-checkpoint",
            "POST",
            f"{SANDBOX}/checkpoint",
            "Keep a sandbox as it is now, for forks.",
            checkpoint,
            object_of({"id": TEXT, "at": {"type": "string", "format": "date-time"}}),
            Checkpoint,
            status=201,
            advice=(
                "A sandbox keeps at most 16 checkpoints, which a reset does not remove; they are deleted with the "
                "sandbox."
            ),
        ),
        Row(
            "sandbox-fork",
            "POST",
            f"{SANDBOX}/fork",
            "Make a sandbox that goes on from where this one is now, or was at a checkpoint.",
            fork,
            shown(SandboxState),
            Fork,
            status=201,
            advice=(
                "The fork has the same data, seed, clock, pending timers and deliveries, and its own id, key and "
                "secret. The same commands have the same answers, ids and events in both, and neither changes the "
                "other. The webhook secret and the `notification_url` stay unless given. What was in flight in the "
                "original counts in the fork as not sent and not carried out yet."
            ),
        ),
        Row(
            "sandbox-export",
            "POST",
            f"{SANDBOX}/export",
            "Write the run of a sandbox as a run file.",
            export,
            TEXT,
            Export,
            advice=(
                "Everything since the sandbox was made or reset as a whole, as JSON lines: save them as a file for "
                "`paydouble replay` and `show`. Personal data is replaced unless `raw` is true. 409 when the journals "
                "have evicted the beginning."
            ),
            media=LINES,
        ),
        Row("clock-read", "GET", f"{SANDBOX}/clock", "Show the clock.", read_clock, shown(ClockState)),
        Row("clock-set", "PUT", f"{SANDBOX}/clock", "Replace the clock.", set_clock, shown(ClockState), ClockBody),
        Row(
            "clock-advance",
            "POST",
            f"{SANDBOX}/clock/advance",
            "Move the clock; answers when everything due has settled.",
            advance,
            schema(Advanced),
            Advance,
            advice="Exactly one of `by`, `to` and `until_idle`. A second advance waits for the first.",
        ),
    ),
    tags={
        "sandbox": "Isolated businesses.",
        "clock": "The time of a sandbox.",
    },
    components=components_of(SandboxState, ClockState),
)
