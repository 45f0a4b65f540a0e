"""Shell completion: the script, and what it answers with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from paydouble.cli.main import cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_paydouble(shell: str) -> None:
    """Each shell's script calls the command with the variable that makes it answer."""
    result = CliRunner().invoke(cli, ["completion", shell])

    assert (result.exit_code, f"_PAYDOUBLE_COMPLETE={shell}_complete" in result.output) == (0, True)


def test_commands_are_completed() -> None:
    """What a shell asks for is answered without running anything."""
    environment = {
        **os.environ,
        "_PAYDOUBLE_COMPLETE": "bash_complete",
        "COMP_WORDS": "paydouble se",
        "COMP_CWORD": "1",
    }

    done = subprocess.run(
        [sys.executable, "-m", "paydouble"], env=environment, capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("plain,serve\n", "")
