from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"
TEMPLATE = ROOT / "benchmarks" / "page.md"
PEERS_PAGE = ROOT / "docs" / "peers.md"
PEERS_TEMPLATE = ROOT / "benchmarks" / "peers.md"


def _benchmarks(*arguments: str, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _rows(text: str) -> dict[str, str]:
    """Return the rows of a table by their names."""
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]  # without the head and its rule
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


@pytest.mark.parametrize(("arguments", "page"), [((), PAGE), (("--peers",), PEERS_PAGE)], ids=["bare", "peers"])
def test_the_table_has_a_row_for_every_benchmark(arguments: Sequence[str], page: Path) -> None:
    """The page's table names each row that the benchmarks yield, in their order."""
    expected = _benchmarks(*arguments, "--list").splitlines()

    actual = list(_rows(page.read_text("utf-8")))

    assert expected == actual


@pytest.mark.parametrize(
    ("template", "written"), [(TEMPLATE, PAGE), (PEERS_TEMPLATE, PEERS_PAGE)], ids=["bare", "peers"]
)
def test_nobody_has_written_on_the_page(template: Path, written: Path) -> None:
    """Apart from the machine and the table, the page is its template word for word: no figure came in by hand."""
    before, rest = template.read_text("utf-8").split("{machine}")
    between, after = rest.split("{table}")

    page = written.read_text("utf-8")
    machine, _, rows = page.removeprefix(before).partition(between)
    table = rows.removesuffix(after)

    assert page == before + machine + between + table + after
    assert "\n" not in machine
    assert all(line.startswith("| ") for line in table.splitlines())


@pytest.mark.long
@pytest.mark.timeout(840)  # some fifty processes are started
def test_a_quick_run_measures_every_row_and_judges_none() -> None:
    """`--quick` starts every server and yields every row, without a verdict."""
    expected = _benchmarks("--list").splitlines()

    table = _benchmarks("--quick")

    assert expected == list(_rows(table))
    assert "missed" not in table


def test_a_peer_that_cannot_be_installed_is_a_row_that_says_why(tmp_path: Path) -> None:
    """Without the other mocks' tools and registries their rows say so, and the rest is measured."""
    offline = {**os.environ, "PATH": str(tmp_path), "UV_OFFLINE": "1"}
    expected = _benchmarks("--peers", "--list").splitlines()

    table = _benchmarks("--peers", str(tmp_path / "peers"), "--quick", environment=offline)

    rows = _rows(table)
    peers = {name for name in rows if name[-1].isdigit()}
    assert expected == list(rows)
    assert {"stripe-mock", "localstripe", "WireMock", "Prism", "Mockoon", "moto"} == {name.split()[0] for name in peers}
    assert peers == {name for name, row in rows.items() if " | not measured: " in row}
