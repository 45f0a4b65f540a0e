"""A line on the terminal that says how far the catalogue is, where there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final

_EVERY: Final = 25
_PLUGIN: Final = "paydouble.testing.plugin"


class Progress:
    """Writes one line and rewrites it; nothing without a terminal, as in CI."""

    def __init__(self, name: str) -> None:
        """Take the name that the line begins with."""
        self._name = name
        self._write = _terminal()

    def __call__(self, number: int, total: int) -> None:
        """Write that so many plays are done."""
        if self._write is not None and (number % _EVERY == 0 or number == total):
            end = "\n" if number == total else ""
            self._write(f"\r{self._name}: {number} of {total} plays of the catalogue{end}")


def _terminal() -> Callable[[str], None] | None:
    """Return what writes to the terminal: pytest's own one past its capture, or standard error."""
    config = getattr(sys.modules.get(_PLUGIN), "config", None)
    if config is not None:
        return _terminal_of(config)
    stream = sys.__stderr__
    return _writer(stream) if stream is not None and stream.isatty() else None


def _terminal_of(config: Any) -> Callable[[str], None] | None:  # noqa: ANN401 - a pytest.Config; pytest is optional
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is None or not reporter.isatty:
        return None

    def write(text: str) -> None:
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            reporter.write(text, flush=True)

    return write


def _writer(stream: Any) -> Callable[[str], None]:  # noqa: ANN401 - a text stream
    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    return write
