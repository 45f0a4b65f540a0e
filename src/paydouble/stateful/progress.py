"""How far a run is: one line that is rewritten on a terminal, and one line a minute in a log, such as CI's."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

_TERMINAL_SECONDS: Final = 0.2
_LOG_SECONDS: Final = 60.0
_PLUGIN: Final = "paydouble.testing.plugin"


class _Output(NamedTuple):
    write: Callable[[str], None]
    is_terminal: bool


class Progress:
    """Says what is done. A run of less than a minute writes nothing into a log."""

    def __init__(self, name: str) -> None:
        """Take the name that the line begins with."""
        self._name = name
        self._output = _output()
        self._started = time.monotonic()
        self._next = self._started
        self._line = self._shown = ""
        if self._output is not None and not self._output.is_terminal:
            self._next += _LOG_SECONDS

    def __call__(self, done: str) -> None:
        """Note what is done, such as `3 of 20 plays`; most notes are not written."""
        if self._output is None:
            return
        self._line = f"{self._name}: {done}"
        now = time.monotonic()
        if now < self._next:
            return
        if self._output.is_terminal:
            self._next = now + _TERMINAL_SECONDS
            self._rewrite(self._output)
        else:
            self._next = now + _LOG_SECONDS
            self._output.write(f"\n{self._line} after {(now - self._started) / 60:.0f} min\n")

    def close(self) -> None:
        """Leave the latest note on the terminal."""
        if self._output is not None and self._output.is_terminal and self._line:
            self._rewrite(self._output)
            self._output.write("\n")

    def _rewrite(self, output: _Output) -> None:
        # A line that the terminal wraps could not be rewritten.
        widest = shutil.get_terminal_size().columns - 1
        line = self._line if len(self._line) <= widest else f"{self._line[: widest - 1]}…"
        output.write(f"\r{line:{len(self._shown)}}")
        self._shown = line


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


def shortening(tried: int, verdict: str) -> str:
    """Return how far the search for a shorter play is, and for what."""
    return f"tried {tried} plays to shorten what was found: {verdict}"


def time_left(until: float | None) -> str:
    """Return how long it is until an instant of the monotonic clock, to be added to what is done; empty without one."""
    if until is None:
        return ""
    seconds = max(0, round(until - time.monotonic()))
    return f", {seconds // 60}:{seconds % 60:02} min left"
