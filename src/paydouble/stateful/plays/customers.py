"""Plays of what customers and payers do."""

from __future__ import annotations

from collections.abc import Iterator

from paydouble.stateful.interruptions import ANOTHER_CUSTOMER, ANOTHER_CUSTOMER_MEANWHILE, LOSES_NOTES
from paydouble.stateful.plays.parts import (
    FIRST_ATTEMPTS,
    JOB_POINTS,
    ORDER,
    PAID,
    PAY,
    PAYER_LEAVES,
    POINTS,
    RESTART,
    RETRY,
    SETTLE,
    WORK_OFF,
    own_refunds,
    points_of,
)
from paydouble.stateful.provider import PAYER_ACTS
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import (
    LONGER_THAN_A_CLICK,
    PAYER_SCENARIOS,
    POST_TROUBLES,
    SCENARIOS,
    SLOW_REFUND,
    SLOW_SCENARIOS,
    WEBHOOK_TROUBLES,
)


def paid_twice() -> Iterator[CataloguePlay]:
    """Yield orders that are paid twice.

    Whether a merchant gives such money back is shown by the first order, and it has to do the same for the next one.
    """
    why = "what was paid twice for one order went back, so it does for the next one"
    late = step("provider", "late money", 2)
    first = (*_two_attempts(1), SETTLE, step("provider", "late money", 1), SETTLE)
    second = (*_two_attempts(2), SETTLE)
    yield CataloguePlay((*first, *_two_attempts(2), step("pass_time", "10s"), late, SETTLE), why)
    yield CataloguePlay((*first, *second, late, RESTART, SETTLE), why)
    soon = (*_leaves_and_pays(1), SETTLE)
    first_soon = (*soon, step("provider", "late money", 1), SETTLE)
    second_soon = (*_leaves_and_pays(2), SETTLE)
    yield CataloguePlay((*first_soon, *second, late, SETTLE), why)
    declined = (step("pay", 1, scenario="card-declined"), SETTLE)
    for ended in (declined, PAYER_LEAVES):
        thrice = (ORDER, *ended, *ended, step("retry", 1), SETTLE)
        each = step("provider", "late money", 1)
        for between in ((), (SETTLE,)):
            yield CataloguePlay((*thrice, each, *between, each, SETTLE, SETTLE), "an order is paid three times")
    for own in own_refunds():
        yield CataloguePlay((*soon, own, step("provider", "late money", 1), SETTLE, SETTLE))
        yield CataloguePlay((*first, *second, own, late, SETTLE, SETTLE), why)
        yield CataloguePlay((*first_soon, *second_soon, own, late, SETTLE, SETTLE), why)
    for what in LOSES_NOTES:
        for at in points_of(what):
            yield CataloguePlay((*first, *second, step("interrupt_webhook", what, at), late, SETTLE), why)
        for at in points_of(what, JOB_POINTS):
            yield CataloguePlay((*first, *second, late, step("interrupt_jobs", what, at), SETTLE), why)


def _two_attempts(order: int) -> tuple[Step, ...]:
    return (ORDER, step("pay", order, scenario="abandoned"), step("wait", "25h"), step("retry", order))


def _leaves_and_pays(order: int) -> tuple[Step, ...]:
    leaves = (step("pay", order, scenario="payer-decides"), SETTLE, step("payer", "gives up", order), SETTLE)
    return (ORDER, *leaves, step("retry", order))


def payers() -> Iterator[CataloguePlay]:
    """Yield payments that wait for their payers."""
    back, silent, minute = step("returns"), step("webhooks", "drop all"), step("pass_time", "1m")
    for scenario in PAYER_SCENARIOS:
        asked = (ORDER, step("pay", 1, scenario=scenario), minute)
        yield CataloguePlay((*asked, back, SETTLE))
        yield CataloguePlay((*asked, back, step("wait", "25h"), RETRY, SETTLE), "the payer is back without a payment")
        # A payer who comes back to the shop may still have the payment's page open.
        for time in ("59m", "6h"):
            later = (ORDER, step("pay", 1, scenario=scenario), step("wait", time, jobs_every="30m"), RETRY, SETTLE)
            yield CataloguePlay((*later, step("payer", "pays"), SETTLE), "a payment has waited for long")
        for what in PAYER_ACTS:
            acts = step("payer", what)
            yield CataloguePlay((*asked, acts, SETTLE))
            yield CataloguePlay((*asked, acts, back, minute, WORK_OFF), "the payer is back before the payment is over")
            yield CataloguePlay((*asked, RETRY, acts, SETTLE), "the customer clicks while the payment waits")
            yield CataloguePlay((*asked, acts, RETRY, SETTLE), "the customer clicks when the payer has acted")
            yield CataloguePlay((*asked, silent, acts, back, SETTLE), "reads are all that tells of the payer")
            confirmed = (step("payer", "pays"), acts, SETTLE)
            yield CataloguePlay((*asked, *confirmed), "the bank asks the payer to confirm")


def several_orders() -> Iterator[CataloguePlay]:
    """Yield plays with several orders, which must be kept apart."""
    for scenario in SCENARIOS:
        first, second = step("pay", 1, scenario=scenario), step("pay", 2)
        yield CataloguePlay((ORDER, ORDER, first, SETTLE), "the other order is not paid")
        yield CataloguePlay((ORDER, ORDER, first, second, SETTLE), "each order has its own payment")
        yield CataloguePlay((ORDER, ORDER, second, first, SETTLE), "the later order is paid first")
        yield CataloguePlay((ORDER, first, SETTLE, ORDER, second, step("pass_time", "10s")), "one follows another")
    both = (ORDER, step("order", "19.99", "USD"), PAY, step("pay", 2), SETTLE)
    yield CataloguePlay((*both, step("refund", 2), SETTLE), "the other order is not refunded")
    yield CataloguePlay((*both, step("provider", "dispute", 2), step("provider", "dispute lost", 2)), "nor disputed")
    for trouble in WEBHOOK_TROUBLES:
        yield CataloguePlay(
            (ORDER, ORDER, step("webhooks", trouble), PAY, step("pay", 2), SETTLE), "events of two orders mix"
        )
    for times in ((), (SETTLE,), (step("outage", "80h"),)):
        yield CataloguePlay((step("crowd"), *times), "more orders than a page of a list holds")
    yield CataloguePlay(
        (step("webhooks", "drop all"), step("crowd"), SETTLE), "a list is all that tells, and has pages"
    )


def limited_before() -> Iterator[CataloguePlay]:
    """Yield customers who pay after the service has refused the request of another one with 429."""
    for trouble in (name for name, found in POST_TROUBLES.items() if found.retry_after_seconds is not None):
        limited = (ORDER, step("pay", 1, trouble), step("pass_time", "1m"), ORDER, step("pay", 2))
        yield CataloguePlay((*limited, SETTLE, step("wait", "32m"), SETTLE), "a limit that another request has met")
    # While the limit lasts: another customer, a refund, and jobs that read.
    soon, why = step("wait", "1s"), "a limit is the whole business's"
    for met in (step("pay", 2, "429"), step("pay", 2, "429", lasts=LONGER_THAN_A_CLICK)):
        yield CataloguePlay((ORDER, ORDER, met, PAY, soon, SETTLE), why)
        yield CataloguePlay((*PAID, ORDER, met, step("refund", 1, "half"), soon, SETTLE), why)
        yield CataloguePlay((ORDER, ORDER, step("webhooks", "drop all"), PAY, met, soon, SETTLE), why)


def meanwhile_sold() -> Iterator[CataloguePlay]:
    """Yield orders whose goods may be sold.

    Of what there is only one of, somebody else may have bought what an order no longer had.
    """
    why = "somebody else buys what the order no longer has"
    other = (ORDER, step("pay", 2), SETTLE)
    several = tuple(each for number in (2, 3, 4) for each in (ORDER, step("pay", number)))
    for number in (2, 3):
        # The last of two, or of three.
        sold = tuple(each for one in range(1, number) for each in (ORDER, step("pay", one), SETTLE))
        for at in POINTS:
            last = step("pay", number, meanwhile=ANOTHER_CUSTOMER, at=at)
            yield CataloguePlay((*sold, ORDER, last, SETTLE), why)
    for at in JOB_POINTS[:16]:
        # The job that frees what was held for an order meets the customer who takes it.
        held = (ORDER, step("pay", 1, scenario="abandoned"), step("pass_time", "25h"))
        frees = step("interrupt_jobs", ANOTHER_CUSTOMER_MEANWHILE, at)
        yield CataloguePlay((*held, frees, SETTLE, step("provider", "late money", 1), SETTLE), why)
    for ended in FIRST_ATTEMPTS:
        yield CataloguePlay((*ended, *other, step("provider", "late money", 1), SETTLE), why)
        # There may have been two or three.
        yield CataloguePlay((*ended, *several, SETTLE, step("provider", "late money", 1), SETTLE), why)
        yield CataloguePlay((*ended, ORDER, step("provider", "late money", 1), step("pay", 2), SETTLE, SETTLE), why)
    yield CataloguePlay((ORDER, PAY, step("cancel"), *other), why)
    yield CataloguePlay((*PAID, step("cancel"), *other, SETTLE), why)
    refunded = (*PAID, step("refund"), SETTLE)
    yield CataloguePlay((*refunded, *other, step("provider", "refund fails late", 1), SETTLE), why)
    lost = (step("provider", "dispute"), step("provider", "dispute lost"), SETTLE)
    yield CataloguePlay((*PAID, *lost, *other), why)
    for number in (1, 2, 3):
        # All of them are sold, and the first one comes back for a time only.
        sold = tuple(each for one in range(2, number + 1) for each in (ORDER, step("pay", one), SETTLE))
        another = (ORDER, step("pay", number + 1), SETTLE)
        for ends in ("dispute won", "dispute lost"):
            disputed = (*PAID, *sold, step("provider", "dispute", 1), SETTLE)
            yield CataloguePlay((*disputed, *another, step("provider", ends, 1), SETTLE), why)
        failing = (ORDER, step("pay", 1, scenario="refund-fails"), SETTLE, *sold, step("refund", 1))
        yield CataloguePlay((*failing, *another, SETTLE), why)
    for scenario, time in SLOW_SCENARIOS.items():
        slow = (ORDER, step("pay", 1, scenario=scenario), step("wait", "1h"))
        yield CataloguePlay((*slow, *other, step("wait", time), step("wait", "1h"), SETTLE), why)


def slow() -> Iterator[CataloguePlay]:
    """Yield payments and refunds that take days. They must neither be forgotten nor taken for done."""
    silent, hours = step("webhooks", "drop all"), step("wait", "8h", jobs_every="1h")
    # What is shown is looked at after two hours and after nearly five as well: a shop may have given the order up.
    early = (step("wait", "2h", jobs_every="30m"), step("wait", "2h50m", jobs_every="30m"))
    days: tuple[Step, ...] = (*early, step("wait", "3d", jobs_every="1h"), SETTLE)
    for scenario, nearly in SLOW_SCENARIOS.items():
        paid = step("pay", 1, scenario=scenario)
        yield CataloguePlay((ORDER, paid, *days))
        yield CataloguePlay((ORDER, paid, step("pass_time", "3d"), WORK_OFF))
        yield CataloguePlay((ORDER, silent, paid, *days), "reads are all that tells, for days")
        yield CataloguePlay((ORDER, paid, hours, silent, *days), "reads are all that tells, for days")
        yield CataloguePlay((ORDER, paid, hours, RESTART, *days), "a payment that is open outlives a process")
        yield CataloguePlay((ORDER, paid, hours, step("cancel"), *days), "the customer has waited long enough")
        unanswered = step("pay", 1, "reply lost", scenario=scenario, lasts=LONGER_THAN_A_CLICK)
        yield CataloguePlay((ORDER, unanswered, *days), "a payment of days has no reply")
        for open_for in ("2h", "25h"):
            comes_back = (step("wait", open_for, jobs_every="1h"), RETRY, *days)
            yield CataloguePlay((ORDER, paid, *comes_back), "the customer comes back while the payment is open")
        # The jobs run two seconds before the end, half an hour after the last time.
        until = (step("wait", nearly, jobs_every="30m"), step("reads", "overtaken"), step("wait", "29m58s"))
        yield CataloguePlay((ORDER, paid, *until, SETTLE, SETTLE), "a job's read races with an event")
    # Nor must a refund that takes days be made again.
    days = (step("wait", "11d", jobs_every="3h"), SETTLE)
    # Goods that no job has sent before the refund was asked for are not sent while it is under way.
    unsent = (ORDER, step("pay", 1, scenario=SLOW_REFUND), step("pass_time", "10s"), step("refund"))
    yield CataloguePlay((*unsent, step("wait", "59m"), step("wait", "59m"), *days), "jobs run while a refund is open")
    begun = (ORDER, step("pay", 1, scenario=SLOW_REFUND), SETTLE)
    for share in ("half", "all"):
        yield CataloguePlay((*begun, step("refund", 1, share), *days))
        yield CataloguePlay((*begun, silent, step("refund", 1, share), *days), "reads are all that tells, for days")
    yield CataloguePlay((*begun, step("refund"), *days[:1], step("refund_again"), SETTLE), "it is asked for again")
    # Its money is under way for all that time, also when a shop has heard nothing of it for a day or a week.
    why = "another refund is asked for while one has been open for days"
    for open_for in ("25h", "8d"):
        first, waits = step("refund", 1, "most"), step("wait", open_for, jobs_every="3h")
        for told in ((), (silent,)):
            yield CataloguePlay((*begun, *told, first, waits, step("refund", 1, "half"), *days), why)
        yield CataloguePlay((*begun, first, waits, step("cancel"), *days), why)
