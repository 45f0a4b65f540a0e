"""Plays of background jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from paydouble.stateful.interruptions import JOB_INTERRUPTIONS, KINDS, LOSES_NOTES, Act
from paydouble.stateful.plays.parts import (
    FEW_POINTS,
    JOB_POINTS,
    ORDER,
    PAID,
    PAY,
    POINTS,
    RESTART,
    RETRY,
    SETTLE,
    WORK_OFF_LATER,
    points_of,
)
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import LONGER_THAN_A_CLICK, TO_THE_END

# After an hour most shops hold nothing any more for an order of which they have not heard.
_HEARD_LATE = (ORDER, step("webhooks", "late four"), PAY, step("pass_time", "59m58s"))
_PAID_LATE = (ORDER, step("pay", 1, scenario="payer-decides"), step("pass_time", "2h"))
_ENDS_HOLDS: Final[Mapping[Act, tuple[Step, ...]]] = MappingProxyType({Act.WORK: _HEARD_LATE, Act.PAYER: _PAID_LATE})
"""What interrupts a job that releases what is held → how the order has come there."""
_ACTS_OF_PAYERS: Final = frozenset({Act.PAYER, Act.DISPUTE})
"""What does nothing where no payment waits for its payer, or where none has the money."""


def jobs() -> Iterator[CataloguePlay]:
    """Yield each interruption of jobs.

    Each with work that waits: events that only a job applies, a deposit or a refund without a reply.
    """
    waiting = (
        ((ORDER, PAY, step("wait", "5s"), step("pass_time", "5s")), ""),
        ((ORDER, step("webhooks", "drop all"), PAY, step("pass_time", "10m")), "reads are all that tells"),
        ((ORDER, step("pay", 1, "reply lost", lasts=6), step("pass_time", "10m")), "a deposit has no reply"),
        ((*PAID, step("refund", 1, "half", "reply lost", lasts=6), step("pass_time", "10m")), "a refund has no reply"),
    )
    for first, reason in waiting:
        for what in (each for each in JOB_INTERRUPTIONS if KINDS[each].act not in _ACTS_OF_PAYERS):
            points = POINTS if KINDS[what].enters else JOB_POINTS
            for at in points_of(what, FEW_POINTS if reason else points):
                yield CataloguePlay((*first, step("interrupt_jobs", what, at), SETTLE), reason)
    told = waiting[0][0]
    for what in LOSES_NOTES:
        for at in JOB_POINTS:
            healed = (step("interrupt_jobs", what, at), WORK_OFF_LATER)
            yield CataloguePlay((*told, *healed), "nothing but the queued event tells")
    for what in (each for each in JOB_INTERRUPTIONS if KINDS[each].act in _ENDS_HOLDS):
        for at in JOB_POINTS:
            yield CataloguePlay((*_ENDS_HOLDS[KINDS[what].act], step("interrupt_jobs", what, at), SETTLE))
    for at in JOB_POINTS:
        another = (ORDER, step("pay", 2), step("interrupt_jobs", "events meanwhile", at), SETTLE)
        yield CataloguePlay((ORDER, PAY, step("pass_time", "10s"), *another), "events of another order come meanwhile")


def later_jobs() -> Iterator[CataloguePlay]:
    """Yield interruptions of jobs that run long after a payment: they pay sellers, send goods, write invoices."""
    acts = {Act.KILL, Act.BREAK, Act.JOBS}
    for time in ("59m", "25h"):
        for what in (each for each in JOB_INTERRUPTIONS if KINDS[each].act in acts):
            for at in points_of(what, JOB_POINTS):
                later = (step("pass_time", time), step("interrupt_jobs", what, at), SETTLE)
                yield CataloguePlay((*PAID, *later), "a job has something to do long after the payment")


def left_for_later() -> Iterator[CataloguePlay]:
    """Yield deposits that a job has not sent yet when something else happens."""
    clicked = (ORDER, step("jobs_wait"), PAY)
    for then in (step("cancel"), RETRY, step("returns"), RESTART, step("pass_time", "1h")):
        yield CataloguePlay((*clicked, then, SETTLE, SETTLE), "no job has sent the request yet")
    another = (ORDER, step("pay", 2), SETTLE, SETTLE)
    yield CataloguePlay((*clicked, *another), "no job has sent the request yet")


def schedules() -> Iterator[CataloguePlay]:
    """Yield jobs that run often while the service is down."""
    reason = "the pauses between the attempts of a job have to grow"
    for often in (step("wait", "12s", jobs_every="500ms"), step("wait", "48s", jobs_every="2s")):
        yield CataloguePlay((*PAID, step("refund", 1, "half", "503", lasts=TO_THE_END), often), reason)
        yield CataloguePlay((ORDER, step("pay", 1, "503", lasts=TO_THE_END), often), reason)


def neighbours() -> Iterator[CataloguePlay]:
    """Yield an order beside others that fail.

    Several fail, since each may be due at another run of the jobs. Jobs may begin with the oldest or with the newest.
    """
    hours, lost = (step("wait", "59m"),) * 3, "request lost"
    for own, others in ((2, (3, 4, 5)), (5, (2, 3, 4))):
        clicks = {
            own: step("pay", own, lost, lasts=LONGER_THAN_A_CLICK),
            **{each: step("pay", each, "stored 500") for each in others},
        }
        together = tuple(taken for number in sorted(clicks) for taken in (ORDER, clicks[number]))
        first = (ORDER, step("pay", 1, lost, lasts=LONGER_THAN_A_CLICK), *hours)
        yield CataloguePlay((*first, *together, *hours), "requests of other orders fail each time")
