"""A request and a reply, as plain values that any shell can carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from multidict import CIMultiDict, CIMultiDictProxy, istr
from yarl import URL

if TYPE_CHECKING:
    from paydouble.faults.wire import Wire
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Delivery

# As aiohttp reads the bytes of headers.
_CODING: Final = ("utf-8", "surrogateescape")
Headers = CIMultiDict[str] | CIMultiDictProxy[str]
# The headers that every request is asked for. A plain text is put into lower case for each look-up, an `istr` once.
AUTHORIZATION: Final = istr("Authorization")
CONTENT_TYPE: Final = istr("Content-Type")
IDEMPOTENCY_KEY: Final = istr("Idempotency-Key")


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

    def encoded_headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Return the headers as bytes, for a request that did not come over a socket."""
        return [(name.encode(*_CODING), value.encode(*_CODING)) for name, value in self.headers.items()]

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
    """The business that answers, so that the shell can send what the request has set in motion."""
    content_type: str = "application/json"
    delay_ms: int = 0
    """Real milliseconds for which the answer is kept back."""
    wire: Wire | None = None
    """How its bytes are broken, if they are."""
    overtaken: tuple[tuple[Delivery, int], ...] = ()
    """Deliveries that must arrive before it is sent, and by how many milliseconds."""
