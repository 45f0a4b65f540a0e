"""Shell completion: the script, and what it answers with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from paydouble.cli.main import cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_paydouble(shell: str) -> None:
    """Each shell's script calls the command with the variable that makes it answer."""
    result = CliRunner().invoke(cli, ["completion", shell])

    assert (result.exit_code, f"_PAYDOUBLE_COMPLETE={shell}_complete" in result.output) == (0, True)


def test_commands_are_completed() -> None:
    """Completion runs no command."""
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


def completed(words: str, shell: str = "bash") -> list[str]:
    """Return what is offered for the last of some words."""
    typed = words.split(" ")
    environment = {
        **os.environ,
        "_PAYDOUBLE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "paydouble"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("words", ["explore sh", "replay x --merchant sh", "shrink x --merchant sh"])
def test_a_shop_is_completed_as_a_file(words: str) -> None:
    """Though it can also be named in another way."""
    assert completed(f"paydouble {words}") == ["file,sh"]


@pytest.mark.parametrize("command", ["trigger", "scenario show", "scenario graph"])
def test_scenarios_are_completed_beside_files(command: str) -> None:
    """In every option and argument that takes a scenario."""
    assert completed(f"paydouble {command} happy") == ["plain,happy-path", "file,happy"]


def test_a_scenario_that_must_be_a_name_is_completed_without_files() -> None:
    """The server takes no path there."""
    assert completed("paydouble serve --scenario card-de") == ["plain,card-declined"]


def test_scenarios_of_own_folders_are_completed(tmp_path: Path) -> None:
    """Of the folders given before the word; a name with control characters is not offered."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "happy-own.yaml").touch()
    (tmp_path / "happy-\x1b[2J.yaml").touch()

    own = completed(f"paydouble scenario show --scenarios {tmp_path} happy-")
    served = completed(f"paydouble serve --scenarios {tmp_path} --scenario happy-")

    assert own == ["plain,happy-own", "plain,happy-path", "file,happy-"]
    assert served == ["plain,happy-own", "plain,happy-path"]


def test_types_of_events_are_completed() -> None:
    """With their families for a filter, alone for a test webhook."""
    assert completed("paydouble receive --events refund.s") == ["plain,refund.succeeded"]
    assert completed("paydouble serve --events dispute.")[:2] == ["plain,dispute.*", "plain,dispute.created"]
    assert completed("paydouble webhook test --type dispute.cl") == ["plain,dispute.closed"]
