"""The entrance of the control API: says by itself whether the server is well, and fetches the rest when it is needed.

The control API has more models than everything else together. A container that is only asked for its health, and a
test that only meets the service, start without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import web

from paydouble.runtime.host import Host
from paydouble.web import api
from paydouble.web.control.access import Access
from paydouble.web.control.documents import health_of
from paydouble.web.control.rendering import reply
from paydouble.web.control.values import ControlError

if TYPE_CHECKING:
    from paydouble.web.control.app import Control

PREFIX: Final = "/_paydouble"
HEALTH: Final = f"{PREFIX}/health"


class Door:
    """Where control calls come in."""

    def __init__(self, host: Host, access: Access) -> None:
        """Lead to a host, for those whom the access rules let in."""
        self._host = host
        self._access = access
        self._control: Control | None = None

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer to a control call."""
        if request.method == "GET" and api.origin_form(request) == HEALTH and not request.body_exists:
            try:
                self._access.check(request, open_to_all=True)
            except ControlError as error:
                return reply(error.status, error.document())
            return reply(200, health_of(self._host))
        return await self._inside().answer(request)

    def _inside(self) -> Control:
        if self._control is None:
            from paydouble.web.control.app import Control  # noqa: PLC0415 - see above
            from paydouble.web.documents import Documents  # noqa: PLC0415

            self._control = Control(self._host, self._access, Documents(self._host))
        return self._control
