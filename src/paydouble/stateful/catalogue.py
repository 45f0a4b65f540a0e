"""The catalogue: a fixed list of short plays, derived from the vocabulary, that the machine runs before its hunt.

Each entry of the vocabulary is played alone, in the shortest play in which it can matter: a trouble of a POST in one
payment, a disturbed webhook in one payment with its events, a forged webhook before and after the money. Combinations
follow where one trouble hides what another does; each says why. The first turn has each entry alone at each place of a
payment's life and one of each combination, those of all sections in turn, and the variants follow in further turns, so
that each kind of mistake has its chance early. A turn begins with each act by itself and without trouble; the others
come in the order of what a mistake costs: double charges, forged payments, double or missing fulfilment, refunds and
disputes, then everything else.

Not every play is run on every merchant: `equivalence.py` decides which would show nothing new.

Nothing here names an entry of the vocabulary where all entries of its table are meant, so a new one is played without
a change to this file.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import count
from typing import Final, NamedTuple

from paydouble.config import Settings
from paydouble.core.durations import UNITS_MS
from paydouble.stateful.coverage import COMMANDS
from paydouble.stateful.crafted import AHEAD
from paydouble.stateful.interruptions import (
    ANOTHER_CUSTOMER,
    ANOTHER_CUSTOMER_MEANWHILE,
    AT_POINTS,
    CANCEL_MEANWHILE,
    JOB_INTERRUPTIONS,
    KINDS,
    LOSES_NOTES,
    MEANWHILE,
    OF_CUSTOMERS,
    REFUND_MEANWHILE,
    WEBHOOK_INTERRUPTIONS,
    Act,
)
from paydouble.stateful.lifecycles import lifecycles, ways_to_each_act
from paydouble.stateful.prices import PRICES
from paydouble.stateful.provider import OF_REFUNDS, PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.steps import CataloguePlay, Step, step
from paydouble.stateful.troubles import (
    AFTERWARDS,
    CANCELLATION_TROUBLES,
    DIALECTS,
    DURATIONS,
    INJECTED,
    LONGER_THAN_A_CLICK,
    ORDER_READ_TROUBLES,
    OWN_REFUND_TROUBLES,
    PAYER_SCENARIOS,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_TROUBLES,
    SCENARIOS,
    SHARES,
    SLOW_REFUND,
    SLOW_SCENARIOS,
    TO_THE_END,
    WEBHOOK_TROUBLES,
    Trouble,
)

# Points of the merchant's code at which an interruption is tried: two for each request, one for each pause or commit.
POINTS: Final = range(8)
# Jobs work in many small transactions, and a kill between the last two matters as much as between the first.
_JOB_POINTS: Final = range(24)
# Just before each event of a payment: created at 0 s, pending at 2 s, processing at 3 s, succeeded at 6 s.
_EVENTS: Final = (None, "1s", "2500ms", "5s")
# To just after the third event, in the same second.
_WITHIN_THE_SECOND: Final = step("pass_time", "3400ms")

# In so many turns all shapes of plays are gone through, so that each kind of mistake has its chance early.
_TURNS: Final = 12

_INTERRUPTIONS: Final = COMMANDS["interrupted webhook"] | COMMANDS["interrupted job"]


class _Change(NamedTuple):
    """A change of a payment after its money has come."""

    before: tuple[Step, ...]
    act: tuple[Step, ...] = ()
    """What brings the event of the change; it is empty where the event comes by itself."""


# A refund is over after three seconds.
_NEARLY_OVER: Final = step("pass_time", "2s")
# A place in a payment's life, and what is played there; the place is None where it does not matter.
_Content = tuple[Hashable, Hashable]
_ORDER: Final = step("order")
_PAY: Final = step("pay")
_RETRY: Final = step("retry")
_SETTLE: Final = step("wait", "10s")
_RESTART: Final = step("restart")
_WORK_OFF: Final = step("work_off")
_PAID: Final = (_ORDER, _PAY, _SETTLE)
_EXPIRED: Final = (_ORDER, step("pay", 1, scenario="abandoned"), step("wait", "25h"))
_PAYER_LEAVES: Final = (step("pay", 1, scenario="payer-decides"), _SETTLE, step("payer", "gives up"), _SETTLE)
# A shop may keep an order for minutes only, and take no second attempt after a day.
_FIRST_ATTEMPTS: Final[tuple[tuple[Step, ...], ...]] = (_EXPIRED, (_ORDER, *_PAYER_LEAVES))
_KEY_HOURS: Final = Settings().idempotency_validity // UNITS_MS["h"]
_HOURS_PAST_THE_KEY: Final = (step("wait", "1h"),) * (_KEY_HOURS + 2)
# A key is too old when it was sent first, and was sent last not long ago: the worker was down for most of a day.
_DOWN_PAST_THE_KEY: Final = (
    *[step("wait", "1h")] * 6,
    step("pass_time", f"{_KEY_HOURS - 5}h"),
    *[step("wait", "1h")] * 2,
)
# What happens meanwhile and changes what is known of the order itself.
_OF_THE_ORDER: Final = tuple(what for what in MEANWHILE if what != ANOTHER_CUSTOMER)
# More orders than most jobs take at a time.
_PAGE: Final = 51
# A day of hourly jobs. A step of an hour or more would be one in which no job ran.
_DAY_OF_JOBS: Final = (step("wait", "59m"),) * 25
_THEN_JOBS: Final = (_SETTLE, step("wait", "10m"), step("wait", "1h"))
# Troubles that outlast a click: the service refuses the request for now, has not got it, or has carried it out.
_KEEPS_WAITING: Final = ("429", "request lost", "reply lost")
# After a refund of the whole a job has nothing more to send; after one of a part it has.
_WHOLE_OR_PART: Final = frozenset({"all", "half"})


@cache
def catalogue() -> tuple[CataloguePlay, ...]:
    """Return all plays, none twice, in turns: in each what is played alone, then combinations.

    The first turn has one of each shape, every entry of the vocabulary and every price alone at each place, and every
    interruption at each of the first points: that is what a shop that takes a second for a play comes to in a few
    minutes.
    """
    sections = (
        _basics,
        _charges,
        _forgeries,
        _durations,
        _ahead,
        _events,
        _interruptions,
        _jobs,
        _schedules,
        _losses,
        _refunds,
        _several_refunds,
        _similar_refunds,
        _cancellations,
        _cancellation_requests,
        _cancelled_and_given_back,
        _cancelled_in_part,
        _provider,
        _lifecycles,
        _interrupted_changes,
        _changes_in_another_order,
        _while_refunds_wait,
        _while_payments_wait,
        _paid_twice,
        _late_events,
        _overtaken,
        _payers,
        _acknowledged,
        _silence,
        _reads,
        _forms,
        _several_orders,
        _meanwhile_sold,
        _lost_replies,
        _two_troubles,
        _lost_notes,
        _past_the_key,
        _left_to_jobs,
        _slow,
        _refunds_after_trouble,
        _neighbours,
        _broken_records,
        _told_too_early,
        _one_second,
        _behind,
        _pages,
        _changes_left_to_jobs,
        _pairs,
    )
    played: set[Hashable] = set()
    shapes: dict[tuple[Hashable, frozenset[_Content]], list[CataloguePlay]] = {}
    known: set[_Content] = set()
    places: dict[Hashable, tuple[int, int]] = {}
    for section in sections:
        combinations = count()
        for play in section():
            if (play.dialect, play.steps) in played:
                continue
            played.add((play.dialect, play.steps))
            # A play with something new is in the first turn, as a shape of its own.
            new = _contents(play) - known
            known |= new
            shape = _shape(play), frozenset(new)
            if shape not in shapes:
                # Of the combinations one of each section comes first, then the next ones.
                places[shape] = _rank(play, shape[1]), next(combinations) if play.reason else 0
            shapes.setdefault(shape, []).append(play)
    return tuple(
        play
        for turn in range(_TURNS)
        for _, alike in sorted(shapes.items(), key=lambda item: places[item[0]])
        for play in alike[_share(turn, alike) : _share(turn + 1, alike)]
    )


def _share(turn: int, plays: Sequence[CataloguePlay]) -> int:
    # One in the first turn; a shape with few plays has them all in the next ones.
    if not turn or turn == _TURNS:
        return len(plays) if turn else 0
    return min(len(plays), 1 + (turn - 1) * (1 + len(plays) // _TURNS))


def _shape(play: CataloguePlay) -> Hashable:
    return play.reason, play.dialect == "plain", tuple((each.command, *dict(each.options)) for each in play.steps)


def _rank(play: CataloguePlay, new: frozenset[_Content]) -> int:
    # What is new by its point alone comes after all that is new by an entry.
    is_point = any(isinstance(content, Step) for _, content in new) and len(new) == 1
    return 2 if play.reason else int(is_point)


def _contents(play: CataloguePlay) -> set[_Content]:
    # Alone, an entry matters at each place of a payment's life: a forgery before the money as well as after it.
    place = None if play.reason else (_shape(play), play.dialect)
    prices = [each.arguments for each in play.steps if each.command == "order"]
    # In a combination nothing is new that was played alone.
    places = {place, None}
    of_entries = {(each, content) for each in places for content in (*play.entries(), *prices)}
    return of_entries | {(None, point) for point in _points(play)}


def _points(play: CataloguePlay) -> Iterator[Step]:
    """Yield the interruptions of a play, each with its point of the merchant's code.

    A race shows at one point, and nobody knows at which. What a kill in a click or a refund has done shows in what
    comes after it, so each such play counts by all of its commands.
    """
    commands = tuple(each.command for each in play.steps)
    for each in play.steps:
        meanwhile, at = (dict(each.options).get(name, 0) for name in ("meanwhile", "at"))
        if each.command in _INTERRUPTIONS and each.arguments[-1] in POINTS:
            yield each
        elif meanwhile == "dies" and not play.reason:
            yield Step(each.command, (meanwhile, at, commands))


def _basics() -> Iterator[CataloguePlay]:
    # Each act by itself and without trouble comes first: nothing tells a mistake more plainly.
    for scenario in SCENARIOS:
        yield CataloguePlay((_ORDER, step("pay", 1, scenario=scenario), _SETTLE))
    for scenario in SCENARIOS:
        yield CataloguePlay((_ORDER, step("pay", 1, scenario=scenario), step("wait", "25h"), _RETRY, _SETTLE))
    for price in PRICES:
        yield CataloguePlay((step("order", *price), _PAY, _SETTLE))
        yield CataloguePlay((step("order", *price), _PAY, _SETTLE, step("refund", 1, "half"), _SETTLE))
    # Who comes back to the shop has not always paid.
    yield CataloguePlay((_ORDER, step("pay", 1, scenario="abandoned"), step("returns"), _SETTLE))
    yield CataloguePlay((*_PAID, step("returns"), _SETTLE))
    for share in SHARES:
        yield CataloguePlay((*_PAID, step("refund", 1, share), _SETTLE))
    yield CataloguePlay((_ORDER, _PAY, step("cancel"), _SETTLE))
    yield CataloguePlay((*_PAID, step("cancel"), _SETTLE))
    for what in PROVIDER_ACTS:
        yield CataloguePlay((*_PAID, step("provider", what), _SETTLE))
        yield CataloguePlay((*_PAID, step("provider", "dispute"), step("provider", what), _SETTLE))


def _charges() -> Iterator[CataloguePlay]:
    # What leads to a double charge, or to an order that is paid and not known to be.
    for trouble in POST_TROUBLES:
        yield CataloguePlay((_ORDER, step("pay", 1, trouble), _SETTLE))
    for trouble in POST_TROUBLES:
        yield CataloguePlay((_ORDER, step("pay", 1, trouble), _RETRY, _SETTLE))
    for trouble in _got_through(POST_TROUBLES):
        # With no event to tell of the first deposit a second click is the dearest of all.
        yield CataloguePlay((_ORDER, step("webhooks", "drop all"), step("pay", 1, trouble), _RETRY, _SETTLE))
    for what in MEANWHILE:
        for at in POINTS if what in AT_POINTS else (0,):
            yield CataloguePlay((_ORDER, step("pay", 1, meanwhile=what, at=at), _SETTLE))
            yield CataloguePlay((_ORDER, step("pay", 1, meanwhile=what, at=at), _RETRY, _SETTLE))
    for time in ("1h", "25h", "80h"):
        for restarted in (False, True):
            yield CataloguePlay((_ORDER, step("dead_line", 1, time, restarted=restarted)))
    for lasts in filter(None, DURATIONS):
        for restarted in (False, True):
            long = step("dead_line", 1, "25h", restarted=restarted, lasts=lasts)
            yield CataloguePlay((_ORDER, long, _RETRY, _SETTLE), "it lasts longer")


def _durations() -> Iterator[CataloguePlay]:
    for trouble, found in POST_TROUBLES.items():
        if _can_last(found):
            for lasts in filter(None, DURATIONS):
                long = step("pay", 1, trouble, lasts=lasts)
                yield CataloguePlay((_ORDER, long, _RETRY, _SETTLE), "the customer outlasts the trouble")
                yield CataloguePlay((_ORDER, long, _RESTART, _RETRY, _SETTLE), "the key outlasts the process")


def _got_through(names: Iterable[str]) -> list[str]:
    """Return the troubles of requests that a client which retries outlasts."""
    return [name for name in names if POST_TROUBLES[name].gets_through]


def _can_last(trouble: Trouble) -> bool:
    return any("times" in fault for fault in trouble.faults)


def _forgeries() -> Iterator[CataloguePlay]:
    # Before the money is there, a forged success gives the goods away.
    for how in INJECTED:
        yield CataloguePlay((_ORDER, _PAY, step("inject", how)))
    for how in INJECTED:
        yield CataloguePlay((*_PAID, step("inject", how)))
    for how in INJECTED:
        declined = step("pay", 1, scenario="card-declined")
        yield CataloguePlay((_ORDER, declined, _SETTLE, step("inject", how)), "the payment has failed")
        for which in range(2, 5):
            yield CataloguePlay((*_PAID, step("inject", how, which)), "it is like an older event")


def _ahead() -> Iterator[CataloguePlay]:
    # What is refused must not make the receiver drop the true event that follows.
    for how in AHEAD:
        ahead = step("webhook_ahead", how)
        yield CataloguePlay((_ORDER, _PAY, step("pass_time", "5s"), ahead, step("pass_time", "5s")))
        yield CataloguePlay((_ORDER, _PAY, step("pass_time", "5s"), ahead, step("pass_time", "5s"), _WORK_OFF))
        yield CataloguePlay((_ORDER, ahead, _PAY, _SETTLE))
        refund = (ahead, step("refund", 1, "half"), step("pass_time", "10s"), _WORK_OFF)
        yield CataloguePlay((*_PAID, *refund), "an event of a refund can be lost as well")
    for how in INJECTED:
        before = (step("pass_time", "5s"), step("inject", how), step("pass_time", "5s"), _WORK_OFF)
        yield CataloguePlay((_ORDER, _PAY, *before), "the true success comes later")


def _events() -> Iterator[CataloguePlay]:
    for trouble in WEBHOOK_TROUBLES:
        yield CataloguePlay((_ORDER, step("webhooks", trouble), _PAY, _SETTLE))
    for trouble in WEBHOOK_TROUBLES:
        # Only the success is disturbed, and no background job runs before it is looked at.
        later = (step("pass_time", "5s"), step("webhooks", trouble), step("pass_time", "5s"))
        yield CataloguePlay((_ORDER, _PAY, *later))
        yield CataloguePlay((_ORDER, _PAY, *later, _WORK_OFF), "a job works on it")
    for trouble in WEBHOOK_TROUBLES:
        disturbed = step("webhooks", trouble)
        for scenario in SCENARIOS[1:]:
            paid = step("pay", 1, scenario=scenario)
            yield CataloguePlay((_ORDER, disturbed, paid, _SETTLE), "the events of this scenario are disturbed")
        failing = (_ORDER, step("pay", 1, scenario="refund-fails"), _SETTLE)
        yield CataloguePlay(
            (*failing, disturbed, step("refund", 1, "half"), _SETTLE), "the events of a refund that fails are disturbed"
        )


def _interruptions() -> Iterator[CataloguePlay]:
    for what in WEBHOOK_INTERRUPTIONS:
        # No event follows the success by itself.
        is_followed = KINDS[what].act is Act.EVENTS
        for before in reversed(_EVENTS[:-1] if is_followed else _EVENTS):
            first = () if before is None else (_PAY, step("pass_time", before))
            then = (_PAY, _SETTLE) if before is None else (step("pass_time", "10m"),)
            for at in POINTS if what in AT_POINTS else (0,):
                yield CataloguePlay((_ORDER, *first, step("interrupt_webhook", what, at), *then))

    for what in WEBHOOK_INTERRUPTIONS:
        for at in POINTS if what in AT_POINTS else (0,):
            before = _EVENTS[-2 if KINDS[what].act is Act.EVENTS else -1]
            disturbed = (step("pass_time", before), step("interrupt_webhook", what, at), step("pass_time", "10m"))
            yield CataloguePlay((_ORDER, _PAY, *disturbed, _WORK_OFF), "nothing but the event tells")
            yield CataloguePlay((_ORDER, _PAY, *disturbed, _RESTART, _WORK_OFF), "queued work outlives a process")


def _jobs() -> Iterator[CataloguePlay]:
    # Each with work that waits: events that only a job applies, a deposit or a refund without a reply.
    waiting = (
        ((_ORDER, _PAY, step("wait", "5s"), step("pass_time", "5s")), ""),
        ((_ORDER, step("webhooks", "drop all"), _PAY, step("pass_time", "10m")), "reads are all that tells"),
        ((_ORDER, step("pay", 1, "reply lost", lasts=6), step("pass_time", "10m")), "a deposit has no reply"),
        ((*_PAID, step("refund", 1, "half", "reply lost", lasts=6), step("pass_time", "10m")), "a refund has no reply"),
    )
    for first, reason in waiting:
        for what in JOB_INTERRUPTIONS:
            points = POINTS if what.endswith("meanwhile") else _JOB_POINTS
            for at in POINTS[::2] if reason else points:
                yield CataloguePlay((*first, step("interrupt_jobs", what, at), _SETTLE), reason)
    for at in _JOB_POINTS:
        another = (_ORDER, step("pay", 2), step("interrupt_jobs", "events meanwhile", at), _SETTLE)
        yield CataloguePlay(
            (_ORDER, _PAY, step("pass_time", "10s"), *another), "events of another order come meanwhile"
        )


def _silence() -> Iterator[CataloguePlay]:
    # Without any event only reads tell, also of what changes after the merchant had no reason to ask any more.
    silent = step("webhooks", "drop all")
    why = "reads are all that tells"
    failing = (_ORDER, step("pay", 1, scenario="refund-fails"), _SETTLE)
    for share in SHARES:
        yield CataloguePlay((*_PAID, silent, step("refund", 1, share), _SETTLE), why)
        yield CataloguePlay((*failing, silent, step("refund", 1, share), _SETTLE), why)
    for what in PROVIDER_ACTS:
        yield CataloguePlay((*_PAID, silent, step("provider", "dispute"), step("provider", what), _SETTLE), why)
        refunded = (*_PAID, step("refund"), _SETTLE)
        yield CataloguePlay((*refunded, silent, step("provider", what), _SETTLE), why)
    won = (step("provider", "dispute"), step("provider", "dispute won"), _SETTLE)
    yield CataloguePlay((*_PAID, silent, *won, step("provider", "dispute reopened"), _SETTLE), why)
    for scenario in SCENARIOS[1:]:
        ended = (step("pay", 1, scenario=scenario), step("wait", "25h"))
        yield CataloguePlay((_ORDER, silent, *ended, _RETRY, _SETTLE), "reads are all that tells of two attempts")
        for others in ((), (_RETRY, _SETTLE), (_RETRY, step("provider", "fails"), _SETTLE)):
            late = (silent, step("provider", "late money"), _SETTLE)
            yield CataloguePlay((_ORDER, *ended, *others, *late), "money comes late, and only reads tell")
            yield CataloguePlay((_ORDER, silent, *ended, *others, *late), "no event tells of any attempt")
    for paid in (_PAY, step("pay", 1, "reply lost", lasts=6)):
        # The deposit is no longer among the newest.
        yield CataloguePlay((_ORDER, silent, paid, step("crowd"), _SETTLE), "reads are all that tells, and have pages")


def _losses() -> Iterator[CataloguePlay]:
    for time in ("1h", "50h", "80h"):
        yield CataloguePlay((_ORDER, _PAY, step("outage", time)))
    yield CataloguePlay((_ORDER, _PAY, step("pass_time", "10s"), _WORK_OFF))
    yield CataloguePlay((_ORDER, _PAY, step("pass_time", "10s"), _RESTART, _WORK_OFF))
    for trouble in POST_TROUBLES:
        yield CataloguePlay((_ORDER, step("pay", 1, trouble), step("pass_time", "10s"), _WORK_OFF), "no read helps")
    yield CataloguePlay((_ORDER, _PAY, _RESTART, _SETTLE))
    yield CataloguePlay((_ORDER, _PAY, step("pass_time", "10s"), _RESTART, step("pass_time", "10m")))


def _refunds() -> Iterator[CataloguePlay]:
    for trouble in REFUND_TROUBLES:
        yield CataloguePlay((*_PAID, step("refund", 1, "half", trouble), _SETTLE))
        yield CataloguePlay((*_PAID, step("refund", 1, "half", trouble), step("refund_again"), _SETTLE))
        whole = step("refund", 1, "all", trouble)
        yield CataloguePlay((*_PAID, whole, _SETTLE), "a refund of all undoes what the payment did")
    for trouble in _got_through(REFUND_TROUBLES):
        silent = (step("webhooks", "drop all"), step("refund", 1, "half", trouble))
        yield CataloguePlay((*_PAID, *silent, _SETTLE, _SETTLE))
    for what in REFUND_MEANWHILE:
        for at in POINTS if what != "none" else (0,):
            yield CataloguePlay((*_PAID, step("refund", 1, "half", meanwhile=what, at=at), _SETTLE))
            again = (step("refund", 1, "most", meanwhile=what, at=at), step("refund_again"), _SETTLE)
            yield CataloguePlay((*_PAID, *again), "the refund is requested again, and is more than a half")
    for at in POINTS:
        lost = step("refund", 1, "half", "reply lost", meanwhile="jobs run", at=at, lasts=2)
        yield CataloguePlay((*_PAID, lost, _SETTLE), "the refund's event is worked on before its reply is read")
    for trouble in REFUND_TROUBLES:
        for lasts in filter(None, DURATIONS if _can_last(POST_TROUBLES[trouble]) else ()):
            long = step("refund", 1, "half", trouble, lasts=lasts)
            yield CataloguePlay((*_PAID, long, _SETTLE), "it lasts longer")
            yield CataloguePlay((*_PAID, long, step("refund_again"), _SETTLE), "the refund outlasts the trouble")
            yield CataloguePlay((*_PAID, long, _RESTART, step("refund_again"), _SETTLE), "its key outlasts the process")


def _several_refunds() -> Iterator[CataloguePlay]:
    yield CataloguePlay((*_PAID, step("refund", 1, "half"), _SETTLE, step("refund", 1, "half"), _SETTLE))
    yield CataloguePlay((*_PAID, step("refund", 1, "most"), step("refund", 1, "most"), _SETTLE))
    yield CataloguePlay((_ORDER, step("pay", 1, scenario="refund-fails"), _SETTLE, step("refund", 1), _SETTLE))
    yield CataloguePlay((*_PAID, step("refund"), _SETTLE, step("provider", "refund fails late"), _SETTLE))
    late = step("provider", "refund fails late")
    for later in (_SETTLE, step("pass_time", "10m")):
        two = (*_PAID, step("refund", 1, "half"), later, step("refund", 1, "half"), later)
        yield CataloguePlay((*two, late, later, _WORK_OFF), "one refund fails, and the other has succeeded")
    for made in ("request lost", "reply lost"):
        own = (step("provider", "refund half"), _SETTLE, step("refund", 1, "half", made), _SETTLE)
        yield CataloguePlay((*_PAID, *own), "a refund looks like one that no code of the merchant has made")
    for share in SHARES:
        failing = (step("refund", 1, share), _SETTLE, late, _SETTLE)
        yield CataloguePlay((*_PAID, *failing, step("refund", 1, share), _SETTLE), "a refund follows one that failed")
    for failed in ((step("provider", "refund fails"),), (_SETTLE, late)):
        for time in ("1h", "25h"):
            twice = (step("refund"), *failed, step("wait", time), step("refund"), _SETTLE)
            yield CataloguePlay((*_PAID, *twice), "the jobs may have made the failed refund again")
    for shares in (("all", "all"), ("most", "half")):
        too_much = (step("refund", 1, share) for share in shares)
        yield CataloguePlay(
            (*_PAID, *too_much, _SETTLE), "the first of two refunds is under way, and leaves too little"
        )
    for shares in (("half", "third"), ("third", "half")):
        both = (*_PAID, *(step("refund", 1, share) for share in shares))
        fails = step("provider", "refund fails")
        yield CataloguePlay((*both, fails, _SETTLE), "two refunds are under way")
        yield CataloguePlay((*both, fails, step("pass_time", "10m"), _WORK_OFF), "two refunds are under way")
        yield CataloguePlay((*both, _SETTLE, late, _SETTLE), "two refunds are made together")
    attempts: tuple[tuple[Step, ...], ...] = ((step("pay", 1, scenario="card-declined"), _SETTLE), _EXPIRED[1:])
    for ended in attempts:
        again = (_RETRY, _SETTLE, step("refund", 1, "half"), _SETTLE)
        yield CataloguePlay((_ORDER, *ended, *again), "an earlier attempt has no money")


def _similar_refunds() -> Iterator[CataloguePlay]:
    for trouble in REFUND_TROUBLES:
        for lasts in (0, LONGER_THAN_A_CLICK):
            same = step("refund", 1, "half", trouble, lasts=lasts)
            two = (*_PAID, step("refund", 1, "half"), _SETTLE, same, _SETTLE)
            yield CataloguePlay(two, "a refund looks like an earlier one")
    for share in SHARES:
        before_jobs = (_ORDER, _PAY, step("pass_time", "10s"), step("refund", 1, share), _SETTLE)
        yield CataloguePlay(before_jobs, "no job has run since the payment")
        for what in LOSES_NOTES if share in _WHOLE_OR_PART else ():
            for at in _JOB_POINTS[::2]:
                begun = (_ORDER, _PAY, step("pass_time", "10s"), step("interrupt_jobs", what, at))
                yield CataloguePlay((*begun, step("refund", 1, share), _SETTLE), "the job has done a part of its work")


def _cancellations() -> Iterator[CataloguePlay]:
    # Money that comes all the same is neither the customer's nor the shop's until somebody knows of it.
    cancel, silent = step("cancel"), step("webhooks", "drop all")
    yield CataloguePlay((_ORDER, cancel, _SETTLE))
    # The page may still show what was there before the success.
    yield CataloguePlay((_ORDER, _PAY, step("pass_time", "10s"), cancel, _SETTLE))
    yield CataloguePlay((_ORDER, _PAY, step("returns"), step("pass_time", "10s"), cancel, _SETTLE))
    yield CataloguePlay((_ORDER, _PAY, cancel, cancel, _SETTLE))
    yield CataloguePlay((_ORDER, _PAY, cancel, _RESTART, _SETTLE))
    yield CataloguePlay((_ORDER, _PAY, cancel, _SETTLE, step("provider", "refund fails late"), _SETTLE))
    # The first order shows that its money goes back when it comes all the same.
    given_back = (_ORDER, _PAY, step("pass_time", "5s"), cancel, _SETTLE, _SETTLE)
    for at in POINTS:
        second = (_ORDER, step("pay", 2, meanwhile="cancelled", at=at), _SETTLE, _SETTLE)
        yield CataloguePlay((*given_back, *second), "a click to pay overwrites a cancellation")
    times = [() if before is None else (step("pass_time", before),) for before in _EVENTS]
    for first in (*((_ORDER, _PAY, *time) for time in times), _PAID):
        yield CataloguePlay((*first, cancel, _SETTLE))
        for what in CANCEL_MEANWHILE:
            for at in POINTS if what in AT_POINTS else ():
                yield CataloguePlay((*first, step("cancel", 1, meanwhile=what, at=at), _SETTLE))
    for trouble in POST_TROUBLES:
        begun = (step("pay", 1, trouble), cancel, _SETTLE)
        yield CataloguePlay((_ORDER, *begun), "the outcome of the payment may not be known")
        yield CataloguePlay((_ORDER, silent, *begun), "reads are all that tells of the payment")
    for trouble in WEBHOOK_TROUBLES:
        disturbed = (step("webhooks", trouble), cancel, _SETTLE)
        yield CataloguePlay((_ORDER, _PAY, *disturbed), "the events of a payment that nobody wants are disturbed")
    for scenario in SCENARIOS[1:]:
        ended = (step("pay", 1, scenario=scenario), cancel, step("wait", "25h"))
        yield CataloguePlay((_ORDER, *ended, step("provider", "late money"), _SETTLE), "the money comes late")


def _cancellation_requests() -> Iterator[CataloguePlay]:
    # The payment goes on as long as the service has not heard of it, and is over when only the reply is lost.
    silent = step("webhooks", "drop all")
    # A job may send the request, while the payment still waits.
    cancel = (step("cancel"), step("wait", "1s"), _SETTLE)
    for trouble, found in CANCELLATION_TROUBLES.items():
        disturbed = step("cancellations", trouble)
        yield CataloguePlay((_ORDER, _PAY, disturbed, *cancel))
        for time in _EVENTS[1:]:
            late = (step("pass_time", time), disturbed, *cancel)
            yield CataloguePlay((_ORDER, _PAY, *late), "the payment may be over by then")
        yield CataloguePlay((_ORDER, silent, _PAY, disturbed, *cancel, _SETTLE), "reads are all that tells")
        if _can_last(found):
            long = step("cancellations", trouble, lasts=LONGER_THAN_A_CLICK)
            yield CataloguePlay((_ORDER, _PAY, long, *cancel, _SETTLE), "it lasts longer")
            yield CataloguePlay((_ORDER, _PAY, long, *cancel, _RESTART, _SETTLE), "it lasts longer")


def _cancelled_and_given_back() -> Iterator[CataloguePlay]:
    # What the merchant gives back by itself meets troubles as any other refund does.
    cancel = step("cancel")
    for own in _own_refunds():
        # When the money comes, it goes back.
        yield CataloguePlay((_ORDER, _PAY, cancel, own, _SETTLE, _SETTLE))
        # Of an order that is paid it goes back at once; the first order shows whether the merchant does so.
        yield CataloguePlay((*_PAID, own, cancel, _SETTLE, _SETTLE))
        second = (_ORDER, step("pay", 2), _SETTLE, own, step("cancel", 2), _SETTLE, _SETTLE)
        yield CataloguePlay((*_PAID, cancel, _SETTLE, *second), "what is left of a cancelled order goes back")
    for what in LOSES_NOTES:
        for at in POINTS:
            interrupted = (step("pass_time", "10s"), step("interrupt_jobs", what, at), _SETTLE)
            yield CataloguePlay((_ORDER, _PAY, cancel, *interrupted), "the money goes back, and that is disturbed")
    yield CataloguePlay((_ORDER, _PAY, cancel, step("pass_time", "10s"), _RESTART, _SETTLE))
    failing = step("pay", 1, scenario="refund-fails")
    for first in ((failing,), (failing, _SETTLE)):
        in_vain = (*first, cancel, *_DAY_OF_JOBS)
        yield CataloguePlay((_ORDER, *in_vain), "the money goes back, which always fails")
    for fails in ((step("provider", "refund fails"),), (_SETTLE, step("provider", "refund fails late"))):
        failed = (cancel, *fails, *_DAY_OF_JOBS, _SETTLE)
        yield CataloguePlay((*_PAID, *failed), "the money goes back, which fails once")


def _own_refunds() -> Iterator[Step]:
    """Yield the disturbances of a refund that nobody has asked for: each by itself, and for longer."""
    for trouble, found in OWN_REFUND_TROUBLES.items():
        yield step("own_refunds", trouble)
        if _can_last(found):
            yield step("own_refunds", trouble, lasts=LONGER_THAN_A_CLICK)


def _cancelled_in_part() -> Iterator[CataloguePlay]:
    # What is left of it goes back, and not the whole once more.
    why, cancel = "a part of the money has gone back", step("cancel")
    for share in SHARES:
        yield CataloguePlay((*_PAID, step("refund", 1, share), _SETTLE, cancel, _SETTLE), why)
        yield CataloguePlay((*_PAID, step("refund", 1, share), cancel, _SETTLE), why)
    for what in sorted(OF_REFUNDS):
        yield CataloguePlay((*_PAID, step("provider", what), _SETTLE, cancel, _SETTLE), why)


def _late_events() -> Iterator[CataloguePlay]:
    # Of what happens long after the payment.
    for trouble in WEBHOOK_TROUBLES:
        disturbed = step("webhooks", trouble)
        fails = (step("refund", 1, "half"), _SETTLE, disturbed, step("provider", "refund fails late"), _SETTLE)
        yield CataloguePlay((*_PAID, *fails), "the event of a late failure is disturbed")
        second = (disturbed, _RETRY, step("pass_time", "10s"), step("provider", "late money"), _SETTLE)
        for ended in _FIRST_ATTEMPTS:
            yield CataloguePlay((*ended, *second), "an earlier attempt brings money before the events of the next one")
        for ends in ("dispute won", "dispute lost"):
            closed = (disturbed, step("provider", "dispute"), step("provider", ends), _SETTLE)
            yield CataloguePlay((*_PAID, *closed), "the events of a dispute are disturbed")
        two = (*_won(1), step("refund", 1, "half"), *_won(2, disturbed), step("refund", 2, "half"), _SETTLE)
        yield CataloguePlay(two, "a dispute is won as the one before, and its events are disturbed")


def _overtaken() -> Iterator[CataloguePlay]:
    # The newest event of one object comes after events of another one that are newer, and both are true.
    late, told = step("webhooks", "late"), (_SETTLE, step("wait", "1h"), step("wait", "3d"))
    dispute, half, another, lost, won = (
        step("provider", what) for what in ("dispute", "dispute half", "another dispute", "dispute lost", "dispute won")
    )
    paid = (_ORDER, _PAY, step("pass_time", "5s"), late, step("pass_time", "5s"))
    refunded = (*_PAID, step("refund", 1, "half"), step("pass_time", "2s"), late, step("pass_time", "2s"))
    for happens in (
        (*paid, dispute),
        (*paid, dispute, lost),
        (*refunded, dispute),
        (*refunded, half, lost),
        (*_PAID, half, late, lost, step("refund", 1, "third")),
        (*_PAID, half, late, lost, another),
        (*_PAID, half, late, lost, another, won),
        (*_PAID, half, another, late, lost, won),
        # No event of the dispute is on time, and the last one of the refund is.
        (*_PAID, step("webhooks", "late four"), half, lost, step("refund", 1, "third")),
    ):
        yield CataloguePlay((*happens, *told), "an event is told after a newer one of another object")


def _won(order: int, *disturbed: Step) -> tuple[Step, ...]:
    disputed = (step("provider", what, order) for what in ("dispute", "dispute under review", "dispute won"))
    two_hours = (step("wait", "59m"), step("wait", "59m"), _SETTLE)
    return (_ORDER, step("pay", order), _SETTLE, *disturbed, *disputed, *two_hours)


def _provider() -> Iterator[CataloguePlay]:
    for what in PROVIDER_ACTS:
        yield CataloguePlay((_ORDER, _PAY, step("provider", what), _SETTLE))
        for then in PROVIDER_ACTS:
            chain = (step("provider", "dispute"), step("provider", what), step("provider", then))
            yield CataloguePlay((*_PAID, *chain, _SETTLE), "a dispute changes more than once")
        yield CataloguePlay(
            (*_PAID, step("refund", 1, "half"), _SETTLE, step("provider", what), step("provider", "dispute lost")),
            "a refund and a dispute take the same money",
        )
    for first, second in (
        ("dispute lost", "dispute won"),
        ("dispute won", "dispute lost"),
        ("dispute lost", "dispute lost"),
    ):
        two = (step("provider", "dispute half"), step("provider", "another dispute"))
        ended = (step("provider", first), step("provider", second))
        yield CataloguePlay((*_PAID, *two, *ended, _SETTLE), "a payment can have several disputes")
        yield CataloguePlay((*_PAID, *two, *ended, _WORK_OFF), "a payment can have several disputes")
    for ends in ("dispute won", "dispute lost"):
        early = (step("pass_time", "10s"), step("provider", "dispute"), step("provider", ends))
        yield CataloguePlay((_ORDER, _PAY, *early, _SETTLE), "no job has run before the dispute")
        yield CataloguePlay(
            (_ORDER, _PAY, *early[:-1], _SETTLE, early[-1], _SETTLE), "no job has run before the dispute"
        )
        for before in ((), (step("refund", 1, "half"), _SETTLE)):
            part = (step("provider", "dispute half"), step("provider", ends), _SETTLE)
            yield CataloguePlay((*_PAID, *before, *part), "a dispute is about a part of the money")
    declined = (_ORDER, step("pay", 1, scenario="card-declined"), _SETTLE)
    for attempt in (*_FIRST_ATTEMPTS, declined):
        late = step("provider", "late money")
        yield CataloguePlay((*attempt, late))
        yield CataloguePlay((*attempt, _RETRY, _SETTLE, late), "the order is paid twice")
    failing = (_ORDER, _PAY, step("pass_time", "1s"), step("webhooks", "late"), step("provider", "fails"), _SETTLE)
    told_late = (step("provider", "late money"), _SETTLE, step("wait", "3d"), _SETTLE)
    yield CataloguePlay((*failing, *told_late), "the event of the failure comes after the money")
    still_open = (_ORDER, step("pay", 1, scenario="abandoned"), step("wait", "23h"))
    money_first = (step("webhooks", "late"), step("pass_time", "2h"), step("provider", "late money"), _SETTLE)
    yield CataloguePlay((*still_open, *money_first), "the event of the end comes after the money")


def _lifecycles() -> Iterator[CataloguePlay]:
    silent, later = step("webhooks", "drop all"), step("pass_time", "10m")
    for acts in lifecycles(3):
        told = tuple(each for act in acts for each in (act, _SETTLE))
        yield CataloguePlay((*_PAID, *told), "refunds, a cancellation and a dispute meet")
        yield CataloguePlay((*_PAID, silent, *told), "reads are all that tells of refunds and disputes")
    for acts in lifecycles(2):
        unread = tuple(each for act in acts for each in (act, later))
        yield CataloguePlay((*_PAID, *unread, _WORK_OFF), "events are all that tells of refunds and disputes")
        late = (step("webhooks", "late four"), *acts, step("pass_time", "2h"), _WORK_OFF)
        yield CataloguePlay((*_PAID, *late), "events come late, and no job runs before them")


@cache
def _changes(*, variants: bool = True) -> tuple[_Change, ...]:
    """Return what can happen to a payment after its money has come; without `variants`, each kind of event once."""
    ways = ways_to_each_act(variants=variants)
    after = [_Change((*_PAID, *_settled(*before)), (act,)) for *before, act in ways]
    return (*after, _Change(_EXPIRED, (step("provider", "late money"),)))


@cache
def _tellings() -> tuple[_Change, ...]:
    """Return one change for each kind of event, and for each refund also the moment before the event of its end."""
    changes = _changes(variants=False)
    ends = [_Change((*each.before, *each.act, _NEARLY_OVER)) for each in changes if _may_refund(*each.act)]
    failing = (_ORDER, step("pay", 1, scenario="refund-fails"), _SETTLE, step("refund", 1, "half"), _NEARLY_OVER)
    return (*changes, *ends, _Change(failing))


def _from_the_second(points: Sequence[int]) -> tuple[int, ...]:
    # A kill at the first point is the least telling: the merchant has done nothing yet.
    return (*points[1:], *points[:1])


def _settled(*acts: Step) -> Iterator[Step]:
    for act in acts:
        yield from (act, _SETTLE)


def _may_refund(act: Step) -> bool:
    # Many merchants give the money of a cancelled order back.
    return act.command in {"refund", "cancel"} or not OF_REFUNDS.isdisjoint(act.arguments)


def _interrupted_changes() -> Iterator[CataloguePlay]:
    # Each kind of event has code of its own. What customers do meanwhile is played where they still pay.
    later = step("pass_time", "10m")
    for at in _from_the_second(POINTS):
        for what in (each for each in WEBHOOK_INTERRUPTIONS if each not in OF_CUSTOMERS):
            for before, act in _tellings() if at == 0 or what in AT_POINTS else ():
                interrupted = step("interrupt_webhook", what, at)
                yield CataloguePlay((*before, interrupted, *act, later, _WORK_OFF), f"a later change, {what}")


def _changes_left_to_jobs() -> Iterator[CataloguePlay]:
    silent, later = step("webhooks", "drop all"), step("pass_time", "10m")
    for at in _from_the_second(_JOB_POINTS):
        for what in (each for each in JOB_INTERRUPTIONS if each not in OF_CUSTOMERS):
            # A kill matters between any two small transactions.
            for before, act in _changes(variants=False) if what in LOSES_NOTES or at in POINTS[::2] else ():
                interrupted = (*act, later, step("interrupt_jobs", what, at), _SETTLE)
                yield CataloguePlay((*before, *interrupted), "a job works on a later change")
                yield CataloguePlay((*before, silent, *interrupted), "a job reads of a later change")
    for trouble in READ_TROUBLES:
        for before, act in _changes():
            unread = (*act, later, step("reads", trouble), _SETTLE, _SETTLE)
            yield CataloguePlay((*before, silent, *unread), "a job reads of a later change")
    for before, act in _changes():
        yield CataloguePlay((*before, *act, _RESTART, later, _WORK_OFF), "a later change outlives a process")
        # What a process has kept in its memory is gone when the event comes.
        yield CataloguePlay((*before, _RESTART, *act, later, _WORK_OFF), "a new process learns of a later change")
        for trouble in READ_TROUBLES if _may_refund(*act) else ():
            read = (step("reads", trouble), *act, _SETTLE, _SETTLE)
            yield CataloguePlay((*before, *read), "the merchant reads before it gives money back")


def _changes_in_another_order() -> Iterator[CataloguePlay]:
    # What is older must not undo what is newer, and what comes twice must not happen twice.
    hours = (step("pass_time", "2h"), _WORK_OFF, step("wait", "3d"))
    for trouble in (name for name, found in WEBHOOK_TROUBLES.items() if found.retimes):
        for before, act in _changes():
            told = (step("webhooks", trouble), *act, *hours)
            yield CataloguePlay((*before, *told), "the events of a later change come late, twice or in another order")
    for which in range(1, 5):
        for before, act in _changes():
            again = (*act, step("pass_time", "10s"), step("inject", "again", which), _WORK_OFF, _SETTLE)
            yield CataloguePlay((*before, *again), "an older event comes again after a later change")


def _while_refunds_wait() -> Iterator[CataloguePlay]:
    # A check that was made when the refund was asked for does not hold any more when a job goes on with it.
    for then in (*lifecycles(1), *((step("provider", what),) for what in sorted(OF_REFUNDS)), *lifecycles(2)):
        for trouble in _KEEPS_WAITING:
            for share in sorted(_WHOLE_OR_PART, reverse=True):
                waits = step("refund", 1, share, trouble, lasts=LONGER_THAN_A_CLICK)
                yield CataloguePlay((*_PAID, waits, *then, *_THEN_JOBS), "a refund waits")
            given_back = (step("own_refunds", trouble, lasts=LONGER_THAN_A_CLICK), step("cancel"), *then)
            yield CataloguePlay((*_PAID, *given_back, *_THEN_JOBS), "the money of a cancelled order waits to go back")


def _while_payments_wait() -> Iterator[CataloguePlay]:
    # The payment goes on while the merchant does not know whether it was made, or whether it is cancelled.
    minute, silent = step("pass_time", "1m"), step("webhooks", "drop all")
    acts = (
        *((SCENARIOS[0], (step("provider", what),)) for what in PROVIDER_ACTS),
        *(("payer-decides", (minute, step("payer", what))) for what in PAYER_ACTS),
    )
    for scenario, then in acts:
        for trouble in _KEEPS_WAITING:
            cancelled = (step("cancellations", trouble, lasts=LONGER_THAN_A_CLICK), step("cancel"), *then)
            begun = (_ORDER, step("pay", 1, scenario=scenario))
            yield CataloguePlay((*begun, *cancelled, *_THEN_JOBS), "the cancellation of a payment waits")
        unanswered = (step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK, scenario=scenario), *then, *_THEN_JOBS)
        yield CataloguePlay((_ORDER, *unanswered, _RETRY, _SETTLE), "a deposit has no reply")
        yield CataloguePlay((_ORDER, silent, *unanswered, _RETRY, _SETTLE), "a deposit has no reply")


def _paid_twice() -> Iterator[CataloguePlay]:
    # Whether a merchant gives such money back is shown by the first order, and it has to do the same for the next one.
    why = "what was paid twice for one order went back, so it does for the next one"
    late = step("provider", "late money", 2)
    first = (*_two_attempts(1), _SETTLE, step("provider", "late money", 1), _SETTLE)
    second = (*_two_attempts(2), _SETTLE)
    yield CataloguePlay((*first, *_two_attempts(2), step("pass_time", "10s"), late, _SETTLE), why)
    yield CataloguePlay((*first, *second, late, _RESTART, _SETTLE), why)
    soon = (*_leaves_and_pays(1), _SETTLE)
    first_soon = (*soon, step("provider", "late money", 1), _SETTLE)
    second_soon = (*_leaves_and_pays(2), _SETTLE)
    yield CataloguePlay((*first_soon, *second, late, _SETTLE), why)
    for own in _own_refunds():
        yield CataloguePlay((*soon, own, step("provider", "late money", 1), _SETTLE, _SETTLE))
        yield CataloguePlay((*first, *second, own, late, _SETTLE, _SETTLE), why)
        yield CataloguePlay((*first_soon, *second_soon, own, late, _SETTLE, _SETTLE), why)
    for what in LOSES_NOTES:
        for at in POINTS:
            yield CataloguePlay((*first, *second, step("interrupt_webhook", what, at), late, _SETTLE), why)
            yield CataloguePlay((*first, *second, late, step("interrupt_jobs", what, at), _SETTLE), why)


def _two_attempts(order: int) -> tuple[Step, ...]:
    return (_ORDER, step("pay", order, scenario="abandoned"), step("wait", "25h"), step("retry", order))


def _leaves_and_pays(order: int) -> tuple[Step, ...]:
    leaves = (step("pay", order, scenario="payer-decides"), _SETTLE, step("payer", "gives up", order), _SETTLE)
    return (_ORDER, *leaves, step("retry", order))


def _payers() -> Iterator[CataloguePlay]:
    back, silent, minute = step("returns"), step("webhooks", "drop all"), step("pass_time", "1m")
    for scenario in PAYER_SCENARIOS:
        asked = (_ORDER, step("pay", 1, scenario=scenario), minute)
        yield CataloguePlay((*asked, back, _SETTLE))
        yield CataloguePlay((*asked, back, step("wait", "25h"), _RETRY, _SETTLE), "the payer is back without a payment")
        for what in PAYER_ACTS:
            acts = step("payer", what)
            yield CataloguePlay((*asked, acts, _SETTLE))
            yield CataloguePlay((*asked, acts, back, minute, _WORK_OFF), "the payer is back before the payment is over")
            yield CataloguePlay((*asked, _RETRY, acts, _SETTLE), "the customer clicks while the payment waits")
            yield CataloguePlay((*asked, acts, _RETRY, _SETTLE), "the customer clicks when the payer has acted")
            yield CataloguePlay((*asked, silent, acts, back, _SETTLE), "reads are all that tells of the payer")
            confirmed = (step("payer", "pays"), acts, _SETTLE)
            yield CataloguePlay((*asked, *confirmed), "the bank asks the payer to confirm")


def _refunds_after_trouble() -> Iterator[CataloguePlay]:
    # The first order shows that the merchant makes such a refund.
    half = step("refund", 1, "half")
    why = "what the trouble has left behind shows when the order is refunded"
    for trouble in POST_TROUBLES:
        yield from _second_order(step("pay", 2, trouble), half, why)
    for what in _OF_THE_ORDER:
        for at in POINTS if what in AT_POINTS else (0,):
            yield from _second_order(step("pay", 2, meanwhile=what, at=at), half, why)
    for trouble in WEBHOOK_TROUBLES:
        yield from _second_order(step("pay", 2), half, why, step("webhooks", trouble))


def _second_order(paid: Step, refund: Step, why: str, *before: Step) -> Iterator[CataloguePlay]:
    first = (*_PAID, _SETTLE, refund, _SETTLE)
    second = (_ORDER, *before, paid, step("retry", 2), _SETTLE, _SETTLE)
    yield CataloguePlay((*first, *second, refund._replace(arguments=(2, *refund.arguments[1:])), _SETTLE), why)


def _acknowledged() -> Iterator[CataloguePlay]:
    # No read is answered before the effect of an event is looked at, so the event alone can have had it.
    later = step("pass_time", "10m")
    for share in SHARES:
        refunded = (*_PAID, step("refund", 1, share), later, _WORK_OFF)
        yield CataloguePlay(refunded)
        yield CataloguePlay((*refunded, step("provider", "refund fails late"), _WORK_OFF))
    for scenario in SCENARIOS:
        paid = step("pay", 1, scenario=scenario)
        yield CataloguePlay((_ORDER, paid, step("pass_time", "25h"), _WORK_OFF))
        yield CataloguePlay((_ORDER, paid, _SETTLE, step("refund", 1, "half"), later, _WORK_OFF))
    disputed = (*_PAID, step("provider", "dispute"))
    for what in PROVIDER_ACTS:
        yield CataloguePlay((*disputed, step("provider", what), _WORK_OFF))
    again = (step("provider", "dispute won"), step("provider", "dispute reopened"), step("provider", "dispute lost"))
    yield CataloguePlay((*disputed, *again, _WORK_OFF), "a dispute changes more than once, and no read tells")
    for what in WEBHOOK_INTERRUPTIONS:
        for at in POINTS[:4] if what in AT_POINTS else (0,):
            # Just before the success of the refund, which comes after three seconds.
            interrupted = step("interrupt_webhook", what, at)
            refund = (step("refund", 1, "half"), step("pass_time", "2s"), interrupted, later)
            yield CataloguePlay((*_PAID, *refund, _WORK_OFF), "nothing but the event of the refund tells")
            lost = (interrupted, step("provider", "dispute lost"), later)
            yield CataloguePlay((*disputed, *lost, _WORK_OFF), "nothing but the event of the dispute tells")
    second = (step("provider", "fails"), step("wait", "10m"), _RETRY, _SETTLE, step("wait", "3d"))
    yield CataloguePlay(
        (_ORDER, _PAY, step("pass_time", "1s"), step("webhooks", "late"), *second),
        "the failure of an attempt is told after the next one has succeeded",
    )
    refund_first = (step("wait", "1h"), step("refund", 1, "half"), step("wait", "1h"), step("wait", "3d"))
    yield CataloguePlay(
        (_ORDER, _PAY, step("pass_time", "5s"), step("webhooks", "late"), step("pass_time", "5s"), *refund_first),
        "the success of a payment is told after its refund",
    )
    for trouble in _got_through(POST_TROUBLES):
        attempts = (step("pay", 1, trouble, lasts=TO_THE_END), *[step("wait", "10s")] * 4, *[step("wait", "1m")] * 3)
        yield CataloguePlay(
            (_ORDER, step("webhooks", "drop all"), *attempts, _RETRY, _SETTLE),
            "jobs have tried often before the customer comes back",
        )


def _schedules() -> Iterator[CataloguePlay]:
    reason = "the pauses between the attempts of a job have to grow"
    for often in (step("wait", "12s", jobs_every="500ms"), step("wait", "48s", jobs_every="2s")):
        yield CataloguePlay((*_PAID, step("refund", 1, "half", "503", lasts=TO_THE_END), often), reason)
        yield CataloguePlay((_ORDER, step("pay", 1, "503", lasts=TO_THE_END), often), reason)


def _reads() -> Iterator[CataloguePlay]:
    for trouble in READ_TROUBLES:
        yield CataloguePlay((*_PAID, step("reads", trouble), step("returns"), _SETTLE))
        yield CataloguePlay((*_PAID, step("reads", trouble), _SETTLE))
        yield CataloguePlay((_ORDER, step("pay", 1, "reply lost"), step("reads", trouble), _RETRY, _SETTLE))
        yield CataloguePlay((_ORDER, step("reads", trouble), _PAY, step("returns"), _SETTLE))
        declined = step("pay", 1, scenario="card-declined")
        yield CataloguePlay((_ORDER, declined, step("pass_time", "10s"), step("reads", trouble), _RETRY, _SETTLE))
        for lasts in filter(None, DURATIONS):
            long = step("reads", trouble, lasts=lasts)
            yield CataloguePlay((*_PAID, long, step("returns"), _SETTLE), "it lasts longer")
            yield CataloguePlay((_ORDER, step("pay", 1, "reply lost"), long, _RETRY, _SETTLE), "it lasts longer")
            yield CataloguePlay(
                (_ORDER, step("webhooks", "drop all"), _PAY, _SETTLE, long, _SETTLE), "reads that tell are behind"
            )
        # The job runs at the fifth second, and the success comes at the sixth.
        job = (step("pass_time", "4s"), step("reads", trouble), step("wait", "1s"), _RETRY, _SETTLE)
        yield CataloguePlay((_ORDER, _PAY, *job), "a job's read races with an event")
        for paid in (_PAY, step("pay", 1, "reply lost"), step("pay", 1, "reply lost", lasts=6)):
            told = (step("pass_time", "5s"), step("reads", trouble), step("returns"), step("pass_time", "5s"))
            yield CataloguePlay((_ORDER, paid, *told, step("returns"), _RETRY, _SETTLE), "a read races with an event")
            yield CataloguePlay(
                (_ORDER, step("webhooks", "drop all"), paid, step("reads", trouble), _RETRY, _SETTLE),
                "reads are all that tells, and they are behind",
            )


def _forms() -> Iterator[CataloguePlay]:
    yield CataloguePlay((_ORDER, _PAY, _ORDER, step("pay", 2), _SETTLE, step("refund", 1, "half"), _SETTLE))
    for dialect, settings in DIALECTS.items():
        yield CataloguePlay((*_PAID, step("returns"), step("refund", 1, "half"), _SETTLE), dialect=dialect)
        # An error and an event out of order have forms of their own in some dialects.
        yield CataloguePlay((_ORDER, step("pay", 1, "unknown code"), _RETRY, _SETTLE), dialect=dialect)
        yield CataloguePlay((_ORDER, step("webhooks", "reverse"), _PAY, _SETTLE), dialect=dialect)
        yield CataloguePlay((_ORDER, step("pay", 1, "reply lost"), _RETRY, _SETTLE), dialect=dialect)
        # Each status may be read in another way where its error has another form.
        for trouble in ("429", "500 after the commit", "409", "401"):
            why = "" if "envelope" in settings else "in a dialect"
            yield CataloguePlay((_ORDER, step("pay", 1, trouble), _RETRY, _SETTLE), why, dialect)
            refund = (step("refund", 1, "half", trouble), _SETTLE, step("refund_again"), _SETTLE)
            yield CataloguePlay((*_PAID, *refund), why, dialect)
        yield CataloguePlay((*_PAID, step("inject", "again")), "in a dialect", dialect)
        # No read tells what an event has not told.
        later = step("pass_time", "10m")
        yield CataloguePlay((_ORDER, _PAY, later, _WORK_OFF), dialect=dialect)
        yield CataloguePlay((*_PAID, step("refund", 1, "half"), later, _WORK_OFF), "in a dialect", dialect)
        lost = (step("provider", "dispute"), step("provider", "dispute lost"), _WORK_OFF)
        yield CataloguePlay((*_PAID, *lost), "in a dialect", dialect)


def _several_orders() -> Iterator[CataloguePlay]:
    for scenario in SCENARIOS:
        first, second = step("pay", 1, scenario=scenario), step("pay", 2)
        yield CataloguePlay((_ORDER, _ORDER, first, _SETTLE), "the other order is not paid")
        yield CataloguePlay((_ORDER, _ORDER, first, second, _SETTLE), "each order has its own payment")
        yield CataloguePlay((_ORDER, _ORDER, second, first, _SETTLE), "the later order is paid first")
        yield CataloguePlay((_ORDER, first, _SETTLE, _ORDER, second, step("pass_time", "10s")), "one follows another")
    both = (_ORDER, step("order", "19.99", "USD"), _PAY, step("pay", 2), _SETTLE)
    yield CataloguePlay((*both, step("refund", 2), _SETTLE), "the other order is not refunded")
    yield CataloguePlay((*both, step("provider", "dispute", 2), step("provider", "dispute lost", 2)), "nor disputed")
    for trouble in WEBHOOK_TROUBLES:
        yield CataloguePlay(
            (_ORDER, _ORDER, step("webhooks", trouble), _PAY, step("pay", 2), _SETTLE), "events of two orders mix"
        )
    for times in ((), (_SETTLE,), (step("outage", "80h"),)):
        yield CataloguePlay((step("crowd"), *times), "more orders than a page of a list holds")
    yield CataloguePlay(
        (step("webhooks", "drop all"), step("crowd"), _SETTLE), "a list is all that tells, and has pages"
    )


def _meanwhile_sold() -> Iterator[CataloguePlay]:
    # Of what there is only one of, somebody else may have bought what an order no longer had.
    why = "somebody else buys what the order no longer has"
    other = (_ORDER, step("pay", 2), _SETTLE)
    several = tuple(each for number in (2, 3, 4) for each in (_ORDER, step("pay", number)))
    for number in (2, 3):
        # The last of two, or of three.
        sold = tuple(each for one in range(1, number) for each in (_ORDER, step("pay", one), _SETTLE))
        for at in POINTS:
            last = step("pay", number, meanwhile=ANOTHER_CUSTOMER, at=at)
            yield CataloguePlay((*sold, _ORDER, last, _SETTLE), why)
    for at in _JOB_POINTS[:16]:
        # The job that frees what was held for an order meets the customer who takes it.
        held = (_ORDER, step("pay", 1, scenario="abandoned"), step("pass_time", "25h"))
        frees = step("interrupt_jobs", ANOTHER_CUSTOMER_MEANWHILE, at)
        yield CataloguePlay((*held, frees, _SETTLE, step("provider", "late money", 1), _SETTLE), why)
    for ended in _FIRST_ATTEMPTS:
        yield CataloguePlay((*ended, *other, step("provider", "late money", 1), _SETTLE), why)
        # There may have been two or three.
        yield CataloguePlay((*ended, *several, _SETTLE, step("provider", "late money", 1), _SETTLE), why)
        yield CataloguePlay((*ended, _ORDER, step("provider", "late money", 1), step("pay", 2), _SETTLE, _SETTLE), why)
    yield CataloguePlay((_ORDER, _PAY, step("cancel"), *other), why)
    yield CataloguePlay((*_PAID, step("cancel"), *other, _SETTLE), why)
    refunded = (*_PAID, step("refund"), _SETTLE)
    yield CataloguePlay((*refunded, *other, step("provider", "refund fails late", 1), _SETTLE), why)
    lost = (step("provider", "dispute"), step("provider", "dispute lost"), _SETTLE)
    yield CataloguePlay((*_PAID, *lost, *other), why)
    for scenario, time in SLOW_SCENARIOS.items():
        slow = (_ORDER, step("pay", 1, scenario=scenario), step("wait", "1h"))
        yield CataloguePlay((*slow, *other, step("wait", time), step("wait", "1h"), _SETTLE), why)


def _lost_replies() -> Iterator[CataloguePlay]:
    lost = _got_through(POST_TROUBLES)
    # What follows depends on whether the deposit was made, and hardly on how its reply was lost.
    phases = {POST_TROUBLES[name].faults[0].get("phase"): name for name in reversed(lost)}
    for trouble in POST_TROUBLES:
        # A reply that cannot be read, or says something new, is often taken for an answer, unlike one that is lost.
        silent = (step("webhooks", "drop all"), step("pay", 1, trouble), _RETRY, _SETTLE)
        yield CataloguePlay((_ORDER, *silent), "no webhook tells")
    for trouble in lost:
        yield CataloguePlay(
            (_ORDER, step("pay", 1, trouble), _RESTART, _RETRY, _SETTLE), "the key has to survive a restart"
        )
    for trouble in phases.values():
        paid = step("pay", 1, trouble)
        for time in ("1h", "25h"):
            yield CataloguePlay(
                (_ORDER, paid, step("pass_time", time), _RETRY, _SETTLE), "the customer comes back, and no job has run"
            )
        for silence in ("late", "late four", "drop all"):
            yield CataloguePlay(
                (_ORDER, step("webhooks", silence), paid, _RETRY, _SETTLE), "neither a reply nor a webhook tells"
            )
            yield CataloguePlay(
                (_ORDER, step("webhooks", silence), paid, step("pass_time", "1h"), step("returns"), _RETRY, _SETTLE),
                "no reply, no webhook and no background job tells",
            )
        for what in _OF_THE_ORDER:
            for at in POINTS if what in AT_POINTS else (0,):
                yield CataloguePlay(
                    (_ORDER, step("pay", 1, trouble, meanwhile=what, at=at), _RETRY, _SETTLE),
                    "what is known of the attempt is not yet complete",
                )


def _two_troubles() -> Iterator[CataloguePlay]:
    silent, job, again = step("webhooks", "drop all"), step("pass_time", "10s"), step("refund_again")
    for trouble in REFUND_TROUBLES:
        refunded = (*_PAID, silent, step("refund", 1, "half", trouble))
        yield CataloguePlay((*refunded, _SETTLE, _SETTLE), "no webhook tells of the refund")
        yield CataloguePlay((*refunded, again, _SETTLE), "no webhook tells of the refund")
        yield CataloguePlay((*refunded, job, again, _SETTLE), "no webhook tells of the refund")
        yield CataloguePlay(
            (*refunded, _RESTART, _SETTLE, _SETTLE), "its key outlasts the process, and no webhook tells"
        )
    why = "the next request meets something else, and nothing tells of the first one"
    for then in AFTERWARDS[1:]:
        click = step("pay", 1, "reply lost", then=then)
        yield CataloguePlay((_ORDER, silent, click, _RETRY, _SETTLE), why)
        refund = step("refund", 1, "half", "reply lost", then=then)
        yield CataloguePlay((*_PAID, silent, refund, again, _SETTLE), why)
        # A shop may leave the next request to a later click, or to a job that is due by then.
        later = (_ORDER, silent, step("pay", 1, "reply lost"), job, step("retry", 1, then), _SETTLE)
        yield CataloguePlay((*later, _RETRY, _SETTLE), why)
        unanswered = (*_PAID, silent, step("refund", 1, "half", "reply lost"), job)
        yield CataloguePlay((*unanswered, step("refund_again", 1, then), _SETTLE, again, _SETTLE), why)


def _lost_notes() -> Iterator[CataloguePlay]:
    # The request was carried out, and the merchant's note of it is lost: alone, or before an answer that tells nothing.
    silent, again = step("webhooks", "drop all"), step("refund_again")
    for what in LOSES_NOTES:
        # A request that is left to a job has many points before it.
        for at in _JOB_POINTS[:16]:
            lost = "the request was carried out, and its note is lost"
            click = step("pay", 1, meanwhile=what, at=at)
            yield CataloguePlay((_ORDER, silent, click, _SETTLE, _RETRY, _SETTLE), lost)
            refund = step("refund", 1, "half", meanwhile=what, at=at)
            yield CataloguePlay((*_PAID, silent, refund, _SETTLE, _SETTLE), lost)
    why = "the request was carried out, its note is lost, and the next answer says nothing about it"
    for then in AFTERWARDS[1:]:
        for what in LOSES_NOTES:
            for at in POINTS:
                click = step("pay", 1, meanwhile=what, at=at)
                yield CataloguePlay((_ORDER, silent, click, step("retry", 1, then), _RETRY, _SETTLE), why)
                refund = step("refund", 1, "half", meanwhile=what, at=at)
                yield CataloguePlay((*_PAID, silent, refund, step("refund_again", 1, then), again, _SETTLE), why)


def _past_the_key() -> Iterator[CataloguePlay]:
    # Jobs repeat a request for longer than the service remembers its key.
    silent = step("webhooks", "drop all")
    why = "jobs go on for longer than a key is valid, and nothing tells of the first request"
    for trouble in (name for name, found in READ_TROUBLES.items() if found.tells_nothing):
        for hours in (_HOURS_PAST_THE_KEY, _DOWN_PAST_THE_KEY):
            unread = (step("reads", trouble, lasts=TO_THE_END), *hours)
            lost = step("pay", 1, "reply lost", lasts=TO_THE_END)
            yield CataloguePlay((_ORDER, silent, lost, *unread, _RETRY, _SETTLE), why)
            refund = step("refund", 1, "half", "reply lost", lasts=TO_THE_END)
            yield CataloguePlay((*_PAID, silent, refund, *unread, step("refund_again"), _SETTLE), why)
    # What was sent just before the end of a process may have been done, and a day later its key says nothing about it.
    why, day = (
        "the note of a request is lost, and its key is too old",
        (step("pass_time", f"{_KEY_HOURS + 1}h"), _SETTLE, _SETTLE),
    )
    for what in LOSES_NOTES:
        for at in POINTS:
            click = step("pay", 1, meanwhile=what, at=at)
            yield CataloguePlay((_ORDER, silent, click, *day, _RETRY, _SETTLE), why)
            refund = step("refund", 1, "half", meanwhile=what, at=at)
            yield CataloguePlay((*_PAID, silent, refund, *day, step("refund_again"), _SETTLE), why)
    # What was given up without an answer may have been done, so its money must not be promised once more.
    for share in ("all", "most"):
        given_up = step("refund", 1, share, "reply lost", lasts=TO_THE_END)
        tried = (_SETTLE, step("wait", "6h", jobs_every="30m"), step("refund", 1, share), _SETTLE)
        yield CataloguePlay((*_PAID, silent, given_up, *tried), "nothing tells of a refund")


def _left_to_jobs() -> Iterator[CataloguePlay]:
    # A click tries a few times; what a job makes of the answer shows only when the customer does not come back.
    for trouble in (name for name, found in POST_TROUBLES.items() if found.retry_after_seconds is not None):
        limited = step("pay", 1, trouble, lasts=LONGER_THAN_A_CLICK)
        yield CataloguePlay((_ORDER, limited, *_DAY_OF_JOBS), "the customer leaves, and a day of jobs follows")
    for trouble, found in OWN_REFUND_TROUBLES.items():
        if found.retry_after_seconds is not None:
            waits = (step("own_refunds", trouble, lasts=LONGER_THAN_A_CLICK), step("refund", 1, "half"), *_DAY_OF_JOBS)
            yield CataloguePlay((*_PAID, *waits), "a refund is refused for now, and a day of jobs follows")
    for trouble in ("unknown code", "method gone"):
        refused = step("pay", 1, trouble, lasts=TO_THE_END)
        yield CataloguePlay((_ORDER, refused, *_DAY_OF_JOBS), "the customer leaves, and a day of jobs follows")
    # The service gives no money back that is disputed.
    disputed = (*_PAID, step("provider", "dispute"), step("refund"))
    yield CataloguePlay((*disputed, *_DAY_OF_JOBS), "a refund is refused, and a day of jobs follows")
    lost = (step("provider", "dispute"), step("provider", "dispute lost"), _SETTLE, step("refund"), _SETTLE)
    yield CataloguePlay((*_PAID, *lost), "the money was charged back before")


def _slow() -> Iterator[CataloguePlay]:
    # An order whose payment takes days must neither be forgotten nor taken for paid.
    silent, hours = step("webhooks", "drop all"), step("wait", "8h", jobs_every="1h")
    days = (step("wait", "3d", jobs_every="1h"), _SETTLE)
    for scenario, nearly in SLOW_SCENARIOS.items():
        paid = step("pay", 1, scenario=scenario)
        yield CataloguePlay((_ORDER, paid, *days))
        yield CataloguePlay((_ORDER, paid, step("pass_time", "3d"), _WORK_OFF))
        yield CataloguePlay((_ORDER, silent, paid, *days), "reads are all that tells, for days")
        yield CataloguePlay((_ORDER, paid, hours, silent, *days), "reads are all that tells, for days")
        yield CataloguePlay((_ORDER, paid, hours, _RESTART, *days), "a payment that is open outlives a process")
        yield CataloguePlay((_ORDER, paid, hours, step("cancel"), *days), "the customer has waited long enough")
        unanswered = step("pay", 1, "reply lost", scenario=scenario, lasts=LONGER_THAN_A_CLICK)
        yield CataloguePlay((_ORDER, unanswered, *days), "a payment of days has no reply")
        # The jobs run two seconds before the end, half an hour after the last time.
        until = (step("wait", nearly, jobs_every="30m"), step("reads", "overtaken"), step("wait", "29m58s"))
        yield CataloguePlay((_ORDER, paid, *until, _SETTLE, _SETTLE), "a job's read races with an event")
    # Nor must a refund that takes days be made again.
    days = (step("wait", "11d", jobs_every="3h"), _SETTLE)
    begun = (_ORDER, step("pay", 1, scenario=SLOW_REFUND), _SETTLE)
    for share in ("half", "all"):
        yield CataloguePlay((*begun, step("refund", 1, share), *days))
        yield CataloguePlay((*begun, silent, step("refund", 1, share), *days), "reads are all that tells, for days")
    yield CataloguePlay((*begun, step("refund"), *days[:1], step("refund_again"), _SETTLE), "it is asked for again")


def _one_second() -> Iterator[CataloguePlay]:
    # Events of one second are in an order that only their fractions of a second say.
    for trouble in (name for name, found in WEBHOOK_TROUBLES.items() if found.reorders):
        for what in ("succeeds", "fails"):
            ended = (_PAY, _WITHIN_THE_SECOND, step("provider", what))
            yield CataloguePlay((_ORDER, step("webhooks", trouble), *ended), "the events are of one second")
    for what in ("succeeds", "fails"):
        in_order = (_PAY, _WITHIN_THE_SECOND, step("provider", what), _SETTLE)
        yield CataloguePlay((_ORDER, *in_order), "the events are of one second")


def _behind() -> Iterator[CataloguePlay]:
    # A job that gets no reply either asks the lists, and what is missing there may exist all the same.
    silent, jobs = step("webhooks", "drop all"), (step("wait", "10s"), step("wait", "1m"), step("wait", "8m"))
    why = "jobs repeat without a reply, and lists are behind"
    for trouble in (name for name, found in READ_TROUBLES.items() if not found.tells_nothing):
        unread = step("reads", trouble, lasts=LONGER_THAN_A_CLICK)
        click = step("pay", 1, "reply lost", lasts=TO_THE_END)
        yield CataloguePlay((_ORDER, silent, click, unread, *jobs, _RETRY, _SETTLE), why)
        refund = step("refund", 1, "half", "reply lost", lasts=TO_THE_END)
        yield CataloguePlay((*_PAID, silent, refund, unread, *jobs, step("refund_again"), _SETTLE), why)


def _pages() -> Iterator[CataloguePlay]:
    # A reconciliation that ends at a page without news never reaches what is older.
    silent, others = step("webhooks", "drop all"), step("other_system")
    why = "an older order is behind a page of payments that are not the shop's"
    for paid in (_PAY, step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK)):
        yield CataloguePlay((_ORDER, silent, paid, others, _SETTLE), why)
    why = "what happened to an order is behind a page that is not the shop's"
    for happened, then in (
        ((step("provider", "dispute"),), "disputed"),
        ((step("provider", "dispute"), step("provider", "dispute lost")), "disputed"),
        ((step("provider", "refund half"),), "refunded"),
    ):
        elsewhere = step("other_system", then=then)
        yield CataloguePlay((*_PAID, silent, *happened, elsewhere, _SETTLE), why)
    # A page with fewer items than were asked for is not the last one.
    why, short = "pages are short", "short pages"
    for click in (_PAY, step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK)):
        for newer in (step("crowd", 7), step("other_system", 7)):
            yield CataloguePlay((_ORDER, silent, click, newer, _SETTLE, *_DAY_OF_JOBS), why, short)
    thirds = (step("refund", 1, "third"),) * 3
    yield CataloguePlay((*_PAID, silent, *thirds, _SETTLE, _SETTLE), why, short)
    several = (step("provider", "refund half"), step("refund", 1, "third"), _SETTLE)
    yield CataloguePlay((step("crowd", 7), _SETTLE, silent, *several, step("returns"), _SETTLE), why, short)
    # A job that takes the first page of what waits, and finds nothing to do there, never reaches the rest.
    why, bought = "a page of events is about payments that are not the shop's", (_ORDER, _PAY, _SETTLE)
    yield CataloguePlay((others, _SETTLE, *bought), why)
    yield CataloguePlay((step("other_system", then="refunded"), _SETTLE, *bought, step("refund"), _SETTLE), why)
    jobs = (_SETTLE, step("wait", "10m"), step("wait", "59m"))
    why, last = "a page of refunds waits for the end of disputes", _PAGE + 1
    sold, dispute = (step("crowd", _PAGE), _SETTLE), step("provider_for_all", "dispute")
    refund = step("refund", last, "half", "request lost", lasts=2)
    for waiting in ((dispute, step("refund_for_all")), (step("refund_for_all", "all", "429"), dispute)):
        given_back = (_ORDER, step("pay", last), step("cancel", last), _SETTLE, *jobs)
        yield CataloguePlay((*sold, *waiting, _ORDER, step("pay", last), _SETTLE, refund, *jobs), why)
        yield CataloguePlay((*sold, *waiting, *given_back), why)
    # Each of these is a step of its own, after which all orders are looked at.
    failing = tuple(each for number in range(1, 26) for each in (_ORDER, step("pay", number, "stored 500")))
    click = step("pay", len(failing) // 2 + 1, "request lost", lasts=2)
    yield CataloguePlay((*failing, _ORDER, click, *jobs), "a page of deposits fails each time")
    crowd, why = (step("crowd"), _SETTLE, silent), "disputes or refunds fill more than a page"
    dispute, lost = step("provider_for_all", "dispute"), "dispute lost"
    yield CataloguePlay((*crowd, dispute, step("provider_for_all", lost), _SETTLE), why)
    # The first is the oldest of those that are open.
    yield CataloguePlay((*crowd, dispute, _SETTLE, step("provider", lost, 1), _SETTLE), why)
    yield CataloguePlay((*crowd, step("provider_for_all", "refund half"), _SETTLE), why)


def _neighbours() -> Iterator[CataloguePlay]:
    # Several fail, since each may be due at another run of the jobs. Jobs may begin with the oldest or with the newest.
    hours, lost = (step("wait", "59m"),) * 3, "request lost"
    for own, others in ((2, (3, 4, 5)), (5, (2, 3, 4))):
        clicks = {
            own: step("pay", own, lost, lasts=LONGER_THAN_A_CLICK),
            **{each: step("pay", each, "stored 500") for each in others},
        }
        together = tuple(taken for number in sorted(clicks) for taken in (_ORDER, clicks[number]))
        first = (_ORDER, step("pay", 1, lost, lasts=LONGER_THAN_A_CLICK), *hours)
        yield CataloguePlay((*first, *together, *hours), "requests of other orders fail each time")


def _told_too_early() -> Iterator[CataloguePlay]:
    # The merchant acknowledges what is about a payment that it does not know yet, and may then have forgotten it.
    late, click = step("webhooks", "late four"), step("pay", 1, "reply lost", lasts=TO_THE_END)
    why = "the event of a dispute or refund comes before anything else tells of the payment"
    for happened in (
        (step("provider", "dispute"),),
        (step("provider", "dispute"), step("provider", "dispute lost")),
        (step("provider", "dispute half"), step("provider", "dispute lost")),
        (step("provider", "refund half"), step("pass_time", "10s")),
        (step("provider", "refund"), step("pass_time", "10s")),
    ):
        begun = (_ORDER, late, click, step("pass_time", "10s"), *happened, _WORK_OFF)
        yield CataloguePlay((*begun, step("wait", "2h"), _SETTLE), why)


def _broken_records() -> Iterator[CataloguePlay]:
    # What cannot be learned about one order must not keep jobs from the others, whichever they begin with.
    silent, long = step("webhooks", "drop all"), step("wait", "1h")
    why = "nothing can be read about another order"
    for trouble in ORDER_READ_TROUBLES:
        for broken in (1, 2):
            unread = (step("reads_of", trouble, broken), _SETTLE, long, _SETTLE)
            paid = (_PAY, step("pay", 2))
            yield CataloguePlay((_ORDER, _ORDER, silent, *paid, *unread))
            unanswered = (
                step("pay", 1, "reply lost", lasts=LONGER_THAN_A_CLICK),
                step("pay", 2, "reply lost", lasts=LONGER_THAN_A_CLICK),
            )
            yield CataloguePlay((_ORDER, _ORDER, silent, *unanswered, *unread), why)
            both = (_ORDER, _ORDER, *paid, _SETTLE, silent, step("refund", 1, "half"), step("refund", 2, "half"))
            yield CataloguePlay((*both, *unread), why)
            disputed = (step("provider", "dispute", 1), step("provider", "dispute", 2))
            lost = (step("provider", "dispute lost", 1), step("provider", "dispute lost", 2))
            yield CataloguePlay((_ORDER, _ORDER, *paid, _SETTLE, silent, *disputed, *lost, *unread), why)


def _pairs() -> Iterator[CataloguePlay]:
    for trouble in POST_TROUBLES:
        yield CataloguePlay(
            (_ORDER, _PAY, step("provider", "fails"), step("retry", 1, trouble), _SETTLE),
            "a second attempt is a new one",
        )
        yield CataloguePlay(
            (_ORDER, step("pay", 1, trouble, scenario="card-declined"), _SETTLE, _RETRY, _SETTLE),
            "a decline ends the attempt, whatever became of its reply",
        )
    for trouble in WEBHOOK_TROUBLES:
        yield CataloguePlay(
            (_ORDER, step("webhooks", trouble), _PAY, step("pass_time", "10s"), _RESTART, _SETTLE),
            "what was seen has to survive a restart",
        )
        yield CataloguePlay(
            (
                *_PAID,
                step("webhooks", trouble),
                step("refund", 1, "half"),
                _SETTLE,
                step("provider", "dispute"),
                _SETTLE,
            ),
            "events of refunds and disputes are disturbed as those of payments",
        )
        for what in WEBHOOK_INTERRUPTIONS:
            yield CataloguePlay(
                (
                    _ORDER,
                    _PAY,
                    step("pass_time", "5s"),
                    step("webhooks", trouble),
                    step("interrupt_webhook", what),
                    _SETTLE,
                ),
                "the work on an event is repeated",
            )
    for how in INJECTED:
        yield CataloguePlay(
            (*_PAID, step("refund"), _SETTLE, step("inject", how, 3), step("inject", how, 1)),
            "an old event must not undo a refund",
        )
