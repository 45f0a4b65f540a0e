"""The exceptions of this package.

::

    PaydoubleError              anything this package raises on purpose
    ├── ApiError                an error answer of `/api/v1` (contract section 7)
    ├── UsageError              a bad control call, option, file or environment variable
    ├── UnknownThing            a control call named something that does not exist
    │   └── ReapedSandbox       … a sandbox that was deleted because nobody used it
    ├── TooManySandboxes        the server has as many as it may have
    └── IllegalTransition       a transition that is not in the lifecycle table

`STATUS` is the complete status table of the contract. Only faults send other statuses.
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
# Codes that the edge of a real deployment answers with, which decides the envelope (assumptions, "Envelopes").
EDGE_CODES: Final = frozenset({"UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL_ERROR"})


class PaydoubleError(Exception):
    """Base of everything this package raises on purpose."""


class ApiError(PaydoubleError):
    """A documented error answer of the API.

    `code` is a key of `STATUS`, `details` the optional object beside the message. `edge` is whether the answer comes
    from the edge of the service (envelope A by default) or from an operation (envelope B).
    """

    def __init__(
        self, code: str, message: str, *, details: dict[str, str] | None = None, edge: bool | None = None
    ) -> None:
        """Take the code and a message for people; `edge` defaults to what the code says."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.edge = code in EDGE_CODES if edge is None else edge
        self.headers: tuple[tuple[str, str], ...] = ()

    @property
    def status(self) -> int:
        """Return the HTTP status of the code in the contract's table."""
        return STATUS[self.code]


class UsageError(PaydoubleError):
    """Unusable input to the double itself (control call, option, file, environment); `member` is its place."""

    def __init__(self, message: str, *, member: str = "") -> None:
        """Take one sentence, and the path of the member that it is about."""
        super().__init__(f"{member}: {message}" if member else message)
        self.member = member
        self.message = message


class UnknownThing(PaydoubleError):
    """A control call named a sandbox, an object or an event that does not exist."""


class ReapedSandbox(UnknownThing):
    """A control call named a sandbox that was deleted because nobody used it for its ttl."""


class TooManySandboxes(PaydoubleError):
    """The server has as many sandboxes as it may have, so it makes no more."""


class IllegalTransition(PaydoubleError):
    """A resource cannot change from one status to another; nothing was changed."""

    def __init__(  # noqa: PLR0913 - what the message needs to say
        self, kind: str, subject: str, state: str, to: str, allowed: tuple[str, ...], *, because: str = ""
    ) -> None:
        """Take the kind and id of the resource, both statuses, and the possible ones or another reason."""
        self.state = state
        self.to = to
        possible = f"possible: {', '.join(allowed)}" if allowed else f"{state} is final"
        super().__init__(f"{kind} {subject} is {state} and cannot become {to} ({because or possible}).")
