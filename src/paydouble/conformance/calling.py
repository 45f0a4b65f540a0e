"""One call of a driver, carried out: an HTTP request to the shop, or a command."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from paydouble.conformance.merchant_file import AnyCall
from paydouble.conformance.placeholders import fill
from paydouble.core import json_text
from paydouble.core.errors import PaydoubleError
from paydouble.core.printable import printable

_SECOND_MS: Final = 1000
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_SHOWN: Final = 300
_OK: Final = range(200, 400)


class CallFailed(PaydoubleError):
    """A call of the driver had no answer, or one that cannot be used."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call was, and what came back."""

    sent: str
    """The request line, or the command."""
    status: int
    """The HTTP status; for a command 200 when it ended with 0, and 500 otherwise."""
    body: bytes

    @property
    def ok(self) -> bool:
        """Return whether the shop did what it was asked for."""
        return self.status in _OK

    @property
    def answer(self) -> str:
        """Return status and body in short, without control characters."""
        text = printable(self.body[:_MOST_SHOWN].decode("utf-8", "replace").strip())
        more = "…" if len(self.body) > _MOST_SHOWN else ""
        return f"{self.status}, {text}{more}" if text else f"{self.status} without a body"

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the body as JSON; `CallFailed` when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise CallFailed(f"{self.sent} was answered with {self.answer}; the answer must be JSON") from None

    def at(self, pointer: str) -> Any:  # noqa: ANN401 - JSON is any
        """Return the value at a JSON pointer (RFC 6901) of the answer; `CallFailed` when there is none."""
        value = self.json()
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(name)] if isinstance(value, list) else value[name]
            except (LookupError, TypeError, ValueError):
                raise CallFailed(f"{self.sent} was answered with {self.answer}, which has no {pointer}") from None
        return value


def perform(call: AnyCall, values: Mapping[str, Any], folder: Path) -> Outcome:
    """Carry out a call; `values` replace its placeholders, and commands run in `folder`.

    `CallFailed` says why there was no answer.
    """
    seconds = call.timeout / _SECOND_MS
    if call.command is not None:
        return run(fill(call.command, values), folder, seconds)
    return _request(call, values, seconds)


def run(command: list[str], folder: Path, seconds: float) -> Outcome:
    """Run a command and wait for its end."""
    sent = " ".join(command)
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command, without a shell
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CallFailed(f"{sent} had not ended after {seconds:g} s") from None
    except OSError as error:
        raise CallFailed(f"{sent} cannot be run: {error.strerror or error}") from None
    if done.returncode:
        return Outcome(sent, 500, done.stderr.strip() or done.stdout)
    return Outcome(sent, 200, done.stdout)


def _request(call: AnyCall, values: Mapping[str, Any], seconds: float) -> Outcome:
    url = fill(call.url, values)
    headers = {"Accept": "application/json", **fill(call.headers, values)}
    body = None
    if call.json_body is not None:
        body = json_text.dumps(fill(call.json_body, values))
        headers.setdefault("Content-Type", "application/json")
    elif call.form is not None:
        body = urlencode(fill(call.form, values)).encode()
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    return request(call.method, url, headers, body, seconds)


def request(method: str, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float) -> Outcome:
    """Send a request to the shop, directly: no proxy of the environment is used, and no redirect followed."""
    sent = f"{method} {url}"
    parts = urlsplit(url)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection = make(parts.hostname or "", parts.port, timeout=seconds)
    except ValueError as error:
        raise CallFailed(f"{sent} cannot be sent: {error}") from None
    try:
        connection.request(method, target, body, dict(headers))
        answer = connection.getresponse()
        content = answer.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise CallFailed(f"{sent} was answered with more than {_MOST_BYTES} bytes")
        return Outcome(sent, answer.status, content)
    except TimeoutError:
        raise CallFailed(f"{sent} had no answer after {seconds:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise CallFailed(f"{sent} had no answer: {reason}") from None
    finally:
        connection.close()
