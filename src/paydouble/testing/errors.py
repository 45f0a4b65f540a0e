"""The errors that a test can meet, by their cause.

::

    PaydoubleError
    ├── ControlRefused      the call was wrong, and nothing was changed; the message names the member
    └── ServerGone          no server answers at the double's address
    AssertionError
    └── NotAsExpected       a verify or a wait did not find what the test expects; the text says what came closest
    OSError                 network errors, as a merchant's client meets them without sockets
    ├── ServiceDown         (ConnectionRefusedError) nothing was sent
    ├── ReplyLost           (ConnectionError) the request arrived, and no whole answer came back
    └── ReplyTimeout        (TimeoutError) the request arrived, and no answer came in time
"""

from __future__ import annotations

from paydouble.core.errors import PaydoubleError


class ControlRefused(PaydoubleError):
    """A control call was refused, and nothing was changed."""

    def __init__(self, status: int, code: str, message: str, member: str = "") -> None:
        """Take the control API's refusal: status, a stable code, a message, and the member that is wrong."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.member = member


class ServerGone(PaydoubleError):
    """No server answers at the double's address: it was not started there, or it has ended."""


class NotAsExpected(AssertionError):
    """What a test expects of the double's journals, or of its own receiver, does not hold."""


class ServiceDown(ConnectionRefusedError):
    """The service does not listen; nothing was sent."""


class ReplyLost(ConnectionError):
    """The request arrived, but no complete answer came back; the caller cannot know whether it was carried out."""

    def __init__(self, kind: str, message: str) -> None:
        """Take a stable kind (`reset`, `empty`, `garbage`, `cut`) and a sentence."""
        super().__init__(message)
        self.kind = kind


class ReplyTimeout(TimeoutError):
    """The request arrived, and the caller's patience ended before an answer came."""
