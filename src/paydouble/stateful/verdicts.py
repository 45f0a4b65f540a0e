"""The exceptions of a play: what is reported, and what ends a call of the merchant's code."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from paydouble.core.errors import PaydoubleError
from paydouble.core.printable import printable
from paydouble.stateful.findings import Finding, Rule

if TYPE_CHECKING:
    from paydouble.runfile.recorded import Taped


_OWN: Final = f"{Path(__file__).parents[1]}{os.sep}"
_LIBRARIES: Final = (
    *(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen ",
)
_LONGEST_MESSAGE: Final = 300


class Place(NamedTuple):
    """Where in a catalogue a play stands."""

    number: int
    of: int


class MerchantBug(AssertionError):
    """The merchant broke a rule. `verdict` is the sentence; the text adds the steps and how to repeat them."""

    def __init__(
        self,
        verdict: str,
        text: str = "",
        rule: Rule = Rule.CRASH,
        calls: Sequence[str] = (),
        dialect: str = "plain",
    ) -> None:
        """Take the sentence, the report, the rule that was broken, and the calls of the play and its dialect."""
        super().__init__(text or verdict)
        self.verdict = verdict
        self.rule = rule
        self.calls = tuple(calls)
        self.dialect = dialect
        self.taped: Taped | None = None
        """The recording of the play, from which its run file is written; None when it is too long to keep."""
        self.others: tuple[Finding, ...] = ()
        """The other rules that the play broke."""
        self.place: Place | None = None
        """The play of the catalogue that found it; None where another play did."""


class AdapterMisfit(PaydoubleError):
    """The adapter cannot be used: it lacks a method, is not a `Merchant`, or raises while it is being made.

    It says nothing about the merchant.
    """


class Runaway(BaseException):
    """The merchant calls or waits without end. A `BaseException`, so that the merchant's code does not catch it."""


class Hanging(BaseException):
    """A call of the adapter took longer than the limit in real time; its text says more, if more is known."""


class Blocked(BaseException):
    """A call inside another call of the adapter waits for that one, as for a lock, and goes on when it is over."""


class ProcessKilled(BaseException):
    """The merchant's process was killed at this point."""


class DatabaseDown(Exception):
    """Raised by a checkpoint when the machine makes the merchant's database fail once."""


def place_of(error: BaseException) -> str:
    """Return an error's type and message, and the file and line of the shop at which it was raised, on one line.

    A message can be a whole page of HTML; of a long one the beginning is told. The line is a library's where none is
    the shop's, and there is none where the error is this package's own.
    """
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_OWN)]
    shops = [each for each in frames if not each.filename.startswith(_LIBRARIES)] or frames
    where = f" at {shops[-1].filename.rpartition('/')[2]}:{shops[-1].lineno}" if shops else ""
    message = str(error)
    told = printable(message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…")
    return f"{type(error).__name__}{f': {told}' if told else ''}{where}"
