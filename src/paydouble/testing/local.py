"""The clock and the faults of a sandbox in this process, by the names that a server's handle has for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from paydouble.core.durations import parse_duration
from paydouble.core.errors import UsageError
from paydouble.core.instants import parse_instant
from paydouble.faults.model import parse_fault
from paydouble.inprocess import InProcess
from paydouble.testing import from_core
from paydouble.testing.handles import declare
from paydouble.testing.journals import Span, duration
from paydouble.testing.results import Advanced, Fault


def milliseconds(moment: datetime | str, member: str) -> int:
    """Return an instant as the core has it; `UsageError` names the member that it was given for."""
    try:
        return parse_instant(moment.isoformat() if isinstance(moment, datetime) else moment)
    except ValueError as error:
        raise UsageError(str(error), member=member) from None


class LocalClock:
    """The time of a sandbox in this process."""

    def __init__(self, core: InProcess) -> None:
        """Move a sandbox's time."""
        self._core = core

    @property
    def now(self) -> datetime:
        """Return the sandbox's instant."""
        return from_core.instant(self._core.sandbox.now)

    def advance(
        self, by: Span | None = None, *, to: datetime | str | None = None, until_idle: bool = False
    ) -> Advanced:
        """Move it by a length of time (`72h`, seconds), to an instant, or until nothing is left to happen.

        What falls due on the way happens, instant by instant, and is delivered. `UsageError` unless exactly one is
        given.
        """
        if [by is not None, to is not None, until_idle].count(True) != 1:
            raise UsageError("give exactly one of by, to, until_idle", member="by")
        core = self._core
        before = core.attempts
        fired = core.advance(
            by=None if by is None else parse_duration(duration(by, "by")),
            to=None if to is None else milliseconds(to, "to"),
        )
        return Advanced(self.now, fired, core.attempts - before, core.sandbox.idle)


class LocalFaults:
    """What goes wrong on purpose in a sandbox of this process."""

    def __init__(self, core: InProcess) -> None:
        """Arm the faults of a sandbox."""
        self._box = core.sandbox

    def add(self, effect: str | Mapping[str, Any], **members: Any) -> Fault:  # noqa: ANN401 - JSON is any
        """Arm a fault, with the same arguments as a server's handle; `UsageError` names a member that cannot be."""
        now = self._box.tick()
        return from_core.fault(self._box.faults.add(parse_fault(declare(effect, members)), now), now)

    def list(self) -> list[Fault]:
        """Return all, in the order in which they are asked."""
        now = self._box.tick()
        return [from_core.fault(each, now) for each in self._box.faults]

    def get(self, fault_id: str) -> Fault:
        """Return one, with its counts."""
        return from_core.fault(self._box.faults.get(fault_id), self._box.tick())

    def remove(self, fault_id: str) -> int:
        """Disarm one; returns how often it has fired."""
        armed = self._box.faults.get(fault_id)
        self._box.faults.remove(fault_id)
        return armed.fired

    def clear(self) -> int:
        """Disarm all; returns how many those were."""
        return self._box.faults.clear()
