"""The one table of operations.

Routes, request models, answers, permissions, OpenAPI, documentation and the marks `documented` and `assumed` derive
from it. A path is documented or assumed; assumed paths are settings (principle P3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import BaseModel

from paydouble.api import schemas
from paydouble.api.calls import Call
from paydouble.api.handlers import DEFAULT_PAGE, disputes, pay_ins, payouts, refunds
from paydouble.config import LARGEST_PAGE
from paydouble.core.errors import UsageError
from paydouble.faults.names import OperationName
from paydouble.payments.lifecycle import PAY_IN
from paydouble.payments.resources import Document
from paydouble.sandbox import Sandbox

Provenance = Literal["documented", "assumed"]
PREFIX: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class Query:
    """One member of a query string."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table: how an operation is called, and what it answers."""

    name: OperationName
    method: Literal["GET", "POST"]
    path: str
    summary: str
    handler: Callable[[Call], Document]
    answer: type[BaseModel]
    payload: type[schemas.Payload] | None = None
    completed: Callable[[Sandbox, object], object] | None = None
    """What adds members to a parsed body that it may lack, before it is validated as `payload`."""
    listed: bool = False
    """The answer is a page of `answer`s."""
    creates: bool = False
    """The answer's status is the setting `created_status`."""
    path_provenance: Provenance = "assumed"
    queries: tuple[Query, ...] = ()
    emits: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    """Error codes that this operation can answer besides those of every request."""


_LIMIT = Query(
    "limit",
    "Items on a page.",
    {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": DEFAULT_PAGE},
)
_CURSOR = Query("cursor", "The `next_cursor` of the page before.", {"type": "string"})
_PAGING = (_LIMIT, _CURSOR)
_PAYIN_ID = Query("payin_id", "Only those of one pay-in.", {"type": "string"})

OPERATIONS: Final = (
    Operation(
        "deposit-creation",
        "POST",
        "/pay-in/deposit-creation",
        "Create a deposit (pay-in).",
        pay_ins.create_deposit,
        schemas.PayInView,
        schemas.DepositRequest,
        pay_ins.completed,
        creates=True,
        path_provenance="documented",
        emits=("pay-in.created",),
        errors=("VALIDATION_ERROR",),
    ),
    Operation(
        "exchange-rates",
        "POST",
        "/pay-in/deposit-creation/exchange-rates",
        "Get exchange rates for deposit creation.",
        pay_ins.exchange_rates,
        schemas.RatesView,
        schemas.RatesRequest,
        path_provenance="documented",
        errors=("VALIDATION_ERROR",),
    ),
    Operation(
        "available-payment-methods",
        "POST",
        "/pay-in/deposit-creation/available-payment-methods",
        "List payment methods available for deposit creation.",
        pay_ins.payment_methods,
        schemas.MethodsView,
        schemas.MethodsRequest,
        path_provenance="documented",
        errors=("VALIDATION_ERROR",),
    ),
    Operation(
        "pay-in-list",
        "GET",
        "/pay-in",
        "List pay-ins, newest first.",
        pay_ins.list_pay_ins,
        schemas.PayInView,
        listed=True,
        queries=(
            Query("external_identifier", "Only those of one order.", {"type": "string"}),
            Query("status", "Only those in one status.", {"type": "string", "enum": list(PAY_IN)}),
            *_PAGING,
        ),
        errors=("INVALID_INPUT",),
    ),
    Operation(
        "pay-in-retrieval",
        "GET",
        "/pay-in/{id}",
        "Retrieve a pay-in.",
        pay_ins.retrieve,
        schemas.PayInView,
        errors=("NOT_FOUND",),
    ),
    Operation(
        "pay-in-cancellation",
        "POST",
        "/pay-in/{id}/cancellation",
        "Cancel a pay-in that is not paid yet.",
        pay_ins.cancel,
        schemas.PayInView,
        schemas.Empty,
        emits=("pay-in.cancelled",),
        errors=("NOT_FOUND", "VALIDATION_ERROR"),
    ),
    Operation(
        "refund-creation",
        "POST",
        "/refund/refund-creation",
        "Refund a succeeded pay-in, in whole or in part.",
        refunds.create,
        schemas.RefundView,
        schemas.RefundRequest,
        creates=True,
        emits=("refund.created",),
        errors=("NOT_FOUND", "VALIDATION_ERROR"),
    ),
    Operation(
        "refund-list",
        "GET",
        "/refund",
        "List refunds, newest first.",
        refunds.list_refunds,
        schemas.RefundView,
        listed=True,
        queries=(_PAYIN_ID, *_PAGING),
        errors=("INVALID_INPUT",),
    ),
    Operation(
        "refund-retrieval",
        "GET",
        "/refund/{id}",
        "Retrieve a refund.",
        refunds.retrieve,
        schemas.RefundView,
        errors=("NOT_FOUND",),
    ),
    Operation(
        "dispute-list",
        "GET",
        "/dispute",
        "List disputes, newest first.",
        disputes.list_disputes,
        schemas.DisputeView,
        listed=True,
        queries=(_PAYIN_ID, *_PAGING),
        errors=("INVALID_INPUT",),
    ),
    Operation(
        "dispute-retrieval",
        "GET",
        "/dispute/{id}",
        "Retrieve a dispute.",
        disputes.retrieve,
        schemas.DisputeView,
        errors=("NOT_FOUND",),
    ),
    Operation(
        "dispute-evidence-submission",
        "POST",
        "/dispute/{id}/evidence-submission",
        "Hand in evidence against a dispute.",
        disputes.submit_evidence,
        schemas.DisputeView,
        schemas.EvidenceRequest,
        emits=("dispute.updated",),
        errors=("NOT_FOUND", "VALIDATION_ERROR"),
    ),
    Operation(
        "dispute-acceptance",
        "POST",
        "/dispute/{id}/acceptance",
        "Accept a dispute.",
        disputes.accept,
        schemas.DisputeView,
        schemas.Empty,
        emits=("dispute.closed",),
        errors=("NOT_FOUND", "VALIDATION_ERROR"),
    ),
    Operation(
        "payout-initiation",
        "POST",
        "/payout/payout-initiation",
        "Initiate a payout.",
        payouts.initiate,
        schemas.PayoutView,
        schemas.PayoutRequest,
        creates=True,
        errors=("VALIDATION_ERROR",),
    ),
    Operation(
        "payout-list",
        "GET",
        "/payout",
        "List payouts, newest first.",
        payouts.list_payouts,
        schemas.PayoutView,
        listed=True,
        queries=_PAGING,
        errors=("INVALID_INPUT",),
    ),
    Operation(
        "payout-retrieval",
        "GET",
        "/payout/{id}",
        "Retrieve a payout.",
        payouts.retrieve_payout,
        schemas.PayoutView,
        errors=("NOT_FOUND",),
    ),
    Operation(
        "transaction-creation",
        "POST",
        "/transaction/transaction-creation",
        "Create a transaction.",
        payouts.create_transaction,
        schemas.TransactionView,
        schemas.TransactionRequest,
        creates=True,
        errors=("VALIDATION_ERROR",),
    ),
    Operation(
        "transaction-list",
        "GET",
        "/transaction",
        "List transactions, newest first.",
        payouts.list_transactions,
        schemas.TransactionView,
        listed=True,
        queries=_PAGING,
        errors=("INVALID_INPUT",),
    ),
    Operation(
        "transaction-retrieval",
        "GET",
        "/transaction/{id}",
        "Retrieve a transaction.",
        payouts.retrieve_transaction,
        schemas.TransactionView,
        errors=("NOT_FOUND",),
    ),
)


MOVABLE: Final = tuple(each.name for each in OPERATIONS if each.path_provenance == "assumed")
"""The operations whose paths are settings."""


def operations(paths: Mapping[str, str] | None = None) -> tuple[Operation, ...]:
    """Return the table with other paths for assumed operations, by operation name.

    A path starts with `/`, comes after `/api/v1`, and keeps its `{id}`; `UsageError` names a path that cannot be.
    """
    moved = dict(paths or {})
    table = []
    for operation in OPERATIONS:
        path = moved.pop(operation.name, None)
        if path is not None:
            _check_path(operation, path)
            operation = replace(operation, path=path)  # noqa: PLW2901 - the same row with another path
        table.append(operation)
    if moved:
        raise UsageError(
            f"there is no such operation; there are: {', '.join(MOVABLE)}", member=f"paths.{next(iter(moved))}"
        )
    routes = [(operation.method, operation.path) for operation in table]
    for operation in table:
        if routes.count((operation.method, operation.path)) > 1:
            raise UsageError(f"two operations answer {operation.method} {operation.path}", member="paths")
    return tuple(table)


def moved_paths(table: Iterable[Operation]) -> dict[str, str]:
    """Return the paths of the operations that have another one than usual, by operation name."""
    usual = {operation.name: operation.path for operation in OPERATIONS}
    return {operation.name: operation.path for operation in table if operation.path != usual[operation.name]}


def _check_path(operation: Operation, path: str) -> None:
    member = f"paths.{operation.name}"
    if operation.path_provenance == "documented":
        raise UsageError("this path is documented and cannot be moved", member=member)
    if not path.startswith("/") or path.endswith("/") or any(char in path for char in " ?#%"):
        raise UsageError(f"{path!r} is not a path such as {operation.path}", member=member)
    if path.split("/").count("{id}") != operation.path.split("/").count("{id}") or "{" in path.replace("/{id}", ""):
        raise UsageError(f"{path!r} must have {{id}} where {operation.path} has it", member=member)
