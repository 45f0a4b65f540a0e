"""The play of the catalogue that catches each variant, and how many plays were run up to it.

A hunt for every variant takes minutes, almost all of them in plays that find nothing. `python tests/zoo --write` hunts,
and writes `catches.json`; with it the tests run the one play that matters for each variant that is found late.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Never

from bugzoo.registry import Variant
from paydouble.stateful import Merchant, MerchantBug
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.coverage import Coverage
from paydouble.stateful.steps import CataloguePlay, Step, parsed

FILE = Path(__file__).with_name("catches.json")


class Catch(NamedTuple):
    """A play that fails, and the number of plays that the catalogue runs up to it."""

    plays: int
    play: CataloguePlay


class _Found(Exception):
    def __init__(self, play: CataloguePlay) -> None:
        self.play = play


class _Run(CatalogueRun):
    """A run of the catalogue that does not shorten the play that fails."""

    def shortest(self, play: CataloguePlay, _bug: MerchantBug) -> Never:
        raise _Found(play)


def find(merchant: type[Merchant]) -> Catch:
    """Run the catalogue from its start until a play fails; `LookupError` when none does."""
    coverage = Coverage()
    try:
        _Run(merchant, shows=when_it_shows(merchant)).all(coverage, [])
    except _Found as found:
        return Catch(coverage.plays, found.play)
    message = f"no play of the catalogue catches {merchant.__name__}"
    raise LookupError(message)


def load() -> dict[str, Catch]:
    """Return the catches of the file, by the names of the variants."""
    return {name: _load(each) for name, each in json.loads(FILE.read_text("utf-8")).items()}


def write(variants: Iterable[Variant]) -> None:
    """Hunt each variant, and write the file."""
    catches = {each.name: _dump(find(each.merchant)) for each in sorted(variants, key=lambda each: each.name)}
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(catch, ensure_ascii=False)}" for name, catch in catches.items()
    )
    FILE.write_text(f"{{\n{lines}\n}}\n", "utf-8")


def _load(written: dict[str, Any]) -> Catch:
    steps = tuple(parsed(each) for each in written["steps"])
    return Catch(written["plays"], CataloguePlay(steps, written["reason"], written["dialect"]))


def _dump(catch: Catch) -> dict[str, Any]:
    steps = [_call(each) for each in catch.play.steps]
    return {"plays": catch.plays, "dialect": catch.play.dialect, "reason": catch.play.reason, "steps": steps}


def _call(step: Step) -> str:
    arguments = [repr(each) for each in step.arguments] + [f"{name}={value!r}" for name, value in step.options]
    return f"play.{step.command}({', '.join(arguments)})"
