"""The long runs: each part runs in a small size, and what they find is named."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nightly

ROOT = Path(__file__).parents[2]
FLAKY = """
from pathlib import Path

MARK = Path(__file__).with_name("mark")

def test_every_second_time():
    if MARK.exists():
        MARK.unlink()
    else:
        MARK.touch()
        raise AssertionError("the first time")

def test_always():
    pass
"""

TOGETHER = """
import time
from pathlib import Path
from uuid import uuid4

def test_together():
    folder = Path(__file__).parent
    (folder / f"{uuid4()}.mark").touch()
    end = time.monotonic() + 60
    while len(list(folder.glob("*.mark"))) < 2:
        assert time.monotonic() < end, "no other run came"
        time.sleep(0.01)
"""


def _run(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout or done.stderr


@pytest.mark.parametrize(("part", "size"), [("fuzz", "250"), ("simulate-shell", "20"), ("simulate-business", "20")])
def test_a_part_ends_with_one_line_and_a_status(part: str, size: str) -> None:
    """Its last line says what was run, and the command says that it passed."""
    status, output = _run("tools/nightly.py", part, "--size", size)

    *_, result, passed, end = output.splitlines()
    assert (status, end) == (0, f"nightly: all of {part} passed"), output
    assert f" {size} " in result
    assert passed.startswith(f"nightly: {part} passed after ")


@pytest.mark.timeout(480)  # receivers that hang and are slow take real time
def test_a_small_round_of_the_soak_finds_nothing() -> None:
    """Every answer, delivery and signature is right, and the server writes no traceback and stops."""
    small = ("--minutes", "0", "--warm-up", "0", "--boxes", "6", "--deposits", "50", "--sandboxes", "5")

    status, output = _run("-m", "benchmarks.soak", *small)

    assert status == 0, output
    assert output.splitlines()[-1].startswith("soak: 1 rounds, ")
    assert output.splitlines()[-1].endswith("; nothing wrong")


def test_a_flaky_test_is_named_with_its_seed(tmp_path: Path) -> None:
    """It failed in one of two runs; runs that are kept are not made again."""
    (tmp_path / "test_flaky.py").write_text(FLAKY, "utf-8")
    command = ("tools/flakes.py", "--jobs", "0", "--seed", "7", "--kept", str(tmp_path / "kept"), str(tmp_path))
    _run(*command, "--runs", "1")

    status, output = _run(*command, "--runs", "2")

    last = output.splitlines()[-1]
    assert status == 1
    assert re.match(r"flakes: 2 runs of \d+ s \(median\), 1 flaky, 0 failed in every run: ", last)
    assert last.endswith("test_flaky.test_every_second_time (seeds 7)")
    status, output = _run(*command, "--runs", "2")
    assert output.splitlines()[-1] == last


def test_busy_runs_are_made_two_at_a_time(tmp_path: Path) -> None:
    """Each of the two waits for the other one; the time ends all waits."""
    (tmp_path / "test_together.py").write_text(TOGETHER, "utf-8")

    status, output = _run("tools/flakes.py", "--busy", "--jobs", "0", "--seed", "7", "--runs", "2", str(tmp_path))

    assert status == 0, output
    assert re.search(r"^seed 7: 0 failed, \d+ s\nseed 8: 0 failed, \d+ s\nflakes: 2 runs ", output, re.MULTILINE)


def test_runs_that_are_kept_are_those_of_a_part_that_has_runs() -> None:
    """The message names these parts."""
    status, output = _run("tools/nightly.py", "fuzz", "--kept", "file")

    assert status == 2
    assert output.endswith("error: --kept goes with suite and busy\n")


def test_a_part_that_does_not_exist_is_refused() -> None:
    """The message names those that do."""
    status, output = _run("tools/nightly.py", "soka")

    assert status == 2
    assert "there is no part soka; there are: soak suite busy fuzz" in output


def test_the_page_holds_the_rows_of_the_command_and_nothing_else() -> None:
    """No figure was written by hand: each row is of a part, and begins with what the part says of itself."""
    page = nightly.PAGE.read_text("utf-8")
    rows = page.removeprefix(nightly.HEAD).splitlines()

    assert page.startswith(nightly.HEAD)
    parts = {part.name: part for part in nightly.PARTS}
    for row in rows:
        name = row.split(" | ")[0].removeprefix("| ")
        assert row.startswith(f"| {name} | {parts[name].what} | ")
        assert row.endswith(" |")
