"""The exit statuses of all commands."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class ExitStatus(IntEnum):
    """How a command ends."""

    DONE = 0
    NEGATIVE = 1
    UNUSABLE = 2
    NOT_TESTED = 3
    INTERRUPTED = 130


MEANINGS: Final[Mapping[ExitStatus, str]] = MappingProxyType(
    {
        ExitStatus.DONE: "Done.",
        ExitStatus.NEGATIVE: (
            "The answer is negative: a scenario has errors or plays differently, a shop breaks a rule or a clause, "
            "a call of a merchant file does not work as expected (`conformance doctor`), "
            "a run file diverges, a server is not healthy, a signature does not verify, an act of the demo failed, "
            "a test webhook was not delivered."
        ),
        ExitStatus.UNUSABLE: (
            "Arguments, options, environment, files or a server cannot be used, or the output cannot be written "
            "(to a full disk, for instance)."
        ),
        ExitStatus.NOT_TESTED: (
            "A shop cannot be tested: it does not start, or one of the calls that drive it does not work. "
            "Also a clause that was asked for and could not be tested, and a part of `explore --jobs` that has ended "
            "too early."
        ),
        ExitStatus.INTERRUPTED: (
            "Stopped with Ctrl-C in the middle (`serve` and `receive` end with 0: they run until they are stopped)."
        ),
    }
)
"""What the reference says of each."""
