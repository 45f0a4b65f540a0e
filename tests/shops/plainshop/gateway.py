"""HTTP to the payment service, with urllib."""

import base64
import email.utils
import http.client
import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from decimal import Decimal
from email.message import Message
from typing import Any

from .conf import Conf, bugs

LONGEST_WAIT = 3600.0


class Lost(Exception):
    """No whole reply came: nobody knows whether the service has worked on the request."""


class Unexpected(Exception):
    """Something else went wrong."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib would turn a redirected POST into a GET."""

    def redirect_request(self, *_args: object) -> None:
        return None


class Reply:
    """A status, headers, and the JSON of the body, or None where it is no JSON."""

    def __init__(self, status: int, headers: Message, raw: bytes) -> None:
        self.status = status
        self.headers = headers
        try:
            self.json = json.loads(raw, parse_float=Decimal)
        except ValueError:
            self.json = None

    def data(self) -> dict[str, Any] | None:
        """Return the resource of a success, or None when this is not one."""
        if not 200 <= self.status < 300 or not isinstance(self.json, dict):
            return None
        data = self.json.get("data")
        return data if self.json.get("success") is True and isinstance(data, dict) else None

    def limited(self) -> bool:
        return self.status == 429

    def refused(self) -> bool:
        """Return whether the service has declined this very request."""
        return 400 <= self.status < 500 and self.status not in (408, 409, 425, 429)


class Gateway:
    """Sends requests. `handlers` are more handlers for urllib."""

    def __init__(self, conf: Conf, handlers: Iterable[urllib.request.BaseHandler] = ()) -> None:
        self.conf = conf
        self.opener = urllib.request.OpenerDirector()
        for handler in (*handlers, NoRedirects(), urllib.request.HTTPErrorProcessor(),
                        urllib.request.HTTPDefaultErrorHandler()):  # fmt: skip
            self.opener.add_handler(handler)
        if not handlers:
            self.opener.add_handler(urllib.request.HTTPHandler())
            self.opener.add_handler(urllib.request.HTTPSHandler())
        login = f"{conf.business_key}:{conf.business_secret}".encode()
        self.login = "Basic " + base64.b64encode(login).decode()

    def post(self, path: str, key: str, body: str) -> Reply:
        return self._send("POST", path, body.encode(), {"Content-Type": "application/json", "Idempotency-Key": key})

    def get(self, path: str, **query: str | int | None) -> Reply:
        given = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
        return self._send("GET", path + ("?" + given if given else ""), None, {})

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        request = urllib.request.Request(  # noqa: S310 - the address is a setting
            self.conf.base_url.rstrip("/") + path, data=body, method=method,
            headers={"Authorization": self.login, "Accept": "application/json", **headers},
        )  # fmt: skip
        try:
            try:
                response = self.opener.open(request, timeout=self.conf.timeout)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                raw = response.read()
        except urllib.error.URLError as error:
            raise Lost(str(error)) from error
        except (OSError, http.client.HTTPException) as error:
            # urllib wraps what goes wrong until the request is sent, but nothing that goes wrong after it.
            if "raw_errors_refuse" in bugs and method == "POST":
                raise Unexpected(str(error)) from error
            raise Lost(str(error)) from error
        return Reply(response.status, response.headers, raw)


def wait_of(reply: Reply) -> float | None:
    """Return the seconds to wait after a 429, or None when its headers do not say.

    The contract does not say in which unit X-RateLimit-Reset is: it may be seconds from now, or a
    Unix time in seconds or milliseconds.
    """
    after = reply.headers.get("Retry-After")
    if after is not None:
        try:
            return _within(float(after))
        except ValueError:
            try:
                return _within(email.utils.parsedate_to_datetime(after).timestamp() - time.time())
            except (TypeError, ValueError):
                pass
    try:
        reset = float(reply.headers.get("X-RateLimit-Reset", ""))
    except ValueError:
        return None
    if "reset_is_seconds" in bugs:
        return max(reset, 0.0)
    if reset > 1e11:
        return _within(reset / 1000 - time.time())
    if reset > 1e8:
        return _within(reset - time.time())
    return _within(reset)


def _within(seconds: float) -> float | None:
    if math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, LONGEST_WAIT)
