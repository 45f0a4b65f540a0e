"""What goes into the pipeline and what comes out of it: plain values, so that any shell can carry them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from paydouble.api.bodies import Body, parse

if TYPE_CHECKING:
    from paydouble.api.operations import Operation
    from paydouble.faults.plan import Plan, Wire
    from paydouble.guards.idempotency import Claim
    from paydouble.journal import RequestEntry
    from paydouble.sandbox import Sandbox
    from paydouble.scenarios.model import Scenario
    from paydouble.webhooks.deliveries import Delivery

Headers = CIMultiDict[str] | CIMultiDictProxy[str]


@dataclass(slots=True)
class Request:
    """One HTTP request, read whole. `target` is the request line's, path and query undecoded."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""
    raw_headers: Sequence[tuple[bytes, bytes]] = ()
    remote: str | None = None
    body_error: str | None = None
    """Why the body could not be read (too large, too slow), when it could not."""

    def query(self) -> dict[str, str]:
        """Return the query's members, decoded; the first of a repeated one counts."""
        _, _, text = self.target.partition("?")
        return dict(URL.build(path="/", query_string=text, encoded=True).query) if text else {}


@dataclass(slots=True)
class Reply:
    """One answer, as a value that a shell performs."""

    status: int
    body: bytes
    request_id: str
    headers: tuple[tuple[str, str], ...] = ()
    sandbox: Sandbox | None = None
    """Whose answer this is, so that the shell can start what it has set in motion."""
    content_type: str = "application/json"
    delay_ms: int = 0
    """Real time that the answer is kept back."""
    wire: Wire | None = None
    """What is done to its bytes instead of sending them."""
    overtaken: tuple[tuple[Delivery, int], ...] = ()
    """Deliveries that must have arrived before it leaves, and by how many milliseconds."""


@dataclass(slots=True)
class Call:
    """One request on its way through the pipeline."""

    request: Request
    operation: Operation
    sandbox: Sandbox
    entry: RequestEntry
    params: dict[str, str]
    extra_headers: tuple[tuple[str, str], ...] = ()
    payload: Any = None
    claim: Claim | None = None
    plan: Plan | None = None
    """What faults do to it before the commit, or to the operation itself."""
    waited: bool = False
    """Its plan's delay has been, or is being, waited for."""
    made: str | None = None
    """The id of the object that it has made, or that the request it replays has made."""
    overtaken: tuple[tuple[Delivery, int], ...] = ()
    scenario: str | None = None
    """The life that a deposit is going to lead, when that was looked for beforehand."""
    life: Scenario | None = None
    """The usual life, where nothing in the request asks for another, until the request has been kept waiting."""
    body_read: Body | None = None

    @property
    def queries(self) -> dict[str, str]:
        """Return the query's members."""
        return self.request.query()

    def body(self) -> Body:
        """Return the request's body, parsed once."""
        if self.body_read is None:
            self.body_read = parse(self.request, self.sandbox.rules)
        return self.body_read


@dataclass(slots=True)
class Delayed:
    """The request is in flight for some real seconds; then `Pipeline.execute` goes on with it."""

    call: Call
    seconds: float


@dataclass(slots=True)
class Joined:
    """Another request with the same key is in flight; when its claim is settled, `Pipeline.rejoin` goes on."""

    call: Call
    claim: Claim


Step = Reply | Delayed | Joined
