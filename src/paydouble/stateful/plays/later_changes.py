"""Plays of what changes after a payment: refunds, disputes, money that comes late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from paydouble.stateful.interruptions import (
    AFTER_REQUEST,
    BEFORE_REQUEST,
    CANCEL_MEANWHILE,
    JOB_INTERRUPTIONS,
    LOSES_NOTES,
    OF_CUSTOMERS,
    WEBHOOK_INTERRUPTIONS,
    Act,
    Point,
    with_act,
)
from paydouble.stateful.lifecycles import lifecycles, ways_to_each_act
from paydouble.stateful.plays.parts import (
    EXPIRED,
    FIRST_ATTEMPTS,
    JOB_POINTS,
    ORDER,
    PAID,
    PAY,
    RESTART,
    RETRY,
    SETTLE,
    WEBHOOK_POINTS,
    WHOLE_OR_PART,
    WORK_OFF,
    WORK_OFF_LATER,
    points_of,
)
from paydouble.stateful.provider import OF_REFUNDS, PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import LONGER_THAN_A_CLICK, READ_TROUBLES, SCENARIOS, WEBHOOK_TROUBLES


class _Change(NamedTuple):
    """A change of a payment after its money has come."""

    before: tuple[Step, ...]
    act: tuple[Step, ...] = ()
    """What brings the event of the change; it is empty where the event comes by itself."""


# A refund is over after three seconds.
_NEARLY_OVER: Final = step("pass_time", "2s")
_OPENED: Final = frozenset({"dispute", "dispute half"})
_THEN_JOBS: Final = (SETTLE, step("wait", "10m"), step("wait", "1h"))
# Troubles that outlast a click: the service refuses the request for now, has not got it, or has carried it out.
_KEEPS_WAITING: Final = ("429", "request lost", "reply lost")


def provider() -> Iterator[CataloguePlay]:
    """Yield each act of the provider after each other one."""
    for what in PROVIDER_ACTS:
        for then in PROVIDER_ACTS:
            chain = (step("provider", "dispute"), step("provider", what), step("provider", then))
            yield CataloguePlay((*PAID, *chain, SETTLE), "a dispute changes more than once")
        yield CataloguePlay(
            (*PAID, step("refund", 1, "half"), SETTLE, step("provider", what), step("provider", "dispute lost")),
            "a refund and a dispute take the same money",
        )
    for first, second in (
        ("dispute won", "dispute lost"),
        ("dispute lost", "dispute won"),
        ("dispute lost", "dispute lost"),
    ):
        two = (step("provider", "dispute half"), step("provider", "another dispute"))
        ended = (step("provider", first), step("provider", second))
        yield CataloguePlay((*PAID, *two, *ended, SETTLE), "a payment can have several disputes")
        yield CataloguePlay((*PAID, *two, *ended, WORK_OFF), "a payment can have several disputes")
    for ends in ("dispute won", "dispute lost"):
        early = (step("pass_time", "10s"), step("provider", "dispute"), step("provider", ends))
        yield CataloguePlay((ORDER, PAY, *early, SETTLE), "no job has run before the dispute")
        yield CataloguePlay((ORDER, PAY, *early[:-1], SETTLE, early[-1], SETTLE), "no job has run before the dispute")
        for before in ((), (step("refund", 1, "half"), SETTLE)):
            part = (step("provider", "dispute half"), step("provider", ends), SETTLE)
            yield CataloguePlay((*PAID, *before, *part), "a dispute is about a part of the money")
    declined = (ORDER, step("pay", 1, scenario="card-declined"), SETTLE)
    for attempt in (*FIRST_ATTEMPTS, declined):
        late = step("provider", "late money")
        yield CataloguePlay((*attempt, late))
        yield CataloguePlay((*attempt, RETRY, SETTLE, late), "the order is paid twice")
        for way in ways_to_each_act(variants=False):
            changed = (RETRY, SETTLE, *_settled(*way), late, SETTLE)
            yield CataloguePlay((*attempt, *changed), "the order is paid twice, and was changed in between")
    failing = (ORDER, PAY, step("pass_time", "1s"), step("webhooks", "late"), step("provider", "fails"), SETTLE)
    told_late = (step("provider", "late money"), SETTLE, step("wait", "3d"), SETTLE)
    yield CataloguePlay((*failing, *told_late), "the event of the failure comes after the money")
    still_open = (ORDER, step("pay", 1, scenario="abandoned"), step("wait", "23h"))
    money_first = (step("webhooks", "late"), step("pass_time", "2h"), step("provider", "late money"), SETTLE)
    yield CataloguePlay((*still_open, *money_first), "the event of the end comes after the money")


def months_later() -> Iterator[CataloguePlay]:
    """Yield what happens months after a payment: cardholders may dispute it for that long.

    Jobs may look at the orders of the last weeks only, and such an order must not keep them from newer ones.
    """
    months, silent = step("wait", "100d"), step("webhooks", "drop all")
    for way in ways_to_each_act():
        yield CataloguePlay((*PAID, months, *_settled(*way), SETTLE), "a payment is months old")
    newer = (ORDER, silent, step("pay", 2), *_THEN_JOBS)
    touched = ((*PAID, step("refund", 1, "half")), (*PAID, step("provider", "dispute")))
    for old in ((ORDER,), PAID, *FIRST_ATTEMPTS, *touched):
        yield CataloguePlay((*old, SETTLE, months, *newer), "an older order is months old")


def before_goods_are_sent() -> Iterator[CataloguePlay]:
    """Yield disputes of an order whose goods no job has sent yet.

    Many merchants hold the goods back then, and each dispute has to do so by itself.
    """
    unsent = (ORDER, PAY, step("pass_time", "10s"))
    two = (step("provider", "dispute half"), step("provider", "another dispute"))
    several = [(*two, step("provider", ends)) for ends in ("dispute won", "dispute lost", "dispute accepted")]
    disputed = [way for way in ways_to_each_act() if _OPENED.intersection(way[0].arguments)]
    for way in (*several, *disputed):
        later = (step("wait", "1d"), SETTLE)
        yield CataloguePlay((*unsent, *_settled(*way), *later), "goods that are not sent yet")
        yield CataloguePlay((*unsent, *way, *later), "goods that are not sent yet")


def each_lifecycle() -> Iterator[CataloguePlay]:
    """Yield what can follow a payment, with reads or events alone to tell of it."""
    silent, later = step("webhooks", "drop all"), step("pass_time", "10m")
    for acts in lifecycles(3):
        told = tuple(each for act in acts for each in (act, SETTLE))
        yield CataloguePlay((*PAID, *told), "refunds, a cancellation and a dispute meet")
        yield CataloguePlay((*PAID, silent, *told), "reads are all that tells of refunds and disputes")
        # A merchant that works on events in its jobs does not know of the first change yet when it makes the second.
        for which in range(len(acts) - 1):
            if any(act.command != "provider" for act in acts[which : which + 2]):
                at_once = tuple(_all_but_after(which, acts))
                yield CataloguePlay((*PAID, *at_once), "no job runs between two changes")
    for acts in lifecycles(2):
        unread = tuple(each for act in acts for each in (act, later))
        yield CataloguePlay((*PAID, *unread, WORK_OFF), "events are all that tells of refunds and disputes")
        late = (step("webhooks", "late four"), *acts, step("pass_time", "2h"), WORK_OFF)
        yield CataloguePlay((*PAID, *late), "events come late, and no job runs before them")
        turned = (step("webhooks", "reverse"), *unread, step("pass_time", "2h"), WORK_OFF)
        yield CataloguePlay((*PAID, *turned), "two changes are told in reverse")


@cache
def _changes(*, variants: bool = True) -> tuple[_Change, ...]:
    """Return what can happen to a payment after its money has come; without `variants`, each kind of event once."""
    ways = ways_to_each_act(variants=variants)
    after = [_Change((*PAID, *_settled(*before)), (act,)) for *before, act in ways]
    return (*after, _Change(EXPIRED, (step("provider", "late money"),)))


@cache
def _tellings() -> tuple[_Change, ...]:
    """Return one change for each kind of event, and for each refund also the moment before the event of its end."""
    changes = _changes(variants=False)
    ends = [_Change((*each.before, *each.act, _NEARLY_OVER)) for each in changes if _may_refund(*each.act)]
    failing = (ORDER, step("pay", 1, scenario="refund-fails"), SETTLE, step("refund", 1, "half"), _NEARLY_OVER)
    return (*changes, *ends, _Change(failing))


def _from_the_second(points: Sequence[Point]) -> tuple[Point, ...]:
    # A kill at the first point is the least telling: the merchant has done nothing yet.
    return (*points[1:], *points[:1])


def _settled(*acts: Step) -> Iterator[Step]:
    for act in acts:
        yield from (act, SETTLE)


def _all_but_after(which: int, acts: Sequence[Step]) -> Iterator[Step]:
    # Jobs run after each act but one.
    for number, act in enumerate(acts):
        yield act
        if number != which:
            yield SETTLE


def _may_refund(act: Step) -> bool:
    # Many merchants give the money of a cancelled order back.
    return act.command in {"refund", "cancel"} or not OF_REFUNDS.isdisjoint(act.arguments)


def interrupted_changes() -> Iterator[CataloguePlay]:
    """Yield each interruption of the work on an event of a later change.

    Each kind of event has code of its own. What customers do meanwhile is played where they still pay.
    """
    later = step("pass_time", "10m")
    for at in _from_the_second(WEBHOOK_POINTS):
        for what in (each for each in WEBHOOK_INTERRUPTIONS if each not in OF_CUSTOMERS):
            for before, act in _tellings() if at in points_of(what, WEBHOOK_POINTS) else ():
                interrupted = step("interrupt_webhook", what, at)
                yield CataloguePlay((*before, interrupted, *act, later, WORK_OFF), f"a later change, {what}")


def changes_left_to_jobs() -> Iterator[CataloguePlay]:
    """Yield each later change that a job learns of: interrupted, from disturbed reads, or in a new process."""
    silent, later = step("webhooks", "drop all"), step("pass_time", "10m")
    for at in (BEFORE_REQUEST, AFTER_REQUEST, *_from_the_second(JOB_POINTS[1:])):
        for what in (each for each in JOB_INTERRUPTIONS if each not in OF_CUSTOMERS):
            # A kill matters between any two small transactions.
            is_tried = at in points_of(what, JOB_POINTS if what in LOSES_NOTES else WEBHOOK_POINTS[::2])
            for before, act in _changes(variants=False) if is_tried else ():
                interrupted = (*act, later, step("interrupt_jobs", what, at), SETTLE)
                yield CataloguePlay((*before, *interrupted), "a job works on a later change")
                yield CataloguePlay((*before, silent, *interrupted), "a job reads of a later change")
                if what in LOSES_NOTES:
                    yield CataloguePlay(
                        (*before, *interrupted[:-1], WORK_OFF_LATER), "nothing but the queued event tells"
                    )
    for trouble in READ_TROUBLES:
        for before, act in _changes():
            unread = (*act, later, step("reads", trouble), SETTLE, SETTLE)
            yield CataloguePlay((*before, silent, *unread), "a job reads of a later change")
    for before, act in _changes():
        yield CataloguePlay((*before, *act, RESTART, later, WORK_OFF), "a later change outlives a process")
        # What a process has kept in its memory is gone when the event comes.
        yield CataloguePlay((*before, RESTART, *act, later, WORK_OFF), "a new process learns of a later change")
        for trouble in READ_TROUBLES if _may_refund(*act) else ():
            read = (step("reads", trouble), *act, SETTLE, SETTLE)
            yield CataloguePlay((*before, *read), "the merchant reads before it gives money back")


def changes_in_another_order() -> Iterator[CataloguePlay]:
    """Yield later changes whose events come late, twice or in another order.

    What is older must not undo what is newer, and what comes twice must not happen twice.
    """
    hours = (step("pass_time", "2h"), WORK_OFF, step("wait", "3d"))
    for trouble in (name for name, found in WEBHOOK_TROUBLES.items() if found.retimes):
        for before, act in _changes():
            told = (step("webhooks", trouble), *act, *hours)
            yield CataloguePlay((*before, *told), "the events of a later change come late, twice or in another order")
    for which in range(1, 5):
        for before, act in _changes():
            again = (*act, step("pass_time", "10s"), step("inject", "again", which), WORK_OFF, SETTLE)
            yield CataloguePlay((*before, *again), "an older event comes again after a later change")


def changes_of_an_older_payment() -> Iterator[CataloguePlay]:
    """Yield what follows money for an attempt after which the merchant has made another one.

    Refunds and disputes are of the payment that has the money, and a merchant may know the newest one only.
    """
    later, money = step("pass_time", "10m"), step("provider", "late money")
    for ended in FIRST_ATTEMPTS:
        older = (*ended, step("pay", 1, scenario="card-declined"), SETTLE, money, SETTLE)
        for *before, act in ways_to_each_act():
            happens = (*older, *_settled(*before), act)
            yield CataloguePlay((*happens, SETTLE), "an older attempt has the money")
            yield CataloguePlay((*happens, later, WORK_OFF), "an older attempt has the money")
        disputed = (*ended, RETRY, SETTLE, money, SETTLE, step("provider", "older payment disputed"))
        for ends in ("dispute won", "dispute lost"):
            closed = (*disputed, SETTLE, step("provider", ends))
            yield CataloguePlay((*closed, SETTLE), "the older one of two payments is disputed")
            yield CataloguePlay((*closed, later, WORK_OFF), "the older one of two payments is disputed")


def while_refunds_wait() -> Iterator[CataloguePlay]:
    """Yield what happens while a refund waits.

    A check that was made when the refund was asked for does not hold any more when a job goes on with it.
    """
    for then in (*lifecycles(1), *((step("provider", what),) for what in sorted(OF_REFUNDS)), *lifecycles(2)):
        for share in sorted(WHOLE_OR_PART, reverse=True):
            unsent = (step("jobs_wait"), step("refund", 1, share))
            yield CataloguePlay((*PAID, *unsent, *then, *_THEN_JOBS), "no job has sent the refund yet")
            for trouble in _KEEPS_WAITING:
                waits = step("refund", 1, share, trouble, lasts=LONGER_THAN_A_CLICK)
                yield CataloguePlay((*PAID, waits, *then, *_THEN_JOBS), "a refund waits")
        for trouble in _KEEPS_WAITING:
            given_back = (step("own_refunds", trouble, lasts=LONGER_THAN_A_CLICK), step("cancel"), *then)
            yield CataloguePlay((*PAID, *given_back, *_THEN_JOBS), "the money of a cancelled order waits to go back")


def refused_for_a_dispute() -> Iterator[CataloguePlay]:
    """Yield refunds that the service refuses because of a dispute of which the merchant has not heard.

    When the dispute is won the money is there again, and the service repeats its answer to the same key.
    """
    why = "a dispute that the merchant has not heard of"
    unheard = (step("webhooks", "late"), step("provider", "dispute"))
    for ends in ("dispute won", "dispute lost"):
        ended = (SETTLE, step("provider", ends), *_THEN_JOBS)
        for asks in (step("cancel"), step("refund", 1, "half"), step("refund", 1, "all")):
            yield CataloguePlay((*PAID, *unheard, asks, *ended), why)
            for what in with_act(CANCEL_MEANWHILE, Act.DISPUTE):
                for at in points_of(what):
                    in_between = asks._replace(options=(("meanwhile", what), ("at", at)))
                    yield CataloguePlay((*PAID, in_between, *ended), why)
            # A job asks about disputes, and then sends what is due.
            for what in with_act(JOB_INTERRUPTIONS, Act.DISPUTE):
                for at in points_of(what):
                    left = (step("webhooks", "late"), step("jobs_wait"), asks, step("interrupt_jobs", what, at))
                    yield CataloguePlay((*PAID, *left, *ended), why)


def while_payments_wait() -> Iterator[CataloguePlay]:
    """Yield what happens to a payment while the merchant does not know whether it was made, or is cancelled."""
    minute, silent = step("pass_time", "1m"), step("webhooks", "drop all")
    acts = (
        *((SCENARIOS[0], (step("provider", what),)) for what in PROVIDER_ACTS),
        *(("payer-decides", (minute, step("payer", what))) for what in PAYER_ACTS),
    )
    for scenario, then in acts:
        for trouble in _KEEPS_WAITING:
            cancelled = (step("cancellations", trouble, lasts=LONGER_THAN_A_CLICK), step("cancel"), *then)
            begun = (ORDER, step("pay", 1, scenario=scenario))
            yield CataloguePlay((*begun, *cancelled, *_THEN_JOBS), "the cancellation of a payment waits")
        unanswered = (step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK, scenario=scenario), *then, *_THEN_JOBS)
        yield CataloguePlay((ORDER, *unanswered, RETRY, SETTLE), "a deposit has no reply")
        yield CataloguePlay((ORDER, silent, *unanswered, RETRY, SETTLE), "a deposit has no reply")
