"""A running server, for commands: control calls, calls of the business, and the stream of what happens.

The standard library's HTTP client is enough for one caller, and starts in a tenth of the time of a larger one.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import threading
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import quote, urlsplit

from paydouble.core.errors import UsageError
from paydouble.guards.credentials import basic_header
from paydouble.rehearsal.calls import Call, Response

Document = dict[str, Any]
_CONTROL_SECONDS: Final = 60.0
# How long the merchant waits for an answer; after it, a call that a fault never answers is lost.
_API_SECONDS: Final = 30.0
# Subclasses before their base classes: `RemoteDisconnected` is a `ConnectionResetError`.
_LOST: Final = {
    http.client.RemoteDisconnected: "empty",
    http.client.IncompleteRead: "cut off",
    http.client.HTTPException: "garbage",
    ConnectionResetError: "reset",
    TimeoutError: "timeout",
    OSError: "refused",
}
_USUAL_PORT: Final = 8080
_NAMING: Final = "--server or PAYDOUBLE_SERVER"
_read_json = partial(json.loads, parse_float=Decimal)


class Refused(UsageError):
    """A control call was refused; `status` is its status."""

    def __init__(self, message: str, status: int) -> None:
        """Take what the server said."""
        super().__init__(message)
        self.status = status


class Connections:
    """Makes connections to one address."""

    def __init__(self, url: str, option: str = "--server") -> None:
        """Take a URL; `UsageError` when it is not one."""
        self.url = url.rstrip("/")
        problem = UsageError(f"{url!r} is not a URL such as http://127.0.0.1:8080", member=option)
        try:
            parts = urlsplit(self.url)
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise problem from None
        if parts.scheme not in {"http", "https"} or not self._host:
            raise problem
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection

    def way_out(self) -> str:
        """Return what to do when the server does not answer."""
        port = self._port or http.client.HTTP_PORT
        command = "paydouble serve" if port == _USUAL_PORT else f"paydouble serve --port {port}"
        secure = self._kind is http.client.HTTPSConnection  # and none of our servers is
        return f"{'' if secure else f'start a server there with {command!r}, or '}name another with {_NAMING}"

    def open(self, seconds: float) -> http.client.HTTPConnection:
        """Return a connection; `seconds` is its timeout."""
        return self._kind(self._host or "", self._port, timeout=seconds)


class Box:
    """One sandbox of a server, steered and called from outside."""

    def __init__(self, url: str, token: str | None, sandbox: str) -> None:
        """Reach a sandbox; `UsageError` when the server does not answer, or not as one of ours."""
        self._control = Connections(url)
        self._path = f"/_paydouble/sandboxes/{quote(sandbox, safe='')}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.id = sandbox
        self.url = self._control.url + self._path
        """The URL of its control calls."""
        shown = self.control("GET", "")
        self._authorization = basic_header(shown["business_key"], shown["business_secret"])
        self._base_url: str = shown["base_url"]

    def control(self, method: str, path: str, body: Document | None = None) -> Document:
        """Make a control call about the sandbox; `Refused` has the reason when it was refused."""
        status, answer = self._ask(method, self._path + path, body)
        if status >= 400:  # noqa: PLR2004 - HTTP
            error = answer.get("error")
            said = error.get("message") if isinstance(error, dict) else None
            raise Refused(f"{self._control.url}: {said or f'{method} {path} was answered {status}'}", status)
        return answer

    def call(self, call: Call) -> Response:
        """Make a call of the business."""
        headers = {"Authorization": self._authorization}
        if call.key is not None:
            headers |= {"Idempotency-Key": call.key, "Content-Type": "application/json"}
        with contextlib.closing(self._api.open(_API_SECONDS)) as connection:
            try:
                connection.request(call.method, f"/api/v1{call.path}", call.body or None, headers)
                response = connection.getresponse()
                return Response(response.status, response.read())
            except (OSError, http.client.HTTPException) as error:
                return Response(None, why=next(why for kind, why in _LOST.items() if isinstance(error, kind)))

    def follow(self) -> Stream:
        """Return the stream of what happens in the sandbox from now on."""
        return Stream(self._control, f"{self._path}/stream", self._headers)

    def newest(self) -> int:
        """Return the number of the newest note of the sandbox's stream."""
        with contextlib.closing(self._control.open(_CONTROL_SECONDS)) as connection:
            try:
                connection.request("HEAD", f"{self._path}/stream", headers=self._headers)
                return _number(connection.getresponse(), self._control.url)
            except (OSError, http.client.HTTPException) as error:
                raise UsageError(f"{self._control.url} does not answer: {_described(error)}") from None

    def _ask(self, method: str, target: str, body: Document | None) -> tuple[int, Document]:
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        with contextlib.closing(self._control.open(_CONTROL_SECONDS)) as connection:
            try:
                connection.request(method, target, data, headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as error:
                raise UsageError(
                    f"{self._control.url} does not answer: {_described(error)}; {self._control.way_out()}"
                ) from None
        try:
            answer = _read_json(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            found = f"answers, but not as a paydouble server does ({response.status})"
            raise UsageError(f"{self._control.url} {found}; name one with {_NAMING}")
        return response.status, answer

    @cached_property
    def _api(self) -> Connections:
        # With a control port of its own, the API is elsewhere. The call has no credentials, so no sandbox has it;
        # it is among the unclaimed requests alone.
        status, _ = self._ask("GET", "/api/v1/pay-in", None)
        here = status == 401  # noqa: PLR2004 - HTTP
        return self._control if here else Connections(self._base_url.removesuffix("/api/v1"))


class Stream:
    """Server-Sent Events, read by a thread of their own and taken one by one."""

    def __init__(self, connections: Connections, target: str, headers: dict[str, str]) -> None:
        """Connect; everything that happens from now on will be in it."""
        self._url = connections.url
        self._notes: queue.SimpleQueue[tuple[str, Document, int | None] | None] = queue.SimpleQueue()
        self._connection = connections.open(_CONTROL_SECONDS)
        try:
            self._connection.connect()
            self._socket: socket.socket = self._connection.sock
            self._connection.request("GET", target, headers=headers)
            self._response = self._connection.getresponse()
            self.seen = _number(self._response, self._url)
            """The number of the last note that was taken; before the first one, where the stream begins."""
        except UsageError:
            self._connection.close()
            raise
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise UsageError(f"{self._url} does not answer: {_described(error)}") from None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self) -> None:
        """Stop following."""
        with contextlib.suppress(OSError):  # the server may have closed it
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._response.close()
        self._connection.close()

    def take(self, seconds: float) -> tuple[str, Document] | None:
        """Return the next note (what it is about, and what it says), or None when none comes in time."""
        try:
            note = self._notes.get(timeout=max(seconds, 0.0)) if seconds > 0 else self._notes.get_nowait()
        except queue.Empty:
            return None
        if note is None:
            self._notes.put(None)  # for the next call
            raise UsageError(f"{self._url} has ended, or its sandbox was deleted")
        kind, document, number = note
        self.seen = self.seen if number is None else number
        return kind, document

    def _read(self) -> None:
        kind, number = "", None
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            for line in self._response:
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "id":
                    number = int(value)
                elif name == "data":
                    self._notes.put((kind, _read_json(value), number))
                    number = None  # a note of what is no longer kept has none
        self._notes.put(None)


def _number(response: http.client.HTTPResponse, url: str) -> int:
    """Return the number of a note that an answer about a stream names; `UsageError` when it names none."""
    text = response.headers.get("Last-Event-ID", "")
    if not (text.isascii() and text.isdecimal()):
        found = f"answers, but does not say where its stream is ({response.status})"
        raise UsageError(f"{url} {found}; name a paydouble server of this version with {_NAMING}")
    return int(text)


def _described(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
