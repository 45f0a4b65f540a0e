"""What happened to a pay-in, as the script of a scenario that does it again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from paydouble.core.durations import format_duration
from paydouble.payments.resources import PayIn
from paydouble.sandbox.business import Sandbox
from paydouble.scenarios.reading import parse_scenario
from paydouble.scenarios.writing import write_scenario

_LONGEST_NAME: Final = 64
_LONGEST_SUMMARY: Final = 300


def recorded_steps(box: Sandbox, pay_in: PayIn) -> list[dict[str, Any]]:
    """Return the transitions of a pay-in as steps of a script, from the events that are kept."""
    steps: list[dict[str, Any]] = []
    before, state = pay_in.created_at, "created"
    for event in box.journal.events.entries:
        to = event.type.partition(".")[2]
        if event.object_id != pay_in.id or not event.type.startswith("pay-in.") or to == state:
            continue
        step: dict[str, Any] = {"after": format_duration(max(0, event.created_at - before)), "to": to}
        if to not in pay_in.TABLE[state]:
            step["force"] = True
        steps.append(step)
        before, state = max(before, event.created_at), to
    if steps and state == "failed" and pay_in.failure is not None:
        steps[-1]["failure"] = pay_in.failure.document()
    return steps


def recorded_name(pay_in: PayIn) -> str:
    """Return a name for a scenario that does again what happened to a pay-in."""
    words = re.sub(r"[^a-z0-9]+", "-", pay_in.external_identifier.lower()).strip("-")
    return f"recorded-{words}"[:_LONGEST_NAME].rstrip("-")


def recorded_scenario(box: Sandbox, pay_in: PayIn, faults: Iterable[Mapping[str, Any]] = ()) -> str:
    """Return the YAML text of a scenario that does again what happened to a pay-in.

    `faults` are declarations of faults, as the control API takes them.
    """
    summary = f"What happened to the payment of order {pay_in.external_identifier}, which ended {pay_in.status}."
    made: dict[str, Any] = {
        "name": recorded_name(pay_in),
        "summary": summary if len(summary) <= _LONGEST_SUMMARY else "What happened to a payment.",
        "lifecycle": {"pay_in": recorded_steps(box, pay_in)},
    }
    if armed := [dict(fault) for fault in faults]:
        made["faults"] = armed
    return write_scenario(parse_scenario(made))
