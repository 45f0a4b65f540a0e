"""Why a fault never fired, which is often why a test fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paydouble.core.globs import fits
from paydouble.faults.model import WEBHOOK_EFFECTS
from paydouble.faults.webhook_effects import AttemptEffect
from paydouble.records import Delivery, Event, Fault, Request


@dataclass(frozen=True, slots=True)
class Happened:
    """What happened in a sandbox: everything on which a fault could have fired."""

    requests: Sequence[Request]
    events: Sequence[Event]
    deliveries: Sequence[Delivery]


@dataclass(frozen=True, slots=True)
class _Thing:
    """A request, event or attempt, with those members of a match that its record has."""

    sequence: int
    members: Mapping[str, str | int | None]


def why(fault: Fault, happened: Happened) -> str:
    """Return why a fault never fired, as far as the records show."""
    if not fault.document["enabled"]:
        return "it is disabled"
    noun, came, things = _asked(fault, happened)
    if fault.times_matched:
        return f"{_count(fault.times_matched, noun)} matched, {_spared(fault)}"
    over = "" if fault.active else ", and its ttl is over"
    if not things:
        nowhere = ": the events had no endpoint to go to" if happened.events and _goes_nowhere(fault, happened) else ""
        return f"no {noun} {came}{nowhere}{over}"
    came = came if len(things) == 1 else came.replace("was", "were")
    return f"{_count(len(things), noun)} {came}, {_missed(fault, things, happened)}{over}"


def _spared(fault: Fault) -> str:
    skip, probability = fault.document["skip"], fault.document["probability"]
    if fault.times_matched <= skip:
        return f"which skip={skip} lets pass"
    return f"and none was chosen with probability={probability}"


def _asked(fault: Fault, happened: Happened) -> tuple[str, str, list[_Thing]]:
    """Return what a fault acts on: the noun, its verb, and all that there was."""
    if fault.document["on"] == "api":
        return "request", "came", [_Thing(each.sequence, _of_request(each)) for each in happened.requests]
    # A server of another version may have effects that are not known here; most act on attempts.
    known = WEBHOOK_EFFECTS.get(fault.effect, AttemptEffect)
    if known.point == "attempt":
        attempts = ((delivery, attempt) for delivery in happened.deliveries for attempt in delivery.attempts)
        things = [
            _Thing(
                attempt.sequence,
                {"event_type": delivery.event_type, "object_id": delivery.object_id, "attempt": attempt.number},
            )
            for delivery, attempt in attempts
        ]
        return "attempt", "was made", things
    events = [_Thing(each.sequence, {"event_type": each.type, "object_id": each.object_id}) for each in happened.events]
    return "event", "was made", events


def _of_request(request: Request) -> dict[str, str | None]:
    key = request.idempotency_key
    return {
        "operation": request.operation,
        "method": request.method,
        "path": request.path,
        "idempotency_key": None if key is None else key.lower(),
    }


def _missed(fault: Fault, things: Sequence[_Thing], happened: Happened) -> str:
    """Return why nothing has matched."""
    match: Mapping[str, Any] = fault.document["match"]
    known = [name for name in match if name in things[0].members]
    never = [name for name in known if not any(_meets(thing, name, match) for thing in things)]
    if never:
        return f"none matched {' or '.join(_listed(never, match))}"
    like = [thing for thing in things if all(_meets(thing, name, match) for name in known)]
    if not like:
        return f"none matched {' and '.join(_listed(known, match))} at once"
    # Not by the times, which are all the same on a manual clock.
    if all(thing.sequence < fault.document["sequence"] for thing in like):
        which = "all " if len(like) == len(things) else f"those with {' and '.join(_listed(known, match))} "
        return f"{which if len(things) > 1 else ''}before it was armed"
    if _goes_nowhere(fault, happened):
        return "none with an endpoint to go to"
    if len(known) < len(match):
        return f"none matched {' and '.join(_listed([name for name in match if name not in known], match))}"
    # The records do not show which of these it was.
    refused = "was refused, " if fault.document["on"] == "api" else ""
    return f"but each {refused}met another fault first, or gave {fault.effect} nothing to act on"


def _goes_nowhere(fault: Fault, happened: Happened) -> bool:
    return (
        fault.document["on"] == "webhooks"
        and WEBHOOK_EFFECTS.get(fault.effect, AttemptEffect).needs_endpoint
        and all(delivery.target is None for delivery in happened.deliveries)
    )


def _meets(thing: _Thing, name: str, match: Mapping[str, Any]) -> bool:
    value, wanted = thing.members[name], match[name]
    if isinstance(value, str) and isinstance(wanted, str):
        return fits(value, wanted)
    return bool(value == wanted)


def _listed(names: Sequence[str], match: Mapping[str, Any]) -> list[str]:
    return [f"{name}={match[name]}" for name in names]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
