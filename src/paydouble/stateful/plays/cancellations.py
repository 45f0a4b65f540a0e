"""Plays of cancelled orders."""

from __future__ import annotations

from collections.abc import Iterator

from paydouble.stateful.interruptions import CANCEL_MEANWHILE, KINDS, LOSES_NOTES, Act, with_act
from paydouble.stateful.plays.parts import (
    DAY_OF_JOBS,
    EVENTS,
    JOB_POINTS,
    ORDER,
    PAID,
    PAY,
    POINTS,
    RESTART,
    RETRY,
    SETTLE,
    can_last,
    own_refunds,
    points_of,
)
from paydouble.stateful.provider import OF_REFUNDS
from paydouble.stateful.steps import CataloguePlay, step
from paydouble.stateful.troubles import (
    CANCELLATION_TROUBLES,
    LONGER_THAN_A_CLICK,
    POST_TROUBLES,
    SCENARIOS,
    SHARES,
    WEBHOOK_TROUBLES,
)


def cancellations() -> Iterator[CataloguePlay]:
    """Yield cancelled orders.

    Money that comes all the same is neither the customer's nor the shop's until somebody knows of it.
    """
    cancel, silent = step("cancel"), step("webhooks", "drop all")
    yield CataloguePlay((ORDER, cancel, SETTLE))
    # The page may still show what was there before the success.
    yield CataloguePlay((ORDER, PAY, step("pass_time", "10s"), cancel, SETTLE))
    yield CataloguePlay((ORDER, PAY, step("returns"), step("pass_time", "10s"), cancel, SETTLE))
    yield CataloguePlay((ORDER, PAY, cancel, cancel, SETTLE))
    yield CataloguePlay((ORDER, PAY, cancel, RESTART, SETTLE))
    yield CataloguePlay((ORDER, PAY, cancel, SETTLE, step("provider", "refund fails late"), SETTLE))
    # Where the shop has ended the payment as well.
    yield CataloguePlay((ORDER, PAY, cancel, SETTLE, step("provider", "late money"), SETTLE))
    # The first order shows that its money goes back when it comes all the same.
    given_back = (ORDER, PAY, step("pass_time", "5s"), cancel, SETTLE, SETTLE)
    for at in POINTS:
        second = (ORDER, step("pay", 2, meanwhile="cancelled", at=at), SETTLE, SETTLE)
        yield CataloguePlay((*given_back, *second), "a click to pay overwrites a cancellation")
    times = [() if before is None else (step("pass_time", before),) for before in EVENTS]
    for first in (*((ORDER, PAY, *time) for time in times), PAID):
        yield CataloguePlay((*first, cancel, SETTLE))
        for what in (each for each in CANCEL_MEANWHILE if each in KINDS):
            # Only what is paid can be disputed.
            for at in points_of(what) if KINDS[what].act is not Act.DISPUTE or first is PAID else ():
                yield CataloguePlay((*first, step("cancel", 1, meanwhile=what, at=at), SETTLE))
    for trouble in POST_TROUBLES:
        begun = (step("pay", 1, trouble), cancel, SETTLE)
        yield CataloguePlay((ORDER, *begun), "the outcome of the payment may not be known")
        yield CataloguePlay((ORDER, silent, *begun), "reads are all that tells of the payment")
    for trouble in WEBHOOK_TROUBLES:
        disturbed = (step("webhooks", trouble), cancel, SETTLE)
        yield CataloguePlay((ORDER, PAY, *disturbed), "the events of a payment that nobody wants are disturbed")
    for scenario in SCENARIOS[1:]:
        ended = (step("pay", 1, scenario=scenario), cancel, step("wait", "25h"))
        yield CataloguePlay((ORDER, *ended, step("provider", "late money"), SETTLE), "the money comes late")


def paid_meanwhile() -> Iterator[CataloguePlay]:
    """Yield orders that are paid for while they are cancelled, such as in another window."""
    declined = (ORDER, step("pay", 1, scenario="card-declined"), SETTLE)
    for what in with_act(CANCEL_MEANWHILE, Act.PAY):
        for first in ((ORDER,), declined):
            for at in POINTS:
                paid = (*first, step("cancel", 1, meanwhile=what, at=at), SETTLE)
                yield CataloguePlay(paid, "nothing is paid when it is cancelled")
                yield CataloguePlay((*paid, RETRY, SETTLE), "nothing is paid when it is cancelled")


def cancellation_requests() -> Iterator[CataloguePlay]:
    """Yield each trouble of the request that cancels a payment.

    The payment goes on as long as the service has not heard of it, and is over when only the reply is lost.
    """
    silent = step("webhooks", "drop all")
    # A job may send the request, while the payment still waits.
    cancel = (step("cancel"), step("wait", "1s"), SETTLE)
    for trouble, found in CANCELLATION_TROUBLES.items():
        disturbed = step("cancellations", trouble)
        yield CataloguePlay((ORDER, PAY, disturbed, *cancel))
        for time in EVENTS[1:]:
            late = (step("pass_time", time), disturbed, *cancel)
            yield CataloguePlay((ORDER, PAY, *late), "the payment may be over by then")
        yield CataloguePlay((ORDER, silent, PAY, disturbed, *cancel, SETTLE), "reads are all that tells")
        if can_last(found):
            long = step("cancellations", trouble, lasts=LONGER_THAN_A_CLICK)
            yield CataloguePlay((ORDER, PAY, long, *cancel, SETTLE), "it lasts longer")
            yield CataloguePlay((ORDER, PAY, long, *cancel, RESTART, SETTLE), "it lasts longer")


def cancelled_and_given_back() -> Iterator[CataloguePlay]:
    """Yield cancelled orders whose money goes back. Such a refund meets troubles as any other does."""
    cancel = step("cancel")
    for own in own_refunds():
        # When the money comes, it goes back.
        yield CataloguePlay((ORDER, PAY, cancel, own, SETTLE, SETTLE))
        # Of an order that is paid it goes back at once; the first order shows whether the merchant does so.
        yield CataloguePlay((*PAID, own, cancel, SETTLE, SETTLE))
        second = (ORDER, step("pay", 2), SETTLE, own, step("cancel", 2), SETTLE, SETTLE)
        yield CataloguePlay((*PAID, cancel, SETTLE, *second), "what is left of a cancelled order goes back")
    for what in LOSES_NOTES:
        for at in points_of(what, JOB_POINTS):
            interrupted = (step("pass_time", "10s"), step("interrupt_jobs", what, at), SETTLE)
            yield CataloguePlay((ORDER, PAY, cancel, *interrupted), "the money goes back, and that is disturbed")
    yield CataloguePlay((ORDER, PAY, cancel, step("pass_time", "10s"), RESTART, SETTLE))
    failing = step("pay", 1, scenario="refund-fails")
    for first in ((failing,), (failing, SETTLE)):
        in_vain = (*first, cancel, *DAY_OF_JOBS)
        yield CataloguePlay((ORDER, *in_vain), "the money goes back, which always fails")
    for fails in ((step("provider", "refund fails"),), (SETTLE, step("provider", "refund fails late"))):
        failed = (cancel, *fails, *DAY_OF_JOBS, SETTLE)
        yield CataloguePlay((*PAID, *failed), "the money goes back, which fails once")


def cancelled_in_part() -> Iterator[CataloguePlay]:
    """Yield cancelled orders of which a part was given back. The rest goes back, and not the whole once more."""
    why, cancel = "a part of the money has gone back", step("cancel")
    for share in SHARES:
        yield CataloguePlay((*PAID, step("refund", 1, share), SETTLE, cancel, SETTLE), why)
        yield CataloguePlay((*PAID, step("refund", 1, share), cancel, SETTLE), why)
    for what in sorted(OF_REFUNDS):
        yield CataloguePlay((*PAID, step("provider", what), SETTLE, cancel, SETTLE), why)
