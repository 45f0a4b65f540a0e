"""What is known of money, and what follows from it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from djangoshop.models import Charge, Dispute, Job, Line, Order, Refund

# Any other status is that of a charge under way, also one that nobody has heard of.
OVER = ("succeeded", "failed", "cancelled", "refused")
LOST = ("lost", "accepted")
PROGRESS = (
    ("", "new", "refused"),
    ("created", "needs_response"),
    ("pending", "under_review"),
    ("processing",),
    ("cancelled", "won", "succeeded"),
    ("failed", "lost", "accepted"),
)


class Books:
    """Applies what the service tells; every method is called inside a transaction."""

    def __init__(self, bugs: frozenset[str]) -> None:
        self.bugs = bugs

    def is_newer(self, row: Any, data: dict[str, Any]) -> bool:
        if isinstance(row, Charge) and row.status == "succeeded":
            return False
        if not row.changed or (isinstance(row, Charge) and data["status"] == "succeeded"):
            return True
        known, told = datetime.fromisoformat(row.changed), datetime.fromisoformat(data["updated_at"])
        return (told, self.progress(data["status"])) > (known, self.progress(row.status))

    def progress(self, status: str) -> int:
        return next((number for number, group in enumerate(PROGRESS) if status in group), 1)

    def learn(self, data: dict[str, Any], *, is_event: bool = False) -> None:
        """Apply one version of a pay-in, refund or dispute, from an event, a reply or a list."""
        if data["object"] == "payin":
            self.learn_payin(data, is_event)
        elif data["object"] == "refund":
            self.learn_refund(data, is_event)
        elif data["object"] == "dispute":
            self.learn_dispute(data)

    def learn_payin(self, data: dict[str, Any], is_event: bool) -> None:
        charge = Charge.objects.filter(payin_id=data["id"]).first()
        if charge is None:
            order = Order.objects.filter(id=data["external_identifier"]).first()
            if "matched_by_customer" in self.bugs:
                order = Order.objects.filter(email=data["customer"]["email"]).order_by("-created").first()
            if order is None:
                return
            charge = order.charges.filter(status="new", payin_id=None).first() or Charge(order=order)
            charge.payin_id = data["id"]
        order = charge.order
        if is_event and data["status"] == "cancelled" and "cancelled_event_cancels" in self.bugs:
            Order.objects.filter(id=order.id).update(status="cancelled")
        if not self.is_newer(charge, data):
            if is_event and data["status"] == "succeeded" and "paid_event_sets_paid" in self.bugs:
                Order.objects.filter(id=order.id).update(status="paid")
            if is_event and data["status"] == "succeeded" and "ship_job_per_fact" in self.bugs:
                Job.objects.create(kind="ship", subject=order.id)
            return
        charge.status, charge.changed = data["status"], data["updated_at"]
        charge.amount, charge.currency = str(data["amount"]), data["currency"]
        charge.save()
        if charge.status == "succeeded":
            self.write(order, f"paid by {charge.payin_id}", Decimal(charge.amount))
        self.refresh(order)
        if order.status == "paid" and not Job.objects.filter(kind="ship", subject=order.id).exists():
            Job.objects.create(kind="ship", subject=order.id)

    def learn_refund(self, data: dict[str, Any], is_event: bool) -> None:
        refund = Refund.objects.filter(service_id=data["id"]).first()
        if refund is None:
            refund = Refund.objects.filter(id=data.get("external_identifier"), service_id=None).first()
        if refund is None:
            charge = Charge.objects.filter(payin_id=data["payin_id"]).first()
            if charge is None:
                return
            refund = Refund(id=data["id"], order=charge.order, payin_id=data["payin_id"], amount=str(data["amount"]))
        refund.service_id = data["id"]
        is_deaf = "refund_done_when_accepted" in self.bugs and refund.changed
        is_newer = self.is_newer(refund, data) and not is_deaf
        if is_event and data["status"] == "succeeded" and "ledger_line_per_event" in self.bugs:
            self.write(refund.order, f"refunded by {refund.id}", -Decimal(str(data["amount"])))
        elif is_newer:
            status = "succeeded" if "refund_done_when_accepted" in self.bugs else data["status"]
            before = Decimal(refund.amount) if refund.status == "succeeded" else Decimal(0)
            after = Decimal(str(data["amount"])) if status == "succeeded" else Decimal(0)
            self.write(refund.order, f"refunded by {refund.id}", before - after)
        if not is_newer:
            refund.save()
            return
        refund.status, refund.changed, refund.amount = data["status"], data["updated_at"], str(data["amount"])
        if "refund_done_when_accepted" in self.bugs:
            refund.status = "succeeded"
        refund.save()
        self.refresh(refund.order)
        if refund.status == "failed" and "refund_failure_means_paid" in self.bugs:
            Order.objects.filter(id=refund.order_id).update(status="paid")

    def learn_dispute(self, data: dict[str, Any]) -> None:
        dispute = Dispute.objects.filter(id=data["id"]).first()
        if dispute is None:
            charge = Charge.objects.filter(payin_id=data["payin_id"]).first()
            if charge is None:
                return
            dispute = Dispute(id=data["id"], order=charge.order, amount=str(data["amount"]))
        elif not self.is_newer(dispute, data) or (dispute.status in LOST and "lost_stays_lost" in self.bugs):
            return
        if "debit_when_disputed" in self.bugs and not dispute.changed:
            self.write(dispute.order, f"disputed by {dispute.id}", -Decimal(str(data["amount"])))
        dispute.status, dispute.changed, dispute.amount = data["status"], data["updated_at"], str(data["amount"])
        dispute.save()
        self.refresh(dispute.order)

    def write_disputes(self, order: Order) -> None:
        """Bring the lines of lost disputes up to date: none takes more than refunds have left."""
        if "debit_when_disputed" in self.bugs:
            return
        back = sum(Decimal(each.amount) for each in order.refunds.filter(status="succeeded"))
        rest = sum(Decimal(each.amount) for each in order.charges.filter(status="succeeded")) - back
        for dispute in order.disputes.order_by("id"):
            text = f"disputed by {dispute.id}"
            taken = min(Decimal(dispute.amount), max(rest, Decimal(0))) if dispute.status in LOST else Decimal(0)
            rest -= taken
            written = sum((Decimal(line.amount) for line in order.lines.filter(text=text)), Decimal(0))
            self.write(order, text, -taken - written)

    def write(self, order: Order, text: str, amount: Decimal) -> None:
        if amount:
            Line.objects.create(order=order, text=text, amount=str(amount))

    def refresh(self, order: Order) -> None:
        """Work out the status of an order from its rows."""
        self.write_disputes(order)
        charges = list(order.charges.order_by("id"))
        paid = [each for each in charges if each.status == "succeeded"]
        came = sum(Decimal(each.amount) for each in paid)
        back = sum(Decimal(each.amount) for each in order.refunds.filter(status="succeeded"))
        if paid and (came != Decimal(order.amount) or {each.currency for each in paid} != {order.currency}):
            status = "review"
        elif paid and order.disputes.filter(status__in=LOST).exists():
            status = "charged_back"
        elif paid:
            status = "refunded" if back >= came else "partly_refunded" if back else "paid"
        elif any(each.status not in OVER for each in charges):
            status = "pending"
        else:
            status = "cancelled" if charges and charges[-1].status == "cancelled" else "failed" if charges else "unpaid"
        order.status = status
        order.save(update_fields=["status"])
