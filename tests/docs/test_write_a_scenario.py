"""The how-to for scenarios: its examples are read by the real reader, and those that are whole files are played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paydouble.rehearsal import compare, rehearse
from paydouble.scenarios.reading import check_file, read_text

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-scenario.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
WHOLE = [text for text in EXAMPLES if text.startswith("name: ")]
PARTS = [text for text in EXAMPLES if text not in WHOLE]
# What a part of a file is laid under, so that it can be read on its own.
FRAME = "name: part\nsummary: A part of a file.\n"


def _name(text: str) -> str:
    return text.splitlines()[0].removeprefix("name: ")


def test_the_page_has_examples() -> None:
    """Whole files and parts of some."""
    assert len(WHOLE) >= 4
    assert len(PARTS) >= 4


@pytest.mark.parametrize("text", PARTS, ids=[str(number) for number in range(1, len(PARTS) + 1)])
def test_a_part_is_understood(text: str) -> None:
    """It is right as it stands."""
    reading = read_text(FRAME + text)

    assert [finding.sentence for finding in reading.diagnostics] == []


@pytest.mark.parametrize("text", WHOLE, ids=_name)
def test_a_whole_file_plays_as_it_says(text: str, tmp_path: Path) -> None:
    """It passes the check, and it and its cases bring the answers and the events that the page shows."""
    path = tmp_path / f"{_name(text)}.yaml"
    path.write_text(text, "utf-8")

    reading = check_file(path)

    assert [finding.sentence for finding in reading.diagnostics] == []
    scenario = reading.value
    assert scenario is not None
    for case in (None, *scenario.cases):
        assert compare(scenario, rehearse(scenario, case=case), case) == []


def test_the_first_example_is_short() -> None:
    """It is to be learned from at a glance."""
    assert len(WHOLE[0].splitlines()) < 15
