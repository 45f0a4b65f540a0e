"""`serve --store` as a process: it survives `kill -9`, and refuses what is no store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from drive import DEPOSITS, deposit_body

from paydouble import Sandbox
from paydouble.cli import serve
from paydouble.cli.main import run
from paydouble.server import Server, ServerOptions

ROOT = Path(__file__).parents[2]


def test_what_was_told_survives_a_kill() -> None:
    """At seeded points, in short; `python tools/kill_store.py` kills at 200."""
    command = [sys.executable, str(ROOT / "tools" / "kill_store.py"), "--points", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" 0 points with something missing\n")


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_file_that_is_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """One line names the option and the file; the status is 2."""
    path = tmp_path / "text"
    path.write_text("no database " * 100)
    if by == "environment":
        monkeypatch.setenv("PAYDOUBLE_STORE", str(path))
    assert run(["serve", "--port", "0", *(["--store", str(path)] if by == "option" else [])]) == 2
    err = capsys.readouterr().err
    assert f"--store: {path}: this is no store of paydouble" in err
    assert err.count("\n") == 1


def test_a_start_state_only_fills_a_new_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is not read when the store has sandboxes."""
    box = Sandbox(seed=4)
    box.handle("POST", DEPOSITS, deposit_body())
    start = box.export(tmp_path / "run.paydouble", raw=True)
    seen = []

    async def stopped_at_once(options: ServerOptions, **_: bool) -> None:
        async with Server(options) as server:
            assert server.default is not None
            seen.append((options.initial is not None, len(server.default.journal.events.entries)))

    monkeypatch.setattr(serve, "_run", stopped_at_once)
    for _ in range(2):
        arguments = ["--init", str(start), "--store", str(tmp_path / "a.store"), "--clock", "manual", "--port", "0"]
        assert run(["serve", "--quiet", *arguments]) == 0
    assert seen == [(True, 1), (False, 1)]
