"""What can interrupt the merchant's work: one table, with a name and a description for each kind of work.

An interruption acts at a point of the merchant's code: at a request, a pause or a checkpoint. Points are counted, and
three have names, since most is lost there, and their numbers differ from shop to shop: the first one after a POST has
been carried out, before the merchant has noted that; the one at which a POST is on its way, when the merchant may have
noted that it has sent it; and the first one just before a commit at which another transaction can go on. Some
interruptions act at its answer to a webhook instead, or before its request is answered. `Play` and its driver carry
them out. Simplest first, since shrinking prefers earlier entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from paydouble.core.errors import UsageError


class Act(Enum):
    """What happens."""

    CLICK = auto()
    """The customer does the same once more."""
    KILL = auto()
    BREAK = auto()
    """The database fails once."""
    WEBHOOK_FIRST = auto()
    """A webhook comes before the reply."""
    EVENTS = auto()
    """Time passes, and events come."""
    JOBS = auto()
    """Background jobs run."""
    WORK = auto()
    """Events come, and background jobs work on them."""
    CANCEL = auto()
    """The customer cancels the order."""
    PAY = auto()
    """The customer pays."""
    PAYER = auto()
    """The payer, for whom the payment waits, pays, events come, and background jobs work on them."""
    DISPUTE = auto()
    """The payer disputes the payment, events come, and background jobs work on them."""
    CUSTOMER = auto()
    """Another customer pays."""
    REFUND = auto()
    """Another refund is requested."""
    LOSE_ANSWER = auto()
    KILL_LATER = auto()
    """The process is killed after its answer."""
    AGAIN = auto()
    """The same webhook comes again."""
    RETURN = auto()
    """The payer comes back to the shop."""
    ANOTHER = auto()
    """An earlier webhook comes again."""


NamedPoint = Literal["request", "sending", "commit"]
Point = int | NamedPoint
"""The number of a point of the merchant's code, from 0 on, `AFTER_REQUEST`, `BEFORE_REQUEST` or `BEFORE_COMMIT`."""
AFTER_REQUEST: Final = "request"
"""The first point after a POST of the merchant has been carried out."""
BEFORE_REQUEST: Final = "sending"
"""The point at which a POST of the merchant is on its way; a killed merchant's is not carried out."""
BEFORE_COMMIT: Final = "commit"
"""The first point just before a commit at which the database takes another transaction."""
_WORDS: Final[Mapping[NamedPoint, str]] = MappingProxyType(
    {
        AFTER_REQUEST: "once its request has been carried out",
        BEFORE_REQUEST: "while its request is on its way",
        BEFORE_COMMIT: "just before it commits a transaction",
    }
)
_Named = tuple[str, str]


class InterruptionKind(NamedTuple):
    """An act; for each kind of work that it can interrupt its name there, and its description."""

    act: Act
    calls: _Named | None = None
    """While the customer pays, cancels, or is given money back."""
    pay: _Named | None = None
    refund: _Named | None = None
    cancel: _Named | None = None
    webhook: _Named | None = None
    jobs: _Named | None = None
    needs: str | None = None
    """The method of the adapter without which it does nothing."""
    sends: bool = False
    """Whether the merchant may send a second request because of it."""
    by_customer: bool = False
    loses_notes: bool = False
    """Whether it keeps a merchant from writing down what it has done, and from telling anybody."""

    @property
    def kills(self) -> bool:
        """Whether it ends the merchant's process."""
        return self.act in {Act.KILL, Act.KILL_LATER}

    @property
    def enters(self) -> bool:
        """Whether it enters the merchant's code while a call is running."""
        return not (self.kills or self.act in {Act.BREAK, Act.LOSE_ANSWER})

    @property
    def in_database(self) -> bool:
        """Whether it acts at checkpoints only."""
        return self.act is Act.BREAK

    @property
    def is_at_a_point(self) -> bool:
        """Whether it acts at a point of the merchant's code."""
        return self.act not in {Act.WEBHOOK_FIRST, Act.LOSE_ANSWER, Act.KILL_LATER}

    def names(self) -> Iterator[_Named]:
        """Yield its names, each with its description."""
        yield from filter(None, (self.calls, self.pay, self.refund, self.cancel, self.webhook, self.jobs))


ANOTHER_CUSTOMER: Final = "another customer"
ANOTHER_CUSTOMER_MEANWHILE: Final = f"{ANOTHER_CUSTOMER} meanwhile"
_DISPUTED: Final = "disputed", "the payer disputes the payment meanwhile, 10 s pass, and the events are worked on"
_KINDS: Final = (
    InterruptionKind(
        Act.CLICK,
        calls=("second click", "the customer clicks again meanwhile"),
        webhook=("click meanwhile", "The customer will click once more while the merchant works on the next webhook"),
        jobs=("click meanwhile", "the customer clicks once more"),
        sends=True,
        by_customer=True,
    ),
    InterruptionKind(
        Act.LOSE_ANSWER, webhook=("answer lost", "The merchant's answer to the next webhook will be lost")
    ),
    # A deployment ends a worker as it ends the web server.
    InterruptionKind(
        Act.KILL,
        calls=("dies", "the merchant's process is killed in the middle and started again"),
        webhook=(
            "dies",
            "The merchant's process will be killed while it works on the next webhook, and started again",
        ),
        jobs=("dies", "the process is killed in the middle and started again"),
        loses_notes=True,
    ),
    InterruptionKind(
        Act.KILL_LATER,
        webhook=(
            "dies after the answer",
            "The process will be killed after its answer to the next webhook, and started again",
        ),
        needs="drain",
    ),
    InterruptionKind(
        Act.BREAK,
        calls=("database down", "the merchant's database fails once in the middle"),
        webhook=("database down", "The merchant's database will fail once while it works on the next webhook"),
        jobs=("database down", "the database fails once"),
        loses_notes=True,
    ),
    InterruptionKind(
        Act.AGAIN,
        webhook=("again meanwhile", "The next webhook will come again while the merchant works on it"),
    ),
    InterruptionKind(Act.WEBHOOK_FIRST, pay=("webhook first", "the first webhook overtakes the reply")),
    # Two that are each small enough can be too much together.
    InterruptionKind(
        Act.REFUND, refund=("another refund", "another refund of as much is requested meanwhile"), sends=True
    ),
    # A plain payment succeeds within these. A receiver that begins the work of a job may find the job in the middle.
    InterruptionKind(
        Act.EVENTS,
        calls=("events come", "10 s pass meanwhile, and their events come"),
        webhook=(
            "events meanwhile",
            "10 s will pass while the merchant works on the next webhook, and their events will come",
        ),
        jobs=("events meanwhile", "10 s pass, and their events come"),
    ),
    # A worker beside the web server finds an attempt before its outcome is written. A job that takes longer than its
    # interval is started beside itself, and many shops have two workers.
    InterruptionKind(
        Act.JOBS,
        calls=("jobs run", "background jobs run meanwhile"),
        webhook=("jobs meanwhile", "Background jobs will run while the merchant works on the next webhook"),
        jobs=("jobs meanwhile", "the same jobs run in another process"),
        needs="tick",
        sends=True,
    ),
    # A receiver that only stores events leaves them to that worker.
    InterruptionKind(
        Act.WORK,
        calls=("events worked on", "10 s pass meanwhile, and background jobs work on their events"),
        jobs=("events worked on meanwhile", "10 s pass, and the same jobs in another process work on their events"),
        needs="tick",
        sends=True,
    ),
    InterruptionKind(
        Act.RETURN,
        webhook=(
            "payer returns meanwhile",
            "The payer will come back to the shop while the merchant works on the next webhook",
        ),
        jobs=("payer returns meanwhile", "the payer comes back to the shop"),
        needs="customer_returns",
        by_customer=True,
    ),
    InterruptionKind(
        Act.CANCEL,
        pay=("cancelled", "the customer cancels the order meanwhile"),
        refund=("cancelled", "the customer cancels the order meanwhile"),
        webhook=(
            "cancelled meanwhile",
            "The customer will cancel the order while the merchant works on the next webhook",
        ),
        jobs=("cancelled meanwhile", "the customer cancels the order"),
        needs="cancel",
        by_customer=True,
    ),
    # In another window.
    InterruptionKind(
        Act.PAY, cancel=("paid for", "the customer pays for the order meanwhile"), sends=True, by_customer=True
    ),
    # A job that releases what is held for an order may have read that order a moment before.
    InterruptionKind(
        Act.PAYER,
        jobs=("payer pays meanwhile", "the payer pays, 10 s pass, and their events are worked on"),
        by_customer=True,
    ),
    # What was checked before a refund is sent does not hold any more.
    InterruptionKind(
        Act.DISPUTE,
        refund=_DISPUTED,
        cancel=_DISPUTED,
        jobs=("disputed meanwhile", "the payer disputes the payment, 10 s pass, and the events are worked on"),
        sends=True,
        by_customer=True,
    ),
    # Two who want the last one, or whose facts are kept in one place.
    InterruptionKind(
        Act.CUSTOMER,
        pay=(ANOTHER_CUSTOMER, "another customer, who has ordered before, pays meanwhile"),
        webhook=(
            ANOTHER_CUSTOMER_MEANWHILE,
            "Another customer orders, and will pay while the next webhook is worked on",
        ),
        jobs=(ANOTHER_CUSTOMER_MEANWHILE, "another customer, who has ordered before, pays"),
        sends=True,
        by_customer=True,
    ),
    InterruptionKind(
        Act.ANOTHER,
        webhook=(
            "another meanwhile",
            "An earlier event of the payment will come again while the merchant works on the next one",
        ),
    ),
)
KINDS: Final[Mapping[str, InterruptionKind]] = MappingProxyType(
    {name: kind for kind in _KINDS for name, _ in kind.names()}
)
"""The name of each interruption → its kind."""


def _table(*named: _Named | None) -> Mapping[str, str]:
    return MappingProxyType(dict(filter(None, named)))


_PLAIN: Final = ("none", "")
MEANWHILE: Final = _table(_PLAIN, *(each.calls or each.pay for each in _KINDS))
"""What can happen while the merchant makes a deposit: name → description."""
REFUND_MEANWHILE: Final = _table(_PLAIN, *(each.calls or each.refund for each in _KINDS))
CANCEL_MEANWHILE: Final = _table(_PLAIN, *(each.calls or each.cancel for each in _KINDS))
WEBHOOK_INTERRUPTIONS: Final = _table(*(each.webhook for each in _KINDS))
JOB_INTERRUPTIONS: Final = _table(*(each.jobs for each in _KINDS))
AT_POINTS: Final = frozenset(name for name, kind in KINDS.items() if kind.is_at_a_point)
"""The interruptions that act at a point of the merchant's code."""
LOSES_NOTES: Final = tuple(name for name, kind in KINDS.items() if kind.loses_notes)
"""What keeps a merchant from writing down what it has done, and from telling anybody."""
OF_CUSTOMERS: Final = frozenset(name for name, kind in KINDS.items() if kind.by_customer)
"""The interruptions that a customer causes."""


def with_act(table: Mapping[str, str], act: Act) -> tuple[str, ...]:
    """Return the names in a table of interruptions that do an act."""
    return tuple(name for name in table if name in KINDS and KINDS[name].act is act)


def told_at(words: str, at: Point) -> str:
    """Return the description of an interruption, with the point where that one has a name."""
    # A name that is none is refused later, with those that there are.
    if not words or isinstance(at, int) or at not in _WORDS:
        return words
    return f"{words}, {_WORDS[at]}"


def checked_point(at: Point) -> Point:
    """Return a point; `UsageError` for a name that is none."""
    if isinstance(at, str) and at not in _WORDS:
        raise UsageError(f"there is no point {at!r}; write a number from 0 on, or {' or '.join(map(repr, _WORDS))}")
    return at
