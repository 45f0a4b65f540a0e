"""Plays around the time at which the merchant gives up an order that nobody has paid (`holds.py`).

Until then the order is open for its payment. What comes just before that time has to be found out before the order is
given up, or afterwards, and then the money has to go back or the order to be fulfilled all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from paydouble.stateful.interruptions import JOB_INTERRUPTIONS, KINDS, Act
from paydouble.stateful.plays.parts import ORDER, PAY, RESTART, RETRY, SETTLE, points_of
from paydouble.stateful.steps import CataloguePlay, HoldTime, step
from paydouble.stateful.troubles import LONGER_THAN_A_CLICK, READ_TROUBLES, TO_THE_END

WATCHED: Final = (("1h", "1m"), ("2h", "10m"), ("22h", "30m"))
"""For how long an order is watched, and how often jobs run: few are kept for over a day, when the payment expires."""
_NEARLY_OVER: Final = step("wait", HoldTime.JUST_BEFORE)
_OVER: Final = step("wait", HoldTime.ACROSS)
_ACTS: Final = frozenset({Act.KILL, Act.CLICK, Act.WORK, Act.PAYER, Act.RETURN, Act.CANCEL})
"""What can interrupt the job that gives an order up, and concerns that order."""


def holds() -> Iterator[CataloguePlay]:
    """Yield payments that succeed just before their order would be given up, and clicks of that time."""
    waits = step("pay", 1, scenario="payer-decides")
    open_order, pays = (ORDER, waits, _NEARLY_OVER), step("payer", "pays")
    silent, late = step("webhooks", "drop all"), step("webhooks", "late four")
    # As the time was found out.
    often = (step("wait", time, jobs_every=every) for time, every in WATCHED)
    yield CataloguePlay((ORDER, waits, *often), "jobs run often while a payment waits for its payer")
    why = "the payer pays just before the order is given up"
    for told in ((), (late,), (silent,)):
        yield CataloguePlay((*open_order, *told, pays, _OVER, SETTLE), why)
        yield CataloguePlay((*open_order, *told, pays, RESTART, _OVER, SETTLE), why)
    for trouble in READ_TROUBLES:
        for lasts in (0, LONGER_THAN_A_CLICK, TO_THE_END):
            unread = step("reads", trouble, lasts=lasts) if lasts else step("reads", trouble)
            for told in ((late,), (silent,)):
                yield CataloguePlay((*open_order, *told, pays, unread, _OVER, SETTLE), f"{why}, and reads fail")
            # Nobody knows of the success before that time, though it came early.
            yield CataloguePlay((ORDER, silent, PAY, unread, _NEARLY_OVER, _OVER, SETTLE), "reads fail until then")
    for then in (SETTLE, silent):
        clicks = (*open_order, RETRY, then)
        yield CataloguePlay((*clicks, pays, _OVER, SETTLE), "the customer clicks just before the order is given up")
        yield CataloguePlay((*clicks, _OVER, pays, SETTLE), "the customer clicks just before the order is given up")
        declined = (ORDER, step("pay", 1, scenario="card-declined"), _NEARLY_OVER, then, RETRY, _OVER, SETTLE)
        yield CataloguePlay(declined, "a second attempt is made just before the order is given up")
    for trouble in ("reply lost", "request lost"):
        unanswered = step("retry", 1, trouble, lasts=LONGER_THAN_A_CLICK)
        for told in ((), (silent,)):
            yield CataloguePlay((*open_order, *told, unanswered, _OVER, SETTLE), "the last click has no reply")
    over = (*open_order, step("pass_time", HoldTime.ACROSS))
    for what in (name for name in JOB_INTERRUPTIONS if KINDS[name].act in _ACTS):
        for at in points_of(what):
            ends = (step("interrupt_jobs", what, at), SETTLE)
            yield CataloguePlay((*over, *ends), "the job that gives the order up is interrupted")
