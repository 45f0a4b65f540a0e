"""How long `trigger` is going to take where a sandbox's clock is real, and how to have it sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from paydouble.core.durations import format_duration
from paydouble.core.errors import UsageError
from paydouble.rehearsal import rehearse
from paydouble.scenarios.drawing import usual_length

if TYPE_CHECKING:
    from paydouble.cli.trigger_server import Box
    from paydouble.scenarios.model import Scenario
    from paydouble.scenarios.play import Case

_GRAIN_MS: Final = 100
# Longer than somebody sits before a terminal in which nothing moves.
LONG_MS: Final = 60_000


def length_of(scenario: Scenario, case: Case | None, *, sends: bool) -> int:
    """Return how many milliseconds of a sandbox's time a play takes; `sends` when there is a receiver, a good one.

    It is tried out: what faults do to deliveries, and what becomes of refunds and disputes, stands in no single line.
    """
    if not sends:
        kept = tuple(fault for fault in scenario.faults if fault.on != "webhooks")
        scenario = scenario.model_copy(update={"faults": kept})
    try:
        tried = rehearse(scenario, case=case)
    except UsageError:  # it ends so late that no clock gets there
        return usual_length(scenario)
    return tried.ended - tried.began


def tell_wait(box: Box, length: int, rate: float) -> tuple[str, list[str]]:
    """Return how long a length takes on a real clock, and the lines that say how not to wait for a long one."""
    real = int(length / rate / _GRAIN_MS) * _GRAIN_MS
    if real < LONG_MS:
        return format_duration(real), []
    return format_duration(real), [
        "  That is long to wait for. Stop it with Ctrl-C, start the server with",
        "  --clock manual or give this sandbox such a clock, and play it again:",
        f"""  curl -X PUT --json '{{"mode": "manual"}}' {box.url}/clock""",
    ]
