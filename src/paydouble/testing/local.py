"""The clock and the journals of a sandbox in this process: the handles of a server's sandbox, with additions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from paydouble.core.documents import instant
from paydouble.core.errors import UsageError
from paydouble.core.instants import parse_instant
from paydouble.inprocess import InProcess
from paydouble.records import Delivery, Event, Request
from paydouble.testing.calls import Executor, Sync
from paydouble.testing.handles import Clock
from paydouble.testing.journals import Deliveries, Events, Records, Requests


def milliseconds(moment: datetime | str, member: str) -> int:
    """Return an instant as the core has it; `UsageError` names the member that it was given for."""
    try:
        return parse_instant(moment.isoformat() if isinstance(moment, datetime) else moment)
    except ValueError as error:
        raise UsageError(str(error), member=member) from None


class LocalClock(Clock[Sync]):
    """The time of a sandbox in this process."""

    def __init__(self, executor: Executor, path: str, core: InProcess) -> None:
        """Control the clock of a sandbox."""
        super().__init__(executor, path)
        self._core = core

    @property
    def now(self) -> datetime:
        """Return the sandbox's instant."""
        return instant(self._core.sandbox.now)


# Each is a list of what there was when it was made, and a handle, whose calls read again. Names of both are the list's,
# except `clear`, which empties the journal.


class LocalRequests(Records[Request], Requests[Sync]):
    """The requests of the API."""

    clear = Requests.clear  # type: ignore[assignment]  # see above

    def __init__(self, records: Iterable[Request], executor: Executor, path: str) -> None:
        """Hold the records."""
        Records.__init__(self, records, "requests")
        Requests.__init__(self, executor, path)


class LocalEvents(Records[Event], Events[Sync]):
    """The events."""

    def __init__(self, records: Iterable[Event], executor: Executor, path: str) -> None:
        """Hold the records."""
        Records.__init__(self, records, "events")
        Events.__init__(self, executor, path)


class LocalDeliveries(Records[Delivery], Deliveries[Sync]):
    """The deliveries of events."""

    def __init__(self, records: Iterable[Delivery], executor: Executor, path: str) -> None:
        """Hold the records."""
        Records.__init__(self, records, "deliveries")
        Deliveries.__init__(self, executor, path)
