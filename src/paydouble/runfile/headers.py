"""The first line of a run file: the version of the format, and how the sandbox began.

`FORMAT` changes when a line is written in another way. A release reads the formats of all earlier releases; a file
of a newer format is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from paydouble.config import Settings, load_settings
from paydouble.core.clock import Clock
from paydouble.core.errors import UsageError
from paydouble.runfile.lines import Line, RunFileError, instant, read_instant, without_nothing
from paydouble.sandbox import Sandbox
from paydouble.sandbox.identity import Identity
from paydouble.scenarios.library import Library
from paydouble.scenarios.reading import parse_text
from paydouble.scenarios.writing import write_scenario
from paydouble.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT: Final = 1
KIND: Final = "paydouble-run"


def header_of(box: Sandbox, *, has_wall: bool, paths: Mapping[str, str]) -> Line:
    """Return the header of a sandbox's run.

    `has_wall` is whether its API knows the machine's time, and `paths` are the paths of operations that are not the
    usual ones.
    """
    beginning = box.recording.beginning
    return {
        "kind": KIND,
        "format": FORMAT,
        "version": __version__,
        "sandbox": beginning.identity._asdict()
        | without_nothing(
            {
                "notification_url": beginning.notification_url,
                "checkout_base": beginning.checkout_base,
                "clock": {
                    "mode": beginning.clock_mode,
                    "rate": beginning.clock_rate,
                    "start": instant(beginning.start),
                },
                "generation": beginning.generation,
                "faults_made": beginning.faults_made,
                "wall": has_wall,
                "paths": dict(paths),
                "scenarios": [write_scenario(each) for each in box.scenarios.library.own()],
                "settings": beginning.settings.model_dump(mode="json"),
            }
        ),
    }


def check_header(line: Line) -> None:
    """Raise `RunFileError` unless a line is a header that this version can read."""
    form = line.get("format")
    if line.get("kind") != KIND or not isinstance(form, int) or form < 1:
        raise RunFileError("line 1: this is not a run file of paydouble")
    if form > FORMAT:
        version = str(line.get("version"))[:40]
        raise RunFileError(
            f"line 1: the format is {form}, of paydouble {version}; this is paydouble {__version__}, which reads "
            f"formats up to {FORMAT}; install a newer paydouble"
        )


class Start:
    """What a header says about the beginning of a sandbox."""

    def __init__(self, header: Line) -> None:
        """Read a header; `RunFileError` when something in it cannot be used."""
        check_header(header)
        try:
            self._read(header["sandbox"])
        except UsageError as error:
            raise RunFileError(f"line 1: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunFileError(f"line 1: the header cannot be used ({_named(error)})") from None

    def _read(self, made: Line) -> None:
        seed = made["seed"]
        if type(seed) is not int:
            message = "the seed is not a whole number"
            raise ValueError(message)
        texts = {name: _text(made[name]) for name in Identity._fields if name != "seed"}
        self.identity = Identity(seed=seed, **texts)
        clock = made["clock"]
        self.mode = clock["mode"]
        if self.mode not in {"real", "manual", "auto"}:
            message = f"there is no clock {self.mode!r}"
            raise ValueError(message)
        self.rate = float(clock["rate"])
        self.start = read_instant(clock["start"])
        self.notification_url: str | None = made.get("notification_url")
        self.checkout_base: str = made.get("checkout_base", "")
        self.generation = int(made.get("generation", 0))
        self.faults_made = int(made.get("faults_made", 0))
        self.has_wall = bool(made.get("wall"))
        self.paths: dict[str, str] = dict(made.get("paths", {}))
        self.scenarios = [parse_text(text) for text in made.get("scenarios", [])]
        self.settings: Settings = load_settings(made["settings"])

    def clock(self, start: int) -> Clock:
        """Return a clock of the sandbox's mode that stands still at an instant."""
        return standing(start, self.mode, self.rate)

    def sandbox(self, make_clock: Callable[[], Clock]) -> Sandbox:
        """Return a fresh sandbox."""
        try:
            return self._sandbox(make_clock)
        except UsageError as error:
            raise RunFileError(f"line 1: {error}") from None

    def _sandbox(self, make_clock: Callable[[], Clock]) -> Sandbox:
        box = Sandbox(
            self.identity,
            self.settings,
            make_clock,
            notification_url=self.notification_url,
            checkout_base=self.checkout_base,
            library=Library(given=self.scenarios),
        )
        box.generation = self.generation
        if self.generation:
            box.start(box.clock)  # with the ids of this generation
        box.faults.made = self.faults_made
        box.recording.restart(
            box.recording.beginning._replace(generation=self.generation, faults_made=self.faults_made)
        )
        return box


def standing(start: int, mode: str, rate: float) -> Clock:
    """Return a clock that only moves when it is moved, whatever its mode is."""
    return Clock(lambda: 0, start=start, mode=mode, rate=rate)  # type: ignore[arg-type]  # checked where it is read


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        message = f"{value!r:.40} is not a text"
        raise ValueError(message)
    return value


def _named(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
