"""Plays of what the merchant asks the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from paydouble.stateful.plays.parts import DAY_OF_JOBS, FIRST_ATTEMPTS, ORDER, PAID, PAY, RETRY, SETTLE
from paydouble.stateful.provider import PROVIDER_ACTS
from paydouble.stateful.steps import CataloguePlay, step
from paydouble.stateful.troubles import (
    DURATIONS,
    LONGER_THAN_A_CLICK,
    ORDER_READ_TROUBLES,
    READ_TROUBLES,
    SCENARIOS,
    SECOND_PAGES,
    SHARES,
    TO_THE_END,
)

# More orders than most jobs take at a time.
_PAGE: Final = 51
# Jobs may ask only about what nothing has told them of for some minutes, or for most of an hour.
_LATER_JOBS: Final = (step("wait", "10s"), step("wait", "9m"), step("wait", "59m"))


def silence() -> Iterator[CataloguePlay]:
    """Yield plays without any event.

    Only reads tell, also of what changes after the merchant had no reason to ask any more.
    """
    silent = step("webhooks", "drop all")
    why = "reads are all that tells"
    failing = (ORDER, step("pay", 1, scenario="refund-fails"), SETTLE)
    for share in SHARES:
        yield CataloguePlay((*PAID, silent, step("refund", 1, share), SETTLE), why)
        yield CataloguePlay((*failing, silent, step("refund", 1, share), SETTLE), why)
    for what in PROVIDER_ACTS:
        yield CataloguePlay((*PAID, silent, step("provider", "dispute"), step("provider", what), SETTLE), why)
        refunded = (*PAID, step("refund"), SETTLE)
        yield CataloguePlay((*refunded, silent, step("provider", what), SETTLE), why)
    won = (step("provider", "dispute"), step("provider", "dispute won"), SETTLE)
    yield CataloguePlay((*PAID, silent, *won, step("provider", "dispute reopened"), SETTLE), why)
    for scenario in SCENARIOS[1:]:
        ended = (step("pay", 1, scenario=scenario), step("wait", "25h"))
        yield CataloguePlay((ORDER, silent, *ended, RETRY, SETTLE), "reads are all that tells of two attempts")
        for others in ((), (RETRY, SETTLE), (RETRY, step("provider", "fails"), SETTLE)):
            late = (silent, step("provider", "late money"), SETTLE)
            yield CataloguePlay((ORDER, *ended, *others, *late), "money comes late, and only reads tell")
            yield CataloguePlay((ORDER, silent, *ended, *others, *late), "no event tells of any attempt")
    for paid in (PAY, step("pay", 1, "reply lost", lasts=6)):
        # The deposit is no longer among the newest.
        yield CataloguePlay((ORDER, silent, paid, step("crowd"), SETTLE), "reads are all that tells, and have pages")


def reads() -> Iterator[CataloguePlay]:
    """Yield each trouble of reads."""
    for trouble in READ_TROUBLES:
        yield CataloguePlay((*PAID, step("reads", trouble), step("returns"), SETTLE))
        yield CataloguePlay((*PAID, step("reads", trouble), SETTLE))
        yield CataloguePlay((ORDER, step("pay", 1, "reply lost"), step("reads", trouble), RETRY, SETTLE))
        yield CataloguePlay((ORDER, step("reads", trouble), PAY, step("returns"), SETTLE))
        declined = step("pay", 1, scenario="card-declined")
        yield CataloguePlay((ORDER, declined, step("pass_time", "10s"), step("reads", trouble), RETRY, SETTLE))
        # Just before the event of its success, which may overtake the answer.
        yield CataloguePlay((ORDER, PAY, step("pass_time", "5s"), step("reads", trouble), step("returns"), SETTLE))
        yield CataloguePlay((ORDER, PAY, step("pass_time", "4s"), step("reads", trouble), step("wait", "1s"), SETTLE))
        # Without events, since jobs may have no reason to ask where an event has told them.
        silent, read = step("webhooks", "drop all"), (step("reads", trouble), *_LATER_JOBS, SETTLE)
        yield CataloguePlay((ORDER, silent, PAY, *read))
        yield CataloguePlay((*PAID, silent, step("refund", 1, "half"), *read))
        for lasts in filter(None, DURATIONS):
            long = step("reads", trouble, lasts=lasts)
            yield CataloguePlay((*PAID, long, step("returns"), SETTLE), "it lasts longer")
            yield CataloguePlay((ORDER, step("pay", 1, "reply lost"), long, RETRY, SETTLE), "it lasts longer")
            yield CataloguePlay(
                (ORDER, step("webhooks", "drop all"), PAY, SETTLE, long, SETTLE), "reads that tell are behind"
            )
        # The job runs at the fifth second, and the success comes at the sixth.
        job = (step("pass_time", "4s"), step("reads", trouble), step("wait", "1s"), RETRY, SETTLE)
        yield CataloguePlay((ORDER, PAY, *job), "a job's read races with an event")
        for paid in (PAY, step("pay", 1, "reply lost"), step("pay", 1, "reply lost", lasts=6)):
            told = (step("pass_time", "5s"), step("reads", trouble), step("returns"), step("pass_time", "5s"))
            yield CataloguePlay((ORDER, paid, *told, step("returns"), RETRY, SETTLE), "a read races with an event")
            yield CataloguePlay(
                (ORDER, step("webhooks", "drop all"), paid, step("reads", trouble), RETRY, SETTLE),
                "reads are all that tells, and they are behind",
            )


def behind() -> Iterator[CataloguePlay]:
    """Yield lists that are behind.

    A job that gets no reply asks them, and what is missing there may exist all the same.
    """
    silent, jobs = step("webhooks", "drop all"), (step("wait", "10s"), step("wait", "1m"), step("wait", "8m"))
    why = "jobs repeat without a reply, and lists are behind"
    for trouble in (name for name, found in READ_TROUBLES.items() if not found.tells_nothing):
        unread = step("reads", trouble, lasts=LONGER_THAN_A_CLICK)
        click = step("pay", 1, "reply lost", lasts=TO_THE_END)
        yield CataloguePlay((ORDER, silent, click, unread, *jobs, RETRY, SETTLE), why)
        refund = step("refund", 1, "half", "reply lost", lasts=TO_THE_END)
        yield CataloguePlay((*PAID, silent, refund, unread, *jobs, step("refund_again"), SETTLE), why)
        # Nor is what has had its reply.
        made, given_back = (ORDER, silent, PAY, unread), (*PAID, silent, step("refund", 1, "half"), unread)
        for known in (made, given_back):
            yield CataloguePlay((*known, *jobs, SETTLE), "jobs read what is not there yet")


def pages() -> Iterator[CataloguePlay]:
    """Yield lists of several pages."""
    # A reconciliation that ends at a page without news never reaches what is older.
    silent, others = step("webhooks", "drop all"), step("other_system")
    why = "an older order is behind a page of payments that are not the shop's"
    for paid in (PAY, step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK)):
        yield CataloguePlay((ORDER, silent, paid, others, SETTLE), why)
    why = "what happened to an order is behind a page that is not the shop's"
    for happened, then in (
        ((step("provider", "dispute"),), "disputed"),
        ((step("provider", "dispute"), step("provider", "dispute lost")), "disputed"),
        ((step("provider", "refund half"),), "refunded"),
    ):
        elsewhere = step("other_system", then=then)
        yield CataloguePlay((*PAID, silent, *happened, elsewhere, SETTLE), why)
    # A page with fewer items than were asked for is not the last one.
    why, short = "pages are short", "short pages"
    for click in (PAY, step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK)):
        for newer in (step("crowd", 7), step("other_system", 7)):
            yield CataloguePlay((ORDER, silent, click, newer, SETTLE, *DAY_OF_JOBS), why, short)
    third = step("refund", 1, "third")
    yield CataloguePlay((*PAID, silent, third, third, third, SETTLE, SETTLE), why, short)
    # Once a key is too old, a list is all that tells; what was asked for first is on its last page.
    first = step("refund", 1, "third", "reply lost", lasts=LONGER_THAN_A_CLICK)
    a_day = (step("pass_time", "25h"), *DAY_OF_JOBS)
    yield CataloguePlay((*PAID, silent, first, third, third, *a_day), why, short)
    unanswered = step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK)
    yield CataloguePlay((ORDER, silent, unanswered, step("crowd", 7), *a_day), why, short)
    several = (step("provider", "refund half"), step("refund", 1, "third"), SETTLE)
    yield CataloguePlay((step("crowd", 7), SETTLE, silent, *several, step("returns"), SETTLE), why, short)
    # What changes after a payment had ended is on no first page, and nothing but a list of all tells of it.
    for ended in (*FIRST_ATTEMPTS, (ORDER, step("pay", 1, scenario="card-declined"), SETTLE)):
        comes_late = (silent, step("crowd", 7), step("provider", "late money", 1), SETTLE, *DAY_OF_JOBS)
        yield CataloguePlay((*ended, *comes_late), "money comes late, and pages are short", short)


def unread_pages() -> Iterator[CataloguePlay]:
    """Yield lists of which the first request is answered, and not the next ones: the first page alone can be read.

    A job that notes how far it has come has to note it when it has read all of them.
    """
    why, short = "the first page of a list is all that can be read for a while", "short pages"
    silent = step("webhooks", "drop all")
    numbers = (1, 2, 3)
    sold = tuple(each for number in numbers for each in (ORDER, step("pay", number)))
    unread = (step("reads", SECOND_PAGES), SETTLE, step("wait", "9m"), step("wait", "59m"), SETTLE)
    yield CataloguePlay((silent, *sold, step("pass_time", "10s"), *unread), why, short)
    lost = ("dispute", "dispute lost")
    for acts in (("dispute",), lost, ("refund half",)):
        happened = tuple(step("provider", act, number) for act in acts for number in numbers)
        yield CataloguePlay((*sold, SETTLE, silent, *happened, *unread), why, short)


def waiting_pages() -> Iterator[CataloguePlay]:
    """Yield more than a job takes at a time.

    A job that takes the first page of what waits, and finds nothing to do there, never reaches the rest.
    """
    silent, others = step("webhooks", "drop all"), step("other_system")
    why, bought = "a page of events is about payments that are not the shop's", (ORDER, PAY, SETTLE)
    yield CataloguePlay((others, SETTLE, *bought), why)
    yield CataloguePlay((step("other_system", then="refunded"), SETTLE, *bought, step("refund"), SETTLE), why)
    jobs = (SETTLE, step("wait", "10m"), step("wait", "59m"))
    why, last = "a page of refunds waits for the end of disputes", _PAGE + 1
    sold, dispute = (step("crowd", _PAGE), SETTLE), step("provider_for_all", "dispute")
    refund = step("refund", last, "half", "request lost", lasts=2)
    for waiting in ((dispute, step("refund_for_all")), (step("refund_for_all", "all", "429"), dispute)):
        given_back = (ORDER, step("pay", last), step("cancel", last), SETTLE, *jobs)
        yield CataloguePlay((*sold, *waiting, ORDER, step("pay", last), SETTLE, refund, *jobs), why)
        yield CataloguePlay((*sold, *waiting, *given_back), why)
    # One that does not know which it looked at last takes the same ones each time.
    paid_in_silence = (silent, ORDER, step("pay", last), SETTLE, *jobs)
    for scenario, until in (("card-declined", SETTLE), ("abandoned", SETTLE), ("abandoned", step("wait", "25h"))):
        unpaid = (step("crowd", _PAGE, scenario=scenario), until)
        yield CataloguePlay((*unpaid, *paid_in_silence), "a page of payments has not succeeded")
    failing_refunds = (*sold, step("refund_for_all", "all", "stored 500"), ORDER, step("pay", last), SETTLE)
    yield CataloguePlay((*failing_refunds, refund, *jobs), "a page of refunds fails each time")
    # Each of these is a step of its own, after which all orders are looked at.
    failing = tuple(each for number in range(1, 26) for each in (ORDER, step("pay", number, "stored 500")))
    click = step("pay", len(failing) // 2 + 1, "request lost", lasts=2)
    yield CataloguePlay((*failing, ORDER, click, *jobs), "a page of deposits fails each time")
    crowd, why = (step("crowd"), SETTLE, silent), "disputes or refunds fill more than a page"
    dispute, lost = step("provider_for_all", "dispute"), "dispute lost"
    yield CataloguePlay((*crowd, dispute, step("provider_for_all", lost), SETTLE), why)
    # The first is the oldest of those that are open.
    yield CataloguePlay((*crowd, dispute, SETTLE, step("provider", lost, 1), SETTLE), why)
    yield CataloguePlay((*crowd, step("provider_for_all", "refund half"), SETTLE), why)


def broken_records() -> Iterator[CataloguePlay]:
    """Yield an order of which nothing can be read. It must not keep jobs from the others, whichever they begin with."""
    silent, long = step("webhooks", "drop all"), step("wait", "1h")
    why = "nothing can be read about another order"
    for trouble in ORDER_READ_TROUBLES:
        for broken in (1, 2):
            unread = (step("reads_of", trouble, broken), SETTLE, long, SETTLE)
            paid = (PAY, step("pay", 2))
            yield CataloguePlay((ORDER, ORDER, silent, *paid, *unread))
            unanswered = (
                step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK),
                step("pay", 2, "reply lost", lasts=LONGER_THAN_A_CLICK),
            )
            yield CataloguePlay((ORDER, ORDER, silent, *unanswered, *unread), why)
            both = (ORDER, ORDER, *paid, SETTLE, silent, step("refund", 1, "half"), step("refund", 2, "half"))
            yield CataloguePlay((*both, *unread), why)
            disputed = (step("provider", "dispute", 1), step("provider", "dispute", 2))
            lost = (step("provider", "dispute lost", 1), step("provider", "dispute lost", 2))
            yield CataloguePlay((ORDER, ORDER, *paid, SETTLE, silent, *disputed, *lost, *unread), why)
