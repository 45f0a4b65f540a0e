"""A play as a value: its steps, what an adapter lacks for it, and shorter plays that leave something out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from paydouble.core.durations import format_duration
from paydouble.stateful.coverage import COMMANDS, VOCABULARY
from paydouble.stateful.interruptions import BEFORE_COMMIT, KINDS
from paydouble.stateful.merchant import Merchant, knows_play_time
from paydouble.stateful.play import Play, is_a_day
from paydouble.stateful.provider import BEYOND_THE_CONTRACT, OF_REFUNDS
from paydouble.stateful.troubles import OF_ROTATION


class Hold(NamedTuple):
    """When a merchant gives an order up that nobody has paid, counted from its click, in milliseconds."""

    kept: int
    """The last time at which it was still kept."""
    over: int
    """The first time at which it was given up."""


class HoldTime(Enum):
    """A time that depends on the merchant."""

    JUST_BEFORE = auto()
    """From the click until just before the order is given up."""
    ACROSS = auto()
    """From there until just after it."""

    def of(self, hold: Hold) -> str:
        """Return this time as commands take it."""
        within = hold.over - hold.kept
        return format_duration(2 * within if self is HoldTime.ACROSS else hold.kept)


class Step(NamedTuple):
    """A call of one of `Play`'s commands."""

    command: str
    arguments: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def take(self, play: Play) -> None:
        """Take the step in a play."""
        getattr(play, self.command)(*self.arguments, **dict(self.options))

    def with_times_of(self, hold: Hold) -> Step:
        """Return the step with the times of a merchant."""
        arguments = tuple(each.of(hold) if isinstance(each, HoldTime) else each for each in self.arguments)
        return self._replace(arguments=arguments)

    def missing(self, merchant: type[Merchant]) -> str | None:
        """Return what an adapter lacks for this step to mean anything; None when it lacks nothing."""
        said = {*self.arguments, *dict(self.options).values()}
        kinds = [KINDS[each] for each in said if each in KINDS]
        needs = (_NEEDS.get(self.command), *(kind.needs for kind in kinds), *(_ACTS_BY.get(each) for each in said))
        for method in filter(None, needs):
            if getattr(merchant, method) is getattr(Merchant, method):
                return f"no {method}"
        is_killed = any(kind.kills for kind in kinds)
        if is_killed and merchant.served and merchant.restart is Merchant.restart:
            return "no restart"
        lacks = {
            "follows_time": merchant.served and not knows_play_time(merchant) and self._takes_a_day(),
            "retries_by_itself": self.command == "own_refunds" and not merchant.retries_by_itself,
            "rotates_secrets": not (merchant.rotates_secrets or OF_ROTATION.isdisjoint(said)),
            **{
                setting: what in said and not getattr(merchant, setting)
                for what, (setting, _) in BEYOND_THE_CONTRACT.items()
            },
            "served": BEFORE_COMMIT in said and not merchant.served,
            "interleaves": not merchant.interleaves and any(kind.enters for kind in kinds),
        }
        return next((f"{name} is false" for name, is_lacking in lacks.items() if is_lacking), None)

    def _takes_a_day(self) -> bool:
        return any(is_a_day(each) for each in self.arguments if self.command in _WAITS)


_WAITS: Final = frozenset({"wait", "pass_time", "outage", "dead_line"})
"""Commands that let time pass."""
_NEEDS: Final = {
    "refund": "refund",
    "refund_again": "refund",
    "refund_for_all": "refund",
    "restart": "restart",
    "cancel": "cancel",
    "returns": "customer_returns",
    "interrupt_jobs": "tick",
    "jobs_wait": "tick",
}
"""Command → the method of the adapter without which it does nothing."""
_ACTS_BY: Final = dict.fromkeys(OF_REFUNDS, "refund")
"""What the provider does → the method of the adapter without which it does not."""
_TROUBLE_LAST: Final = frozenset({"pay", "retry", "refund", "refund_again"})
"""Commands whose last argument after the order is optional."""


class CataloguePlay(NamedTuple):
    """One play of the catalogue."""

    steps: tuple[Step, ...]
    reason: str = ""
    """Why its troubles are combined; empty when one is played alone."""
    dialect: str = "plain"

    @property
    def depends_on_hold(self) -> bool:
        """Whether it has a time that depends on the merchant."""
        return any(isinstance(each, HoldTime) for step in self.steps for each in step.arguments)

    def with_times_of(self, hold: Hold) -> CataloguePlay:
        """Return the play with the times of a merchant."""
        return self._replace(steps=tuple(step.with_times_of(hold) for step in self.steps))

    def missing(self, merchant: type[Merchant]) -> str | None:
        """Return what an adapter lacks for this play; None when it lacks nothing."""
        return next(filter(None, (step.missing(merchant) for step in self.steps)), None)

    def entries(self) -> set[tuple[str, str]]:
        """Return the entries of the vocabulary that it uses, each with its table."""
        used = {value for step in self.steps for value in (*step.arguments, *dict(step.options).values())}
        used.add(self.dialect)
        commands = {step.command for step in self.steps}
        return {
            (table, name)
            for table, names in VOCABULARY.items()
            for name in names
            if name in used and COMMANDS[table] & commands
        }

    def shorter(self) -> Iterator[CataloguePlay]:
        """Yield the plays with one step or one option less, and with the plain dialect."""
        if self.dialect != "plain":
            yield self._replace(dialect="plain")
        for place in reversed(range(len(self.steps))):
            yield self._replace(steps=self.steps[:place] + self.steps[place + 1 :])
        for place, step in enumerate(self.steps):
            for option in step.options:
                options = tuple(each for each in step.options if each is not option)
                plain = step._replace(options=options)
                yield self._replace(steps=(*self.steps[:place], plain, *self.steps[place + 1 :]))
            if step.command in _TROUBLE_LAST and len(step.arguments) > 1:
                plain = step._replace(arguments=step.arguments[:-1])
                yield self._replace(steps=(*self.steps[:place], plain, *self.steps[place + 1 :]))


def parsed(call: str) -> Step:
    """Return the step that a report writes as `play.command(…)`."""
    tree: Any = ast.parse(call, mode="eval").body
    arguments = tuple(ast.literal_eval(each) for each in tree.args)
    return Step(tree.func.attr, arguments, tuple((each.arg, ast.literal_eval(each.value)) for each in tree.keywords))


def step(command: str, *arguments: Any, **options: Any) -> Step:  # noqa: ANN401 - those of the command
    """Return a step."""
    return Step(command, arguments, tuple(options.items()))
