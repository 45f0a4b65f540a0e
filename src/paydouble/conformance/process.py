"""The shop's process, as `start` of a merchant file describes it: started, killed, started again.

A shop is its whole process group, since workers outlive a killed parent and keep its port. The group is killed when the
shop is stopped, and at the latest when this process ends. A guard sees to that when this process is killed itself, as
by `timeout` or a cancelled job of CI: it reads from a pipe, which ends with this process.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from paydouble.conformance.calling import CallFailed, request
from paydouble.conformance.merchant_file import Start
from paydouble.conformance.placeholders import fill
from paydouble.core.printable import printable

_PORTS: Final = {"http": 80, "https": 443}
# Somebody else may listen there.
_SILENT_WITHIN_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.02
_SECOND_MS: Final = 1000
_LAST_LINES: Final = 15
_MOST_LOG: Final = 8192
# A line says that the shop was stopped; the end of the pipe without one, that nobody did.
_GUARD: Final = 'read -r _ || kill -s KILL -- "-$0"'


class ShopProcess:
    """One shop; at most one process group runs at a time."""

    def __init__(self, start: Start, folder: Path) -> None:
        """Take how the shop is started, and the folder of the file; nothing is started yet."""
        self._start = start
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._filled: tuple[list[str], dict[str, str]] | None = None
        self.starts = 0
        """How often it was started."""
        self.start_seconds = 0.0
        """The real time of all starts, with the ends of the processes before them."""

    @property
    def running(self) -> bool:
        """Return whether the process that was started is alive."""
        return self._process is not None and self._process.poll() is None

    def runs_with(self, values: Mapping[str, str]) -> bool:
        """Return whether the process is alive, and `start` would give a new one the same command and environment."""
        return self.running and self._filled == self._fill(values)

    def _fill(self, values: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        return fill(self._start.command, values), fill(self._start.environment, values)

    def start(self, values: Mapping[str, str]) -> None:
        """Start the shop and wait until it is ready; `values` replace the placeholders.

        `CallFailed` when it cannot be started, ends, or is not ready in time; then nothing is left running.
        """
        began = time.monotonic()
        self.kill()
        self._refuse_another()
        self._filled = command, environment = self._fill(values)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `kill`
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                command,
                cwd=self._folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self.kill()
            raise CallFailed(f"start: {' '.join(command)} cannot be run: {error.strerror or error}") from None
        atexit.register(self.kill)
        try:
            self._guard = subprocess.Popen(  # noqa: S603 - a fixed script and a number
                ["/bin/sh", "-c", _GUARD, str(self._process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._await_ready(" ".join(command))
        except BaseException:
            self.kill()
            raise
        self.starts += 1
        self.start_seconds += time.monotonic() - began

    def kill(self) -> None:
        """Kill the process group with SIGKILL, and wait for its end; nothing happens when none runs."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._dismiss_guard()
            self._await_silence()
            atexit.unregister(self.kill)
        if self._log is not None:
            self._log.close()
            self._log = None

    def _dismiss_guard(self) -> None:
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.communicate(b"stopped\n")

    def _refuse_another(self) -> None:
        """Refuse to start beside a program that listens where the shop will: it would be taken for the shop."""
        parts = urlsplit(self._start.ready.partition(" ")[2])
        port = parts.port or _PORTS[parts.scheme]
        try:
            socket.create_connection((parts.hostname or "", port), _SILENT_WITHIN_SECONDS).close()
        except OSError:
            return
        raise CallFailed(
            f"start: another program listens at {parts.hostname}:{port} already; stop it, or leave `start` out "
            "if it is the shop"
        )

    def _await_silence(self) -> None:
        """Wait until nobody listens any more: a worker dies a moment after its parent."""
        parts = urlsplit(self._start.ready.partition(" ")[2])
        where = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        end = time.monotonic() + _SILENT_WITHIN_SECONDS
        while time.monotonic() < end:
            try:
                socket.create_connection(where, _SILENT_WITHIN_SECONDS).close()
            except OSError:
                return
            time.sleep(_POLL_SECONDS)

    def _await_ready(self, command: str) -> None:
        method, url = self._start.ready.split(" ", 1)
        end = time.monotonic() + self._start.within / _SECOND_MS
        why = ""
        while time.monotonic() < end:
            if not self.running:
                code = self._process.returncode if self._process is not None else 0
                raise CallFailed(f"start: {command} ended with {code} before it was ready{self._said()}")
            try:
                answer = request(method, url, {}, None, 1.0)
            except CallFailed as failed:
                why = str(failed)
            else:
                if answer.ok:
                    return
                why = f"{answer.sent} was answered with {answer.answer}"
            time.sleep(_POLL_SECONDS)
        within = self._start.within / _SECOND_MS
        raise CallFailed(f"start: {command} was not ready after {within:g} s: {why}{self._said()}")

    def _said(self) -> str:
        """Return the last lines that the shop has printed."""
        if self._log is None:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _MOST_LOG))
        lines = self._log.read().decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
        return "; it printed:\n" + "\n".join(f"    {printable(line)}" for line in lines) if lines else ""
