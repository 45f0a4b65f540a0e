"""Calls of the control API over one kept connection."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any

from benchmarks.servers import PATIENCE_SECONDS

DEFAULT = "/sandboxes/default"


class Control:
    """A connection to the control API of a server."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        """Make calls over this connection."""
        self._connection = connection

    def post(self, path: str, body: object | None = None) -> Any:  # noqa: ANN401 - JSON is any
        """Return the answer to a POST; ends the program when it is refused."""
        return self._call("POST", path, json.dumps({} if body is None else body).encode())

    def delete(self, path: str) -> Any:  # noqa: ANN401 - JSON is any
        """Return the answer to a DELETE; ends the program when it is refused."""
        return self._call("DELETE", path, None)

    def _call(self, method: str, path: str, body: bytes | None) -> Any:  # noqa: ANN401 - JSON is any
        headers = {} if body is None else {"Content-Type": "application/json"}
        self._connection.request(method, f"/_paydouble{path}", body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status not in {200, 201}:
            raise SystemExit(f"benchmarks: {method} {path} was refused: {answer.decode(errors='replace')}")
        return json.loads(answer)


@contextlib.contextmanager
def controlling(port: int, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[Control]:
    """Connect to the control API of a server; a call may take so many seconds."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=patience_seconds)) as connection:
        yield Control(connection)
