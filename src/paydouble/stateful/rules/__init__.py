"""The rules for every merchant: at any time, and in the end, when all faults are gone and nothing more happens."""

from __future__ import annotations

from paydouble.stateful.rules import (
    answers,
    at_the_end,
    journal,
    kept_money,
    ledger,
    reads,
    refund_requests,
    refusals,
    requests,
    shown,
)

__all__ = [
    "answers",
    "at_the_end",
    "journal",
    "kept_money",
    "ledger",
    "reads",
    "refund_requests",
    "refusals",
    "requests",
    "shown",
]
