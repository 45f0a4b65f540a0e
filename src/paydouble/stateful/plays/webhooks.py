"""Plays of webhooks: forged, disturbed, interrupted, in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from paydouble.stateful.crafted import AHEAD
from paydouble.stateful.interruptions import AT_POINTS, BEFORE_COMMIT, KINDS, WEBHOOK_INTERRUPTIONS, Act, with_act
from paydouble.stateful.plays.parts import (
    EVENTS,
    FIRST_ATTEMPTS,
    ORDER,
    PAID,
    PAY,
    RESTART,
    RETRY,
    SETTLE,
    WEBHOOK_POINTS,
    WORK_OFF,
    got_through,
    points_of,
)
from paydouble.stateful.provider import PROVIDER_ACTS
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import INJECTED, POST_TROUBLES, SCENARIOS, SHARES, TO_THE_END, WEBHOOK_TROUBLES

# To just after the third event, in the same second.
_WITHIN_THE_SECOND: Final = step("pass_time", "3400ms")


def forgeries() -> Iterator[CataloguePlay]:
    """Yield each webhook that the service has not sent. Before there is money, a forged success gives goods away."""
    for how in INJECTED:
        yield CataloguePlay((ORDER, PAY, step("inject", how)))
    for how in INJECTED:
        yield CataloguePlay((*PAID, step("inject", how)))
    for how in INJECTED:
        declined = step("pay", 1, scenario="card-declined")
        yield CataloguePlay((ORDER, declined, SETTLE, step("inject", how)), "the payment has failed")
        for which in range(2, 5):
            yield CataloguePlay((*PAID, step("inject", how, which)), "it is like an older event")


def ahead() -> Iterator[CataloguePlay]:
    """Yield what comes just ahead of a true event. It must not make the receiver drop that one."""
    for how in AHEAD:
        ahead = step("webhook_ahead", how)
        yield CataloguePlay((ORDER, PAY, step("pass_time", "5s"), ahead, step("pass_time", "5s")))
        yield CataloguePlay((ORDER, PAY, step("pass_time", "5s"), ahead, step("pass_time", "5s"), WORK_OFF))
        yield CataloguePlay((ORDER, ahead, PAY, SETTLE))
        refund = (ahead, step("refund", 1, "half"), step("pass_time", "10s"), WORK_OFF)
        yield CataloguePlay((*PAID, *refund), "an event of a refund can be lost as well")
    for how in INJECTED:
        before = (step("pass_time", "5s"), step("inject", how), step("pass_time", "5s"), WORK_OFF)
        yield CataloguePlay((ORDER, PAY, *before), "the true success comes later")


def events() -> Iterator[CataloguePlay]:
    """Yield each trouble of webhooks, for each kind of payment."""
    for trouble in WEBHOOK_TROUBLES:
        yield CataloguePlay((ORDER, step("webhooks", trouble), PAY, SETTLE))
    for trouble in WEBHOOK_TROUBLES:
        # Only the success is disturbed, and no background job runs before it is looked at.
        later = (step("pass_time", "5s"), step("webhooks", trouble), step("pass_time", "5s"))
        yield CataloguePlay((ORDER, PAY, *later))
        yield CataloguePlay((ORDER, PAY, *later, WORK_OFF), "a job works on it")
    for trouble in WEBHOOK_TROUBLES:
        disturbed = step("webhooks", trouble)
        for scenario in SCENARIOS[1:]:
            paid = step("pay", 1, scenario=scenario)
            yield CataloguePlay((ORDER, disturbed, paid, SETTLE), "the events of this scenario are disturbed")
        failing = (ORDER, step("pay", 1, scenario="refund-fails"), SETTLE)
        yield CataloguePlay(
            (*failing, disturbed, step("refund", 1, "half"), SETTLE), "the events of a refund that fails are disturbed"
        )


def interruptions() -> Iterator[CataloguePlay]:
    """Yield each interruption of the work on a webhook, before each event of a payment."""
    for what in WEBHOOK_INTERRUPTIONS:
        # No event follows the success by itself.
        is_followed = KINDS[what].act is Act.EVENTS
        # What dies behind its answer is told by nothing else, unless a job reads it.
        unread = (WORK_OFF,) if KINDS[what].kills and what not in AT_POINTS else ()
        for before in reversed(EVENTS[:-1] if is_followed else EVENTS):
            first = () if before is None else (PAY, step("pass_time", before))
            then = (PAY, SETTLE) if before is None else (step("pass_time", "10m"), *unread)
            for at in points_of(what, WEBHOOK_POINTS):
                yield CataloguePlay((ORDER, *first, step("interrupt_webhook", what, at), *then))

    for what in WEBHOOK_INTERRUPTIONS:
        for at in points_of(what, WEBHOOK_POINTS):
            before = EVENTS[-2 if KINDS[what].act is Act.EVENTS else -1]
            disturbed = (step("pass_time", before), step("interrupt_webhook", what, at), step("pass_time", "10m"))
            yield CataloguePlay((ORDER, PAY, *disturbed, WORK_OFF), "nothing but the event tells")
            yield CataloguePlay((ORDER, PAY, *disturbed, RESTART, WORK_OFF), "queued work outlives a process")


def beside_each_other() -> Iterator[CataloguePlay]:
    """Yield events of two objects of one payment that come at once: what both change must not be lost."""
    later, thirds = step("pass_time", "10m"), (step("refund", 1, "third"), step("refund", 1, "third"))
    disputed = step("provider", "dispute half")
    for what in with_act(WEBHOOK_INTERRUPTIONS, Act.EVENTS):
        for at in points_of(what, WEBHOOK_POINTS):
            # Few shops have this point. With a reason of its own, its play takes the place of no other in a turn.
            where = ", and their transactions meet" if at == BEFORE_COMMIT else ""
            # A refund is over after three seconds.
            soon = (step("pass_time", "2s"), step("interrupt_webhook", what, at))
            yield CataloguePlay((*PAID, *thirds, *soon, later, WORK_OFF), f"two refunds end at once{where}")
            ends = (disputed, thirds[0], *soon, step("provider", "dispute lost"), later, WORK_OFF)
            yield CataloguePlay((*PAID, *ends), f"a refund and a dispute end at once{where}")


def late_events() -> Iterator[CataloguePlay]:
    """Yield late and repeated events of what happens long after the payment."""
    for trouble in WEBHOOK_TROUBLES:
        disturbed = step("webhooks", trouble)
        fails = (step("refund", 1, "half"), SETTLE, disturbed, step("provider", "refund fails late"), SETTLE)
        yield CataloguePlay((*PAID, *fails), "the event of a late failure is disturbed")
        second = (disturbed, RETRY, step("pass_time", "10s"), step("provider", "late money"), SETTLE)
        for ended in FIRST_ATTEMPTS:
            yield CataloguePlay((*ended, *second), "an earlier attempt brings money before the events of the next one")
        for ends in ("dispute won", "dispute lost"):
            closed = (disturbed, step("provider", "dispute"), step("provider", ends), SETTLE)
            yield CataloguePlay((*PAID, *closed), "the events of a dispute are disturbed")
        two = (*_won(1), step("refund", 1, "half"), *_won(2, disturbed), step("refund", 2, "half"), SETTLE)
        yield CataloguePlay(two, "a dispute is won as the one before, and its events are disturbed")


def overtaken() -> Iterator[CataloguePlay]:
    """Yield events that overtake each other.

    The newest event of one object comes after events of another one that are newer, and both are true. Days later a
    job may have repaired what was lost; within seconds the events alone can have had their effect.
    """
    why = "an event is told after a newer one of another object"
    dispute, half, another, lost, won = (
        step("provider", what) for what in ("dispute", "dispute half", "another dispute", "dispute lost", "dispute won")
    )

    def changes(late: Step) -> Iterator[tuple[Step, ...]]:
        paid = (ORDER, PAY, step("pass_time", "5s"), late, step("pass_time", "5s"))
        refunded = (*PAID, step("refund", 1, "half"), step("pass_time", "2s"), late, step("pass_time", "2s"))
        # No goods are due any more when the success comes.
        yield (*paid, step("provider", "refund"))
        yield (*paid, step("provider", "refund"), step("pass_time", "10m"), WORK_OFF)
        yield (*paid, dispute)
        yield (*paid, dispute, lost)
        # What was held back when the success came has to be sent when the dispute is won.
        yield (*paid, dispute, step("pass_time", "10m"), won)
        yield (*paid, dispute, SETTLE, won)
        yield (*refunded, dispute)
        yield (*refunded, half, lost)
        yield (*PAID, half, late, lost, step("refund", 1, "third"))
        yield (*PAID, half, late, lost, another)
        yield (*PAID, half, late, lost, another, won)
        yield (*PAID, half, another, late, lost, won)

    told = (SETTLE, step("wait", "1h"), step("wait", "3d"))
    for happens in changes(step("webhooks", "late")):
        yield CataloguePlay((*happens, *told), why)
    # No event of the dispute is on time, and the last one of the refund is.
    four = step("webhooks", "late four")
    yield CataloguePlay((*PAID, four, half, lost, step("refund", 1, "third"), *told), why)
    for happens in changes(step("webhooks", "overtake")):
        yield CataloguePlay((*happens, SETTLE), f"{why}, within seconds")
        yield CataloguePlay((*happens, step("pass_time", "10m"), WORK_OFF), f"{why}, and no read is answered")


def told_of_an_earlier_attempt() -> Iterator[CataloguePlay]:
    """Yield ends of an attempt that are told while the next attempt is open: it is not over with them."""
    why, late = "the end of an attempt is told while the next one is open", step("webhooks", "late four")
    waits, leaves = step("pay", 1, scenario="payer-decides"), step("payer", "gives up")
    soon = step("wait", "50m", jobs_every="10m")
    for ended in (
        (step("pay", 1, scenario="card-declined"), soon),
        (waits, SETTLE, leaves, soon),
        (step("pay", 1, scenario="abandoned"), step("wait", "24h50m", jobs_every="1h")),
    ):
        begun = (ORDER, late, *ended, waits, step("pass_time", "20m"))
        yield CataloguePlay((*begun, RETRY, step("payer", "pays"), SETTLE), why)
        yield CataloguePlay((*begun, WORK_OFF, RETRY, step("payer", "pays"), SETTLE), why)


def _won(order: int, *disturbed: Step) -> tuple[Step, ...]:
    disputed = (step("provider", what, order) for what in ("dispute", "dispute under review", "dispute won"))
    two_hours = (step("wait", "59m"), step("wait", "59m"), SETTLE)
    return (ORDER, step("pay", order), SETTLE, *disturbed, *disputed, *two_hours)


def acknowledged() -> Iterator[CataloguePlay]:
    """Yield plays in which events alone can have had their effect, since no read is answered before it is looked at."""
    later = step("pass_time", "10m")
    for share in SHARES:
        refunded = (*PAID, step("refund", 1, share), later, WORK_OFF)
        yield CataloguePlay(refunded)
        yield CataloguePlay((*refunded, step("provider", "refund fails late"), WORK_OFF))
    for scenario in SCENARIOS:
        paid = step("pay", 1, scenario=scenario)
        yield CataloguePlay((ORDER, paid, step("pass_time", "25h"), WORK_OFF))
        yield CataloguePlay((ORDER, paid, SETTLE, step("refund", 1, "half"), later, WORK_OFF))
    disputed = (*PAID, step("provider", "dispute"))
    for what in PROVIDER_ACTS:
        yield CataloguePlay((*disputed, step("provider", what), WORK_OFF))
    again = (step("provider", "dispute won"), step("provider", "dispute reopened"), step("provider", "dispute lost"))
    yield CataloguePlay((*disputed, *again, WORK_OFF), "a dispute changes more than once, and no read tells")
    for what in WEBHOOK_INTERRUPTIONS:
        for at in points_of(what, WEBHOOK_POINTS[:4]):
            # Just before the success of the refund, which comes after three seconds.
            interrupted = step("interrupt_webhook", what, at)
            refund = (step("refund", 1, "half"), step("pass_time", "2s"), interrupted, later)
            yield CataloguePlay((*PAID, *refund, WORK_OFF), "nothing but the event of the refund tells")
            lost = (interrupted, step("provider", "dispute lost"), later)
            yield CataloguePlay((*disputed, *lost, WORK_OFF), "nothing but the event of the dispute tells")
    second = (step("provider", "fails"), step("wait", "10m"), RETRY, SETTLE, step("wait", "3d"))
    yield CataloguePlay(
        (ORDER, PAY, step("pass_time", "1s"), step("webhooks", "late"), *second),
        "the failure of an attempt is told after the next one has succeeded",
    )
    refund_first = (step("wait", "1h"), step("refund", 1, "half"), step("wait", "1h"), step("wait", "3d"))
    yield CataloguePlay(
        (ORDER, PAY, step("pass_time", "5s"), step("webhooks", "late"), step("pass_time", "5s"), *refund_first),
        "the success of a payment is told after its refund",
    )
    for trouble in got_through(POST_TROUBLES):
        attempts = (step("pay", 1, trouble, lasts=TO_THE_END), *[step("wait", "10s")] * 4, *[step("wait", "1m")] * 3)
        yield CataloguePlay(
            (ORDER, step("webhooks", "drop all"), *attempts, RETRY, SETTLE),
            "jobs have tried often before the customer comes back",
        )


def one_second() -> Iterator[CataloguePlay]:
    """Yield events of one second, whose order only their fractions of a second say."""
    for trouble in (name for name, found in WEBHOOK_TROUBLES.items() if found.reorders):
        for what in ("succeeds", "fails"):
            ended = (PAY, _WITHIN_THE_SECOND, step("provider", what))
            yield CataloguePlay((ORDER, step("webhooks", trouble), *ended), "the events are of one second")
            # Where a service cuts off the fractions, only their statuses tell which of them is the last one.
            same = (ORDER, step("webhooks", trouble), *ended)
            for then in (SETTLE, WORK_OFF):
                yield CataloguePlay((*same, then), "events of the same time come in another order", "whole seconds")
    for what in ("succeeds", "fails"):
        in_order = (PAY, _WITHIN_THE_SECOND, step("provider", what))
        yield CataloguePlay((ORDER, *in_order, SETTLE), "the events are of one second")
        # Where a service cuts off the fractions, the objects have the same time too, and only their statuses tell.
        yield CataloguePlay((ORDER, *in_order, SETTLE), "two states have the same time", "whole seconds")
        yield CataloguePlay((ORDER, *in_order, WORK_OFF), "two states have the same time", "whole seconds")


def told_too_early() -> Iterator[CataloguePlay]:
    """Yield events about a payment that the merchant does not know yet, and may have forgotten when it does."""
    late, click = step("webhooks", "late four"), step("pay", 1, "reply lost", lasts=TO_THE_END)
    why = "the event of a dispute or refund comes before anything else tells of the payment"
    for happened in (
        (step("provider", "dispute"),),
        (step("provider", "dispute"), step("provider", "dispute lost")),
        (step("provider", "dispute half"), step("provider", "dispute lost")),
        (step("provider", "refund half"), step("pass_time", "10s")),
        (step("provider", "refund"), step("pass_time", "10s")),
    ):
        begun = (ORDER, late, click, step("pass_time", "10s"), *happened, WORK_OFF)
        yield CataloguePlay((*begun, step("wait", "2h"), SETTLE), why)


def disturbed_and_more() -> Iterator[CataloguePlay]:
    """Yield disturbed webhooks before a restart, later changes and interruptions, and old ones after a refund."""
    for trouble in WEBHOOK_TROUBLES:
        yield CataloguePlay(
            (ORDER, step("webhooks", trouble), PAY, step("pass_time", "10s"), RESTART, SETTLE),
            "what was seen has to survive a restart",
        )
        yield CataloguePlay(
            (
                *PAID,
                step("webhooks", trouble),
                step("refund", 1, "half"),
                SETTLE,
                step("provider", "dispute"),
                SETTLE,
            ),
            "events of refunds and disputes are disturbed as those of payments",
        )
        for what in WEBHOOK_INTERRUPTIONS:
            yield CataloguePlay(
                (
                    ORDER,
                    PAY,
                    step("pass_time", "5s"),
                    step("webhooks", trouble),
                    step("interrupt_webhook", what),
                    SETTLE,
                ),
                "the work on an event is repeated",
            )
    for how in INJECTED:
        yield CataloguePlay(
            (*PAID, step("refund"), SETTLE, step("inject", how, 3), step("inject", how, 1)),
            "an old event must not undo a refund",
        )
