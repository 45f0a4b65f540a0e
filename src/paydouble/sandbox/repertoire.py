"""The scenarios of one sandbox: what was uploaded, over the library's; and which one a new pay-in plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from paydouble.core.errors import UsageError
from paydouble.payments.resources import PayIn
from paydouble.scenarios.library import Library, shipped

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario

SCENARIO_DOMAIN: Final = "@scenario.test"
MOST_UPLOADS: Final = 1_000


class Repertoire:
    """Lives by name. A pay-in keeps the life that it began, whatever is uploaded, reloaded or forgotten later."""

    def __init__(self, library: Library) -> None:
        """Start without uploads."""
        self.library = library
        self.uploaded: dict[str, Scenario] = {}
        self.active: str | None = None
        """The life of every new pay-in, if one was chosen."""
        self.plays = 0
        """Pay-ins that were made by playing a scenario."""
        self._begun: dict[str, Scenario] = {}

    def names(self) -> list[str]:
        """Return all names, in order; no shipped file is read for it."""
        return sorted({*self.library.names(), *self.uploaded})

    def check(self, name: str, member: str = "scenario") -> None:
        """Raise `UsageError` about a member when there is no scenario of its name."""
        if name not in self.names():
            raise self._unknown(name, member)

    def _unknown(self, name: str, member: str) -> UsageError:
        from difflib import get_close_matches  # noqa: PLC0415 - only for whoever has misspelt one

        known = self.names()
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; {', '.join([*self.uploaded, 'happy-path'])} are some"
        return UsageError(f"there is no scenario {name[:64]!r} among the {len(known)}{hint}", member=member)

    def get(self, name: str) -> Scenario:
        """Return a scenario by name, an uploaded one first; `UsageError` when there is none."""
        found = self.uploaded.get(name) or self.library.get(name)
        if found is None:
            raise self._unknown(name, "scenario")
        return found

    def choose(self, deposit: Mapping[str, Any], default: str) -> Scenario:
        """Return the life of a new pay-in, by the request for it as parsed JSON; `UsageError` for an unknown name.

        The active scenario comes first, then the local part of a `…@scenario.test` e-mail, then the first `match`
        (uploads before files), then the default.
        """
        if self.active is not None:
            return self.get(self.active)
        customer = deposit.get("customer")
        email = customer.get("email") if isinstance(customer, Mapping) else None
        # A form in a browser can choose a life without code: card-declined@scenario.test.
        if isinstance(email, str) and email.endswith(SCENARIO_DOMAIN):
            return self.get(email.removesuffix(SCENARIO_DOMAIN))
        for scenario in self.matching():
            if scenario.match is not None and scenario.match.takes(deposit):
                return scenario
        return self.get(default)

    def matching(self) -> tuple[Scenario, ...]:
        """Return the scenarios with a `match`, in the order in which they are asked."""
        if not self.uploaded:
            return self.library.matching
        uploads = tuple(each for each in self.uploaded.values() if each.match is not None)
        return uploads + tuple(each for each in self.library.matching if each.name not in self.uploaded)

    def stages(self, default: str) -> bool:
        """Return whether a new pay-in may need more than its steps without asking for it by e-mail."""
        if self.matching():
            return True
        chosen = self.get(self.active or default)
        return bool(chosen.faults) or chosen.settings is not None

    def upload(self, scenario: Scenario) -> None:
        """Put a scenario over any other of its name, for the pay-ins to come; `UsageError` when there are too many."""
        if scenario.name not in self.uploaded and len(self.uploaded) >= MOST_UPLOADS:
            raise UsageError(f"there are {MOST_UPLOADS} uploaded scenarios already; reset some", member="name")
        self.uploaded[scenario.name] = scenario

    def activate(self, name: str) -> None:
        """Let every new pay-in lead a life; `UsageError` when there is no such scenario."""
        self.check(name, "name")
        self.active = name

    def begin(self, pay_in: PayIn, scenario: Scenario) -> None:
        """Note which life a pay-in leads, where its name alone would not tell for ever."""
        if not self.library.lasting(scenario):
            self._begun[pay_in.id] = scenario

    def of(self, pay_in: PayIn) -> Scenario:
        """Return the life that a pay-in began."""
        begun = self._begun.get(pay_in.id) or shipped(pay_in.scenario)
        assert begun is not None  # noqa: S101 - what is not noted is shipped (`begin`)
        return begun

    def clear(self) -> tuple[int, int]:
        """Forget the uploads and the default; returns how many of each there were."""
        removed = len(self.uploaded), int(self.active is not None)
        self.uploaded.clear()
        self.active = None
        return removed

    def restart(self) -> None:
        """Forget the pay-ins."""
        self._begun.clear()
        self.plays = 0
