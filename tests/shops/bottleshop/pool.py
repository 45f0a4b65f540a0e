"""urllib3 without a network, and customers without a browser."""

import io
from collections.abc import Iterable
from typing import Any

import urllib3


class Pool:
    """urllib3's PoolManager, whose network is the play."""

    def __init__(self, service: Any) -> None:
        self.service = service

    def request(self, method: str, url: str, **options: Any) -> Any:
        try:
            body = options["body"] or b""
            answer = self.service.call(method, url, options["headers"], body, options["timeout"])
        except TimeoutError as error:
            raise urllib3.exceptions.ReadTimeoutError(None, url, "read timed out") from error  # type: ignore[arg-type]
        except OSError as error:
            raise urllib3.exceptions.ProtocolError("connection broken", error) from error
        return urllib3.HTTPResponse(io.BytesIO(answer.body), dict(answer.headers), answer.status)


def browse(app: Any, method: str, path: str, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()) -> int:
    """Send a request to a WSGI application, and return the status of its answer."""
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "wsgi.input": io.BytesIO(body),
        "CONTENT_LENGTH": str(len(body)),
    }
    for name, value in headers:
        variable = "HTTP_" + name.upper().replace("-", "_")
        environ[variable] = f"{environ[variable]},{value}" if variable in environ else value
    statuses: list[str] = []
    app(environ, lambda status, *_: statuses.append(status))
    return int(statuses[0][:3])
