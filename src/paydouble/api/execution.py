"""A request on its way through the pipeline, and the values with which the pipeline says that it has to wait."""

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
    """A call, and what the pipeline keeps of it.

    It is the call, rather than holds one, since each request would pay for the second object.
    """

    operation: Operation = field(kw_only=True)
    entry: RequestEntry = field(kw_only=True)
    extra_headers: tuple[tuple[str, str], ...] = ()
    claim: Claim | None = None
    waited: bool = False
    """Its plan's delay has been, or is being, waited for."""
    made: str | None = None
    """The id of the object that it has made, or that the request it replays has made."""
    overtaken: tuple[tuple[Delivery, int], ...] = ()
    scenario_name: str | None = None
    """The scenario that a deposit is going to play, when it was chosen before the checks."""


@dataclass(slots=True)
class Delayed:
    """The request is in flight for some real seconds; then `Pipeline.execute` goes on with it."""

    call: Execution
    seconds: float


@dataclass(slots=True)
class Joined:
    """Another request with the same key is in flight; when its claim is settled, `Pipeline.rejoin` goes on."""

    call: Execution
    claim: Claim


Step = Reply | Delayed | Joined
