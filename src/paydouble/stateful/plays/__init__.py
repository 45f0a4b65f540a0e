"""The plays of the catalogue by their subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from paydouble.stateful.plays import (
    acts,
    cancellations,
    customers,
    deposits,
    jobs,
    later_changes,
    reads,
    refunds,
    webhooks,
)
from paydouble.stateful.steps import CataloguePlay

SECTIONS: Final[tuple[Callable[[], Iterator[CataloguePlay]], ...]] = (
    acts.basics,
    deposits.charges,
    webhooks.forgeries,
    deposits.durations,
    webhooks.ahead,
    webhooks.events,
    webhooks.interruptions,
    jobs.jobs,
    jobs.schedules,
    acts.losses,
    refunds.refunds,
    refunds.several_refunds,
    refunds.similar_refunds,
    cancellations.cancellations,
    cancellations.paid_meanwhile,
    cancellations.cancellation_requests,
    cancellations.cancelled_and_given_back,
    cancellations.cancelled_in_part,
    later_changes.provider,
    later_changes.each_lifecycle,
    later_changes.interrupted_changes,
    later_changes.changes_in_another_order,
    later_changes.while_refunds_wait,
    later_changes.while_payments_wait,
    customers.paid_twice,
    webhooks.beside_each_other,
    webhooks.late_events,
    webhooks.overtaken,
    customers.payers,
    webhooks.acknowledged,
    reads.silence,
    reads.reads,
    acts.forms,
    customers.several_orders,
    customers.meanwhile_sold,
    deposits.lost_replies,
    deposits.two_troubles,
    deposits.lost_notes,
    deposits.past_the_key,
    deposits.left_to_jobs,
    customers.slow,
    refunds.refunds_after_trouble,
    jobs.neighbours,
    reads.broken_records,
    webhooks.told_too_early,
    webhooks.one_second,
    reads.behind,
    reads.pages,
    later_changes.changes_left_to_jobs,
    deposits.second_attempts,
    webhooks.disturbed_and_more,
)
"""In the order of what a mistake costs."""
