"""What the machine says of a merchant, and whose fault it is."""

from __future__ import annotations

import traceback

from paydouble.core.errors import PaydoubleError


class MerchantBug(AssertionError):
    """The merchant broke an invariant. `verdict` is the sentence; the whole text has the story and its calls."""

    def __init__(self, verdict: str, text: str = "") -> None:
        """Take the sentence and the report."""
        super().__init__(text or verdict)
        self.verdict = verdict


class AdapterMisfit(PaydoubleError):
    """The adapter cannot be used: it lacks a method, or is none. Nothing is said of the merchant."""


class Runaway(BaseException):
    """The merchant calls or waits without end. No `except Exception` of a merchant's stops it."""


class Hanging(BaseException):
    """A call of the adapter did not come back in real time."""


class Died(BaseException):
    """The merchant's process was killed, here and now."""


class DatabaseDown(Exception):
    """What a checkpoint raises when the machine breaks the merchant's database for a moment."""


def place_of(error: BaseException) -> str:
    """Return the file and the line in which an error was raised, and its type and message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    text = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{text}{where}"
