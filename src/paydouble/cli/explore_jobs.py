"""`paydouble explore --jobs`: the parts of a catalogue at the same time, each in a process with a shop of its own.

A process is `paydouble explore --part K/N`. Its report is printed when it is over, what it says of its progress at
once. None of them ends because another one has found something, so what is found does not depend on how fast they are.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from paydouble.cli.terminal import Terminal, count, say
from paydouble.conformance.placeholders import RUN, places_of
from paydouble.core.errors import UsageError
from paydouble.core.exit_status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paydouble.cli.shops import Shop
    from paydouble.conformance.merchant_file import MerchantFile

PART: Final = "PAYDOUBLE_PART"
"""The environment variable that tells an adapter in which part it plays."""
_OWN_PORT: Final = "so that each part has a port of its own"


def check_jobs(shop: Shop) -> None:
    """Raise a `UsageError` when several shops cannot run at the same time."""
    if shop.described is not None:
        _check_file(shop.described.template)
    elif shop.adapter.service_port:
        raise UsageError(f"leave service_port out of {shop.adapter.__name__}, {_OWN_PORT}", member="--jobs")


def _check_file(file: MerchantFile) -> None:
    named = {name for _, name in places_of(file.webhook.model_dump(), RUN)}
    if file.start is None:
        raise UsageError("it needs start in the file, since each part starts a shop of its own", member="--jobs")
    if "port" not in named:
        raise UsageError(
            "write {port} in the file in place of the port's number, so that each part has a shop of its own",
            member="--jobs",
        )
    if file.service.port:
        raise UsageError(f"leave service.port out of the file, {_OWN_PORT}", member="--jobs")


def run_parts(terminal: Terminal, arguments: Sequence[str], jobs: int) -> int:
    """Run `paydouble explore` with some arguments so many times, a part each; returns the exit status of all.

    SIGINT and SIGTERM end the parts, which tell what they have found; a second one ends them without.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    statuses: list[int] = []
    interrupted = False
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as threads:
        parts = [_Part.begun(number, jobs, arguments, encoding, Path(folder)) for number in range(1, jobs + 1)]
        waiting: dict[Future[str], _Part] = {threads.submit(each.report): each for each in parts}
        try:
            while waiting:
                try:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:
                    interrupted = True
                    for part in parts:
                        part.process.terminate()
                    continue
                for report in sorted(done, key=lambda each: waiting[each].number):
                    part = waiting.pop(report)
                    statuses.append(part.status)
                    _tell(terminal, part, report.result())
        except BaseException:
            # Such as when nobody reads the output any more.
            for part in parts:
                part.process.terminate()
            raise
        _tell_tried(terminal, parts)
    return _together(terminal, statuses, interrupted=interrupted)


class _Part(NamedTuple):
    """A process that explores one part."""

    number: int
    of: int
    process: subprocess.Popen[str]
    tried: Path
    """Where it writes what it has tried."""

    @classmethod
    def begun(cls, number: int, of: int, arguments: Sequence[str], encoding: str, folder: Path) -> _Part:
        tried = folder / str(number)
        part = [f"--part={number}/{of}", f"--tried={tried}"]
        command = [sys.executable, "-m", "paydouble", "explore", *part, *arguments]
        process = subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONIOENCODING": encoding, PART: str(number)},
            encoding=encoding,
            errors="replace",
            # Ctrl-C is for this process, which ends the others by SIGTERM.
            start_new_session=True,
        )
        return cls(number, of, process, tried)

    @property
    def name(self) -> str:
        return f"Part {self.number} of {self.of}"

    @property
    def status(self) -> int:
        return self.process.returncode

    def report(self) -> str:
        """Return what the process prints until it ends; what it says of its progress is shown meanwhile."""
        output, errors = self.process.stdout, self.process.stderr
        assert output is not None  # noqa: S101 - both are pipes
        assert errors is not None  # noqa: S101
        with self.process, ThreadPoolExecutor(1) as thread:
            shown = thread.submit(self._show, errors)
            text = output.read()
            shown.result()
        return text

    def _show(self, errors: IO[str]) -> None:
        for line in errors:
            if line.strip():
                say(f"{self.name}: {line.rstrip()}", err=True)


def _tell(terminal: Terminal, part: _Part, text: str) -> None:
    terminal.say(terminal.bold(part.name))
    for line in text.splitlines():
        terminal.say(line)
    if not text:
        terminal.say(f"It has ended without a report, with status {part.status}.")
    terminal.say()


def _tell_tried(terminal: Terminal, parts: Sequence[_Part]) -> None:
    from paydouble.stateful.coverage import Coverage

    # A process that was killed has written nothing.
    written = [each.tried.read_bytes() for each in parts if each.tried.exists()]
    if written:
        tried = Coverage.joined([pickle.loads(each) for each in written])  # noqa: S301 - this program's own files
        for line in tried.summary().splitlines():
            terminal.say_prose(line)
        terminal.say()


def _together(terminal: Terminal, statuses: Sequence[int], *, interrupted: bool) -> int:
    """Say in a line what came of all parts, and return the exit status."""
    parts = count(len(statuses), "part")
    if ExitStatus.NEGATIVE in statuses:
        found = f"{statuses.count(ExitStatus.NEGATIVE)} of {parts} found something."
        terminal.say(terminal.red(f"{terminal.bad} {found}"))
        return ExitStatus.NEGATIVE
    if interrupted:
        terminal.say("Interrupted.")
        return ExitStatus.INTERRUPTED
    if failed := sum(status != ExitStatus.DONE for status in statuses):
        terminal.say(terminal.red(f"{terminal.bad} {failed} of {parts} ended too early."))
        return ExitStatus.NOT_TESTED
    terminal.say(f"Nothing was found in {parts}.")
    return ExitStatus.DONE
