"""Which of the three sides a request is for."""

from __future__ import annotations

from aiohttp import web

from paydouble.runtime.host import Host
from paydouble.web import api
from paydouble.web.control.door import PREFIX, Door
from paydouble.web.front import Connection, FrontServer


def front(host: Host, control: Door | None, *, with_api: bool = True) -> FrontServer:
    """Return the server of a port: the API, the control API, or both."""

    def is_for_api(target: str) -> bool:
        return control is None or (with_api and not target.startswith(PREFIX))

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if control is not None and not is_for_api(api.origin_form(request)):
            return await control.answer(request)
        connection = request.protocol
        return await api.answer(host, request, connection.take_begun() if isinstance(connection, Connection) else None)

    return FrontServer(host, handler, is_for_api)
