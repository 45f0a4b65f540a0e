"""Settings that a scenario needs, laid over those of its sandbox.

They come with the scenario that is active or that the setting names, and with one that a pay-in begins to play in any
other way. They go when another scenario with settings comes, and when the sandbox's own scenario changes. What goes
takes back only the members that it brought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paydouble.config import load_settings

if TYPE_CHECKING:
    from paydouble.sandbox.business import Sandbox
    from paydouble.scenarios.model import Scenario


class Overlay:
    """What of a sandbox's settings is a scenario's, and what it was before."""

    __slots__ = ("_before", "_box", "laid")

    def __init__(self, box: Sandbox) -> None:
        """Start with nothing laid."""
        self._box = box
        self._before: dict[str, Any] = {}
        self.laid: Scenario | None = None
        """The scenario whose settings hold."""

    def follow(self) -> None:
        """Lay what the sandbox's own scenario needs; take back what is laid when that needs nothing."""
        box = self._box
        scenario = box.scenario(box.active_scenario or box.settings.scenario)
        if scenario.settings is None:
            self.take_back()
        else:
            self.lay(scenario)

    def lay(self, scenario: Scenario) -> None:
        """Lay a scenario's settings over the sandbox's, in place of another's."""
        if scenario is self.laid or scenario.settings is None:
            return
        self.take_back()
        now = self._box.settings.model_dump(mode="json")
        self._before = _picked(now, scenario.settings)
        self.laid = scenario
        self._box.put(load_settings(scenario.settings, self._box.settings))

    def take_back(self) -> None:
        """Give each laid member the value that it had before."""
        if self.laid is not None:
            self.laid = None
            self._box.put(load_settings(self._before, self._box.settings))


def _picked(values: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for name, below in shape.items():
        value = values[name]
        picked[name] = _picked(value, below) if isinstance(value, dict) and isinstance(below, dict) else value
    return picked
