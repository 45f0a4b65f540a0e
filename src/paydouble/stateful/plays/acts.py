"""Plays of acts without trouble, in each dialect, and of a merchant that is down."""

from __future__ import annotations

from collections.abc import Iterator

from paydouble.stateful.plays.parts import FIRST_ATTEMPTS, ORDER, PAID, PAY, RESTART, RETRY, SETTLE, WORK_OFF, before
from paydouble.stateful.prices import PRICES
from paydouble.stateful.provider import PROVIDER_ACTS
from paydouble.stateful.steps import CataloguePlay, step
from paydouble.stateful.troubles import DIALECTS, POST_TROUBLES, SCENARIOS, SHARES, TO_THE_END


def basics() -> Iterator[CataloguePlay]:
    """Yield each act by itself and without trouble, which comes first: nothing tells a mistake more plainly."""
    for scenario in SCENARIOS:
        yield CataloguePlay((ORDER, step("pay", 1, scenario=scenario), SETTLE))
    for scenario in SCENARIOS:
        yield CataloguePlay((ORDER, step("pay", 1, scenario=scenario), step("wait", "25h"), RETRY, SETTLE))
    for price in PRICES:
        yield CataloguePlay((step("order", *price), PAY, SETTLE))
        yield CataloguePlay((step("order", *price), PAY, SETTLE, step("refund", 1, "half"), SETTLE))
    # Who comes back to the shop has not always paid.
    yield CataloguePlay((ORDER, step("pay", 1, scenario="abandoned"), step("returns"), SETTLE))
    yield CataloguePlay((*PAID, step("returns"), SETTLE))
    for share in SHARES:
        yield CataloguePlay((*PAID, step("refund", 1, share), SETTLE))
    yield CataloguePlay((ORDER, PAY, step("cancel"), SETTLE))
    yield CataloguePlay((*PAID, step("cancel"), SETTLE))
    for what in PROVIDER_ACTS:
        for start in before(what):
            yield CataloguePlay((*start, step("provider", what), SETTLE))
        yield CataloguePlay((*PAID, step("provider", "dispute"), step("provider", what), SETTLE))


def losses() -> Iterator[CataloguePlay]:
    """Yield outages of the receiver and restarts, of which nothing may be lost."""
    for time in ("1h", "50h", "80h"):
        yield CataloguePlay((ORDER, PAY, step("outage", time)))
    yield CataloguePlay((ORDER, PAY, step("pass_time", "10s"), WORK_OFF))
    yield CataloguePlay((ORDER, PAY, step("pass_time", "10s"), RESTART, WORK_OFF))
    for trouble in POST_TROUBLES:
        yield CataloguePlay((ORDER, step("pay", 1, trouble), step("pass_time", "10s"), WORK_OFF), "no read helps")
    yield CataloguePlay((ORDER, PAY, RESTART, SETTLE))
    yield CataloguePlay((ORDER, PAY, step("pass_time", "10s"), RESTART, step("pass_time", "10m")))


def restarts() -> Iterator[CataloguePlay]:
    """Yield a restart after each step of what takes a merchant several runs of its jobs.

    A job may keep in memory what the next one has to do.
    """
    cancel, late = step("cancel"), step("provider", "late money", 1)
    lost = (step("provider", "dispute"), SETTLE, step("provider", "dispute lost"))
    failing = (ORDER, step("pay", 1, scenario="refund-fails"), SETTLE, step("refund"))
    for steps in (
        (ORDER, PAY, cancel, SETTLE),
        (*PAID, cancel, SETTLE),
        (*PAID, step("refund", 1, "half"), SETTLE),
        (*PAID, *lost, SETTLE),
        (*failing, SETTLE),
        *((*first, RETRY, SETTLE, late, SETTLE) for first in FIRST_ATTEMPTS),
        *((*first, late, SETTLE) for first in FIRST_ATTEMPTS),
    ):
        for place in range(2, len(steps) + 1):
            ends = (*steps[:place], RESTART, *steps[place:], SETTLE, SETTLE)
            yield CataloguePlay(ends, "the process ends between two runs of its jobs")


def forms() -> Iterator[CataloguePlay]:
    """Yield each dialect of the service."""
    yield CataloguePlay((ORDER, PAY, ORDER, step("pay", 2), SETTLE, step("refund", 1, "half"), SETTLE))
    for dialect, settings in DIALECTS.items():
        yield CataloguePlay((*PAID, step("returns"), step("refund", 1, "half"), SETTLE), dialect=dialect)
        # An error and an event out of order have forms of their own in some dialects.
        yield CataloguePlay((ORDER, step("pay", 1, "unknown code"), RETRY, SETTLE), dialect=dialect)
        yield CataloguePlay((ORDER, step("webhooks", "reverse"), PAY, SETTLE), dialect=dialect)
        yield CataloguePlay((ORDER, step("pay", 1, "reply lost"), RETRY, SETTLE), dialect=dialect)
        # Each status may be read in another way where its error has another form.
        for trouble in ("429", "500 after the commit", "409", "401"):
            why = "" if "envelope" in settings else "in a dialect"
            yield CataloguePlay((ORDER, step("pay", 1, trouble), RETRY, SETTLE), why, dialect)
            refund = (step("refund", 1, "half", trouble), SETTLE, step("refund_again"), SETTLE)
            yield CataloguePlay((*PAID, *refund), why, dialect)
        if "envelope" in settings:
            # A client that does not read the refusal takes it for an answer that is missing.
            left_to_jobs = (SETTLE, step("wait", "6h", jobs_every="30m"))
            refused = step("pay", 1, "unknown code", lasts=TO_THE_END)
            yield CataloguePlay((ORDER, refused, *left_to_jobs), dialect=dialect)
            refused = step("refund", 1, "half", "unknown code", lasts=TO_THE_END)
            yield CataloguePlay((*PAID, refused, *left_to_jobs), dialect=dialect)
        if "list_order" in settings:
            # What is new comes behind what is known.
            silent, again = step("webhooks", "drop all"), step("provider", "another dispute")
            disputed = (step("provider", "dispute half"), SETTLE, silent, again, step("provider", "dispute lost"))
            yield CataloguePlay((*PAID, *disputed, SETTLE), dialect=dialect)
            refunded = (step("refund", 1, "half"), SETTLE, silent, step("provider", "refund half"), SETTLE)
            yield CataloguePlay((*PAID, *refunded), dialect=dialect)
        yield CataloguePlay((*PAID, step("inject", "again")), "in a dialect", dialect)
        # No read tells what an event has not told.
        later = step("pass_time", "10m")
        yield CataloguePlay((ORDER, PAY, later, WORK_OFF), dialect=dialect)
        yield CataloguePlay((*PAID, step("refund", 1, "half"), later, WORK_OFF), "in a dialect", dialect)
        lost = (step("provider", "dispute"), step("provider", "dispute lost"), WORK_OFF)
        yield CataloguePlay((*PAID, *lost), "in a dialect", dialect)
