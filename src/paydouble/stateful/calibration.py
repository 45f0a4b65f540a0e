"""Finds out when a merchant shows the effects of webhooks, in plays without any trouble."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from paydouble.stateful.acknowledged import Disputed, Family, Shows, ShowsEach
from paydouble.stateful.driver import MakeMerchant
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
# A dispute is open for three days and more. Some merchants hold goods back for a shorter time.
_SETTLE: Final = step("wait", "10s")
_OPEN: Final = (
    (step("provider", "dispute"), _SETTLE),
    (step("provider", "dispute under review"), _SETTLE),
    (step("wait", "2d"), _SETTLE),
)
_DISPUTED: Final[Mapping[tuple[bool, bool], Disputed]] = MappingProxyType(
    {
        (False, False): "",
        (True, False): "in review",
        (False, True): "off the balance",
        (True, True): "in review and off the balance",
    }
)


def when_it_shows(merchant: MakeMerchant, seed: int = 0, patience_seconds: float = 10.0) -> ShowsEach:
    """Return when a merchant shows the effects of each family.

    Nothing for one that asks the service about each webhook, since it may wait until it gets an answer.
    """
    found: dict[Family | Literal["disputed"], Shows | Disputed] = {}

    def shows(family: Family, *, ships: bool = True) -> Shows:
        plays = (Play(merchant, seed=seed, patience_seconds=patience_seconds) for _ in _TRIALS[family])
        each = (_try(trial, play, ships=ships) for trial, play in zip(_TRIALS[family], plays, strict=True))
        return next(filter(None, each), "")

    for family in _TRIALS:
        found[family] = shows(family)
    found["goods"] = found["payment"]
    if not found["payment"]:
        # Goods may come later than any job, such as when staff has packed them.
        found["payment"] = shows("payment", ships=False)
    disputed = _while_disputed(Play(merchant, seed=seed, patience_seconds=patience_seconds))
    return {**found, "disputed": disputed} if disputed else found


def _while_disputed(play: Play) -> Disputed:
    """Return what a merchant shows of an order for as long as all of its money is disputed."""
    looks = []
    with suppress(MerchantBug):  # the catalogue reports it
        for steps in (_BOUGHT, *_OPEN):
            for each in steps:
                each.take(play)
            looks.append((play.status(), play.balance()))
    play.close()
    if len(looks) <= len(_OPEN) or looks[0][0] != "paid":
        return ""
    (_, held), *disputed = looks
    is_reviewed = all(status == "review" for status, _ in disputed)
    is_held = bool(held) and all(balance == 0 for _, balance in disputed)
    return _DISPUTED[is_reviewed, is_held]


def _try(trial: _Trial, play: Play, *, ships: bool) -> Shows:
    found: Shows = ""
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


def _view(play: Play) -> tuple[str, Decimal | None, int | None]:
    return play.status(), play.balance(), play.shipments()


def _is_shown(play: Play, before: tuple[str, Decimal | None, int | None], *, ships: bool) -> bool:
    return _view(play) != before and play.is_as_expected(ships=ships)
