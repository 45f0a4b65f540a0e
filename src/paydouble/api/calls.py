"""What a handler sees of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paydouble.api.bodies import Body, parse

if TYPE_CHECKING:
    from paydouble.api.values import Request
    from paydouble.faults.plans import Plan
    from paydouble.sandbox import Sandbox
    from paydouble.scenarios.model import Scenario


@dataclass(slots=True)
class Call:
    """A request to an operation, checked and parsed. What else the pipeline keeps of it is in `execution.Execution`."""

    request: Request
    sandbox: Sandbox
    params: dict[str, str]
    payload: Any = None
    plan: Plan | None = None
    """What faults do to it before the commit, or to the operation itself."""
    scenario: Scenario | None = None
    """The usual scenario, where nothing in the request asks for another, until the request has been kept waiting."""
    body_read: Body | None = None

    @property
    def queries(self) -> dict[str, str]:
        """Return the members of the query, decoded."""
        return self.request.query()

    def body(self) -> Body:
        """Return the request's body, parsed once."""
        if self.body_read is None:
            self.body_read = parse(self.request, self.sandbox.settings)
        return self.body_read
