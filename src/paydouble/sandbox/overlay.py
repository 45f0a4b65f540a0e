"""Settings that a scenario needs, applied on top of those of its sandbox.

They are applied when the sandbox's own scenario (the active one, or the one of the setting) has settings, and when a
pay-in begins to play a scenario that has some. They are removed when another scenario's settings are applied, or when
the sandbox's own scenario changes. Removing them restores the former value of each member that they changed, and of no
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paydouble.config import Settings, load_settings

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario


class Overlay:
    """The scenario whose settings are applied, and the values that they replaced.

    Each method takes the current settings and returns the new ones: the same object if nothing changes. `UsageError`
    when a scenario's settings contradict the sandbox's.
    """

    __slots__ = ("_before", "scenario")

    def __init__(self) -> None:
        """Start without a scenario."""
        self._before: dict[str, Any] = {}
        self.scenario: Scenario | None = None
        """The scenario whose settings are applied."""

    def follow(self, scenario: Scenario, settings: Settings) -> Settings:
        """Apply what the sandbox's own scenario needs, which may be nothing, in place of another's."""
        if scenario.settings is not None:
            return self.apply(scenario, settings)
        restored = self._restored(settings)
        self.scenario = None
        return restored

    def apply(self, scenario: Scenario, settings: Settings) -> Settings:
        """Apply a scenario's settings in place of another's; those of a scenario without settings change nothing."""
        if scenario is self.scenario or scenario.settings is None:
            return settings
        restored = self._restored(settings)
        changed = load_settings(scenario.settings, restored)
        self._before = _picked(restored.model_dump(mode="json"), scenario.settings)
        self.scenario = scenario
        return changed

    def _restored(self, settings: Settings) -> Settings:
        """Return settings in which each replaced member has its former value."""
        return settings if self.scenario is None else load_settings(self._before, settings)


def _picked(values: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for name, below in shape.items():
        value = values[name]
        picked[name] = _picked(value, below) if isinstance(value, dict) and isinstance(below, dict) else value
    return picked
