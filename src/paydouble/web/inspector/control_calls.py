"""Actions of pages: control calls with the same bodies, rules and refusals as over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from paydouble.web.control.app import answer_here, find

if TYPE_CHECKING:
    from paydouble.core.documents import Document
    from paydouble.web.inspector.visits import Visit


async def perform(visit: Visit, method: str, *segments: str, body: Mapping[str, Any] | bytes = b"") -> Document:
    """Make a control call and return the document of its answer; `ControlError` says why one is refused.

    `segments` is the path below `/_paydouble`, unescaped. The body is a JSON object, or the text of one.
    """
    found = find(method, "".join(f"/{quote(each, safe='', errors='replace')}" for each in segments))
    given = body if isinstance(body, bytes) else dict(body)
    answer = await answer_here(visit.host, found, query="", body=given, reached=visit.reached, request=visit.request)
    return cast("Document", answer)  # only streams have another answer, and they are GET
