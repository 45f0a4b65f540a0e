"""From an HTTP request to a control call and back. Every refusal is one JSON error that names the member."""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel, ValidationError

from paydouble.api.routes import Routes
from paydouble.config import explain
from paydouble.core import json_text
from paydouble.core.documents import Document
from paydouble.core.errors import (
    ApiError,
    IllegalTransition,
    ReapedSandbox,
    TooManySandboxes,
    UnknownThing,
    UsageError,
)
from paydouble.runtime.host import Host
from paydouble.web.addresses import CONTROL_PREFIX, Addresses, Reached
from paydouble.web.bodies import read_body
from paydouble.web.control.access import Access
from paydouble.web.control.calls import Answer, ControlCall, ControlRoute, TimelineOf
from paydouble.web.control.replies import ControlError, reply
from paydouble.web.control.routes import ROUTES
from paydouble.web.targets import origin_form, parse_query, query_names

FindPage = Callable[[str, str, str | None, str], web.Response | None]
"""Returns the page for a method, a target, an `Authorization` and the URL of the API, or None."""
AnswerPage = Callable[[web.BaseRequest, str, str], Awaitable[web.StreamResponse]]
"""Answers a request for a page of its own, with the request's target and query."""
_LOG = logging.getLogger("paydouble.control")
# Larger whole numbers stay `Number`s, as they were written: the JSON of the answers has no larger ints.
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1
BODY_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a control call's body. The largest that is needed is a scenario's text, 1 MiB before it is escaped."""
DEEPEST: Final = 100
"""Levels of nested lists and objects. Bodies are read recursively, and the stack must suffice."""
MOST_VALUES: Final = 50_000
"""Values of a body. A model reports every wrong member, so very many of them would take long."""

_BELOW_PREFIX: Final = Routes(ROUTES, "")


class Control:
    """The control side of one server."""

    def __init__(  # noqa: PLR0913 - what the control side is made of
        self,
        host: Host,
        access: Access,
        pages: FindPage,
        addresses: Addresses,
        *,
        own_pages: Mapping[str, AnswerPage],
        timeline: Callable[[TimelineOf], web.Response],
    ) -> None:
        """Control a host, under some access rules.

        `pages` returns the documents. `own_pages` answer all requests below a path, for anybody, without a token.
        `timeline` draws the timeline of a payment.
        """
        self._host = host
        self._access = access
        self._pages = pages
        self._own_pages = own_pages
        self._timeline = timeline
        self._addresses = addresses
        self._routes = Routes(ROUTES, CONTROL_PREFIX)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer to a control call."""
        target, _, query = origin_form(request).partition("?")
        method = "GET" if request.method == "HEAD" else request.method  # aiohttp leaves the body of the answer out
        try:
            reached = self._addresses.reached(request.headers, request.remote, at_control=True)
            for prefix, answer in self._own_pages.items():
                if target.startswith(prefix):
                    self._access.check(request, open_to_all=True)
                    return await answer(request, target, query)
            page = self._pages(method, target, request.headers.get("Authorization"), reached.api)
            found = _found(self._routes, method, target)
            row = None if found is None else found[0]
            self._access.check(
                request,
                open_to_all=page is not None or (row is not None and row.open_to_all),
                takes_login=row is not None and row.takes_login,
            )
            if page is not None:
                return page
            if found is None:
                return self._unknown(method, target)
            route, params = found
            document = await self._run(request, route, params, query, reached)
            return document if isinstance(document, web.StreamResponse) else reply(route.status, document)
        except ControlError as error:
            return reply(error.status, error.document())
        except Exception:  # noqa: BLE001 - a bug of ours must not look like a lost connection
            _LOG.exception("%s %s failed", request.method, target)
            return reply(500, ControlError(500, "internal", "The double failed; its log says why.").document())

    async def _run(
        self, request: web.BaseRequest, route: ControlRoute, params: dict[str, str], query: str, reached: Reached
    ) -> Document | web.StreamResponse:
        body, problem = await read_body(request, BODY_LIMIT, self._host.bodies)
        if problem:
            raise ControlError(400, "invalid", problem)
        given = request.headers.get("Content-Type", "application/json")
        content_type = given.partition(";")[0].strip().lower()
        answer = await answer_here(
            self._host,
            (route, params),
            query=query,
            body=body,
            content_type=content_type,
            reached=reached,
            request=request,
        )
        return self._timeline(answer) if isinstance(answer, TimelineOf) else answer

    def _unknown(self, method: str, target: str) -> web.Response:
        methods = sorted({row.method for row in ROUTES if _found(Routes((row,), CONTROL_PREFIX), row.method, target)})
        if methods:
            text = f"{target[:200]} takes {', '.join(methods)}, not {method[:16]}."
            refusal = reply(405, ControlError(405, "wrong_method", text).document())
            refusal.headers["Allow"] = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
            return refusal
        text = f"There is no control call {method[:16]} {target[:200]}; see {CONTROL_PREFIX}/docs."
        return reply(404, ControlError(404, "not_found", text).document())


async def answer_here(host: Host, found: tuple[ControlRoute, dict[str, str]], **call: Any) -> Answer:  # noqa: ANN401
    """Return the answer to a call about a sandbox of a server, as `answer_call`; its lease does not run meanwhile."""
    try:
        named = found[1].get("s")
        box = host.find(named) if named is not None else None
    except ReapedSandbox as error:
        raise ControlError(410, "reaped", str(error)) from None
    except UnknownThing as error:
        raise ControlError(404, "not_found", str(error)) from None
    with host.leases.in_use(box):
        return await answer_call(host, found, **call)


async def answer_call(  # noqa: PLR0913 - what a call is made of
    host: Host,
    found: tuple[ControlRoute, dict[str, str]],
    *,
    query: str,
    body: bytes | Document,
    reached: Reached,
    content_type: str = "application/json",
    request: web.BaseRequest | None = None,
) -> Answer:
    """Return the answer to a call whose route has been found; `ControlError` for one that is refused.

    The body is JSON text, empty for none, or what such a text would be read as. `request` is the HTTP request of a call
    that came by HTTP.
    """
    route, params = found
    queries = _queries(route, query)
    try:
        named = host.registry.get(params["s"]) if "s" in params else None
        call = ControlCall(host, params, queries, _payload(route, content_type, body), request, reached, named)
        answer = route.handler(call)
        return await answer if inspect.isawaitable(answer) else answer
    except TooManySandboxes as error:
        raise ControlError(429, "too_many_sandboxes", str(error)) from None
    except UnknownThing as error:
        raise ControlError(404, "not_found", str(error)) from None
    except UsageError as error:
        raise ControlError(400, "invalid", _sentence(str(error)), error.member) from None
    except IllegalTransition as error:
        raise ControlError(409, "illegal_transition", f"{error} Add force: true to do it all the same.", "to") from None
    except ApiError as error:
        status = {"NOT_FOUND": 404, "VALIDATION_ERROR": 409}.get(error.code, 400)
        raise ControlError(status, error.code.lower(), error.message) from None


def find(method: str, path: str) -> tuple[ControlRoute, dict[str, str]]:
    """Return the route of a call by its path below the prefix, with the path's variables."""
    found = _found(_BELOW_PREFIX, method, path)
    if found is None:
        raise ControlError(404, "not_found", f"There is no control call {method[:16]} {path[:200]}.")
    return found


def _found(routes: Routes[ControlRoute], method: str, target: str) -> tuple[ControlRoute, dict[str, str]] | None:
    found = routes.match(method, target)
    # `deliveries/verify` is a call, so with no method it is the delivery with the id `verify`.
    if found is not None and found[0].path.endswith("/{id}"):
        named = found[0].path.removesuffix("{id}") + found[1]["id"]
        if any(row.path == named for row in ROUTES):
            return None
    return found


def _queries(route: ControlRoute, query: str) -> dict[str, str]:
    queries = parse_query(query)
    twice = next((name for name, count in Counter(query_names(query)).items() if count > 1), None)
    if twice is not None:
        name = twice[:64] or "query"
        raise ControlError(400, "invalid", f"{name}: this query parameter is given more than once.", name)
    unknown = next((name for name in queries if name not in route.queries), None)
    if unknown is not None:
        known = f"; there are: {', '.join(route.queries)}" if route.queries else ""
        name = unknown[:64] or "query"
        raise ControlError(400, "invalid", f"{name}: this query parameter is not known{known}.", name)
    return queries


def _payload(route: ControlRoute, content_type: str, body: bytes | Document) -> BaseModel | Document | None:
    if route.payload is None:
        if body != b"":
            raise ControlError(400, "invalid", "This call takes no body.")
        return None
    parsed = _parsed(content_type, body) if isinstance(body, bytes) else body
    if not issubclass(route.payload, BaseModel):
        return parsed
    try:
        return route.payload.model_validate(parsed)
    except ValidationError as error:
        place, message = explain(error, route.payload)
        raise ControlError(400, "invalid", _sentence(f"{place or 'The body'}: {message}"), place) from None


def _parsed(content_type: str, body: bytes) -> Document:
    if not body:
        return {}
    # Only with a body: without one many clients send a Content-Type of their own.
    if content_type != "application/json":
        raise ControlError(400, "invalid", f"The Content-Type is {content_type[:64]!r}; it must be application/json.")
    try:
        parsed = _Plain().of(json_text.loads(body, deepest=DEEPEST))
        json_text.canonical(parsed)
    except json_text.JsonTextError as error:
        raise ControlError(400, "invalid", f"The body is not valid JSON: {error}.") from None
    if not isinstance(parsed, dict):
        raise ControlError(400, "invalid", "The body must be a JSON object.")
    return parsed


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends already: a hint may be a question."""
    return text if text.endswith((".", "?")) else f"{text}."


class _Plain:
    """Makes whole numbers ints; others stay exact."""

    def __init__(self) -> None:
        self._values = 0

    def of(self, value: Any) -> Any:  # noqa: ANN401 - JSON is any
        self._values += 1
        if self._values > MOST_VALUES:
            raise ControlError(400, "invalid", f"The body has more than {MOST_VALUES} values.")
        if isinstance(value, json_text.Number):
            whole = value.lexeme.lstrip("-").isdecimal() and _SMALLEST <= value <= _LARGEST
            return int(value) if whole else value
        if isinstance(value, dict):
            return {name: self.of(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.of(member) for member in value]
        return value
