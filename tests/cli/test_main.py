"""The command line as a whole: one line and an exit status for every refusal, and a quick start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from bounds import AT_MOST_SECONDS
from click.testing import CliRunner

from paydouble.cli import main
from paydouble.cli.main import COMMANDS, cli, run

_COLLECTS = """
import gc
import sys
from paydouble.__main__ import main
sys.argv = ["paydouble", *sys.argv[1:]]
try:
    main()
finally:
    print("collects:", gc.isenabled())
"""
NOBODY = ["serve", "--port", "0", "--host", "nobody.invalid", "--insecure-control"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "paydouble: there is no command 'nonsense'. Try 'paydouble --help'."),
        (["srve"], "paydouble: there is no command 'srve'; did you mean 'serve'? Try 'paydouble --help'."),
        (["Serve"], "paydouble: there is no command 'Serve'; did you mean 'serve'?"),
        (["scenario", "chek", "x.yaml"], "paydouble scenario: there is no command 'chek'; did you mean 'check'?"),
        (["signature", "nonsense"], "paydouble signature: there is no command 'nonsense'. Try 'paydouble signature "),
        (["--nonsense"], "paydouble: there is no option '--nonsense'. Try 'paydouble --help'."),
        (["--demo"], "paydouble: there is no option '--demo'; did you mean 'demo'? Try 'paydouble --help'."),
        (["version", "--nonsense"], "paydouble version: there is no option '--nonsense'. Try 'paydouble version "),
        (["serve", "--prot=1"], "paydouble serve: there is no option '--prot'; did you mean '--port'?"),
        (
            ["scenario", "list", "--scenarois", "x"],
            "paydouble scenario list: there is no option '--scenarois'; did you",
        ),
        (["serve", "--port"], "paydouble serve: Option '--port' requires an argument. Try 'paydouble serve --help'."),
        (["version", "extra"], "paydouble version: Got unexpected extra argument (extra). Try"),
        (["serve", "--port", "abc"], "paydouble serve: Invalid value for '--port'"),
        (["serve", "--port", "65536"], "paydouble serve: Invalid value for '--port'"),
        (["serve", "--clock", "sundial"], "paydouble serve: Invalid value for '--clock'"),
        (["serve", "--rate", "0"], "paydouble serve: Invalid value for '--rate'"),
        (["serve", "--rate", "nan"], "paydouble serve: --rate: is not a number"),
        (["serve", "--set", "livemode"], "paydouble serve: --set 'livemode': write it like"),
        (["serve", "--set", "livemode=[1"], "paydouble serve: --set 'livemode=[1':"),
        (["serve", "--set", "livemode=" + "[" * 2000], "paydouble serve: --set 'livemode=[[["),
        (["serve", "--set", "colour=red"], "paydouble serve: settings.colour: this member is not known"),
        (["serve", "--set", "webhooks.timeout=2"], "paydouble serve: settings.webhooks.timeout: a duration is a text"),
        (["serve", "--rate", "2", "--clock", "auto"], "paydouble serve: --rate: only a real clock has a rate"),
        (["serve", "--start", "yesterday"], "paydouble serve: --start: 'yesterday' is not an instant"),
        (
            ["serve", "--notification-url", "x"],
            "paydouble serve: --notification-url: 'x': is not an http:// or https:// URL",
        ),
        (["serve", "--host", "0.0.0.0"], "paydouble serve: --host: 0.0.0.0 is reachable from other machines"),  # noqa: S104
        (NOBODY, "paydouble serve: --port: nobody.invalid:0 cannot be used"),
        (
            ["serve", "--port", "0", "--scenario", "no-such"],
            "paydouble serve: scenario: there is no scenario 'no-such'",
        ),
        (["serve", "--business-key", ""], "paydouble serve: --business-key: "),
        (["serve", "--business-key", "a:b"], "paydouble serve: --business-key: "),
        (["serve", "--webhook-secret", " "], "paydouble serve: --webhook-secret: "),
        (
            ["serve", "--ca-file", "/nowhere/ca.pem"],
            "paydouble serve: --ca-file: /nowhere/ca.pem cannot be used: No such file",
        ),
        (["serve", "--config", "/nowhere/x.yaml"], "paydouble serve: /nowhere/x.yaml cannot be read (no such file"),
        (["healthcheck", "--port", "0"], "paydouble healthcheck: Invalid value for '--port'"),
        (["healthcheck", "--server", "nonsense"], "paydouble healthcheck: --server: 'nonsense' is not a URL"),
        (["healthcheck", "--server", "http://x:99999"], "paydouble healthcheck: --server: "),
        (["openapi", "--format", "xml"], "paydouble openapi: Invalid value for '--format'"),
    ],
)
def test_a_refusal_is_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unusable argument is one line on standard error, without a traceback."""
    status = run(arguments)

    written = capsys.readouterr()
    assert (status, written.out, written.err.count("\n")) == (2, "", 1)
    assert written.err.startswith(says)


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """`paydouble` alone lists the commands and says with its status that it did nothing."""
    status = run([])

    written = capsys.readouterr()
    assert (status, written.out) == (2, "")
    assert [name for name in COMMANDS if f"  {name} " not in written.err] == []


def test_help_lists_the_commands_without_importing_them() -> None:
    """--help needs no command's module."""
    result = CliRunner().invoke(cli, ["--help"])

    assert result.exit_code == 0
    assert [name for name in COMMANDS if f"  {name} " not in result.stdout] == []


@pytest.mark.parametrize("name", ["healthcheck", "openapi", "serve", "signature", "version"])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """COMMAND --help explains itself and exits with 0."""
    status = run([name, "--help"])

    written = capsys.readouterr()
    assert (status, written.err) == (0, "")
    assert written.out.startswith(f"Usage: paydouble {name}")


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a command with the status that shells expect."""

    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main.cli, "main", interrupt)

    assert run(["version"]) == 130


@pytest.mark.parametrize(
    "arguments",
    [
        ["version"],
        ["healthcheck", "--port", "1", "--timeout", "0.1"],
        ["signature", "make", "--secret", "s", "--body", "/dev/null", "--at", "1"],
        ["--help"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_small_commands_import_no_server(arguments: list[str]) -> None:
    """Commands that a shell calls again and again start without aiohttp, asyncio and pydantic."""
    program = (
        "import sys; from paydouble.cli.main import run; run(sys.argv[1:]); "
        "print([name for name in ('aiohttp', 'asyncio', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, timeout=AT_MOST_SECONDS
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    """`paydouble demo | head` exits with 0 and prints no error."""
    with subprocess.Popen(
        [sys.executable, "-m", "paydouble", "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (0, b"")


def commands(group: click.Group = cli, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command."""
    yield above
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_fits_in_80_columns(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is wrapped by the terminal, and none is cut."""
    monkeypatch.setenv("COLUMNS", "80")
    run([*words, "--help"])

    written = capsys.readouterr().out
    cut = [line for line in written.splitlines() if line.endswith("...") and not line.endswith("[ARGS]...")]
    assert [line for line in written.splitlines() if len(line) > 80] + cut == []


@pytest.mark.parametrize("arguments", [["version"], ["explore", "missing.yaml"]])
def test_a_command_that_runs_for_long_frees_what_it_no_longer_needs(arguments: list[str]) -> None:
    """Only the imports run without the collector, which is quicker."""
    ran = subprocess.run(
        [sys.executable, "-c", _COLLECTS, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=AT_MOST_SECONDS,
    )

    assert ran.stdout.splitlines()[-1] == "collects: True", ran.stderr
