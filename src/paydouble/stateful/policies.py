"""Policies: what a merchant does with money where the contract is silent.

Shops differ in them, and each way is right for somebody. What is met is counted and told in the summary of a run; a
merchant that names a policy in `demands` has promised the opposite, and what is met is then a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from paydouble.core.errors import UsageError

DOUBLE_PAYMENT: Final = "double payment"
CANCELLED_ORDER: Final = "cancelled order"
REFUND_LIMIT: Final = "refund limit"
DISPUTED_REFUND: Final = "disputed refund"
WON_DISPUTE: Final = "won dispute"
TAKEN_UP: Final = "cancelled before payment"
INDEPENDENT: Final = "independent orders"
LOST_EVENTS: Final = "lost events"
REQUEST_IDS: Final = "request ids"
LIST_ORDER: Final = "list order"
ACCEPTED_REFUND: Final = "accepted refund"
LATE_MONEY: Final = "late money"
ANOTHER_ATTEMPT: Final = "another attempt"
AFTER_A_LIMIT: Final = "after a limit"
RECEIVED_PAYMENT: Final = "received payment"
LATE_FAILURE: Final = "late failure"
PAID_IN_TIME: Final = "paid in time"
SHARED_LIMIT: Final = "shared limit"
POLICIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        DOUBLE_PAYMENT: "money that was paid twice is kept, and the order is shown as paid",
        CANCELLED_ORDER: "money is kept of an order that was cancelled after its payment, and is not in review",
        REFUND_LIMIT: "a refund of more than is left is asked for, and the service refuses it",
        DISPUTED_REFUND: "money that is disputed or was charged back is asked back, and the service refuses it",
        WON_DISPUTE: "an order whose goods were not sent stays in review after its dispute was won",
        TAKEN_UP: "an order that was cancelled before its payment is taken up again when its money comes",
        INDEPENDENT: "jobs stop at an order whose reads are all answered with 500, and learn nothing about others",
        LOST_EVENTS: "a refund or dispute whose latest event was lost stays unknown, since none is ever read",
        REQUEST_IDS: "something goes wrong where several events name one request, as with de-duplication by it",
        LIST_ORDER: "something goes wrong where lists have the oldest object first, as when jobs stop early",
        ACCEPTED_REFUND: "an order is called refunded when the service has accepted a refund, which may still fail",
        LATE_MONEY: "money stays unknown that has come for a payment which had ended, when its event was lost",
        ANOTHER_ATTEMPT: "an order whose payment has ended without money cannot be paid again soon after it was placed",
        AFTER_A_LIMIT: "the deposit of an order waits for over half an hour after the end of a 429 to another request",
        SHARED_LIMIT: "a request is sent before the reset of a 429, as where each waits by itself, or for the next job",
        LATE_FAILURE: "a refund that had succeeded stays called so when it fails later, when its event was lost",
        PAID_IN_TIME: "a job gives an order up whose payment has succeeded, as when it asks nothing before",
        RECEIVED_PAYMENT: "an order is called cancelled or failed though its payment has been processing for long",
    }
)
"""The name of each policy in `demands`, and what is met where it is not demanded."""


def demanded(names: Collection[str]) -> frozenset[str]:
    """Return the policies that a merchant demands; `UsageError` for a name that is none of `POLICIES`."""
    for name in [names] if isinstance(names, str) else names:
        if name not in POLICIES:
            raise UsageError(f"demands has {name!r}, which is no policy; there are: {', '.join(POLICIES)}")
    return frozenset([names] if isinstance(names, str) else names)
