"""Settings that a scenario needs, laid over those of its sandbox.

They come with the scenario that is active or that the setting names, and with one that a pay-in begins to play in any
other way. They go when another scenario with settings comes, and when the sandbox's own scenario changes. What goes
takes back only the members that it brought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paydouble.config import Settings, load_settings

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario


class Overlay:
    """What of a sandbox's settings is a scenario's, and what it was before.

    Each call is given the settings that hold and returns those that are to hold: the same object if nothing changes.
    """

    __slots__ = ("_before", "laid")

    def __init__(self) -> None:
        """Start with nothing laid."""
        self._before: dict[str, Any] = {}
        self.laid: Scenario | None = None
        """The scenario whose settings hold."""

    def follow(self, scenario: Scenario, settings: Settings) -> Settings:
        """Lay what the sandbox's own scenario needs; take back what is laid when that needs nothing."""
        if scenario.settings is not None:
            return self.lay(scenario, settings)
        restored = self._restored(settings)
        self.laid = None
        return restored

    def lay(self, scenario: Scenario, settings: Settings) -> Settings:
        """Lay a scenario's settings over the sandbox's, in place of another's."""
        if scenario is self.laid or scenario.settings is None:
            return settings
        restored = self._restored(settings)
        changed = load_settings(scenario.settings, restored)
        self._before = _picked(restored.model_dump(mode="json"), scenario.settings)
        self.laid = scenario
        return changed

    def _restored(self, settings: Settings) -> Settings:
        """Return settings in which each laid member has the value that it had before."""
        return settings if self.laid is None else load_settings(self._before, settings)


def _picked(values: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for name, below in shape.items():
        value = values[name]
        picked[name] = _picked(value, below) if isinstance(value, dict) and isinstance(below, dict) else value
    return picked
