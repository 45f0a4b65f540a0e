"""How far the catalogue is: one line that is rewritten on a terminal, and one line a minute in a log, such as CI's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

_EVERY: Final = 25
_SECONDS: Final = 60.0
_PLUGIN: Final = "paydouble.testing.plugin"


class _Output(NamedTuple):
    write: Callable[[str], None]
    is_terminal: bool


class Progress:
    """Says how many plays are done. A run of less than a minute writes nothing into a log."""

    def __init__(self, name: str) -> None:
        """Take the name that the line begins with."""
        self._name = name
        self._output = _output()
        self._started = self._written = time.monotonic()

    def __call__(self, number: int, total: int) -> None:
        """Note that so many plays are done."""
        if self._output is None:
            return
        done = f"{self._name}: {number} of {total} plays of the catalogue"
        if self._output.is_terminal:
            if number % _EVERY == 0 or number == total:
                self._output.write(f"\r{done}" + ("\n" if number == total else ""))
            return
        now = time.monotonic()
        if now - self._written >= _SECONDS:
            self._written = now
            self._output.write(f"\n{done} after {(now - self._started) / 60:.0f} min\n")


def _output() -> _Output | None:
    """Return pytest's own terminal, past its capture, or standard error; None where neither is there."""
    config = getattr(sys.modules.get(_PLUGIN), "config", None)
    if config is not None:
        return _output_of(config)
    stream = sys.__stderr__
    return _Output(_writer(stream), stream.isatty()) if stream is not None else None


def _output_of(config: Any) -> _Output | None:  # noqa: ANN401 - a pytest.Config; pytest is optional
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is None:  # a worker of pytest-xdist
        return None

    def write(text: str) -> None:
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            reporter.write(text, flush=True)

    return _Output(write, reporter.isatty)


def _writer(stream: Any) -> Callable[[str], None]:  # noqa: ANN401 - a text stream
    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    return write
