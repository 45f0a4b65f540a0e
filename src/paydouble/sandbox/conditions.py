"""Whether a branch's condition holds: what the merchant has done to a pay-in so far."""

from __future__ import annotations

from paydouble.payments.ledger import Ledger
from paydouble.payments.lifecycle import is_final
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.scenarios.steps import Moment, When


def holds(when: When, pay_in: PayIn, ledger: Ledger, story: list[str]) -> bool:
    """Return whether all of a condition holds; `story` lists the event types of the pay-in and its own, in order."""
    refunds = [refund for refund in ledger.newest_first(Refund) if refund.payin_id == pay_in.id]
    disputes = [dispute for dispute in ledger.newest_first(Dispute) if dispute.payin_id == pay_in.id]
    return (
        _refund_holds(when.refund, refunds, story)
        and (when.evidence is None or (when.evidence == "submitted") == any(each.evidence for each in disputes))
        and _dispute_holds(when.dispute, disputes)
    )


def _refund_holds(wanted: str | Moment | None, refunds: list[Refund], story: list[str]) -> bool:
    match wanted:
        case None:
            return True
        case Moment():
            return _in_time(wanted, story)
        case "none":
            return not refunds
        case "requested":
            return bool(refunds)
        case _:
            return any(refund.status == wanted for refund in refunds)


def _in_time(moment: Moment, story: list[str]) -> bool:
    if "refund.created" not in story:
        return False
    asked = story.index("refund.created")
    if moment.after is not None:
        return moment.after in story[:asked]
    # An event that has not come yet is still ahead of a refund that has been asked for.
    return moment.before not in story[:asked]


def _dispute_holds(wanted: str | None, disputes: list[Dispute]) -> bool:
    if wanted is None:
        return True
    if wanted == "none" or not disputes:
        return wanted == "none" and not disputes
    latest = disputes[0]
    return not is_final(latest.TABLE, latest.status) if wanted == "open" else latest.status == wanted
