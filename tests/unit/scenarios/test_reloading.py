"""The user's folders, which replace shipped files and can be read again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benches import DAY, advance, deposit

from paydouble.config import Settings
from paydouble.core.errors import UsageError
from paydouble.inprocess import InProcess
from paydouble.scenarios.library import Library, open_library, shipped

MINE = "name: {name}\nsummary: Mine.\nlifecycle:\n  pay_in:\n    - {{after: 1s, to: {to}}}\n"


def write(folder: Path, name: str, to: str = "pending", extra: str = "") -> Path:
    """Write a scenario file."""
    path = folder / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MINE.format(name=path.stem, to=to) + extra)
    return path


def test_a_folder_replaces_shipped_files_and_earlier_folders(tmp_path: Path) -> None:
    """The last file of a name is used, and a notice says what it replaces."""
    first = write(tmp_path / "a", "deep/mine")
    second = write(tmp_path / "b", "mine", "failed")
    happy = write(tmp_path / "b", "happy-path", "failed")

    library, notices = open_library([tmp_path / "a", tmp_path / "b"])

    mine, own_happy = library.get("mine"), library.get("happy-path")
    assert mine is not None
    assert own_happy is not None
    assert (mine.lifecycle.pay_in[0].to, own_happy is shipped("happy-path")) == ("failed", False)  # type: ignore[union-attr]
    assert sorted(notices) == sorted([
        f"{happy}: scenario happy-path replaces the shipped one",
        f"{second}: scenario mine replaces {first}",
    ])  # fmt: skip
    assert [library.source(name) for name in ("mine", "abandoned")] == [str(second), "shipped"]
    assert {"mine", "abandoned"} <= set(library.names())


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    """A start with bad files is refused, and the error names each of them."""
    write(tmp_path, "one", "paid")
    write(tmp_path, "two").rename(tmp_path / "other.yaml")

    with pytest.raises(UsageError) as caught:
        open_library([tmp_path])

    assert "one.yaml" in str(caught.value)
    assert "is called 'two' inside" in str(caught.value)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    """The error has the option's value."""
    with pytest.raises(UsageError, match=r"--scenarios: .*nowhere is not a folder"):
        open_library([tmp_path / "nowhere"])


def test_changed_files_are_read_again_and_what_has_begun_goes_on(tmp_path: Path) -> None:
    """A pay-in keeps its scenario; the next one plays the new one."""
    path = write(tmp_path, "mine")
    library, _ = open_library([tmp_path])
    box = InProcess(Settings(scenario="mine"), library=library).sandbox
    before = deposit(box)
    path.write_text(MINE.format(name="mine", to="failed") + "\n")

    changes = library.look()
    after = deposit(box)
    advance(box, DAY // 2)

    assert (changes.changed, bool(library.look())) == (["mine"], False)
    assert (before.status, after.status) == ("pending", "failed")


def test_a_file_that_became_wrong_keeps_its_scenario(tmp_path: Path) -> None:
    """A file with errors leaves the scenario as it was, and is reported once."""
    path = write(tmp_path, "mine")
    library, _ = open_library([tmp_path])
    good = library.get("mine")
    path.write_text("name: mine\nsummary: [\n")

    problems = library.look().problems

    assert len(problems) == 1
    assert (library.get("mine"), library.look().problems) == (good, [])


def test_a_removed_file_takes_its_scenario_with_it(tmp_path: Path) -> None:
    """The scenario that it replaced is back; removing a bad file changes nothing."""
    path = write(tmp_path, "happy-path")
    bad = write(tmp_path, "bad", "paid")
    library = Library([tmp_path])
    library.look()
    path.unlink()
    bad.unlink()

    assert library.look().removed == ["happy-path"]
    assert library.get("happy-path") is shipped("happy-path")


def test_a_removed_default_scenario_is_named(tmp_path: Path) -> None:
    """A deposit whose default scenario was removed is refused with a message."""
    path = write(tmp_path, "mine")
    library, _ = open_library([tmp_path])
    box = InProcess(Settings(scenario="mine"), library=library).sandbox
    path.unlink()
    library.look()

    with pytest.raises(UsageError, match="there is no scenario 'mine'"):
        deposit(box)


def test_matches_are_tried_in_the_order_of_the_files(tmp_path: Path) -> None:
    """The user's files with a match are tried by folder and path."""
    write(tmp_path, "b", extra="match: {currency: EUR}\n")
    write(tmp_path, "a", extra="match: {currency: EUR}\n")
    write(tmp_path, "c")

    library, _ = open_library([tmp_path])

    assert [scenario.name for scenario in library.matching] == ["a", "b"]


def test_a_file_that_vanishes_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be removed after the folder was listed and before it is read."""
    write(tmp_path, "mine")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")

    library, _ = open_library([tmp_path])

    assert ("mine" in library.names(), "gone" in library.names()) == (True, False)


def test_hidden_folders_and_packages_hold_no_scenarios(tmp_path: Path) -> None:
    """The folder may be a project's root, so its caches and packages are skipped."""
    write(tmp_path, "mine")
    write(tmp_path / ".venv", "hidden")
    write(tmp_path / "node_modules" / "deep", "packaged")

    library, _ = open_library([tmp_path])

    assert {"mine", "hidden", "packaged"} & set(library.names()) == {"mine"}


def test_only_files_are_read(tmp_path: Path) -> None:
    """A pipe without a writer is reported and does not block; a folder named like a file is a folder."""
    write(tmp_path / "deep.yaml", "mine")
    os.mkfifo(tmp_path / "pipe.yaml")
    library = Library([tmp_path])

    changes = library.look()

    problem = f"{tmp_path}/pipe.yaml:1:1: this cannot be read (is a pipe, not a regular file)"
    assert (changes.changed, changes.problems, library.look().problems) == (["mine"], [problem], [])


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has its name and the reason."""

    def broken(self: Path, pattern: str) -> list[Path]:
        raise OSError(5, "Input/output error", f"{self}/deep")

    monkeypatch.setattr(Path, "rglob", broken)

    with pytest.raises(UsageError, match=r"--scenarios: .*/deep cannot be read \(Input/output error\)"):
        open_library([tmp_path])
