"""`paydouble replay` and `show`: what a run file says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from drive import DEPOSITS, deposit_body

from paydouble import Sandbox
from paydouble.cli.main import run


def _write(folder: Path, *, deposits: int = 1) -> Path:
    box = Sandbox(seed=3)
    box.faults.add("error", status=503, times=1)
    answers = iter([500])
    box.receiver = lambda _: next(answers, 204)
    for number in range(deposits):
        box.handle("POST", DEPOSITS, deposit_body(external_identifier=f"order-{number}"))
    box.clock.advance("2m")
    return box.export(folder / "run.paydouble")


def _edit(path: Path, old: str, new: str) -> str:
    edited = path.with_suffix(".edited")
    edited.write_bytes(gzip.decompress(path.read_bytes()).decode().replace(old, new, 1).encode())
    return str(edited)


def test_a_run_that_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what was compared, and exits with 0."""
    assert run(["replay", str(_write(tmp_path, deposits=2))]) == 0
    assert capsys.readouterr().out == "✓ The same bytes: 17 commands and 6 results.\n"


def test_a_run_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the line, what is in the file and what came, and exits with 1; another version is named too."""
    path = _write(tmp_path)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if '"is":"answer"' in line)
    assert run(["replay", _edit(path, '"status":503,"headers"', '"status":500,"headers"')]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0] == f"✗ DIVERGED at line {number}, status"
    assert "    expected  500\n    got       503\n" in out
    assert "The run is from" not in out

    header = json.loads(lines[0])
    path.write_bytes(gzip.compress(path.with_suffix(".edited").read_bytes()))
    assert run(["replay", _edit(path, f'"version":"{header["version"]}"', '"version":"0.0.9"')]) == 1
    assert "The run is from paydouble 0.0.9, and this is " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["replay", "show", "shrink"])
def test_an_unusable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """One line on standard error, and exit status 2."""
    path = _write(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert run([command, str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"paydouble {command}: {path}: line ")
    assert "the file is cut or damaged" in err
    assert err.count("\n") == 1


def test_a_run_without_a_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of a test can be replayed in process only."""
    path = str(_write(tmp_path))
    assert run(["replay", path, "--merchant", "merchant.yaml"]) == 2
    assert run(["shrink", path]) == 2
    assert capsys.readouterr().err.count("the file has no story of a shop") == 2


def test_the_timeline_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Requests, events, webhooks and control commands, in their order, and how it ended."""
    path = _write(tmp_path, deposits=2)
    text = _edit(path, '{"end":{', '{"note":"The customer leaves"}\n{"end":{"verdict":"It is broken.",')
    assert run(["show", text]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sandbox default, seed 3, recorded by paydouble ")
    rows = ["fault-add", "503, nothing done", "pay-in.created order-1", "200 new", "→ merchant", "✗ 500", "attempt 2"]
    places = [out.index(row) for row in rows]
    assert places == sorted(places)
    assert "  The customer leaves\n" in out
    assert out.endswith("\n\n✗ It is broken.\n")


def test_the_pages_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file for each payment, with the timeline of the inspector."""
    page = tmp_path / "page.html"
    path = str(_write(tmp_path, deposits=3))
    assert run(["show", path, "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n{tmp_path / 'page-2.html'}\n"
    assert "order-1" in page.read_text("utf-8")
    assert "order-2" in (tmp_path / "page-2.html").read_text("utf-8")
    assert run(["show", path, "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot be written: No such file" in capsys.readouterr().err


def test_a_run_without_payments_has_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so."""
    path = Sandbox().export(tmp_path / "empty.paydouble")
    assert run(["show", str(path), "--html", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == "The run has no payment: 0 lines.\n"
