"""Outcomes of long measurements are kept, so that they can be made in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kept import Kept


def test_a_measurement_is_continued_where_it_was_killed(tmp_path: Path) -> None:
    """Kept outcomes are not made again, and a line that was cut off is."""

    path = tmp_path / "kept"
    Kept(path, "code").outcome_of("one", lambda: {"told": "yes"})
    Kept(path, "code").outcome_of("two", lambda: {"told": "no"})
    path.write_text(path.read_text()[:-5])
    ran: list[str] = []

    def play() -> dict[str, str]:
        ran.append("two")
        return {"told": "yes"}

    def outcome_of(run: str) -> str:
        told: str = Kept(path, "code").outcome_of(run, play)["told"]
        return told

    assert [outcome_of("one"), outcome_of("two"), outcome_of("two")] == ["yes", "yes", "yes"]
    assert ran == ["two"]


@pytest.mark.parametrize("text", ['{"code": "older"}\n', "[]\n", "a line that is no JSON\n"])
def test_outcomes_of_other_code_are_refused(tmp_path: Path, text: str) -> None:
    """What was kept says nothing about code that has changed since."""

    path = tmp_path / "kept"
    path.write_text(text)

    with pytest.raises(ValueError, match="no outcomes of this code"):
        Kept(path, "code")
    assert path.read_text() == text


def test_nothing_is_kept_without_a_file() -> None:
    """Each run is then made."""

    kept = Kept(None, "code")

    assert kept.outcome_of("one", lambda: {"told": "yes"}) == {"told": "yes"}
