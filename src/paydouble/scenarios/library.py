"""The scenarios of a process: the shipped files, and the user's folders, which replace shipped files of the same name.

A shipped file is read when its name is first needed, so it costs nothing at start. The user's folders are read at
start, because their files may match new pay-ins and may contain errors.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from paydouble.core.errors import UsageError

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario

_Stamp = tuple[int, int, int]


def shipped_folder() -> Path:
    """Return the folder of the shipped files: inside the wheel, or at the top of a checkout."""
    packaged = Path(__file__).parent / "library"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "scenarios"


@cache
def shipped_files() -> Mapping[str, Path]:
    """Return the shipped files by scenario name, sorted; none is read, since a file has its scenario's name."""
    return {path.stem: path for path in sorted(shipped_folder().rglob("*.yaml"), key=lambda path: path.stem)}


@cache
def shipped(name: str) -> Scenario | None:
    """Return a shipped scenario, the same object on each call; None for an unknown name."""
    path = shipped_files().get(name)
    return None if path is None else read_named(path)


def read_named(path: Path) -> Scenario:
    """Read a scenario whose file has the same name; `UsageError` says what is wrong and where."""
    from paydouble.scenarios.reading import read_scenario  # noqa: PLC0415 - a start reads no file, and loads no models

    scenario = read_scenario(path)
    if scenario.name != path.stem:
        raise UsageError(f"is called {scenario.name!r} inside; file and scenario share their name", member=str(path))
    return scenario


@dataclass(slots=True)
class Changes:
    """The result of reading the folders: names of scenarios, and sentences to print."""

    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    """Which file replaces which other scenario."""
    problems: list[str] = field(default_factory=list)
    """Errors of files that cannot be used; the scenario read from such a file before is kept."""

    def __bool__(self) -> bool:
        """Return whether there is anything to report."""
        return bool(self.changed or self.removed or self.problems)


class UnusableFiles(UsageError):
    """Files of the user's folders cannot be used; `problems` has one sentence each, with its place."""

    def __init__(self, problems: list[str]) -> None:
        """Take at least one sentence."""
        super().__init__("\n".join(problems))
        self.problems = problems


def open_library(folders: Sequence[Path]) -> tuple[Library, list[str]]:
    """Return a library with the folders read, and notices of replaced scenarios; `UsageError` names every error."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder", member="--scenarios")
    library = Library(folders)
    try:
        changes = library.look()
    except OSError as error:  # a folder inside that cannot be listed
        raise UsageError(f"{error.filename} cannot be read ({error.strerror})", member="--scenarios") from None
    if changes.problems:
        raise UnusableFiles(changes.problems)
    return library, changes.notices


def _is_hidden(path: Path) -> bool:
    # These hold caches and packages.
    return any(part.startswith(".") or part == "node_modules" for part in path.parts)


class Library:
    """The scenarios of a process, by name. Reading again changes what a name refers to, never a scenario."""

    def __init__(self, folders: Sequence[Path] = (), given: Iterable[Scenario] = ()) -> None:
        """`given` scenarios replace shipped ones, and `folders` replace both; `look` reads the folders."""
        self._folders = tuple(folders)
        self._given = {scenario.name: scenario for scenario in given}
        self._stamps: dict[Path, _Stamp] = {}
        self._read: dict[Path, Scenario] = {}
        self._own: dict[str, Scenario] = {}
        self.version = 0
        """Incremented when a name may refer to another scenario than before."""
        self.matching: tuple[Scenario, ...] = ()
        """Scenarios with a `match`, in the order in which they are tried. No shipped file has one."""
        self._choose()

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self._own, *shipped_files()})

    def own(self) -> tuple[Scenario, ...]:
        """Return the scenarios that are not shipped files."""
        return tuple(self._own.values())

    def get(self, name: str) -> Scenario | None:
        """Return a scenario; None for an unknown name."""
        return self._own.get(name) or shipped(name)

    def lasting(self, scenario: Scenario) -> bool:
        """Return whether the scenario's name will always refer to this object."""
        return scenario.name not in self._own and shipped(scenario.name) is scenario

    def source(self, name: str) -> str:
        """Return where a scenario comes from: the path of its file, `given`, or `shipped`."""
        own = self._own.get(name)
        if own is None:
            return "shipped"
        return next((str(path) for path, each in self._read.items() if each is own), "given")

    def look(self) -> Changes:
        """Read new and changed files of the folders; for a file with errors the scenario read before is kept."""
        changes = Changes()
        found = list(self._files())
        for path, stamp in found:
            if self._stamps.get(path) == stamp:
                continue
            self._stamps[path] = stamp
            try:
                self._read[path] = read_named(path)
                changes.changed.append(path.stem)
            except UsageError as error:
                changes.problems.append(str(error))
        for path in self._stamps.keys() - {path for path, _ in found}:
            del self._stamps[path]
            if self._read.pop(path, None) is not None:
                changes.removed.append(path.stem)
        if changes:
            self._choose(changes)
        return changes

    def _files(self) -> Iterable[tuple[Path, _Stamp]]:
        for folder in self._folders:
            for path in sorted(each for each in folder.rglob("*.yaml") if not _is_hidden(each.relative_to(folder))):
                try:
                    status = path.stat()
                except OSError:
                    continue  # removed between the listing and now
                if stat.S_ISDIR(status.st_mode):
                    continue  # a folder can be called `x.yaml`; its files are listed anyway
                yield path, (status.st_mtime_ns, status.st_size, status.st_ino)

    def _choose(self, changes: Changes | None = None) -> None:
        own: dict[str, tuple[Path, Scenario]] = {}
        # In the order of the folders, and by path in each: a later file replaces an earlier one.
        for folder in self._folders:
            for path in sorted(path for path in self._read if path.is_relative_to(folder)):
                earlier = own.get(path.stem)
                over = str(earlier[0]) if earlier else "the shipped one" if path.stem in shipped_files() else None
                if over and changes is not None and path.stem in changes.changed:
                    changes.notices.append(f"{path}: scenario {path.stem} replaces {over}")
                own[path.stem] = (path, self._read[path])
        self.version += 1
        self._own = {**self._given, **{name: scenario for name, (_, scenario) in own.items()}}
        self.matching = tuple(scenario for scenario in self._own.values() if scenario.match is not None)
