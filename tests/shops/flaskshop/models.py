"""The tables."""

from __future__ import annotations

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    """The declarative base."""


class Order(Base):
    """What a customer wants to pay."""

    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(primary_key=True)
    amount: Mapped[str]
    currency: Mapped[str]
    shipped_times: Mapped[int] = mapped_column(default=0)
    is_failed: Mapped[bool] = mapped_column(default=False)
    payments: Mapped[list[Payment]] = relationship(back_populates="order", order_by="Payment.number")
    refunds: Mapped[list[Refund]] = relationship(back_populates="order")
    disputes: Mapped[list[Dispute]] = relationship(back_populates="order")
    ledger: Mapped[list[LedgerEntry]] = relationship()


class Payment(Base):
    """One attempt to have an order paid."""

    __tablename__ = "payments"

    number: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    order: Mapped[Order] = relationship(back_populates="payments")
    key: Mapped[str] = mapped_column(default="")
    body: Mapped[str] = mapped_column(default="")
    started_at: Mapped[float] = mapped_column(default=0.0)
    payin_id: Mapped[str | None] = mapped_column(unique=True, default=None)
    # `unsent` until the service has told: the outcome is unknown. `refused` is a definite no.
    status: Mapped[str] = mapped_column(default="unsent")
    amount: Mapped[str] = mapped_column(default="0")
    currency: Mapped[str] = mapped_column(default="")
    updated_at: Mapped[str] = mapped_column(default="")


class Refund(Base):
    """Money that goes back."""

    __tablename__ = "refunds"

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    order: Mapped[Order] = relationship(back_populates="refunds")
    payin_id: Mapped[str]
    key: Mapped[str] = mapped_column(default="")
    body: Mapped[str] = mapped_column(default="")
    started_at: Mapped[float] = mapped_column(default=0.0)
    service_id: Mapped[str | None] = mapped_column(unique=True, default=None)
    amount: Mapped[str]
    status: Mapped[str] = mapped_column(default="unsent")
    updated_at: Mapped[str] = mapped_column(default="")


class Dispute(Base):
    """A chargeback."""

    __tablename__ = "disputes"

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    order: Mapped[Order] = relationship(back_populates="disputes")
    amount: Mapped[str]
    status: Mapped[str] = mapped_column(default="")
    updated_at: Mapped[str] = mapped_column(default="")


class LedgerEntry(Base):
    """A movement of money."""

    __tablename__ = "ledger"

    number: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    subject: Mapped[str]
    # Text, because SQLite would make a float of a decimal.
    amount: Mapped[str]


class SeenEvent(Base):
    """An event that has been applied."""

    __tablename__ = "seen_events"
    __table_args__ = (UniqueConstraint("event_id"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    event_id: Mapped[str]
