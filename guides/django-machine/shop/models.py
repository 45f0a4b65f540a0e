"""The tables."""

from django.db import models

LOST = {"lost", "accepted"}
OVER = {"succeeded", "failed", "cancelled", "refused"}


class Order(models.Model):
    """What a customer wants to pay. The amount is text, because SQLite has no decimals."""

    id = models.CharField(primary_key=True, max_length=128)
    amount = models.CharField(max_length=40)
    currency = models.CharField(max_length=3)
    shipped = models.IntegerField(default=0)

    @property
    def status(self) -> str:
        """Return how the order stands."""
        payments = list(self.payments.order_by("id"))
        paid = [payment for payment in payments if payment.status == "succeeded"]
        if paid:
            if [(payment.amount, payment.currency) for payment in paid] != [(self.amount, self.currency)]:
                return "review"
            return "charged_back" if self.disputes.filter(status__in=LOST).exists() else "paid"
        if any(payment.status not in OVER for payment in payments):
            return "pending"
        if not payments:
            return "unpaid"
        return "cancelled" if payments[-1].status == "cancelled" else "failed"


class Payment(models.Model):
    """One attempt to have an order paid. It is `unsent` until the service has said what became of it."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="payments")
    key = models.CharField(max_length=64, default="")
    body = models.TextField(default="")
    key_made_at = models.FloatField(default=0.0)
    payin_id = models.CharField(max_length=128, unique=True, null=True, default=None)
    status = models.CharField(max_length=40, default="unsent")
    amount = models.CharField(max_length=40, default="")
    currency = models.CharField(max_length=3, default="")
    updated_at = models.CharField(max_length=40, default="")


class Dispute(models.Model):
    """A payer wants the money back."""

    id = models.CharField(primary_key=True, max_length=128)
    order = models.ForeignKey(Order, models.CASCADE, related_name="disputes")
    status = models.CharField(max_length=40, default="")
    updated_at = models.CharField(max_length=40, default="")


class Job(models.Model):
    """A payment that has to be sent: written in the same transaction as the payment, so that neither is lost."""

    payment = models.OneToOneField(Payment, models.CASCADE)
