"""Why an expected event did not come, as far as the ledger and the deliveries show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paydouble.payments.events import FAMILIES
from paydouble.payments.lifecycle import TABLES
from paydouble.payments.resources import Resource
from paydouble.rehearsal.calls import Answer
from paydouble.rehearsal.rehearsing import Rehearsal
from paydouble.sandbox import Sandbox

_UNSENT = ("held", "dropped", "exhausted", "no_endpoint")


def reasons(missing: Sequence[str], rehearsal: Rehearsal, *, foreseen: Sequence[int | str] = ()) -> Iterator[str]:
    """Yield reasons why something is missing; `missing` has event types or statuses, in order.

    Refusals with a status that is `foreseen` explain nothing.
    """
    yield from refusals(rehearsal.answers, foreseen)
    for remark in rehearsal.timeline:
        if remark.who == ("merchant",):
            yield remark.what
    for event_type in dict.fromkeys(missing):
        name, _, state = event_type.partition(".")
        if name in FAMILIES:
            yield from _of_event(name, state, event_type, rehearsal.sandbox)


def refusals(answers: Sequence[Answer], foreseen: Sequence[int | str] = ()) -> Iterator[str]:
    """Yield each answer that refuses a call of the merchant, except those with a status that is `foreseen`."""
    for answer in answers:
        if not (answer.good or answer.failed or answer.status in foreseen):
            yield f"the merchant's {answer.call.operation} was answered {answer.status}: {answer.message}"


def _of_event(name: str, state: str, event_type: str, box: Sandbox) -> Iterator[str]:
    unsent = [each for each in box.outbox.deliveries.values() if each.event.type == event_type]
    statuses = dict.fromkeys(each.status for each in unsent if each.status in _UNSENT)
    for status in statuses:
        yield f"{event_type} was made, but its delivery is {status.replace('_', ' ')}"
    if unsent:
        return
    resources: list[Resource] = list(box.ledger.newest_first(FAMILIES[name]))
    if not resources:
        yield f"there was no {name} at all"
    for resource in resources:
        table = TABLES[resource.OBJECT]
        if state in table and state not in table[resource.status]:
            possible = ", ".join(table[resource.status]) or "nothing"
            yield (
                f"the {name} ended as {resource.status}; after that comes {possible}, and {state} only with force: true"
            )
