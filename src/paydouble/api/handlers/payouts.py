"""Payouts and transactions: named in the contract, assumed in everything else."""

from __future__ import annotations

from paydouble.api.calls import Call
from paydouble.api.handlers import digits_of, minor_units, page, refuse_duplicate
from paydouble.api.schemas import PayoutRequest, TransactionRequest
from paydouble.payments.resources import Document, Payout, Transaction


def initiate(call: Call) -> Document:
    """Start a payout."""
    wanted: PayoutRequest = call.payload
    digits = digits_of(call.sandbox, wanted.currency)
    refuse_duplicate(call.sandbox, Payout, wanted.external_identifier)
    payout = call.sandbox.create_payout(
        external_identifier=wanted.external_identifier,
        amount=minor_units(wanted.amount, wanted.currency, digits),
        currency=wanted.currency,
        beneficiary_name=wanted.beneficiary.name,
        beneficiary_account=wanted.beneficiary.account,
        digits=digits,
    )
    return payout.document(call.sandbox.ledger.stamp)


def retrieve_payout(call: Call) -> Document:
    """Return one payout."""
    return call.sandbox.ledger.get(Payout, call.params["id"]).document(call.sandbox.ledger.stamp)


def list_payouts(call: Call) -> Document:
    """Return a page of payouts."""
    return page(call, Payout, ())


def create_transaction(call: Call) -> Document:
    """Book a transaction."""
    wanted: TransactionRequest = call.payload
    digits = digits_of(call.sandbox, wanted.currency)
    refuse_duplicate(call.sandbox, Transaction, wanted.external_identifier)
    transaction = call.sandbox.ledger.create_transaction(
        call.sandbox.now,
        kind=wanted.type,
        external_identifier=wanted.external_identifier,
        amount=minor_units(wanted.amount, wanted.currency, digits),
        currency=wanted.currency,
        description=wanted.description,
        digits=digits,
    )
    return transaction.document(call.sandbox.ledger.stamp)


def retrieve_transaction(call: Call) -> Document:
    """Return one transaction."""
    return call.sandbox.ledger.get(Transaction, call.params["id"]).document(call.sandbox.ledger.stamp)


def list_transactions(call: Call) -> Document:
    """Return a page of transactions."""
    return page(call, Transaction, ())
