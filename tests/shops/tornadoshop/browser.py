"""Customers without a browser: requests to a Tornado application, without sockets."""

import asyncio
from collections.abc import Iterable
from typing import Any

import tornado.web
from tornado.httputil import HTTPConnection, HTTPHeaders, HTTPInputError, HTTPServerRequest, RequestStartLine


class Connection(HTTPConnection):
    """What Tornado writes an answer to, without a socket."""

    def __init__(self) -> None:
        self.status, self.done = 0, asyncio.get_running_loop().create_future()

    def set_close_callback(self, callback: Any) -> None: ...

    def finish(self) -> None:
        self.done.set_result(None)

    def fail(self, _: Any, context: dict[str, Any]) -> None:
        """Take the exception that Tornado does not handle: a killed process."""
        if not self.done.done():
            self.done.set_exception(context["exception"])

    def write_headers(self, start_line: Any, headers: Any, chunk: bytes | None = None) -> Any:
        self.status = start_line.code
        return asyncio.ensure_future(asyncio.sleep(0))


async def browse(
    app: tornado.web.Application, method: str, path: str, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()
) -> int:
    """Send a request to an application, and return the status of its answer."""
    given, connection = HTTPHeaders(), Connection()
    try:
        for name, value in headers:
            given.add(name, value)
    except HTTPInputError:
        return 400  # as Tornado's server does
    given["Host"] = "shop.test"
    line = RequestStartLine(method, path, "HTTP/1.1")
    request = HTTPServerRequest(start_line=line, headers=given, body=body, connection=connection)
    asyncio.get_running_loop().set_exception_handler(connection.fail)
    app.find_handler(request).execute()
    await connection.done
    if errors := app.settings.pop("errors", None):
        raise errors[0]
    return connection.status
