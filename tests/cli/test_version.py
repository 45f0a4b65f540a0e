"""`paydouble version`."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest
from bounds import AT_MOST_SECONDS

from paydouble.cli.main import run


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_version_prints_the_version_alone(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The version of the installed package, and nothing else."""
    status = run([asked])

    assert (status, capsys.readouterr().out) == (0, version("paydouble") + "\n")


def test_the_module_runs_as_a_program() -> None:
    """`python -m paydouble` is the command."""
    command = [sys.executable, "-m", "paydouble", "version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=AT_MOST_SECONDS)

    assert (done.stdout, done.stderr) == (version("paydouble") + "\n", "")
