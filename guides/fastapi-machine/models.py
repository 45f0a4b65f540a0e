"""The tables."""

from sqlalchemy import Engine, ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, sessionmaker

LOST = {"lost", "accepted"}
OVER = {"succeeded", "failed", "cancelled", "refused"}


class Base(DeclarativeBase):
    """The declarative base."""


class Order(Base):
    """What a customer wants to pay. The amount is text, because SQLite has no decimals."""

    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(primary_key=True)
    amount: Mapped[str]
    currency: Mapped[str]
    shipped: Mapped[int] = mapped_column(default=0)
    payments: Mapped[list["Payment"]] = relationship(back_populates="order", order_by="Payment.number")
    disputes: Mapped[list["Dispute"]] = relationship(back_populates="order")

    @property
    def status(self) -> str:
        """Return how the order stands."""
        paid = [payment for payment in self.payments if payment.status == "succeeded"]
        if paid:
            if [(payment.amount, payment.currency) for payment in paid] != [(self.amount, self.currency)]:
                return "review"
            return "charged_back" if any(dispute.status in LOST for dispute in self.disputes) else "paid"
        if any(payment.status not in OVER for payment in self.payments):
            return "pending"
        if not self.payments:
            return "unpaid"
        return "cancelled" if self.payments[-1].status == "cancelled" else "failed"


class Payment(Base):
    """One attempt to have an order paid. It is `unsent` until the service has said what became of it."""

    __tablename__ = "payments"

    number: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    order: Mapped[Order] = relationship(back_populates="payments")
    key: Mapped[str] = mapped_column(default="")
    body: Mapped[str] = mapped_column(default="")
    key_made_at: Mapped[float] = mapped_column(default=0.0)
    payin_id: Mapped[str | None] = mapped_column(unique=True, default=None)
    status: Mapped[str] = mapped_column(default="unsent")
    amount: Mapped[str] = mapped_column(default="")
    currency: Mapped[str] = mapped_column(default="")
    updated_at: Mapped[str] = mapped_column(default="")


class Dispute(Base):
    """A payer wants the money back."""

    __tablename__ = "disputes"

    id: Mapped[str] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    order: Mapped[Order] = relationship(back_populates="disputes")
    status: Mapped[str] = mapped_column(default="")
    updated_at: Mapped[str] = mapped_column(default="")


def make_sessions(engine: Engine) -> sessionmaker[Session]:
    """Return what makes the shop's sessions; what they have read stays readable after the commit."""
    return sessionmaker(engine, expire_on_commit=False)
