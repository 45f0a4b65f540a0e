"""Every way in which a caller can be refused.

::

    PaydoubleError              anything this package raises on purpose
    ├── ApiError                an answer of `/api/v1` (contract section 7)
    ├── UsageError              a bad control call, option, file or environment variable
    ├── UnknownThing            a control call named something that does not exist
    └── IllegalTransition       a lifecycle table does not have that arrow

`STATUS` is the whole status table of the contract. Nothing outside it is ever sent unless a fault asks.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

STATUS: Final = MappingProxyType(
    {
        "INVALID_INPUT": 400,
        "INVALID_IDEMPOTENCY_KEY": 400,
        "UNAUTHORIZED": 401,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "IDEMPOTENCY_CONFLICT": 409,
        "VALIDATION_ERROR": 422,
        "RATE_LIMITED": 429,
        "INTERNAL_ERROR": 500,
    }
)
# Which layer of a real deployment answers with the code; it decides the envelope (assumptions, "Envelopes").
EDGE_CODES: Final = frozenset({"UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL_ERROR"})


class PaydoubleError(Exception):
    """Base of everything this package raises on purpose."""


class ApiError(PaydoubleError):
    """A documented error answer of the API.

    `code` is a key of `STATUS`, `details` the optional object beside the message, `edge` says that the answer comes
    from the edge of the service (envelope A by default) rather than from an operation (envelope B).
    """

    def __init__(
        self, code: str, message: str, *, details: dict[str, str] | None = None, edge: bool | None = None
    ) -> None:
        """Take the code, a message for a person, and what belongs to it."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.edge = code in EDGE_CODES if edge is None else edge
        self.headers: tuple[tuple[str, str], ...] = ()

    @property
    def status(self) -> int:
        """The HTTP status that the contract's table gives the code."""
        return STATUS[self.code]


class UsageError(PaydoubleError):
    """Input of ours (control call, option, file, environment) that cannot be used; `member` is its place."""

    def __init__(self, message: str, *, member: str = "") -> None:
        """Take one clear sentence, and the path of the member that it speaks of."""
        super().__init__(f"{member}: {message}" if member else message)
        self.member = member
        self.message = message


class UnknownThing(PaydoubleError):
    """A control call named a sandbox, an object or an event that does not exist."""


class IllegalTransition(PaydoubleError):
    """A resource cannot go from one state to the other; nothing was changed."""

    def __init__(  # noqa: PLR0913 - what the message needs to say
        self, kind: str, subject: str, state: str, to: str, allowed: tuple[str, ...], *, because: str = ""
    ) -> None:
        """Take the kind and id of the resource, both states, the states that were possible, or another reason."""
        self.state = state
        self.to = to
        possible = f"possible: {', '.join(allowed)}" if allowed else f"{state} is final"
        super().__init__(f"{kind} {subject} is {state} and cannot become {to} ({because or possible}).")
