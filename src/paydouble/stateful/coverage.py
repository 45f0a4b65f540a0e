"""What the machine has tried on a merchant, and what it has not tried, and why.

A trial is an entry of the vocabulary that has acted, with the state of the payment at that moment and what came of it:
the idempotency verdict of the request that met it, or what a receiver had to do with the webhook.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from paydouble.stateful.accepted import Accepts, described
from paydouble.stateful.crafted import AHEAD
from paydouble.stateful.interruptions import (
    CANCEL_MEANWHILE,
    JOB_INTERRUPTIONS,
    MEANWHILE,
    REFUND_MEANWHILE,
    WEBHOOK_INTERRUPTIONS,
)
from paydouble.stateful.policies import POLICIES
from paydouble.stateful.provider import PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.troubles import (
    CANCELLATION_TROUBLES,
    DIALECTS,
    INJECTED,
    ORDER_READ_TROUBLES,
    OWN_REFUND_TROUBLES,
    PAYER_SCENARIOS,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_TROUBLES,
    SCENARIOS,
    SLOW_REFUND,
    SLOW_SCENARIOS,
    WEBHOOK_TROUBLES,
)

VOCABULARY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "POST": tuple(POST_TROUBLES),
        "refund": tuple(REFUND_TROUBLES),
        "own refund": tuple(OWN_REFUND_TROUBLES),
        "cancellation": tuple(CANCELLATION_TROUBLES),
        "meanwhile": tuple({**MEANWHILE, **REFUND_MEANWHILE, **CANCEL_MEANWHILE}),
        "injected webhook": tuple(INJECTED),
        "webhooks": tuple(WEBHOOK_TROUBLES),
        "interrupted webhook": tuple(WEBHOOK_INTERRUPTIONS),
        "webhook ahead": tuple(AHEAD),
        "interrupted job": tuple(JOB_INTERRUPTIONS),
        "reads": tuple(READ_TROUBLES),
        "reads of one order": tuple(ORDER_READ_TROUBLES),
        "provider": tuple(PROVIDER_ACTS),
        "payer": tuple(PAYER_ACTS),
        "scenario": (*SCENARIOS, *PAYER_SCENARIOS, *SLOW_SCENARIOS, SLOW_REFUND),
        "dialect": tuple(DIALECTS),
    }
)
"""Table → its entries."""
COMMANDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "POST": frozenset({"pay", "retry"}),
        "refund": frozenset({"refund", "refund_for_all"}),
        "own refund": frozenset({"own_refunds"}),
        "cancellation": frozenset({"cancellations"}),
        "meanwhile": frozenset({"pay", "refund", "cancel"}),
        "injected webhook": frozenset({"inject"}),
        "webhooks": frozenset({"webhooks"}),
        "interrupted webhook": frozenset({"interrupt_webhook"}),
        "webhook ahead": frozenset({"webhook_ahead"}),
        "interrupted job": frozenset({"interrupt_jobs"}),
        "reads": frozenset({"reads"}),
        "reads of one order": frozenset({"reads_of"}),
        "provider": frozenset({"provider", "provider_for_all"}),
        "payer": frozenset({"payer"}),
        "scenario": frozenset({"pay"}),
        "dialect": frozenset({"order"}),
    }
)
"""Table → the commands of a play that take its entries."""
_NOTHING_MET_IT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "POST": "no deposit request met it",
        "refund": "no refund request met it",
        "own refund": "no refund request met it",
        "cancellation": "the merchant asked the service to cancel no payment",
        "meanwhile": "no call reached the point",
        "reads": "no read of the merchant met it",
        "reads of one order": "the merchant asked about no single order",
        "webhooks": "no event met it",
        "webhook ahead": "no event met it",
        "payer": "no payment waited for its payer",
        "interrupted job": "no job reached such a point; a checkpoint marks one",
        "interrupted webhook": "the receiver reached no such point; a checkpoint marks one",
    }
)
# Where some of its plays were run, another one of them might have been met.
_NO_TIME: Final = "there was no time for all of its plays"
ELSEWHERE: Final = "its plays are in another part"
ENDED: Final = "the run ended with a finding before its plays"
"""Why an entry was not tried; of these there may be very many, so a summary only counts them."""


def _named(table: str, names: list[str]) -> str:
    """Return entries of a table in words; all of them are only counted."""
    if 1 < len(names) == len(VOCABULARY[table]):
        return f"(all {len(names)})"
    return ", ".join(map(repr, names))


def _counted(table: str, names: list[str]) -> str:
    """Return how many entries of a table these are: after a minute there may be more than a hundred in all."""
    return f"{len(names)} of {len(VOCABULARY[table])}"


class Trial(NamedTuple):
    """One entry of the vocabulary that has acted."""

    table: str
    name: str
    state: str
    """The state of the payment: `none`, `open`, `paid`, `ended`, `refunded` or `disputed`."""
    verdict: str
    """What came of it: `new`, `replay`, `conflict`, `none` for a request; `accept`, `ignore`, … for a webhook."""


class Tried(NamedTuple):
    """What one play has tried."""

    trials: Sequence[Trial]
    accepted: Mapping[str, int]
    """The findings that the merchant's owner accepts, by their pattern, and how often each was met."""
    allowed: Mapping[str, int]
    """The policies that were met and are not demanded, and how often."""
    in_review: bool = False
    """Whether the merchant showed an order in review in the end."""


class Untried(NamedTuple):
    """One entry of the vocabulary that has never acted, and why."""

    table: str
    name: str
    reason: str


class Coverage:
    """What has been tried on one merchant."""

    def __init__(self, accepts: Accepts = MappingProxyType({})) -> None:
        """Start with nothing tried; `accepts` are the findings that are accepted, and why."""
        self.accepts = dict(accepts)
        self.accepted: Counter[str] = Counter()
        """The pattern of each finding that is accepted, and how often it was met."""
        self.allowed: Counter[str] = Counter()
        """Each policy that was met and is not demanded, and how often."""
        self.trials: Counter[Trial] = Counter()
        self.skipped: dict[tuple[str, str], str] = {}
        """Table and entry → what the adapter lacks for a play with it."""
        self.played: set[tuple[str, str]] = set()
        """Tables and entries of the plays that were run, or left out as the same as one of these."""
        self.in_review = 0
        """Plays of either phase that ended with an order in review."""
        self.plays = 0
        self.failed = 0
        """Plays of the catalogue that ended with a finding."""
        self.first = 1
        """The number of the play with which the catalogue began."""
        self.parts = [1]
        """Which parts of the catalogue were run."""
        self.of_parts = 1
        """Of how many."""
        self.next: int | None = None
        """The number of the play at which the catalogue was cut short, by its time, an interruption or an error."""
        self.same: Counter[str] = Counter()
        """Why a play was not run, since it would have been the same as an earlier one → how many."""
        self.left_out = 0
        """Plays of the catalogue for which there was no time."""
        self.without_time: set[tuple[str, str]] = set()
        """Tables and entries of these plays."""
        self.examples = 0
        self.examples_left_out = 0
        """Examples of the hunt for which there was no time."""

    def add(self, tried: Tried) -> None:
        """Count what a play has tried."""
        self.trials.update(tried.trials)
        self.accepted.update(tried.accepted)
        self.allowed.update(tried.allowed)
        self.in_review += tried.in_review

    @classmethod
    def joined(cls, parts: Sequence[Coverage]) -> Coverage:
        """Return what several parts of one catalogue have tried together."""
        first = parts[0]
        both = cls(first.accepts)
        both.first, both.of_parts = first.first, first.of_parts
        both.parts = sorted(number for each in parts for number in each.parts)
        for each in parts:
            both.trials += each.trials
            both.accepted += each.accepted
            both.allowed += each.allowed
            both.same += each.same
            both.played |= each.played
            both.without_time |= each.without_time
            both.in_review += each.in_review
            both.plays += each.plays
            both.failed += each.failed
            both.left_out += each.left_out
            both.examples += each.examples
            both.examples_left_out += each.examples_left_out
            both.skipped |= {entry: why for entry, why in each.skipped.items() if why != ELSEWHERE}
        for each in parts:
            both.skip(each.skipped, ELSEWHERE)
        return both

    def skip(self, entries: Iterable[tuple[str, str]], reason: str) -> None:
        """Note why a play with these entries, each with its table, was left out."""
        for entry in entries:
            self.skipped.setdefault(entry, reason)

    def pass_over(self, entries: Iterable[tuple[str, str]], reason: str) -> None:
        """Note why a play with these entries was not asked for, though the adapter allows it."""
        self.skipped.update(dict.fromkeys(entries, reason))

    def leave_out(self, entries: Iterable[tuple[str, str]]) -> None:
        """Note that there was no time for a play with these entries, each with its table."""
        self.left_out += 1
        self.without_time.update(entries)

    def was_cut(self) -> str:
        """Return for what there was no time, in words; empty when everything was played."""
        plays = f"{self.left_out} more plays of the catalogue" if self.left_out else ""
        examples = f"{self.examples_left_out} more examples of the hunt" if self.examples_left_out else ""
        return " and ".join(each for each in (plays, examples) if each)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return how often each entry has acted."""
        found: Counter[tuple[str, str]] = Counter()
        for trial, times in self.trials.items():
            found[trial.table, trial.name] += times
        return found

    def untried(self) -> Iterator[Untried]:
        """Yield the entries that have never acted."""
        counts = self.counts()
        for table, names in VOCABULARY.items():
            for name in names:
                if not counts[table, name]:
                    yield Untried(table, name, self._why_untried(table, name))

    def _why_untried(self, table: str, name: str) -> str:
        if (table, name) in self.without_time:
            return _NO_TIME
        met_by_nothing = _NOTHING_MET_IT.get(table, "nothing met it")
        return met_by_nothing if (table, name) in self.played else self.skipped.get((table, name), met_by_nothing)

    def summary(self) -> str:
        """Return a few lines: how much was tried, and what was not."""
        entries = sum(len(names) for names in VOCABULARY.values())
        runs = f"{self.plays} plays of the catalogue and {self.examples} examples of the hunt"
        tried = f"{len(self.counts())} of {entries} troubles and acts"
        states = "the payment's state and what came of it"
        lines = [f"{runs} tried {tried}, in {len(self.trials)} combinations with {states}."]
        lines += self._extent()
        if self.failed > 1:
            lines.append(f"{self.failed} of these ended with a finding.")
        if self.in_review:
            lines.append(f"{self.in_review} of these ended with an order in review, of which less is asked.")
        if cut := self.was_cut():
            lines.append(f"There was no time for {cut}.")
        if self.same:
            reasons_why = "; ".join(f"{times} because {reason}" for reason, times in self.same.most_common())
            lines.append(f"Plays left out as the same as earlier ones: {reasons_why}.")
        for pattern, words, why in described(self.accepts):
            times = self.accepted[pattern]
            not_met = "and not met so far" if self.was_cut() else "and not met"
            met = f"{times} times" if times else not_met
            lines.append(f"Accepted, {met}: {words} ({why}).")
        for policy, times in self.allowed.items():
            met = f"met {times} time{'s' * (times != 1)}"
            lines.append(
                f"Allowed, since the contract is silent, and {met}: {POLICIES[policy]}."
                f" With {policy!r} in demands it is a finding."
            )
        lines += self._never_tried(entries)
        return "\n".join(lines)

    def _never_tried(self, entries: int) -> Iterator[str]:
        """Yield what of so many entries has never acted, a line for each reason."""
        reasons: dict[str, dict[str, list[str]]] = {}
        for each in self.untried():
            reasons.setdefault(each.reason, {}).setdefault(each.table, []).append(each.name)
        # Most of what is in another part was tried there, and what comes after a finding will be after its fix.
        for reason in (ENDED, ELSEWHERE):
            if others := reasons.pop(reason, {}):
                yield f"Never tried ({reason}): {sum(map(len, others.values()))} of the {entries}."
        for reason, tables in reasons.items():
            shown = _counted if reason == _NO_TIME else _named
            names = "; ".join(f"{table} {shown(table, untried)}" for table, untried in tables.items())
            yield f"Never tried ({reason}): {names}."

    def _extent(self) -> Iterator[str]:
        """Yield how much of the catalogue was asked for, where that was not all of it."""
        if self.first > 1:
            yield f"The catalogue began with its play {self.first:,}."
        if self.of_parts > 1:
            parts = " and ".join(map(str, self.parts))
            these = f"This was part {parts}" if len(self.parts) == 1 else f"These were parts {parts}"
            yield f"{these} of {self.of_parts} of the catalogue."

    def table(self) -> str:
        """Return each entry with its states and verdicts, one a line."""
        cells: dict[tuple[str, str], list[str]] = {}
        for trial, times in sorted(self.trials.items()):
            cells.setdefault((trial.table, trial.name), []).append(f"{trial.state}/{trial.verdict} {times}")
        return "\n".join(f"{table} {name!r}: {', '.join(found)}" for (table, name), found in cells.items())
