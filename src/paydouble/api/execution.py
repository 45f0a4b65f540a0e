"""A request in the pipeline, and the values by which the pipeline says that the request has to wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paydouble.api.calls import Call
from paydouble.api.values import Reply

if TYPE_CHECKING:
    from paydouble.api.operations import Operation
    from paydouble.guards.idempotency import Claim
    from paydouble.journal import RequestEntry
    from paydouble.webhooks.deliveries import Delivery


@dataclass(slots=True)
class Execution(Call):
    """A call, and what only the pipeline needs of it.

    A subclass, since an object that holds the call would cost each request a second one.
    """

    operation: Operation = field(kw_only=True)
    entry: RequestEntry = field(kw_only=True)
    wall_ms: int = field(kw_only=True)
    """The machine's time when it arrived, or when it was continued; 0 without a wall clock."""
    extra_headers: tuple[tuple[str, str], ...] = ()
    claim: Claim | None = None
    waited: bool = False
    """The delay of its plan was part of its time in flight."""
    made: str | None = None
    """The id of the object that it created, or that the request it replays created."""
    overtaken: tuple[tuple[Delivery, int], ...] = ()
    scenario_name: str | None = None
    """The scenario of a deposit, when it was chosen before the checks."""


@dataclass(slots=True)
class Delayed:
    """The request is in flight for so many real seconds; then `Pipeline.execute` goes on with it."""

    call: Execution
    seconds: float


@dataclass(slots=True)
class Joined:
    """Another request with the same key is in flight; when its claim is settled, `Pipeline.rejoin` goes on."""

    call: Execution
    claim: Claim


Step = Reply | Delayed | Joined
