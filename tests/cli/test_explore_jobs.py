"""`paydouble explore --jobs`: the parts of a catalogue at the same time."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from bounds import AT_MOST_SECONDS
from described_shop import described_shop, hold_jobs, write_merchant

from paydouble.cli.main import run
from paydouble.conformance import merchant_of
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.steps import Hold, step

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"start": None}, "--jobs: it needs start in the file, since each part starts a shop of its own"),
        ({"webhook": {"url": "http://127.0.0.1:3000/"}}, "--jobs: write {port} in the file in place of the port's"),
        ({"service": {"port": 3001}}, "--jobs: leave service.port out of the file"),
    ],
)
def test_a_shop_of_which_one_alone_can_run_is_refused(
    changes: dict[str, Any], refusal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parts would meet at its port."""
    document = described_shop(tmp_path) | changes
    if document["start"] is None:
        del document["start"]
        document = json.loads(json.dumps(document).replace("{port}", "3000"))

    assert run(["explore", write_merchant(tmp_path, document), "--jobs", "2"]) == 2
    assert refusal in capsys.readouterr().err


def _own_folder(document: dict[str, Any]) -> dict[str, Any]:
    document["start"]["command"][-1] = "{temporary_folder}/orders.json"
    return document


def test_parts_run_at_the_same_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its report, its commands and its files; the other options are for all of them."""
    path = write_merchant(tmp_path, _own_folder(described_shop(tmp_path, "believes everybody")))
    plays = CatalogueRun(merchant_of(path)).plays()
    first = next(at for at, play in enumerate(plays, 1) if step("inject", "changed body") in play.steps)
    folder = tmp_path / "runs"

    assert run(["explore", path, "--jobs", "2", "--seed", "3", "--from", str(first), "--artifacts", str(folder)]) == 1
    out = capsys.readouterr().out

    assert set(re.findall(r"^Part .*", out, re.MULTILINE)) == {"Part 1 of 2", "Part 2 of 2"}
    for part in ("1/2", "2/2"):
        assert f"    paydouble explore {path} --seed 3 --part {part} --from " in out
    assert out.count("plays of the catalogue and 0 examples of the hunt tried ") == 1
    assert "\nThese were parts 1 and 2 of 2 of the catalogue.\n" in out
    assert out.endswith("\n✗ 2 of 2 parts found something.\n")
    assert len(list(folder.iterdir())) == 2


def test_parts_that_find_nothing_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What all have tried is told once."""
    path = write_merchant(tmp_path, _own_folder(described_shop(tmp_path)))

    assert run(["explore", path, "--jobs", "2", "--for", "1ms"]) == 0
    out = capsys.readouterr().out

    assert out.count("\nNothing was found in the time of --for 1ms; without it, all is played, and --from ") == 2
    assert "processors" not in out
    assert "its plays are in another part" not in out
    assert "\n2 plays of the catalogue and 0 examples of the hunt tried " in out
    assert out.endswith("\n\nNothing was found in 2 parts.\n")


def test_a_part_that_cannot_run_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it says of it is shown; the others go on."""
    path = write_merchant(tmp_path, _own_folder(described_shop(tmp_path)))
    last = len(CatalogueRun(merchant_of(path), hold=Hold(1, 2)).plays())

    assert run(["explore", path, "--jobs", "2", "--from", str(last), "--examples", "0"]) == 3
    out, err = capsys.readouterr()

    assert re.search(r"^Part [12] of 2: paydouble explore: part [12] of 2 has no play, ", err)
    assert "\nIt has ended without a report, with status 2.\n" in out
    assert out.endswith("\n✗ 1 of 2 parts ended too early.\n")


def test_an_interruption_ends_all_parts(tmp_path: Path) -> None:
    """Each tells what it has tried, and no process is left behind."""
    document = _own_folder(described_shop(tmp_path))
    ticked, go = hold_jobs(tmp_path, document)
    command = [sys.executable, "-m", "paydouble", "explore", write_merchant(tmp_path, document), "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(2):
                assert select.select([ticked], [], [], AT_MOST_SECONDS)[0], "a part does not come to its first job"
                assert os.read(ticked, 1) == b"."
            process.send_signal(signal.SIGTERM)
            os.close(go)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            os.close(ticked)

    assert (process.returncode, err) == (130, "")
    assert out.count("\nInterrupted. Nothing was found so far.\n") == 2
    assert out.count(" plays of the catalogue and 0 examples of the hunt tried") == 1
    assert out.endswith("\n\nInterrupted.\n")
