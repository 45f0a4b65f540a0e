"""What the plays of several subjects have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from paydouble.stateful.interruptions import (
    AFTER_REQUEST,
    ANOTHER_CUSTOMER,
    AT_POINTS,
    BEFORE_COMMIT,
    BEFORE_REQUEST,
    KINDS,
    MEANWHILE,
    Point,
)
from paydouble.stateful.steps import Step, step
from paydouble.stateful.troubles import LONGER_THAN_A_CLICK, OWN_REFUND_TROUBLES, POST_TROUBLES, Trouble

# Points of the merchant's code at which an interruption is tried: two for each request, one for each pause or commit.
POINTS: Final[tuple[Point, ...]] = (AFTER_REQUEST, *range(8))
# Few receivers send a request.
WEBHOOK_POINTS: Final = POINTS[1:]
FEW_POINTS: Final = (AFTER_REQUEST, *WEBHOOK_POINTS[::2])
# Jobs work in many small transactions, and a kill between the last two matters as much as between the first.
JOB_POINTS: Final[tuple[Point, ...]] = (AFTER_REQUEST, *range(24))
# Just before each event of a payment: created at 0 s, pending at 2 s, processing at 3 s, succeeded at 6 s.
EVENTS: Final = (None, "1s", "2500ms", "5s")
ORDER: Final = step("order")
PAY: Final = step("pay")
RETRY: Final = step("retry")
SETTLE: Final = step("wait", "10s")
RESTART: Final = step("restart")
WORK_OFF: Final = step("work_off")
# A job that was killed may hold its work for a while, and one that has failed may wait before it tries again.
WORK_OFF_LATER: Final = step("work_off", 3)
PAID: Final = (ORDER, PAY, SETTLE)
EXPIRED: Final = (ORDER, step("pay", 1, scenario="abandoned"), step("wait", "25h"))
PAYER_LEAVES: Final = (step("pay", 1, scenario="payer-decides"), SETTLE, step("payer", "gives up"), SETTLE)
# A shop may keep an order for minutes only, and take no second attempt after a day.
FIRST_ATTEMPTS: Final[tuple[tuple[Step, ...], ...]] = (EXPIRED, (ORDER, *PAYER_LEAVES))
_DISPUTED: Final = (*PAID, step("provider", "dispute"))
_OPEN_DISPUTES: Final = ("dispute under review", "dispute won", "dispute lost", "dispute accepted")
_BEFORE: Final[Mapping[str, Sequence[tuple[Step, ...]]]] = MappingProxyType(
    {
        "fails": ((ORDER, PAY),),
        "succeeds": ((ORDER, PAY, step("wait", "5s")),),  # only what is processing
        **dict.fromkeys(_OPEN_DISPUTES, (_DISPUTED,)),
        "dispute reopened": ((*_DISPUTED, step("provider", "dispute won")),),
        "another dispute": ((*PAID, step("provider", "dispute half")),),
        "late money": FIRST_ATTEMPTS,
        "older payment disputed": [
            (*first, RETRY, SETTLE, step("provider", "late money"), SETTLE) for first in FIRST_ATTEMPTS
        ],
        "refund fails": ((*PAID, step("refund")),),
        "refund fails late": ((*PAID, step("refund"), SETTLE),),
    }
)
# What happens meanwhile and changes what is known of the order itself.
OF_THE_ORDER: Final = tuple(what for what in MEANWHILE if what != ANOTHER_CUSTOMER)
# A day of hourly jobs. A step of an hour or more would be one in which no job ran.
DAY_OF_JOBS: Final = (step("wait", "59m"),) * 25
# After a refund of the whole a job has nothing more to send; after one of a part it has.
WHOLE_OR_PART: Final = frozenset({"all", "half"})


def points_of(what: str, points: Sequence[Point] = POINTS) -> Sequence[Point]:
    """Return the points at which an interruption is tried: one where it does not act at a point of the code.

    A request that is on its way is lost with its process alone, and only another call comes into a transaction.
    """
    if what not in AT_POINTS:
        return (0,)
    if KINDS[what].enters and 0 in points:
        return (BEFORE_COMMIT, *points)
    return (BEFORE_REQUEST, *points) if AFTER_REQUEST in points and KINDS[what].kills else points


def before(act: str) -> Sequence[tuple[Step, ...]]:
    """Return the shortest beginnings of a play after which an act of the provider does something."""
    return _BEFORE.get(act, (PAID,))


def got_through(names: Iterable[str]) -> list[str]:
    """Return the troubles of requests that a client which retries outlasts."""
    return [name for name in names if POST_TROUBLES[name].gets_through]


def can_last(trouble: Trouble) -> bool:
    """Return whether a trouble can last for another number of replies."""
    return any("times" in fault for fault in trouble.faults)


def own_refunds() -> Iterator[Step]:
    """Yield the disturbances of a refund that nobody has asked for: each by itself, and for longer."""
    for trouble, found in OWN_REFUND_TROUBLES.items():
        yield step("own_refunds", trouble)
        if can_last(found):
            yield step("own_refunds", trouble, lasts=LONGER_THAN_A_CLICK)
