"""The scenarios of one sandbox: what was uploaded, over the library's; and which one a new pay-in plays."""

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


class Usual(NamedTuple):
    """The life of every deposit that names none, and for how long that is so."""

    default: str
    version: int
    """The library's."""
    scenario: Scenario | None
    """None while the deposit's members decide."""
    needs_preparation: bool
    """Whether it may need more than its steps."""
    lasting: bool
    """Whether its name will always mean this very object."""


class ScenarioSelector:
    """Lives by name. A pay-in keeps the life that it began, whatever is uploaded, reloaded or forgotten later."""

    def __init__(self, library: Library) -> None:
        """Start without uploads."""
        self.library = library
        self.uploaded: dict[str, Scenario] = {}
        self._active: str | None = None
        self._usual: Usual | None = None
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
        """Return the life of a new pay-in, by the request for it as parsed JSON; `UsageError` for an unknown name.

        The active scenario comes first, then the local part of a `…@scenario.test` e-mail, then the first `match`
        (uploads before files), then the default.
        """
        if self._active is not None:
            return self.get(self._active)
        customer = deposit.get("customer")
        email = customer.get("email") if isinstance(customer, dict) else None
        # A form in a browser can choose a life without code: card-declined@scenario.test.
        if isinstance(email, str) and email.endswith(SCENARIO_DOMAIN):
            return self.get(email.removesuffix(SCENARIO_DOMAIN))
        usual = self.usual(default)
        if usual.scenario is not None:
            return usual.scenario
        for scenario in self.matching():
            if scenario.match is not None and scenario.match.takes(deposit):
                return scenario
        return self.get(default)

    def usual(self, default: str) -> Usual:
        """Return what a new pay-in plays that does not ask for a life by e-mail; `UsageError` for an unknown name."""
        usual = self._usual
        if usual is None or usual.default != default or usual.version != self.library.version:
            decided = self._active is not None or not self.matching()
            scenario = self.get(self._active or default) if decided else None
            needs_preparation = scenario is None or bool(scenario.faults) or scenario.settings is not None
            lasting = scenario is not None and self.library.lasting(scenario)
            self._usual = usual = Usual(default, self.library.version, scenario, needs_preparation, lasting)
        return usual

    @property
    def active(self) -> str | None:
        """Return the life of every new pay-in, if one was chosen."""
        return self._active

    def matching(self) -> tuple[Scenario, ...]:
        """Return the scenarios with a `match`, in the order in which they are asked."""
        if not self.uploaded:
            return self.library.matching
        uploads = tuple(each for each in self.uploaded.values() if each.match is not None)
        return uploads + tuple(each for each in self.library.matching if each.name not in self.uploaded)

    def upload(self, scenario: Scenario) -> None:
        """Put a scenario over any other of its name, for the pay-ins to come; `UsageError` when there are too many."""
        if scenario.name not in self.uploaded and len(self.uploaded) >= MOST_UPLOADS:
            raise UsageError(f"there are {MOST_UPLOADS} uploaded scenarios already; reset some", member="name")
        self.uploaded[scenario.name] = scenario
        self._usual = None

    def activate(self, name: str | None) -> None:
        """Let every new pay-in lead a life, or with None its own; `UsageError` when there is no such scenario."""
        if name is not None:
            self.check(name, "name")
        self._active = name
        self._usual = None

    def begin(self, pay_in: PayIn, scenario: Scenario) -> None:
        """Note which life a pay-in leads, where its name alone would not tell for ever."""
        usual = self._usual
        if usual is not None and usual.scenario is scenario and usual.version == self.library.version:
            lasting = usual.lasting
        else:
            lasting = self.library.lasting(scenario)
        if not lasting:
            self._begun[pay_in.id] = scenario

    def of(self, pay_in: PayIn) -> Scenario:
        """Return the life that a pay-in began."""
        begun = self._begun.get(pay_in.id) or shipped(pay_in.scenario)
        assert begun is not None  # noqa: S101 - what is not noted is shipped (`begin`)
        return begun

    def clear(self) -> tuple[int, int]:
        """Forget the uploads and the default; returns how many of each there were."""
        removed = len(self.uploaded), int(self._active is not None)
        self.uploaded.clear()
        self.activate(None)
        return removed

    def restart(self) -> None:
        """Forget the pay-ins."""
        self._begun.clear()
        self.plays = 0
