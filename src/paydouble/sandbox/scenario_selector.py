"""The scenarios of one sandbox (uploads before the library's), and which of them a new pay-in plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paydouble.core.errors import UsageError
from paydouble.core.likeness import nearest
from paydouble.payments.resources import PayIn
from paydouble.scenarios.library import Library, shipped

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario

SCENARIO_DOMAIN: Final = "@scenario.test"
MOST_UPLOADS: Final = 1_000


class DefaultSelection(NamedTuple):
    """The scenario of every deposit that names none, and what that depends on."""

    default: str
    """The name in the settings."""
    version: int
    """The version of the library."""
    scenario: Scenario | None
    """None while the members of the deposit decide (`match`)."""
    needs_preparation: bool
    """Whether it may have settings or faults."""
    lasting: bool
    """Whether its name will always mean this same object."""


class ScenarioSelector:
    """Chooses scenarios. A pay-in keeps the scenario that it started with, even if it is replaced or removed later."""

    def __init__(self, library: Library) -> None:
        """Start without uploads."""
        self.library = library
        self.uploaded: dict[str, Scenario] = {}
        self._active: str | None = None
        self._default_selection: DefaultSelection | None = None
        self.plays = 0
        """How many pay-ins were made by playing a scenario."""
        self._begun: dict[str, Scenario] = {}

    def names(self) -> list[str]:
        """Return all names, sorted, without reading a shipped file."""
        return sorted({*self.library.names(), *self.uploaded})

    def check(self, name: str, member: str = "scenario") -> None:
        """Raise `UsageError` about a member of the call when there is no scenario of this name."""
        if name not in self.names():
            raise self._unknown(name, member)

    def _unknown(self, name: str, member: str) -> UsageError:
        known = self.names()
        near = nearest(name, known)
        hint = f"; did you mean {near!r}?" if near else f", such as {', '.join([*self.uploaded, 'happy-path'])}"
        return UsageError(f"there is no scenario {name[:64]!r} among the {len(known)}{hint}", member=member)

    def get(self, name: str) -> Scenario:
        """Return a scenario by name, an uploaded one first; `UsageError` when there is none."""
        found = self.uploaded.get(name) or self.library.get(name)
        if found is None:
            raise self._unknown(name, "scenario")
        return found

    def choose(self, deposit: Mapping[str, Any], default: str) -> Scenario:
        """Return the scenario of a new pay-in, from its parsed request; `UsageError` for an unknown name.

        The active scenario comes first, then the local part of a `…@scenario.test` e-mail, then the first `match`
        (uploads before files), then `default`.
        """
        if self._active is not None:
            return self.get(self._active)
        customer = deposit.get("customer")
        email = customer.get("email") if isinstance(customer, dict) else None
        # A form in a browser can choose a scenario without code: card-declined@scenario.test.
        if isinstance(email, str) and email.endswith(SCENARIO_DOMAIN):
            return self.get(email.removesuffix(SCENARIO_DOMAIN))
        selection = self.default_selection(default)
        if selection.scenario is not None:
            return selection.scenario
        for scenario in self.matching():
            if scenario.match is not None and scenario.match.takes(deposit):
                return scenario
        return self.get(default)

    def default_selection(self, default: str) -> DefaultSelection:
        """Return the scenario of a pay-in whose e-mail chooses none; `UsageError` for an unknown name.

        It is kept until something that it depends on changes, since every deposit asks for it.
        """
        selection = self._default_selection
        if selection is None or selection.default != default or selection.version != self.library.version:
            decided = self._active is not None or not self.matching()
            scenario = self.get(self._active or default) if decided else None
            needs_preparation = scenario is None or bool(scenario.faults) or scenario.settings is not None
            lasting = scenario is not None and self.library.lasting(scenario)
            selection = DefaultSelection(default, self.library.version, scenario, needs_preparation, lasting)
            self._default_selection = selection
        return selection

    @property
    def active(self) -> str | None:
        """Return the name of the scenario that every new pay-in plays, or None."""
        return self._active

    def matching(self) -> tuple[Scenario, ...]:
        """Return the scenarios with a `match`, in the order in which they are tried."""
        if not self.uploaded:
            return self.library.matching
        uploads = tuple(each for each in self.uploaded.values() if each.match is not None)
        return uploads + tuple(each for each in self.library.matching if each.name not in self.uploaded)

    def upload(self, scenario: Scenario) -> None:
        """Use a scenario for its name from the next pay-in on; `UsageError` when there are too many uploads."""
        if scenario.name not in self.uploaded and len(self.uploaded) >= MOST_UPLOADS:
            raise UsageError(f"there are {MOST_UPLOADS} uploaded scenarios already; reset some", member="name")
        self.uploaded[scenario.name] = scenario
        self._default_selection = None

    def activate(self, name: str | None) -> None:
        """Make every new pay-in play a scenario; with None each chooses its own. `UsageError` for an unknown name."""
        if name is not None:
            self.check(name, "name")
        self._active = name
        self._default_selection = None

    def begin(self, pay_in: PayIn, scenario: Scenario) -> None:
        """Note which scenario a pay-in plays, unless its name will always mean the same one."""
        selection = self._default_selection
        if selection is not None and selection.scenario is scenario and selection.version == self.library.version:
            lasting = selection.lasting
        else:
            lasting = self.library.lasting(scenario)
        if not lasting:
            self._begun[pay_in.id] = scenario

    def of(self, pay_in: PayIn) -> Scenario:
        """Return the scenario that a pay-in plays."""
        begun = self._begun.get(pay_in.id) or shipped(pay_in.scenario)
        assert begun is not None  # noqa: S101 - what is not noted is shipped (`begin`)
        return begun

    def clear(self) -> tuple[int, int]:
        """Forget the uploads and the active scenario; returns how many of each there were."""
        removed = len(self.uploaded), int(self._active is not None)
        self.uploaded.clear()
        self.activate(None)
        return removed

    def restart(self) -> None:
        """Forget the pay-ins."""
        self._begun.clear()
        self.plays = 0
