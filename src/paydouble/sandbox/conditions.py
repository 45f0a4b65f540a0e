"""Whether the condition of a branch holds, by what has happened to a pay-in so far."""

from __future__ import annotations

from paydouble.payments.ledger import Ledger
from paydouble.payments.lifecycle import is_final
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.scenarios.steps import Moment, When


def holds(when: When, pay_in: PayIn, ledger: Ledger, history: list[str]) -> bool:
    """Return whether all parts of a condition hold.

    `history` lists the types of all events of the pay-in, its refunds and its disputes, in order.
    """
    refunds = [refund for refund in ledger.newest_first(Refund) if refund.payin_id == pay_in.id]
    disputes = [dispute for dispute in ledger.newest_first(Dispute) if dispute.payin_id == pay_in.id]
    return (
        _refund_holds(when.refund, refunds, history)
        and (when.evidence is None or (when.evidence == "submitted") == any(each.evidence for each in disputes))
        and _dispute_holds(when.dispute, disputes)
    )


def _refund_holds(wanted: str | Moment | None, refunds: list[Refund], history: list[str]) -> bool:
    match wanted:
        case None:
            return True
        case Moment():
            return _in_time(wanted, history)
        case "none":
            return not refunds
        case "requested":
            return bool(refunds)
        case _:
            return any(refund.status == wanted for refund in refunds)


def _in_time(moment: Moment, history: list[str]) -> bool:
    if "refund.created" not in history:
        return False
    requested = history.index("refund.created")
    if moment.after is not None:
        return moment.after in history[:requested]
    # An event that has not happened yet comes after a refund that has been requested already.
    return moment.before not in history[:requested]


def _dispute_holds(wanted: str | None, disputes: list[Dispute]) -> bool:
    if wanted is None:
        return True
    if wanted == "none" or not disputes:
        return wanted == "none" and not disputes
    latest = disputes[0]
    return not is_final(latest.TABLE, latest.status) if wanted == "open" else latest.status == wanted
