"""From an HTTP request to a control call and back. Every refusal is one JSON error that names the member."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel, ValidationError

from paydouble.api.routes import Routes
from paydouble.config import explain
from paydouble.core import json_text
from paydouble.core.errors import ApiError, IllegalTransition, UnknownThing, UsageError
from paydouble.runtime.host import Host
from paydouble.web import api
from paydouble.web.control.access import Access
from paydouble.web.control.door import PREFIX
from paydouble.web.control.rendering import reply
from paydouble.web.control.routes import ROUTES
from paydouble.web.control.values import Answer, ControlCall, ControlError, ControlRoute, Document
from paydouble.web.documents import Documents

_LOG = logging.getLogger("paydouble.control")
# Whole numbers beyond these are kept as they are written: the JSON of the answers has no others.
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1


class Control:
    """The control side of one server."""

    def __init__(self, host: Host, access: Access, documents: Documents) -> None:
        """Steer a host, for those whom the access rules let in."""
        self._host = host
        self._access = access
        self._documents = documents
        self._routes = Routes(ROUTES, PREFIX)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer to a control call."""
        target, _, query = api.origin_form(request).partition("?")
        try:
            page = self._documents.find(request.method, target)
            found = _found(self._routes, request.method, target)
            self._access.check(request, open_to_all=page is not None or (found is not None and found[0].open_to_all))
            if page is not None:
                return page
            if found is None:
                return self._unknown(request.method, target)
            route, params = found
            document = await self._run(request, route, params, query)
            return document if isinstance(document, web.StreamResponse) else reply(route.status, document)
        except ControlError as error:
            return reply(error.status, error.document())
        except Exception:  # noqa: BLE001 - the last line of defence: a bug of ours must not look like a lost connection
            _LOG.exception("%s %s failed", request.method, target)
            return reply(500, ControlError(500, "internal", "The double failed; its log says why.").document())

    async def _run(self, request: web.BaseRequest, route: ControlRoute, params: dict[str, str], query: str) -> Answer:
        body, problem = await api.read_body(request)
        if problem:
            raise ControlError(400, "invalid", problem)
        queries = _queries(route, query)
        try:
            named = self._host.registry.get(params["s"]) if "s" in params else None
            call = ControlCall(self._host, params, queries, _payload(route, request, body), request, named)
            answer = route.handler(call)
            return await answer if inspect.isawaitable(answer) else answer
        except UnknownThing as error:
            raise ControlError(404, "not_found", str(error)) from None
        except UsageError as error:
            raise ControlError(400, "invalid", _sentence(str(error)), error.member) from None
        except IllegalTransition as error:
            raise ControlError(
                409, "illegal_transition", f"{error} Add force: true to do it all the same.", "to"
            ) from None
        except ApiError as error:
            status = {"NOT_FOUND": 404, "VALIDATION_ERROR": 409}.get(error.code, 400)
            raise ControlError(status, error.code.lower(), error.message) from None

    def _unknown(self, method: str, target: str) -> web.Response:
        methods = sorted({row.method for row in ROUTES if _found(Routes((row,), PREFIX), row.method, target)})
        if methods:
            text = f"{target[:200]} takes {', '.join(methods)}, not {method[:16]}."
            refusal = reply(405, ControlError(405, "wrong_method", text).document())
            refusal.headers["Allow"] = ", ".join(methods)
            return refusal
        text = f"There is no control call {method[:16]} {target[:200]}; see {PREFIX}/docs."
        return reply(404, ControlError(404, "not_found", text).document())


def _found(routes: Routes[ControlRoute], method: str, target: str) -> tuple[ControlRoute, dict[str, str]] | None:
    found = routes.match(method, target)
    # `deliveries/verify` is a call, and under no method the delivery that is called so.
    if found is not None and found[0].path.endswith("/{id}"):
        named = found[0].path.removesuffix("{id}") + found[1]["id"]
        if any(row.path == named for row in ROUTES):
            return None
    return found


def _queries(route: ControlRoute, query: str) -> dict[str, str]:
    queries = api.parse_query(query)
    unknown = next((name for name in queries if name not in route.queries), None)
    if unknown is not None:
        known = f"; there are: {', '.join(route.queries)}" if route.queries else ""
        name = unknown[:64] or "query"
        raise ControlError(400, "invalid", f"{name}: this query parameter is not known{known}.", name)
    return queries


def _payload(route: ControlRoute, request: web.BaseRequest, body: bytes) -> BaseModel | Document | None:
    if route.payload is None:
        if body:
            raise ControlError(400, "invalid", "This call takes no body.")
        return None
    given = request.headers.get("Content-Type", "application/json")
    content_type = given.partition(";")[0].strip().lower()
    # Without a body many clients send a Content-Type of their own.
    if body and content_type != "application/json":
        raise ControlError(400, "invalid", f"The Content-Type is {content_type[:64]!r}; it must be application/json.")
    try:
        parsed = _plain(json_text.loads(body)) if body else {}
        json_text.canonical(parsed)
        if isinstance(parsed, dict):
            return route.payload.model_validate(parsed) if issubclass(route.payload, BaseModel) else parsed
    except json_text.JsonTextError as error:
        raise ControlError(400, "invalid", f"The body is not valid JSON: {error}.") from None
    except ValidationError as error:
        place, message = explain(error)
        raise ControlError(400, "invalid", _sentence(f"{place or 'The body'}: {message}"), place) from None
    raise ControlError(400, "invalid", "The body must be a JSON object.")


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends already: a hint may be a question."""
    return text if text.endswith((".", "?")) else f"{text}."


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return JSON with whole numbers as int; others stay exact."""
    if isinstance(value, json_text.Number):
        whole = value.lexeme.lstrip("-").isdecimal() and _SMALLEST <= value <= _LARGEST
        return int(value) if whole else value
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value
