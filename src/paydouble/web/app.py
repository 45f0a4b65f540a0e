"""Which of the three sides a request is for."""

from __future__ import annotations

from aiohttp import web

from paydouble.runtime.host import Host
from paydouble.web import api
from paydouble.web.control.door import PREFIX, Door
from paydouble.web.front import Connection, FrontServer


def front(host: Host, control: Door | None, *, with_api: bool = True) -> FrontServer:
    """Return the server of a port: the API, the control API, or both."""
    # What every target begins with goes to the control API; no target begins with a blank.
    elsewhere = " " if control is None else PREFIX if with_api else ""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if control is not None:
            target = api.origin_form(request)
            if target.startswith(elsewhere):
                return await control.answer(request)
            if target == "/" and request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
                # A person with a browser. The service has nothing there, and its refusal would help nobody.
                return web.Response(status=302, headers={"Location": f"{PREFIX}/docs", "Server": "paydouble"})
        connection = request.protocol
        return await api.answer(host, request, connection.take_begun() if isinstance(connection, Connection) else None)

    return FrontServer(host, handler, elsewhere)
