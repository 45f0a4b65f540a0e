"""Which plays of the catalogue would be the same, for this merchant, as one that was run before.

The catalogue is made without knowledge of the merchant: it kills the process at sixteen points where the code may have
three, and lets a trouble last for six requests where the merchant sends one. Each play that is run shows how much of it
can matter, and a later play is left out when only that differs. Nothing is guessed; there are two reasons:

**Nothing would act.** A play is deterministic, so the same steps reach the same points, requests and events. What did
not act in a play does not act in another one with the same steps around it: an interruption at a point that is not
reached, further failures for a client that has stopped asking, a disturbed read where nothing is read, a decision of
the provider about nothing. Such a play is the same as one without that part.

**The merchant reacts in the same way.** Two troubles that were each played alone, in the same plays, and led to the
same requests under the same keys, the same points, the same answers to webhooks and the same statuses, are one to this
merchant. Each is still played alone; in combinations with something else the first one represents both.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

from paydouble.stateful.coverage import VOCABULARY
from paydouble.stateful.interruptions import AFTER_REQUEST, AT_POINTS, BEFORE_COMMIT, BEFORE_REQUEST, KINDS
from paydouble.stateful.play import Play
from paydouble.stateful.service import Points
from paydouble.stateful.steps import CataloguePlay, Step
from paydouble.stateful.troubles import (
    CANCELLATION_TROUBLES,
    ORDER_READ_TROUBLES,
    OWN_REFUND_TROUBLES,
    POST_TROUBLES,
    READ_TROUBLES,
    SCENARIOS,
    WEBHOOK_TROUBLES,
    Trouble,
)

UNREACHED: Final = "the merchant's code has no further point to interrupt"
NOTHING: Final = "it would meet nothing"
NO_LONGER: Final = "the merchant stops asking before it is over"
REFUSED: Final = "it is refused whatever it says"
ALIKE: Final = "the merchant reacts to it as to another one"
THE_SAME: Final = "its steps mean the same"

_TABLES: Final = {
    "pay": ("POST", 1),
    "retry": ("POST", 1),
    "refund": ("refund", 2),
    "refund_again": ("refund", 1),
    "own_refunds": ("own refund", 0),
    "cancellations": ("cancellation", 0),
    "webhooks": ("webhooks", 0),
    "reads": ("reads", 0),
    "reads_of": ("reads of one order", 0),
    "inject": ("injected webhook", 0),
}
"""Command → the table of what disturbs it, and the place of that argument."""
_CLICKS: Final = frozenset({"pay", "retry", "refund", "refund_again", "cancel"})
_ARMED: Final = {
    "webhooks": WEBHOOK_TROUBLES,
    "reads": READ_TROUBLES,
    "reads_of": ORDER_READ_TROUBLES,
    "own_refunds": OWN_REFUND_TROUBLES,
    "cancellations": CANCELLATION_TROUBLES,
}
"""Commands whose troubles wait for what comes in a later step."""
_JOBS: Final = Step("interrupt_jobs")
"""Jobs that are not interrupted."""


class _Place(NamedTuple):
    """Where in a play a step is."""

    dialect: str
    before: tuple[Step, ...] = ()

    def after(self, steps: tuple[Step, ...]) -> _Place:
        return _Place(self.dialect, self.before + steps)


class _StepSeen(NamedTuple):
    """What was seen in one step of a play."""

    empty: bool
    """Whether the command did nothing at all."""
    interrupted: bool
    fired: int
    """How often the faults of a click fired."""
    followed: bool
    """Whether a click sent a request that met its `then`."""
    reached: Points
    """How many points a click passed."""
    refused: bool
    """Whether each webhook was refused, without a request or a point."""
    did: Hashable
    """What the merchant did: its requests, its answers to webhooks, the points that it passed, what it shows."""


class PlaySeen:
    """What is seen while a play runs."""

    def __init__(self, play: Play) -> None:
        """Watch a play from its start."""
        self.play = play
        self.steps: list[_StepSeen] = []
        self._keys: dict[str | None, int] = {}
        self._mark()

    def note(self) -> None:
        """Note what was seen in the step that has just been taken, or in the end of the play."""
        play, log = self.play, self.play.sandbox.journal.requests
        # Keys are random, so only whether one was used before counts.
        requests = [
            (each.method, each.target, self._keys.setdefault(each.key, len(self._keys)), each.body)
            for each in log.since(self._requests)
        ]
        answers = play.answers[self._answers :]
        passed = play.points.since(self._points)
        self.steps.append(
            _StepSeen(
                empty=len(play.story.calls) == self._calls,
                interrupted=any(
                    each.table in {"meanwhile", "interrupted job"} and each.name != "none"
                    for each in play.trials[self._tried :]
                ),
                fired=play.noted.fired,
                followed=play.noted.followed,
                reached=play.reached,
                refused=bool(answers)
                and not (requests or passed.all)
                and all(400 <= (status or 0) < 500 for _, status, _ in answers),  # noqa: PLR2004 - HTTP
                did=hash((tuple(requests), tuple(answers), passed, tuple(order.status for order in play.orders))),
            )
        )
        self._mark()

    def _mark(self) -> None:
        self._requests = self.play.sandbox.journal.requests.total
        self._answers = len(self.play.answers)
        self._tried = len(self.play.trials)
        self._points = self.play.points
        self._calls = len(self.play.story.calls)


class Equivalence:
    """What the plays that were run on one merchant have shown."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._reached: dict[tuple[_Place, Step], Points] = {}
        self._fired: dict[tuple[_Place, Step, tuple[Step, ...]], int] = {}
        self._empty: set[tuple[_Place, Step]] = set()
        self._refused: set[tuple[_Place, Step]] = set()
        self._unfollowed: set[tuple[_Place, Step]] = set()
        self._unmet: set[tuple[_Place, Hashable, tuple[Step, ...]]] = set()
        self._interrupted: dict[tuple[_Place, tuple[Step, ...]], Points] = {}
        self._run: set[CataloguePlay] = set()
        self._represented: set[CataloguePlay] = set()
        self._reactions: dict[tuple[str, str], dict[Hashable, Hashable]] = {}
        self._first: dict[str, dict[str, str]] = {}

    def reason(self, play: CataloguePlay) -> str | None:
        """Return why a play would be the same as one that was run; None when it has to be run."""
        same, reasons = self._reduced(play)
        if same in self._run:
            return reasons[0] if reasons else THE_SAME
        if play.reason and self._represented_by(same) in self._represented:
            return ALIKE
        return None

    def learn(self, play: CataloguePlay, seen: PlaySeen) -> None:
        """Take what a play that has ended without a finding has shown."""
        # Of a play that would be alike it is not yet known what would act in it.
        before, _ = self._reduced(play)
        place = _Place(play.dialect)
        armed = iter(seen.play.noted.armed_fired)
        for number, (step, found) in enumerate(zip(play.steps, seen.steps, strict=False)):
            rest = play.steps[number + 1 :]
            if step.command in _ARMED:
                self._learn_duration(place, step, next(armed), rest)
            elif step.command in _CLICKS:
                self._learn_duration(place, step, found.fired, ())
            self._learn_step(place, step, found, rest, seen.play)
            place = place.after(self._reduced_step(place, step, rest)[0])
        if not play.reason:
            self._learn_reactions(play, seen)
        same, _ = self._reduced(play)
        self._run.add(same)
        self._represented |= {self._represented_by(before), self._represented_by(same)}

    def _learn_step(self, place: _Place, step: Step, found: _StepSeen, rest: tuple[Step, ...], play: Play) -> None:
        if found.empty:
            self._empty.add((place, step))
        if step.command in _CLICKS and not found.interrupted:
            self._reached[place, _without_interruption(_without_defaults(step))] = found.reached
        if step.command in _CLICKS and "then" in dict(step.options) and not found.followed:
            self._unfollowed.add((place, _without_following(_without_defaults(step))))
        if step.command == "interrupt_jobs" and not found.interrupted:
            self._reached[place, _JOBS] = found.reached
        if step.command == "inject" and found.refused:
            self._refused.add((place, _newest(step)))
        acted = {trial.table for trial in play.trials}
        if step.command in _ARMED and _TABLES[step.command][0] not in acted:
            self._unmet.add((place, _meets(step), rest))
        if step.command == "interrupt_webhook" and "interrupted webhook" not in acted:
            self._interrupted[place, rest] = play.interrupted_points

    def _learn_duration(self, place: _Place, step: Step, fired: int, rest: tuple[Step, ...]) -> None:
        times = _times(step)
        if isinstance(times, int) and fired < times:
            self._fired[place, _without_duration(_without_defaults(step)), rest] = fired

    def _learn_reactions(self, play: CataloguePlay, seen: PlaySeen) -> None:
        did = tuple(each.did for each in seen.steps)
        self._reactions.setdefault(("dialect", play.dialect), {})[play.steps] = did
        for number, step in enumerate(play.steps):
            slot = _slot(step)
            if slot is not None:
                table, at = slot
                shape = play.dialect, play.steps[:number], _with(step, at, None), play.steps[number + 1 :]
                self._reactions.setdefault((table, step.arguments[at]), {})[shape] = did
        self._first.clear()

    # A play without what would not act

    def _reduced(self, play: CataloguePlay) -> tuple[CataloguePlay, list[str]]:
        place = _Place(play.dialect)
        reasons: list[str] = []
        for number, step in enumerate(play.steps):
            steps, reason = self._reduced_step(place, step, play.steps[number + 1 :])
            reasons += filter(None, [reason])
            place = place.after(steps)
        return CataloguePlay(place.before, "", play.dialect), reasons

    def _reduced_step(self, place: _Place, step: Step, rest: tuple[Step, ...]) -> tuple[tuple[Step, ...], str]:
        if (place, step) in self._empty or (step.command in _ARMED and (place, _meets(step), rest) in self._unmet):
            return (), NOTHING
        if step.command in _ARMED:
            return self._reduced_duration(place, step, rest)
        if step.command == "interrupt_webhook" and _is_unreached(step, self._interrupted.get((place, rest))):
            return (), UNREACHED
        if step.command == "interrupt_jobs" and _is_unreached(step, self._reached.get((place, _JOBS))):
            return (_JOBS,), UNREACHED
        if step.command == "inject":
            refused = (place, _newest(step)) in self._refused
            return (_newest(step) if refused or len(step.arguments) == 1 else step,), REFUSED if refused else ""
        return self._reduced_click(place, step) if step.command in _CLICKS else ((step,), "")

    def _reduced_click(self, place: _Place, step: Step) -> tuple[tuple[Step, ...], str]:
        step = _without_defaults(step)
        alone = _without_following(step)
        if alone != step and (place, alone) in self._unfollowed:
            return self._reduced_click(place, alone)[0], NOTHING
        plain = _without_interruption(step)
        reached = self._reached.get((place, plain))
        options = dict(step.options)
        what = options.get("meanwhile")
        if what in AT_POINTS and _is_unreached(Step("", (what, options.get("at", 0))), reached):
            return self._reduced_duration(place, plain, ())[0], UNREACHED
        return self._reduced_duration(place, step, ())

    def _reduced_duration(self, place: _Place, step: Step, rest: tuple[Step, ...]) -> tuple[tuple[Step, ...], str]:
        reason = ""
        lasting = _without_duration(step)
        times = _times(step)
        fired = self._fired.get((place, lasting, rest))
        if isinstance(times, int) and fired is not None and fired < times:
            times, reason = fired, NO_LONGER
        return (lasting._replace(options=(*lasting.options, ("times", times))),), reason

    # A play with the first of all troubles to which the merchant reacts in the same way

    def _represented_by(self, play: CataloguePlay) -> CataloguePlay:
        dialect = self._first_like("dialect").get(play.dialect, play.dialect)
        return play._replace(steps=tuple(self._represented_step(step) for step in play.steps), dialect=dialect)

    def _represented_step(self, step: Step) -> Step:
        slot = _slot(step)
        if slot is None:
            return step
        table, at = slot
        # What the next request meets is told apart as where it is met by the first one.
        alike = self._first_like("POST")
        options = tuple((key, alike.get(value, value) if key == "then" else value) for key, value in step.options)
        return _with(step, at, self._first_like(table).get(step.arguments[at], step.arguments[at]))._replace(
            options=options
        )

    def _first_like(self, table: str) -> dict[str, str]:
        if table not in self._first:
            self._first[table] = {}
            for name in VOCABULARY[table]:
                alike = (
                    each for each in dict.fromkeys(self._first[table].values()) if self._are_alike(table, each, name)
                )
                self._first[table][name] = next(alike, name)
        return self._first[table]

    def _are_alike(self, table: str, first: str, name: str) -> bool:
        # Each play that was run with this one alone was also run with the first one.
        known, reactions = self._reactions.get((table, first), {}), self._reactions.get((table, name), {})
        return (
            bool(reactions)
            and _judged(table, first) == _judged(table, name)
            and all(known.get(shape) == reaction for shape, reaction in reactions.items())
        )


def _slot(step: Step) -> tuple[str, int] | None:
    slot = _TABLES.get(step.command)
    return slot if slot is not None and len(step.arguments) > slot[1] else None


def _with(step: Step, at: int, name: str | None) -> Step:
    return step._replace(arguments=(*step.arguments[:at], name, *step.arguments[at + 1 :]))


def _without_interruption(step: Step) -> Step:
    return step._replace(options=tuple(each for each in step.options if each[0] not in {"meanwhile", "at"}))


def _without_following(step: Step) -> Step:
    return step._replace(options=tuple(each for each in step.options if each[0] != "then"))


def _without_defaults(step: Step) -> Step:
    options = tuple(each for each in step.options if each[1] not in {"none", 0, SCENARIOS[0]})
    arguments = step.arguments[:-1] if step.arguments[-1:] == ("none",) else step.arguments
    return step._replace(arguments=arguments, options=options)


def _newest(step: Step) -> Step:
    return step._replace(arguments=(step.arguments[0], 1))


def _meets(step: Step) -> Hashable:
    # What a trouble would disturb, whatever it does then.
    faults = _ARMED[step.command][step.arguments[0]].faults
    return step.command, json.dumps([fault.get("match") for fault in faults])


def _is_unreached(step: Step, reached: Points | None) -> bool:
    what, at = (*step.arguments, 0)[:2]
    if what not in AT_POINTS or reached is None:
        return False
    if at == AFTER_REQUEST:
        return not reached.carried_out
    if at == BEFORE_REQUEST:
        return not reached.sent
    if at == BEFORE_COMMIT:
        return not reached.open
    passed: int = reached.checkpoints if KINDS[what].in_database else reached.all
    return bool(at >= passed)


def _troubles(step: Step) -> Mapping[str, Trouble]:
    return _ARMED.get(step.command, POST_TROUBLES)


def _trouble(step: Step) -> Trouble | None:
    slot = _slot(step)
    return _troubles(step)[step.arguments[slot[1]]] if slot is not None else None


def _times(step: Step) -> int | str | None:
    trouble = _trouble(step)
    lasts: int | str = dict(step.options).get("lasts", 0)
    return (lasts or trouble.faults[0].get("times")) if trouble is not None and trouble.faults else None


def _without_duration(step: Step) -> Step:
    trouble = _trouble(step)
    plain = step._replace(options=tuple(each for each in step.options if each[0] != "lasts"))
    if trouble is None:
        return plain
    same = next(name for name, each in _troubles(step).items() if _untimed(each) == _untimed(trouble))
    return _with(plain, _TABLES[step.command][1], same)


def _untimed(trouble: Trouble) -> list[dict[str, Any]]:
    return [{key: value for key, value in fault.items() if key != "times"} for fault in trouble.faults]


def _judged(table: str, name: str) -> Hashable:
    # What the rules expect of a merchant that has met it.
    trouble = POST_TROUBLES.get(name) if table in {"POST", "refund"} else None
    return trouble and (trouble.gets_through, trouble.retry_after_seconds)
