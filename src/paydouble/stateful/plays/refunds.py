"""Plays of refunds that somebody asks the merchant for."""

from __future__ import annotations

from collections.abc import Iterator

from paydouble.stateful.interruptions import JOB_INTERRUPTIONS, KINDS, LOSES_NOTES, REFUND_MEANWHILE, Act, with_act
from paydouble.stateful.plays.parts import (
    EXPIRED,
    JOB_POINTS,
    OF_THE_ORDER,
    ORDER,
    PAID,
    PAY,
    POINTS,
    RESTART,
    RETRY,
    SETTLE,
    WHOLE_OR_PART,
    WORK_OFF,
    can_last,
    got_through,
    points_of,
)
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import (
    AFTERWARDS,
    DURATIONS,
    LONGER_THAN_A_CLICK,
    POST_TROUBLES,
    REFUND_TROUBLES,
    SHARES,
    WEBHOOK_TROUBLES,
)


def refunds() -> Iterator[CataloguePlay]:
    """Yield each trouble of a refund, each interruption, and each duration."""
    for trouble in REFUND_TROUBLES:
        yield CataloguePlay((*PAID, step("refund", 1, "half", trouble), SETTLE))
        yield CataloguePlay((*PAID, step("refund", 1, "half", trouble), step("refund_again"), SETTLE))
        whole = step("refund", 1, "all", trouble)
        yield CataloguePlay((*PAID, whole, SETTLE), "a refund of all undoes what the payment did")
    for trouble in got_through(REFUND_TROUBLES):
        silent = (step("webhooks", "drop all"), step("refund", 1, "half", trouble))
        yield CataloguePlay((*PAID, *silent, SETTLE, SETTLE))
    for what in REFUND_MEANWHILE:
        # Two refunds of a half are not too much.
        share = "most" if what in KINDS and KINDS[what].act is Act.REFUND else "half"
        for at in points_of(what):
            yield CataloguePlay((*PAID, step("refund", 1, share, meanwhile=what, at=at), SETTLE))
            if what in LOSES_NOTES:
                # Its key is lost as well where it is not stored before the request.
                once_more = (step("refund", 1, share, meanwhile=what, at=at), step("refund_again"), SETTLE)
                yield CataloguePlay((*PAID, *once_more))
            again = (step("refund", 1, "most", meanwhile=what, at=at), step("refund_again"), SETTLE)
            yield CataloguePlay((*PAID, *again), "the refund is requested again, and is more than a half")
    for at in POINTS:
        lost = step("refund", 1, "half", "reply lost", meanwhile="jobs run", at=at, lasts=2)
        yield CataloguePlay((*PAID, lost, SETTLE), "the refund's event is worked on before its reply is read")
    for trouble in REFUND_TROUBLES:
        for lasts in filter(None, DURATIONS if can_last(POST_TROUBLES[trouble]) else ()):
            long = step("refund", 1, "half", trouble, lasts=lasts)
            yield CataloguePlay((*PAID, long, SETTLE), "it lasts longer")
            yield CataloguePlay((*PAID, long, step("refund_again"), SETTLE), "the refund outlasts the trouble")
            yield CataloguePlay((*PAID, long, RESTART, step("refund_again"), SETTLE), "its key outlasts the process")


def several_refunds() -> Iterator[CataloguePlay]:
    """Yield refunds that follow each other, fail, or are made elsewhere."""
    yield CataloguePlay((*PAID, step("refund", 1, "half"), SETTLE, step("refund", 1, "half"), SETTLE))
    yield CataloguePlay((*PAID, step("refund", 1, "most"), step("refund", 1, "most"), SETTLE))
    yield CataloguePlay((ORDER, step("pay", 1, scenario="refund-fails"), SETTLE, step("refund", 1), SETTLE))
    yield CataloguePlay((*PAID, step("refund"), SETTLE, step("provider", "refund fails late"), SETTLE))
    late = step("provider", "refund fails late")
    for later in (SETTLE, step("pass_time", "10m")):
        two = (*PAID, step("refund", 1, "half"), later, step("refund", 1, "half"), later)
        yield CataloguePlay((*two, late, later, WORK_OFF), "one refund fails, and the other has succeeded")
    for made in ("request lost", "reply lost"):
        own = (step("provider", "refund half"), SETTLE, step("refund", 1, "half", made), SETTLE)
        yield CataloguePlay((*PAID, *own), "a refund looks like one that no code of the merchant has made")
    for share in SHARES:
        failing = (step("refund", 1, share), SETTLE, late, SETTLE)
        yield CataloguePlay((*PAID, *failing, step("refund", 1, share), SETTLE), "a refund follows one that failed")
    for failed in ((step("provider", "refund fails"),), (SETTLE, late)):
        for time in ("1h", "25h"):
            twice = (step("refund"), *failed, step("wait", time), step("refund"), SETTLE)
            yield CataloguePlay((*PAID, *twice), "the jobs may have made the failed refund again")
            # The same request, which has failed: it is done, or made under a key of its own.
            again = (step("refund", 1, "half"), *failed, step("wait", time), step("refund_again"), SETTLE)
            yield CataloguePlay((*PAID, *again, step("wait", "59m"), SETTLE), "a failed refund is asked for again")
    for shares in (("all", "all"), ("most", "half")):
        too_much = (step("refund", 1, share) for share in shares)
        yield CataloguePlay((*PAID, *too_much, SETTLE), "the first of two refunds is under way, and leaves too little")
    for shares in (("half", "third"), ("third", "half")):
        both = (*PAID, *(step("refund", 1, share) for share in shares))
        fails = step("provider", "refund fails")
        yield CataloguePlay((*both, fails, SETTLE), "two refunds are under way")
        yield CataloguePlay((*both, fails, step("pass_time", "10m"), WORK_OFF), "two refunds are under way")
        yield CataloguePlay((*both, SETTLE, late, SETTLE), "two refunds are made together")
    for shares in (("half", "half"), ("half", "third"), ("third", "half")):
        # A refund is over after three seconds.
        soon, why = step("pass_time", "2s"), "one of two refunds has succeeded when the other one fails"
        first, second = (step("refund", 1, share) for share in shares)
        one = (*PAID, first, soon, second, soon, step("provider", "refund fails"))
        yield CataloguePlay((*one, SETTLE, second, SETTLE), why)
        yield CataloguePlay((*one, step("pass_time", "10m"), WORK_OFF), why)
    attempts: tuple[tuple[Step, ...], ...] = ((step("pay", 1, scenario="card-declined"), SETTLE), EXPIRED[1:])
    for ended in attempts:
        again = (RETRY, SETTLE, step("refund", 1, "half"), SETTLE)
        yield CataloguePlay((ORDER, *ended, *again), "an earlier attempt has no money")


def waiting_refunds() -> Iterator[CataloguePlay]:
    """Yield two refunds of one payment that wait for their answers at once, until their keys are too old."""
    why, lost = "two refunds of one payment wait for their answers", ("request lost", "reply lost")
    a_day = (SETTLE, step("wait", "25h"), SETTLE)
    for shares in (("half", "third"), ("third", "half")):
        for first, second in ((each, then) for each in lost for then in ("none", *lost)):
            one, other = (
                step("refund", 1, share, trouble, lasts=LONGER_THAN_A_CLICK if trouble != "none" else 0)
                for share, trouble in zip(shares, (first, second), strict=True)
            )
            yield CataloguePlay((*PAID, one, other, *a_day), why)
            yield CataloguePlay((*PAID, step("webhooks", "drop all"), one, other, *a_day), why)


def similar_refunds() -> Iterator[CataloguePlay]:
    """Yield refunds of the same amount, which must be told apart."""
    for trouble in REFUND_TROUBLES:
        for lasts in (0, LONGER_THAN_A_CLICK):
            same = step("refund", 1, "half", trouble, lasts=lasts)
            two = (*PAID, step("refund", 1, "half"), SETTLE, same, SETTLE)
            yield CataloguePlay(two, "a refund looks like an earlier one")
    why, again = "a refund that was not made looks like an earlier one", step("refund_again")
    for then in AFTERWARDS[1:]:
        unmade = step("refund", 1, "half", "request lost", then=then)
        yield CataloguePlay((*PAID, step("refund", 1, "half"), SETTLE, unmade, again, SETTLE), why)
    unmade = step("refund", 1, "half", "request lost", lasts=LONGER_THAN_A_CLICK)
    for later in (step("pass_time", "25h"), step("wait", "25h")):
        yield CataloguePlay((*PAID, step("refund", 1, "half"), SETTLE, unmade, later, SETTLE, again, SETTLE), why)
    for share in SHARES:
        before_jobs = (ORDER, PAY, step("pass_time", "10s"), step("refund", 1, share), SETTLE)
        yield CataloguePlay(before_jobs, "no job has run since the payment")
        # A refund is over after three seconds.
        under_way = (*before_jobs[:-1], step("wait", "1s"), SETTLE)
        yield CataloguePlay(under_way, "the jobs run while a refund is under way")
        for what in LOSES_NOTES if share in WHOLE_OR_PART else ():
            for at in points_of(what, JOB_POINTS[::2]):
                begun = (ORDER, PAY, step("pass_time", "10s"), step("interrupt_jobs", what, at))
                yield CataloguePlay((*begun, step("refund", 1, share), SETTLE), "the job has done a part of its work")


def disputed_refunds() -> Iterator[CataloguePlay]:
    """Yield refunds that wait for a job, with a dispute that comes when the job has begun to send them.

    What was checked before may not hold any more.
    """
    later = step("pass_time", "10m")
    refused = (step("refund", 1, "half", why, lasts=LONGER_THAN_A_CLICK) for why in ("request lost", "429"))
    waiting = (
        ((step("jobs_wait"), step("refund", 1, "half")), ""),
        *(((refund, later), "a refund waits") for refund in refused),
    )
    for what in with_act(JOB_INTERRUPTIONS, Act.DISPUTE):
        for waits, reason in waiting:
            for at in points_of(what):
                disputed = (*waits, step("interrupt_jobs", what, at), SETTLE, SETTLE)
                yield CataloguePlay((*PAID, *disputed), reason)


def refunds_after_trouble() -> Iterator[CataloguePlay]:
    """Yield refunds of an order that met a trouble. A first order shows that the merchant makes such a refund."""
    half = step("refund", 1, "half")
    why = "what the trouble has left behind shows when the order is refunded"
    for trouble in POST_TROUBLES:
        yield from _second_order(step("pay", 2, trouble), half, why)
    for what in OF_THE_ORDER:
        for at in points_of(what):
            yield from _second_order(step("pay", 2, meanwhile=what, at=at), half, why)
    for trouble in WEBHOOK_TROUBLES:
        yield from _second_order(step("pay", 2), half, why, step("webhooks", trouble))


def _second_order(paid: Step, refund: Step, why: str, *before: Step) -> Iterator[CataloguePlay]:
    first = (*PAID, SETTLE, refund, SETTLE)
    second = (ORDER, *before, paid, step("retry", 2), SETTLE, SETTLE)
    yield CataloguePlay((*first, *second, refund._replace(arguments=(2, *refund.arguments[1:])), SETTLE), why)
