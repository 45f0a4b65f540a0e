"""The scenarios of one sandbox: what was uploaded, over what is shipped; and which one is played by default."""

from __future__ import annotations

from collections.abc import Mapping

from paydouble.core.errors import UsageError
from paydouble.payments.resources import PayIn
from paydouble.scenarios.library import library, names
from paydouble.scenarios.model import Scenario


class Repertoire:
    """Lives by name. A pay-in keeps the life that it began, whatever is uploaded or forgotten later."""

    def __init__(self, shipped: Mapping[str, Scenario] | None = None) -> None:
        """Start without uploads, over the shipped library or what stands in for it."""
        self._shipped = shipped
        self.uploaded: dict[str, Scenario] = {}
        self.active: str | None = None
        """The life of every new pay-in, if one was chosen."""
        self.plays = 0
        """Pay-ins that were made by playing a scenario."""
        self._begun: dict[str, Scenario] = {}

    def names(self) -> list[str]:
        """Return all names, in order; no shipped file is read for it."""
        shipped = names() if self._shipped is None else self._shipped
        return sorted({*shipped, *self.uploaded})

    def check(self, name: str, member: str = "scenario") -> None:
        """Raise `UsageError` about a member when there is no scenario of its name."""
        known = self.names()
        if name not in known:
            raise UsageError(f"there is no scenario {name!r}; there are: {', '.join(known)}", member=member)

    def get(self, name: str) -> Scenario:
        """Return a scenario by name, an uploaded one first; `UsageError` when there is none."""
        found = self.uploaded.get(name)
        if found is not None:
            return found
        shipped = self._library()
        if name not in shipped:
            self.check(name)
        return shipped[name]

    def upload(self, scenario: Scenario) -> None:
        """Put a scenario over any other of its name, for the pay-ins to come."""
        self.uploaded[scenario.name] = scenario

    def activate(self, name: str) -> None:
        """Let every new pay-in lead a life; `UsageError` when there is no such scenario."""
        self.check(name, "name")
        self.active = name

    def begin(self, pay_in: PayIn, scenario: Scenario) -> None:
        """Note which life a pay-in leads, where its name alone would not tell for ever."""
        if self.uploaded.get(scenario.name) is scenario:
            self._begun[pay_in.id] = scenario

    def of(self, pay_in: PayIn) -> Scenario:
        """Return the life that a pay-in began."""
        begun = self._begun.get(pay_in.id)
        return self._library()[pay_in.scenario] if begun is None else begun

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

    def _library(self) -> Mapping[str, Scenario]:
        return library() if self._shipped is None else self._shipped
