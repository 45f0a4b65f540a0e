"""What anybody may have written, in what the commands print: it is shown, and does nothing else to a terminal."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from paydouble.cli.main import run
from paydouble.cli.terminal import Terminal
from paydouble.core.printable import printable

EVIL = "a\x1b[2J\u202e\x9b1m\x85"
SHOWN = "a\\x1b[2J\\u202e\\x9b1m\\x85"
ROOT = Path(__file__).parents[2]


def clean(text: str) -> bool:
    """Return whether each line of an output can be shown as it is."""
    return all(printable(line) == line for line in text.split("\n"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--config", EVIL],
        ["serve", "--scenarios", EVIL],
        ["serve", "--notification-url", EVIL],
        ["serve", "--business-key", EVIL + ":"],
        ["serve", "--set", EVIL],
        ["serve", "--port", EVIL],
        ["serve", EVIL],
        [EVIL],
        ["serve", "--" + EVIL],
        ["scenario", "show", EVIL],
        ["scenario", "show", f"./{EVIL}.yaml"],
        ["signature", "make", "--secret", "s", "--body", EVIL],
        ["healthcheck", "--server", f"http://127.0.0.1:9/{EVIL}"],
        ["trigger", "happy-path", "--server", f"http://127.0.0.1:9/{EVIL}"],
        ["openapi", "--server-url", EVIL],
        ["openapi", "--format", "yaml", "--server-url", EVIL],
    ],
    ids=" ".join,
)
def test_nothing_of_an_argument_is_printed_raw(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in what a command prints nor in what it refuses."""
    run(arguments)

    written = capsys.readouterr()
    assert clean(written.out)
    assert clean(written.err)
    assert written.out + written.err


def test_nothing_of_a_file_is_printed_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither names nor contents of files, in every command that reads them."""
    file = tmp_path / f"mine{EVIL}\nforged.yaml"
    file.write_text(f'name: "mine\\u202e"\nsummary: "Mine {SHOWN}"\n{EVIL[7]}: 1\n')
    good = tmp_path / "good.yaml"
    good.write_text('name: good\nsummary: "It \\u001b[31m\\u202e \\u009b happens"\n')
    for arguments in (
        ["check", str(file)],
        ["check", "--format", "json", str(file)],
        ["check", "--play", str(good)],
        ["list", "--scenarios", str(good.parent)],
        ["show", str(good)],
        ["show", "--format", "json", str(good)],
        ["graph", str(good)],
        ["graph", "--format", "mermaid", str(good)],
    ):
        run(["scenario", *arguments])
    file.rename(tmp_path / f"b{EVIL}.yaml")
    good.rename(tmp_path / "c\nforged.yaml")
    run(["serve", "--scenarios", str(tmp_path)])

    written = capsys.readouterr()
    assert clean(written.out)
    assert clean(written.err)
    assert not [line for line in (written.out + written.err).split("\n") if line.startswith("forged")]
    assert len([line for line in written.err.split("\n") if ".yaml" in line]) >= 2  # each file has a line of its own


def test_a_style_is_only_the_terminals_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A styled text has no other control characters."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal(stream=_Screen())

    assert terminal.shown(f"{terminal.red(EVIL)} {EVIL}") == f"\x1b[31m{SHOWN}\x1b[0m {SHOWN}"


class _Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_an_output_that_knows_few_characters_gets_escapes_for_the_others() -> None:
    """No traceback for any summary."""
    done = subprocess.run(
        [sys.executable, "-m", "paydouble", "serve", "--config", "ü李"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (
        2,
        "paydouble serve: \\xfc\\u674e cannot be read (no such file or directory). Try 'paydouble serve --help'.\n",
    )


@pytest.mark.parametrize("arguments", [["version"], ["demo"], ["scenario", "list"], ["openapi"]], ids=" ".join)
def test_an_output_on_a_full_disk_is_one_line_and_status_2(arguments: list[str]) -> None:
    """Nor does Python complain when it ends."""
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "paydouble", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    said = f"paydouble {' '.join(arguments)}: the output cannot be written (no space left on device)\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_commands_print_by_way_of_the_terminal_alone() -> None:
    """No other module writes to standard output."""
    found = []
    for path in (ROOT / "src" / "paydouble" / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in {"echo", "secho", "print"} and path.name != "terminal.py":
                found.append(f"{path.name}:{node.lineno}")  # type: ignore[attr-defined]

    assert not found
