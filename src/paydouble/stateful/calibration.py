"""Finds out when a merchant shows the effects of webhooks, in plays without any trouble."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from paydouble.core.durations import UNITS_MS
from paydouble.stateful.driver import MakeMerchant
from paydouble.stateful.held_to import WATCHED_MS, Disputed, Each, Family, When
from paydouble.stateful.play import Play
from paydouble.stateful.steps import Step, step
from paydouble.stateful.verdicts import MerchantBug

_BOUGHT: Final = (step("order"), step("pay"), step("wait", "10s"))


class _Trial(NamedTuple):
    before: tuple[Step, ...]
    event: Step
    """What brings the event; no background job runs in it."""


_TRIALS: Final[Mapping[Family, tuple[_Trial, ...]]] = MappingProxyType(
    {
        "payment": (_Trial((step("order"), step("pay")), step("pass_time", "10s")),),
        "failure": (_Trial((step("order"), step("pay", 1, scenario="card-declined")), step("pass_time", "10s")),),
        # A merchant that calls a refund done when it is accepted may still work on the event of its failure.
        "refund": (
            _Trial((*_BOUGHT, step("refund", 1, "half")), step("pass_time", "10m")),
            _Trial(
                (
                    step("order"),
                    step("pay", 1, scenario="refund-fails"),
                    step("wait", "10s"),
                    step("refund", 1, "half"),
                ),
                step("pass_time", "10m"),
            ),
        ),
        "dispute": (_Trial((*_BOUGHT, step("provider", "dispute")), step("provider", "dispute lost")),),
    }
)
_SETTLE: Final = step("wait", "10s")
_WATCHED: Final = step("wait", f"{WATCHED_MS // UNITS_MS['d']}d")
# No job has run yet that would send the goods.
_UNSENT: Final = (step("order"), step("pay"), step("pass_time", "10s"))


def _open(dispute: str) -> tuple[tuple[Step, ...], ...]:
    reviewed = (step("provider", "dispute under review"), _SETTLE)
    return (step("provider", dispute), _SETTLE), reviewed, (_WATCHED, _SETTLE)


def when_it_shows(merchant: MakeMerchant, seed: int = 0, patience_seconds: float = 10.0) -> Each:
    """Return when a merchant shows the effects of each family, and what it shows of an open dispute.

    Nothing of the first for one that asks the service about each webhook, since it may wait until it gets an answer.
    """
    found: dict[Family | Literal["disputed"], When | Collection[Disputed]] = {}

    def shows(family: Family, *, ships: bool = True) -> When:
        plays = (Play(merchant, seed=seed, patience_seconds=patience_seconds) for _ in _TRIALS[family])
        each = (_try(trial, play, ships=ships) for trial, play in zip(_TRIALS[family], plays, strict=True))
        return next(filter(None, each), "")

    for family in _TRIALS:
        found[family] = shows(family)
    found["goods"] = found["payment"]
    if not found["payment"]:
        # Goods may come later than any job, such as when staff has packed them.
        found["payment"] = shows("payment", ships=False)
    disputed = tuple(_while_disputed(lambda: Play(merchant, seed=seed, patience_seconds=patience_seconds)))
    return {**found, "disputed": disputed} if disputed else found


def _while_disputed(play: Callable[[], Play]) -> Iterator[Disputed]:
    """Yield what a merchant shows of an order for as long as a dispute is open; `play` starts a play."""
    paid, *disputed = _views(play(), _BOUGHT, *_open("dispute"))
    if paid.status == "paid" and all(each.status == "review" for each in disputed):
        yield "in review"
    if paid.balance and all(each.balance == 0 for each in disputed):
        yield "off the balance"
    # One that sends goods at once has none to hold back when a dispute comes.
    unsent, sent = _views(play(), _UNSENT, (_WATCHED,))
    _, *held_back = _views(play(), _UNSENT, *_open("dispute half"))
    if (unsent.shipments, sent.shipments) == (0, 1) and all(each.shipments == 0 for each in held_back):
        yield "goods held back"


def _views(play: Play, *parts: tuple[Step, ...]) -> list[_View]:
    """Return what a merchant shows after each part of a play; nothing from where it has broken a rule."""
    found = [_View("", None, None)] * len(parts)
    with suppress(MerchantBug):  # the catalogue reports it
        for place, steps in enumerate(parts):
            for each in steps:
                each.take(play)
            found[place] = _view(play)
    play.close()
    return found


def _try(trial: _Trial, play: Play, *, ships: bool) -> When:
    found: When = ""
    with suppress(MerchantBug):  # the catalogue reports it
        for each in trial.before:
            each.take(play)
        before = _view(play)
        start = play.sandbox.journal.requests.total
        trial.event.take(play)
        asks = play.sandbox.journal.requests.total > start
        if _is_shown(play, before, ships=ships):
            found = "" if asks else "at once"
        else:
            play.work_off()
            found = "after jobs" if _is_shown(play, before, ships=ships) else ""
    play.close()
    return found


class _View(NamedTuple):
    """What a merchant shows of an order."""

    status: str
    balance: Decimal | None
    shipments: int | None


def _view(play: Play) -> _View:
    return _View(play.status(), play.balance(), play.shipments())


def _is_shown(play: Play, before: _View, *, ships: bool) -> bool:
    return _view(play) != before and play.is_as_expected(ships=ships)
