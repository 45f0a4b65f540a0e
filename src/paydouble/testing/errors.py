"""What can go wrong between a test and the double, told apart by whose fault it is.

::

    PaydoubleError
    ├── ControlRefused      the test asked for something that cannot be; the message names the member
    └── ServerGone          nobody answers at the double's address (any more)
    AssertionError
    └── NotAsExpected       a verify or a wait did not find what the test expects; the text says what came closest
    OSError                 what a merchant's client meets without sockets, where a real one meets its network
    ├── ServiceDown         (ConnectionRefusedError) nothing was sent
    ├── ReplyLost           (ConnectionError) the request arrived, and no whole answer came back
    └── ReplyTimeout        (TimeoutError) likewise, and the client's patience ended first
"""

from __future__ import annotations

from paydouble.core.errors import PaydoubleError


class ControlRefused(PaydoubleError):
    """A control call was refused, and nothing was changed."""

    def __init__(self, status: int, code: str, message: str, member: str = "") -> None:
        """Take what the control API says: status, a stable code, a sentence, and the member that it speaks of."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.member = member


class ServerGone(PaydoubleError):
    """Nobody answers at the double's address: it was never started there, or it has died since."""


class NotAsExpected(AssertionError):
    """What a test expects of the double's journals, or of its own receiver, does not hold."""


class ServiceDown(ConnectionRefusedError):
    """The service does not listen; nothing was sent."""


class ReplyLost(ConnectionError):
    """The request arrived, and no whole answer came back; whether it was carried out the caller cannot tell."""

    def __init__(self, kind: str, message: str) -> None:
        """Take a stable kind (`reset`, `empty`, `garbage`, `cut`) and a sentence."""
        super().__init__(message)
        self.kind = kind


class ReplyTimeout(TimeoutError):
    """The request arrived, and the caller's patience ended before an answer came."""
