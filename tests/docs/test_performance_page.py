from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"
TEMPLATE = ROOT / "benchmarks" / "page.md"


def _benchmarks(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _names(text: str) -> list[str]:
    rows = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    return rows[2:]  # without the head and its rule


def test_the_table_has_a_row_for_every_benchmark() -> None:
    """The page's table names each row that the benchmarks yield, in their order."""
    expected = _benchmarks("--list").splitlines()

    actual = _names(PAGE.read_text("utf-8"))

    assert expected == actual


def test_nobody_has_written_on_the_page() -> None:
    """Apart from the machine and the table, the page is its template word for word: no figure came in by hand."""
    before, rest = TEMPLATE.read_text("utf-8").split("{machine}")
    between, after = rest.split("{table}")

    page = PAGE.read_text("utf-8")
    machine, _, written = page.removeprefix(before).partition(between)
    table = written.removesuffix(after)

    assert page == before + machine + between + table + after
    assert "\n" not in machine
    assert all(line.startswith("| ") for line in table.splitlines())


@pytest.mark.timeout(480)  # each server is a process
def test_a_quick_run_measures_every_row_and_judges_none() -> None:
    """`--quick` starts every server and yields every row, without a verdict."""
    expected = _benchmarks("--list").splitlines()

    table = _benchmarks("--quick")

    assert expected == _names(table)
    assert "missed" not in table
