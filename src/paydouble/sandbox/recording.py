"""What came into a sandbox and what came out of it, in order, so that the run can be repeated.

A sandbox is deterministic: its beginning, the commands that it gets and what receivers answer decide everything else.
So a recording holds the beginning and a list of entries of two kinds:

- commands, which come from outside: a request, the continuation of one that had to wait, an attempt that the shell has
  taken and its outcome, a control command, and an instant at which timers fired,
- results, which follow from them: the answer to a request, and each event.

An attempt is both: that it was taken is a command, the bytes that were sent are a result.

A command is recorded when it has an instant and before it changes anything, so its results come after it. Timers need
no entries of their own: each fires at its own due instant, whichever later instant makes it fire. But *when* they
fired relative to the commands matters where no command fires them, therefore `Ticked`.

Entries refer to the records of the journals instead of copying them, so one costs less than a microsecond and little
memory. The entry of a request is its record in the journal; the `checkout` of that is known when it has been answered.
When the journals begin to evict, the beginning of the run is gone, and the recording is `lost` until a reset of the
whole sandbox begins another. Entries must not refer to the sandbox: a deleted one is freed at once, without a garbage
collection.

`paydouble.runfile` writes recordings to files and repeats them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paydouble.journal import RequestEntry
from paydouble.payments.events import Event

if TYPE_CHECKING:
    from paydouble.config import Settings
    from paydouble.core.clock import ClockMode
    from paydouble.faults.wire import Wire
    from paydouble.journal import Journal
    from paydouble.sandbox.identity import Identity
    from paydouble.webhooks.deliveries import Attempt, Delivery, Outbox, Outcome

# How many entries are added before the journals are asked again whether they have evicted something; a power of two.
_BETWEEN_LOOKS: Final = 256


class Beginning(NamedTuple):
    """All that decides how a sandbox begins. Times are in milliseconds."""

    identity: Identity
    settings: Settings
    notification_url: str | None
    checkout_base: str
    clock_mode: ClockMode
    clock_rate: float
    start: int
    generation: int = 0
    """How many resets have started a new series of ids."""
    faults_made: int = 0
    """How many faults there have been."""


class Continued(NamedTuple):
    """A request that had to wait was executed, or went on since the one that it had joined was done (`joined`)."""

    entry: RequestEntry
    at: int
    wall: int
    joined: bool


@dataclass(slots=True, eq=False)
class Answered:
    """The answer to a request."""

    entry: RequestEntry
    delay_ms: int
    wire: Wire | None


class Taken(NamedTuple):
    """The shell has taken an attempt to send it; `wall` is the machine's time in milliseconds."""

    delivery: Delivery
    attempt: Attempt
    endpoint: str
    at: int
    wall: int


class Settled(NamedTuple):
    """The outcome of an attempt."""

    delivery: Delivery
    attempt: Attempt
    outcome: Outcome
    at: int


class Ticked(NamedTuple):
    """Timers fired: all that were due at an instant or before."""

    at: int


class Did(NamedTuple):
    """A control command, by the name of its control call; `members` are values of the core."""

    name: str
    at: int
    members: Mapping[str, Any]


class Remark(NamedTuple):
    """A text for people, such as a step of the machine; it changes nothing."""

    text: str


Entry = RequestEntry | Continued | Answered | Taken | Settled | Ticked | Did | Remark | Event


class Recording:
    """The recording of one sandbox."""

    __slots__ = ("_journal", "_outbox", "beginning", "entries", "listener", "lost", "waiting")

    def __init__(self, beginning: Beginning, journal: Journal, outbox: Outbox) -> None:
        """Begin a recording; it is lost when the journal or the outbox evicts a record."""
        self._journal = journal
        self._outbox = outbox
        self.listener: Callable[[Entry], object] | None = None
        """Called with each entry, also after the recording is lost."""
        self.restart(beginning)

    def restart(self, beginning: Beginning) -> None:
        """Begin again, without entries."""
        self.beginning = beginning
        self.entries: list[Entry] = []
        self.lost = False
        """Whether the first entries are gone, since the journals could not keep everything."""
        self.waiting = 0
        """The number of requests that have neither an answer nor been continued yet."""

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        if not self.lost:
            entries = self.entries
            entries.append(entry)
            if not len(entries) % _BETWEEN_LOOKS:
                self.look()
        if self.listener is not None:
            self.listener(entry)

    def did(self, name: str, at: int, /, **members: object) -> None:
        """Append a control command."""
        self.add(Did(name, at, members))

    def reached(self, at: int) -> None:
        """Tell the listener that the clock was moved to an instant.

        It is no entry: the next entry, or the end of the run, has the instant.
        """
        if self.listener is not None:
            self.listener(Ticked(at))

    def look(self) -> bool:
        """Return whether the recording has everything since its beginning; otherwise free its memory."""
        journal = self._journal
        if journal.stripped or journal.requests.evicted or journal.events.evicted or self._outbox.evicted:
            self.lost = True
            self.entries = []
        return not self.lost
