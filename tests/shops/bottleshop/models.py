"""The tables of the shop."""

from typing import Any

from peewee import AutoField, BooleanField, CharField, FloatField, IntegerField, Model, SqliteDatabase, TextField

database = SqliteDatabase(None)


class Table(Model):
    """The base of all tables."""

    class Meta:
        """All tables are in one database."""

        database = database


class Order(Table):
    """What a customer has ordered."""

    id = CharField(primary_key=True)
    amount = TextField()
    currency = CharField()
    placed_at = FloatField()


class Request(Table):
    """The outbox: a request that the payment service must get, with its key and its body."""

    id = AutoField()
    kind = CharField()
    order_id = CharField(index=True)
    ref = CharField(null=True)
    payin_id = CharField(null=True)
    amount = TextField()
    key = CharField()
    body = TextField()
    state = CharField(default="queued")  # queued, done, refused, stalled
    resource_id = CharField(null=True)
    tries = IntegerField(default=0)
    due = FloatField()
    lease_until = FloatField(default=0.0)
    hold_until = FloatField(default=0.0)
    first_sent = FloatField(null=True)
    unsure = BooleanField(default=False)
    refused_with = IntegerField(default=0)


class PayIn(Table):
    """A pay-in of the service, as we last heard of it."""

    id = CharField(primary_key=True)
    order_id = CharField(index=True)
    amount = TextField()
    currency = CharField()
    status = CharField()
    updated_at = CharField()


class Refund(Table):
    """A refund of the service."""

    id = CharField(primary_key=True)
    payin_id = CharField(index=True)
    amount = TextField()
    status = CharField()
    updated_at = CharField()


class Dispute(Table):
    """A dispute of the service."""

    id = CharField(primary_key=True)
    payin_id = CharField(index=True)
    amount = TextField()
    status = CharField()
    updated_at = CharField()


class SeenEvent(Table):
    """An event that was worked on."""

    id = CharField(primary_key=True)


class Shipment(Table):
    """A parcel."""

    id = AutoField()
    order_id = CharField(index=True)


class Points(Table):
    """Loyalty points, given once for each paid order."""

    id = AutoField()
    order_id = CharField(index=True)


TABLES: list[Any] = [Order, Request, PayIn, Refund, Dispute, SeenEvent, Shipment, Points]
