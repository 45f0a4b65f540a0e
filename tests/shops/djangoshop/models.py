"""The tables."""

from django.db import models


class Order(models.Model):
    """What a customer wants to pay."""

    id = models.CharField(primary_key=True, max_length=128)
    email = models.EmailField()
    amount = models.CharField(max_length=32)
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=32, default="unpaid")
    parcels = models.IntegerField(default=0)
    created = models.FloatField(default=0)


class Charge(models.Model):
    """One pay-in, wished for or made."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="charges")
    key = models.UUIDField(null=True)
    key_made_at = models.FloatField(default=0)
    payin_id = models.CharField(max_length=64, null=True, unique=True)
    status = models.CharField(max_length=32, default="new")
    amount = models.CharField(max_length=32, default="0")
    currency = models.CharField(max_length=3, default="")
    changed = models.CharField(max_length=40, default="")


class Refund(models.Model):
    """Money that goes back."""

    id = models.CharField(primary_key=True, max_length=128)
    order = models.ForeignKey(Order, models.CASCADE, related_name="refunds")
    payin_id = models.CharField(max_length=64)
    key = models.UUIDField(null=True)
    key_made_at = models.FloatField(default=0)
    service_id = models.CharField(max_length=64, null=True, unique=True)
    status = models.CharField(max_length=32, default="new")
    amount = models.CharField(max_length=32)
    changed = models.CharField(max_length=40, default="")


class Dispute(models.Model):
    """A chargeback."""

    id = models.CharField(primary_key=True, max_length=64)
    order = models.ForeignKey(Order, models.CASCADE, related_name="disputes")
    status = models.CharField(max_length=32, default="")
    amount = models.CharField(max_length=32)
    changed = models.CharField(max_length=40, default="")


class Line(models.Model):
    """A line of the books."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    text = models.CharField(max_length=128)
    amount = models.CharField(max_length=32)


class Event(models.Model):
    """A webhook as it came."""

    id = models.CharField(primary_key=True, max_length=64)
    body = models.TextField()


class Job(models.Model):
    """Something to do, at some time, until it is done."""

    kind = models.CharField(max_length=32)
    subject = models.CharField(max_length=128)
    is_done = models.BooleanField(default=False)
    runs = models.IntegerField(default=0)
    due = models.FloatField(default=0)
    leased_until = models.FloatField(default=0)
