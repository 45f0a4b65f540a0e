"""The shipped files, found by name."""

from pathlib import Path

import pytest

from paydouble.core.errors import UsageError
from paydouble.scenarios.library import read_named, shipped, shipped_files, shipped_folder


def test_each_file_is_named_for_its_scenario() -> None:
    """A scenario is found by the name of its file, and no two share one."""
    names = [path.stem for path in shipped_folder().rglob("*.yaml")]

    assert list(shipped_files()) == sorted(names)
    assert len(set(names)) == len(names)


def test_a_shipped_scenario_is_read_once() -> None:
    """It is always the same object, so a pay-in need not keep it; an unknown name gives None."""
    assert shipped("happy-path") is shipped("happy-path")
    assert (shipped("nothing"), shipped_files().get("nothing")) == (None, None)


def test_the_shipped_folder_is_the_wheels_when_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are inside the package in a wheel, and at the top of a checkout."""
    from paydouble.scenarios import library as module

    checkout = tmp_path / "src" / "paydouble" / "scenarios"
    checkout.mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(checkout / "library.py"))
    before = shipped_folder()

    (checkout / "library").mkdir()

    assert (before, shipped_folder()) == (tmp_path / "scenarios", checkout / "library")


def test_a_file_must_be_called_like_its_scenario(tmp_path: Path) -> None:
    """Scenarios are looked up by file name, so a file with another name is refused, with both names."""
    path = tmp_path / "mine.yaml"
    path.write_text("name: yours\nsummary: Mislaid.\nlifecycle: {}\n")

    with pytest.raises(UsageError, match=r"mine\.yaml: is called 'yours' inside"):
        read_named(path)
