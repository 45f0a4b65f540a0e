"""Plays of the request for a deposit: its troubles, alone and together, and what a job makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from paydouble.config import Settings
from paydouble.core.durations import UNITS_MS
from paydouble.stateful.interruptions import AFTER_REQUEST, LOSES_NOTES, MEANWHILE
from paydouble.stateful.plays.parts import (
    DAY_OF_JOBS,
    FIRST_ATTEMPTS,
    JOB_POINTS,
    OF_THE_ORDER,
    ORDER,
    PAID,
    PAY,
    POINTS,
    RESTART,
    RETRY,
    SETTLE,
    can_last,
    got_through,
    points_of,
)
from paydouble.stateful.steps import CataloguePlay, step
from paydouble.stateful.troubles import (
    AFTERWARDS,
    DURATIONS,
    LONGER_THAN_A_CLICK,
    OWN_REFUND_TROUBLES,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_TROUBLES,
    TO_THE_END,
)

_KEY_HOURS: Final = Settings().idempotency_validity // UNITS_MS["h"]
_HOURS_PAST_THE_KEY: Final = (step("wait", "1h"),) * (_KEY_HOURS + 2)
# A key is too old when it was sent first, and was sent last not long ago: the worker was down for most of a day.
_DOWN_PAST_THE_KEY: Final = (
    *[step("wait", "1h")] * 6,
    step("pass_time", f"{_KEY_HOURS - 5}h"),
    *[step("wait", "1h")] * 2,
)
# The same where the worker ran twice only: a client that gives up after a few tries has some left.
_TWICE_PAST_THE_KEY: Final = (
    step("pass_time", f"{_KEY_HOURS - 4}h"),
    SETTLE,
    step("pass_time", "6h"),
    SETTLE,
    SETTLE,
)


def charges() -> Iterator[CataloguePlay]:
    """Yield what leads to a double charge, or to an order that is paid and not known to be."""
    for trouble in POST_TROUBLES:
        yield CataloguePlay((ORDER, step("pay", 1, trouble), SETTLE))
    for trouble in POST_TROUBLES:
        yield CataloguePlay((ORDER, step("pay", 1, trouble), RETRY, SETTLE))
    for trouble in got_through(POST_TROUBLES):
        # With no event to tell of the first deposit a second click is the dearest of all.
        yield CataloguePlay((ORDER, step("webhooks", "drop all"), step("pay", 1, trouble), RETRY, SETTLE))
    for what in MEANWHILE:
        for at in points_of(what):
            yield CataloguePlay((ORDER, step("pay", 1, meanwhile=what, at=at), SETTLE))
            yield CataloguePlay((ORDER, step("pay", 1, meanwhile=what, at=at), RETRY, SETTLE))
    for time in ("1h", "25h", "80h"):
        for restarted in (False, True):
            yield CataloguePlay((ORDER, step("dead_line", 1, time, restarted=restarted)))
    for lasts in filter(None, DURATIONS):
        for restarted in (False, True):
            long = step("dead_line", 1, "25h", restarted=restarted, lasts=lasts)
            yield CataloguePlay((ORDER, long, RETRY, SETTLE), "it lasts longer")


def durations() -> Iterator[CataloguePlay]:
    """Yield each trouble of a deposit that can last, until the customer or the process gives up before it does."""
    for trouble, found in POST_TROUBLES.items():
        if can_last(found):
            for lasts in filter(None, DURATIONS):
                long = step("pay", 1, trouble, lasts=lasts)
                yield CataloguePlay((ORDER, long, RETRY, SETTLE), "the customer outlasts the trouble")
                yield CataloguePlay((ORDER, long, RESTART, RETRY, SETTLE), "the key outlasts the process")


def lost_replies() -> Iterator[CataloguePlay]:
    """Yield lost replies together with what the merchant hears of the deposit afterwards."""
    lost = got_through(POST_TROUBLES)
    # What follows depends on whether the deposit was made, and hardly on how its reply was lost.
    phases = {POST_TROUBLES[name].faults[0].get("phase"): name for name in reversed(lost)}
    for trouble in POST_TROUBLES:
        # A reply that cannot be read, or says something new, is often taken for an answer, unlike one that is lost.
        silent = (step("webhooks", "drop all"), step("pay", 1, trouble), RETRY, SETTLE)
        yield CataloguePlay((ORDER, *silent), "no webhook tells")
    for trouble in lost:
        yield CataloguePlay(
            (ORDER, step("pay", 1, trouble), RESTART, RETRY, SETTLE), "the key has to survive a restart"
        )
    for trouble in phases.values():
        paid = step("pay", 1, trouble)
        for time in ("1h", "25h"):
            yield CataloguePlay(
                (ORDER, paid, step("pass_time", time), RETRY, SETTLE), "the customer comes back, and no job has run"
            )
        for silence in ("late", "late four", "drop all"):
            yield CataloguePlay(
                (ORDER, step("webhooks", silence), paid, RETRY, SETTLE), "neither a reply nor a webhook tells"
            )
            yield CataloguePlay(
                (ORDER, step("webhooks", silence), paid, step("pass_time", "1h"), step("returns"), RETRY, SETTLE),
                "no reply, no webhook and no background job tells",
            )
        for what in OF_THE_ORDER:
            for at in points_of(what):
                yield CataloguePlay(
                    (ORDER, step("pay", 1, trouble, meanwhile=what, at=at), RETRY, SETTLE),
                    "what is known of the attempt is not yet complete",
                )


def two_troubles() -> Iterator[CataloguePlay]:
    """Yield two troubles of one request, the second at the request that follows the first."""
    silent, job, again = step("webhooks", "drop all"), step("pass_time", "10s"), step("refund_again")
    for trouble in REFUND_TROUBLES:
        refunded = (*PAID, silent, step("refund", 1, "half", trouble))
        yield CataloguePlay((*refunded, SETTLE, SETTLE), "no webhook tells of the refund")
        yield CataloguePlay((*refunded, again, SETTLE), "no webhook tells of the refund")
        yield CataloguePlay((*refunded, job, again, SETTLE), "no webhook tells of the refund")
        yield CataloguePlay((*refunded, RESTART, SETTLE, SETTLE), "its key outlasts the process, and no webhook tells")
    why = "the next request meets something else, and nothing tells of the first one"
    for then in AFTERWARDS[1:]:
        click = step("pay", 1, "reply lost", then=then)
        yield CataloguePlay((ORDER, silent, click, RETRY, SETTLE), why)
        refund = step("refund", 1, "half", "reply lost", then=then)
        yield CataloguePlay((*PAID, silent, refund, again, SETTLE), why)
        # A shop may leave the next request to a later click, or to a job that is due by then.
        later = (ORDER, silent, step("pay", 1, "reply lost"), job, step("retry", 1, then), SETTLE)
        yield CataloguePlay((*later, RETRY, SETTLE), why)
        unanswered = (*PAID, silent, step("refund", 1, "half", "reply lost"), job)
        yield CataloguePlay((*unanswered, step("refund_again", 1, then), SETTLE, again, SETTLE), why)
    why, pause = "after a lost reply two answers follow that tell nothing", step("pass_time", "10m")
    for last, then in product(AFTERWARDS[1:], AFTERWARDS[1:]):
        clicks = (step("pay", 1, "reply lost", then=then), pause, step("retry", 1, last))
        yield CataloguePlay((ORDER, silent, *clicks, RETRY, SETTLE), why)
        refunds = (step("refund", 1, "half", "reply lost", then=then), pause, step("refund_again", 1, last))
        yield CataloguePlay((*PAID, silent, *refunds, SETTLE, again, SETTLE), why)
        if last != then:
            # One that tries at once meets both in one call.
            both = f"{then}, {last}"
            yield CataloguePlay((ORDER, silent, step("pay", 1, "reply lost", then=both), RETRY, SETTLE), why)
            refund = step("refund", 1, "half", "reply lost", then=both)
            yield CataloguePlay((*PAID, silent, refund, again, SETTLE), why)


def lost_notes() -> Iterator[CataloguePlay]:
    """Yield requests that were carried out, and whose note is lost: alone, or before an answer that tells nothing."""
    silent, again = step("webhooks", "drop all"), step("refund_again")
    for what in LOSES_NOTES:
        # A request that is left to a job has many points before it.
        for at in points_of(what, JOB_POINTS[:16]):
            lost = "the request was carried out, and its note is lost"
            click = step("pay", 1, meanwhile=what, at=at)
            yield CataloguePlay((ORDER, silent, click, SETTLE, RETRY, SETTLE), lost)
            refund = step("refund", 1, "half", meanwhile=what, at=at)
            yield CataloguePlay((*PAID, silent, refund, SETTLE, SETTLE), lost)
    why = "the request was carried out, its note is lost, and the next answer says nothing about it"
    for at, what in product(POINTS, LOSES_NOTES):
        # What was under way may be left alone for some minutes, in case that another process still works on it.
        pauses = ((step("pass_time", "10m"),), ()) if at == AFTER_REQUEST else ((),)
        for pause, then in product(pauses, AFTERWARDS[1:]):
            clicks = (step("pay", 1, meanwhile=what, at=at), *pause, step("retry", 1, then))
            yield CataloguePlay((ORDER, silent, *clicks, RETRY, SETTLE), why)
            refunds = (step("refund", 1, "half", meanwhile=what, at=at), *pause, step("refund_again", 1, then))
            yield CataloguePlay((*PAID, silent, *refunds, again, SETTLE), why)


def past_the_key() -> Iterator[CataloguePlay]:
    """Yield requests that are repeated until nobody does it any more, or the service has forgotten their key."""
    silent = step("webhooks", "drop all")
    used_up = "a client has used up its tries, nothing tells of the request, and it is asked for again"
    too_old = "jobs go on for longer than a key is valid, and nothing tells of the first request"
    courses = (
        (used_up, (SETTLE, step("wait", "6h", jobs_every="30m"))),
        *((too_old, hours) for hours in (_HOURS_PAST_THE_KEY, _DOWN_PAST_THE_KEY, _TWICE_PAST_THE_KEY)),
    )
    for trouble in (name for name, found in READ_TROUBLES.items() if found.tells_nothing):
        for why, hours in courses:
            unread = (step("reads", trouble, lasts=TO_THE_END), *hours)
            lost = step("pay", 1, "reply lost", lasts=TO_THE_END)
            yield CataloguePlay((ORDER, silent, lost, *unread, RETRY, SETTLE), why)
            refund = step("refund", 1, "half", "reply lost", lasts=TO_THE_END)
            yield CataloguePlay((*PAID, silent, refund, *unread, step("refund_again"), SETTLE), why)
    # What was sent just before the end of a process may have been done, and a day later its key says nothing about it.
    why, day = (
        "the note of a request is lost, and its key is too old",
        (step("pass_time", f"{_KEY_HOURS + 1}h"), SETTLE, SETTLE),
    )
    for what in LOSES_NOTES:
        for at in points_of(what):
            click = step("pay", 1, meanwhile=what, at=at)
            yield CataloguePlay((ORDER, silent, click, *day, RETRY, SETTLE), why)
            refund = step("refund", 1, "half", meanwhile=what, at=at)
            yield CataloguePlay((*PAID, silent, refund, *day, step("refund_again"), SETTLE), why)
    # The payment of the attempt before must not be taken for the one that is looked for.
    why, declined = "a second attempt is lost, and its key is too old", step("pay", 1, scenario="card-declined")
    for ended in (*FIRST_ATTEMPTS, (ORDER, declined, SETTLE)):
        for trouble in ("request lost", "reply lost"):
            lost = step("retry", 1, trouble, lasts=LONGER_THAN_A_CLICK)
            yield CataloguePlay((*ended, silent, lost, *day, RETRY, SETTLE), why)
    why, lasts = "answers that tell nothing follow a lost reply until the key is too old", LONGER_THAN_A_CLICK
    for then in AFTERWARDS[1:]:
        clicks = (step("pay", 1, "reply lost", lasts=lasts), step("retry", 1, then, lasts=lasts))
        yield CataloguePlay((ORDER, silent, *clicks, *day, RETRY, SETTLE), why)
        refunds = (step("refund", 1, "half", "reply lost", lasts=lasts), step("refund_again", 1, then, lasts=lasts))
        yield CataloguePlay((*PAID, silent, *refunds, *day, step("refund_again"), SETTLE), why)
    # What was given up without an answer may have been done, so its money must not be promised once more.
    for share in ("all", "most"):
        given_up = step("refund", 1, share, "reply lost", lasts=TO_THE_END)
        tried = (SETTLE, step("wait", "6h", jobs_every="30m"), step("refund", 1, share), SETTLE)
        yield CataloguePlay((*PAID, silent, given_up, *tried), "nothing tells of a refund")


def left_to_jobs() -> Iterator[CataloguePlay]:
    """Yield refusals that are left to jobs.

    A click tries a few times; what a job makes of the answer shows only when the customer does not come back.
    """
    for trouble in (name for name, found in POST_TROUBLES.items() if found.retry_after_seconds is not None):
        limited = step("pay", 1, trouble, lasts=LONGER_THAN_A_CLICK)
        yield CataloguePlay((ORDER, limited, *DAY_OF_JOBS), "the customer leaves, and a day of jobs follows")
    for trouble, found in OWN_REFUND_TROUBLES.items():
        if found.retry_after_seconds is not None:
            waits = (step("own_refunds", trouble, lasts=LONGER_THAN_A_CLICK), step("refund", 1, "half"), *DAY_OF_JOBS)
            yield CataloguePlay((*PAID, *waits), "a refund is refused for now, and a day of jobs follows")
    for trouble in ("unknown code", "method gone"):
        refused = step("pay", 1, trouble, lasts=TO_THE_END)
        yield CataloguePlay((ORDER, refused, *DAY_OF_JOBS), "the customer leaves, and a day of jobs follows")
    # The service gives no money back that is disputed.
    disputed = (*PAID, step("provider", "dispute"), step("refund"))
    yield CataloguePlay((*disputed, *DAY_OF_JOBS), "a refund is refused, and a day of jobs follows")
    lost = (step("provider", "dispute"), step("provider", "dispute lost"), SETTLE, step("refund"), SETTLE)
    yield CataloguePlay((*PAID, *lost), "the money was charged back before")


def second_attempts() -> Iterator[CataloguePlay]:
    """Yield each trouble of an attempt before or after another one."""
    for trouble in POST_TROUBLES:
        yield CataloguePlay(
            (ORDER, PAY, step("provider", "fails"), step("retry", 1, trouble), SETTLE),
            "a second attempt is a new one",
        )
        yield CataloguePlay(
            (ORDER, step("pay", 1, trouble, scenario="card-declined"), SETTLE, RETRY, SETTLE),
            "a decline ends the attempt, whatever became of its reply",
        )
