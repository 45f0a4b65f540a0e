"""Broken rules, and which of several explains the others.

One mistake often breaks several rules: a new key leads to a second deposit, and that to a second charge. The rules are
listed from cause to effect, and the first of those that a play broke is the headline of its report.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, auto
from typing import NamedTuple


class Rule(IntEnum):
    """The rules, from cause to effect."""

    CRASH = auto()
    """The merchant's code raised, hung or returned what the adapter must not return."""
    ENDLESS = auto()
    """It calls or waits without end."""
    CREDENTIALS = auto()
    """It sends its credentials to another host."""
    REQUEST = auto()
    """It sends a request that the service refuses as malformed."""
    KEY_REUSED = auto()
    """It sends another request under a known key."""
    NEW_KEY = auto()
    """It retries under a new key."""
    DEPOSITS = auto()
    """Its deposits are not those that customers asked for."""
    REFUNDS = auto()
    """Its refunds are not those that were requested."""
    FORGED = auto()
    """A webhook that must not change anything has changed something."""
    ANSWER = auto()
    """Its answer to a webhook is wrong."""
    UNPAID = auto()
    """It calls an order paid, or fulfils it, without its money."""
    LOST = auto()
    """It acknowledged an event and did not do what the event asks for."""
    EFFECTS = auto()
    """It did twice what may be done once."""
    VIEW = auto()
    """It shows what the ledger contradicts."""
    RETRIES = auto()
    """It retries too early or too often."""
    END = auto()
    """In the end its status, balance or fulfilment does not match the ledger."""


class Finding(NamedTuple):
    """One broken rule, as a sentence without its full stop."""

    rule: Rule
    text: str


def by_cause(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings without repetitions, causes first; findings of one rule stay in their order."""
    return sorted(dict.fromkeys(findings), key=lambda finding: finding.rule)
