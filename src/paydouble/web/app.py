"""Which of the three sides a request is for."""

from __future__ import annotations

from aiohttp import web

from paydouble.runtime.host import Host
from paydouble.web import api
from paydouble.web.control.door import PREFIX, Door
from paydouble.web.front import FrontServer


def front(host: Host, control: Door | None, *, with_api: bool = True) -> FrontServer:
    """Return the server of a port: the API, the control API, or both."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        target = api.origin_form(request)
        if control is not None and (target.startswith(PREFIX) or not with_api):
            return await control.answer(request)
        return await api.answer(host, request)

    return FrontServer(host, handler)
