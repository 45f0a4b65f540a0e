"""Broken rules, and which of several explains the others.

One mistake often breaks several rules: a new key leads to a second deposit, and that to a second charge. The rules are
listed from cause to effect, and the first of those that a play broke is the headline of its report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum, auto
from typing import NamedTuple

from paydouble.stateful.accepted import AcceptedFindings, Accepts
from paydouble.stateful.policies import demanded


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
    FORGED = auto()
    """A webhook that must not change anything has changed something."""
    ANSWER = auto()
    """Its answer to a webhook is wrong."""
    UNPAID = auto()
    """It calls an order paid, or fulfils it, without its money."""
    REFUNDS = auto()
    """Its refunds are not those that were requested."""
    LOST = auto()
    """It acknowledged an event and did not do what the event asks for."""
    EFFECTS = auto()
    """It did twice what may be done once."""
    VIEW = auto()
    """It shows what the ledger contradicts."""
    RETRIES = auto()
    """It retries too early or too often."""
    OWED = auto()
    """In the end a deposit or a refund is missing that it owes."""
    END = auto()
    """In the end its status, balance or fulfilment does not match the ledger."""
    OWN = auto()
    """It broke a rule of its own, which says least about the payment."""


Found = tuple[Rule, str]
"""A broken rule; the text continues the sentence `The merchant …`."""


class Finding(NamedTuple):
    """One broken rule, as a sentence without its full stop."""

    rule: Rule
    text: str


class Findings(list[Finding]):
    """What was found, without what the merchant's owner accepts."""

    def __init__(self, accepts: Accepts, demands: Collection[str]) -> None:
        """Start with none.

        `UsageError` when `accepts` has what is no regular expression, or `demands` names what is no policy.
        """
        super().__init__()
        self.policy: str | None = None
        """The policy of a finding for which `add` is given none."""
        self.steps: Sequence[str] = ()
        """The steps of the play so far, as its report tells them."""
        self._demands = demanded(demands)
        self._accepts = AcceptedFindings(accepts)
        self.accepted: Counter[str] = Counter()
        """The patterns that have matched, and how often."""
        self.allowed: Counter[str] = Counter()
        """The policies that were met and are not demanded, and how often."""

    def add(self, finding: Finding, policy: str | None = None) -> None:
        """Keep a finding, or count it as accepted; one about a policy counts only where that is demanded."""
        policy = policy or self.policy
        if policy is not None and policy not in self._demands:
            self.allowed[policy] += 1
            return
        known = self._accepts.of(finding.text, self.steps)
        if known is None:
            self.append(finding)
        else:
            self.accepted[known] += 1


def by_cause(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings without repetitions, causes first; findings of one rule stay in their order."""
    return sorted(dict.fromkeys(findings), key=lambda finding: finding.rule)
