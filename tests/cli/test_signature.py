"""`signature make` and `signature check`, as a person or a shell script calls them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from paydouble.cli.signature import signature
from paydouble.webhooks.signing import sign

BODY = b'{"amount":49.90}'
SECRET = "whsec_sandbox"
AT = 1_700_000_000
HEADER = sign(BODY, SECRET, AT)
CALL = [sys.executable, "-c", "from paydouble.cli.signature import signature; signature()"]


@pytest.fixture
def body(tmp_path: Path) -> str:
    """Give the path of a file with the body that was signed."""
    path = tmp_path / "body.json"
    path.write_bytes(BODY)
    return str(path)


def _run(*arguments: str, stdin: bytes = b"", secret_variable: str | None = None) -> Result:
    environment = {"PAYDOUBLE_WEBHOOK_SECRET": secret_variable}
    return CliRunner().invoke(signature, arguments, input=stdin, env=environment)


def test_make_prints_the_header_alone(body: str) -> None:
    """The value is the whole output, so that a script can use it as it is."""
    result = _run("make", "--secret", SECRET, "--body", body, "--at", str(AT))

    assert (result.exit_code, result.stdout, result.stderr) == (0, HEADER + "\n", "")


def test_make_signs_now_by_default(body: str) -> None:
    """A header made without --at verifies at once without --now."""
    header = _run("make", "--secret", SECRET, "--body", body).stdout.strip()

    result = _run("check", "--secret", SECRET, "--body", body, "--header", header)

    assert result.exit_code == 0
    assert result.stdout.startswith("verified\n  found: the signature verifies; it was signed ")


def test_the_secret_can_come_from_the_environment(body: str) -> None:
    """PAYDOUBLE_WEBHOOK_SECRET replaces --secret, which a process list would show."""
    result = _run("make", "--body", body, "--at", str(AT), secret_variable=SECRET)

    assert result.stdout == HEADER + "\n"


def test_check_names_the_cause_and_the_remedy(tmp_path: Path) -> None:
    """A body that was saved with a final newline exits with 1, what was found and what to do."""
    path = tmp_path / "body.json"
    path.write_bytes(BODY + b"\n")

    result = _run("check", "--secret", SECRET, "--header", HEADER, "--body", str(path), "--now", str(AT))

    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines() == [
        "does not verify: trailing-newline-added",
        "  found: a line end (or white space) was added at the end of the body after it was signed",
        "  to do: Write the body without a final newline: `printf %s` and not `echo`, and an editor that adds none",
    ]


@pytest.mark.parametrize(("tolerance", "status"), [("60", 0), ("59", 1)])
def test_the_tolerance_is_an_option(body: str, tolerance: str, status: int) -> None:
    """--tolerance and --now decide whether a time is too far off."""
    arguments = ["check", "--secret", SECRET, "--header", HEADER, "--body", body, "--now", str(AT + 60)]

    result = _run(*arguments, "--tolerance", tolerance)

    assert status == result.exit_code


@pytest.mark.parametrize(
    ("secret", "path", "complaint"),
    [
        (SECRET, "no-such-file", "--body 'no-such-file' cannot be read: No such file or directory; give a file"),
        (SECRET, ".", "--body '.' cannot be read: Is a directory; give a file"),
        (SECRET, "nul\0", "cannot be read: embedded null byte; give a file"),
        (SECRET, "/dev/zero", "--body '/dev/zero' is larger than 16777216 bytes"),
        (" ", "no-such-file", "the webhook secret is blank; give it with --secret or in PAYDOUBLE_WEBHOOK_SECRET"),
    ],
)
@pytest.mark.parametrize("command", [["make"], ["check", "--header", HEADER]])
def test_what_cannot_be_used_is_one_clear_line(command: list[str], secret: str, path: str, complaint: str) -> None:
    """A file that cannot be read or a blank secret is exit status 2 and one line that says how to fix it."""
    result = _run(*command, "--secret", secret, "--body", path)

    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["make", "--body", "-"],
        ["make", "--secret", SECRET],
        ["make", "--secret", SECRET, "--body", "-", "--at", "-1"],
        ["make", "--secret", SECRET, "--body", "-", "--at", "noon"],
        ["check", "--secret", SECRET, "--body", "-"],
        ["check", "--secret", SECRET, "--body", "-", "--header", HEADER, "--tolerance", "-1"],
        ["check", "--secret", SECRET, "--body", "-", "--header", HEADER, "--now", "9" * 5000],
        ["check", "--unknown"],
    ],
)
def test_bad_arguments_are_exit_status_2(arguments: list[str]) -> None:
    """Missing, unknown and out-of-range options are refused before anything is read."""
    result = _run(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def test_standard_input_is_taken_byte_for_byte() -> None:
    """With --body - the bytes are signed as they come: CRLF, a byte order mark and broken UTF-8 included."""
    body = b"\xef\xbb\xbf{\r\n\x00\xff}\r\n"

    run = subprocess.run(
        [*CALL, "make", "--secret", SECRET, "--body", "-", "--at", str(AT)],
        input=body,
        capture_output=True,
        check=False,
    )

    assert (0, sign(body, SECRET, AT), b"") == (run.returncode, run.stdout.decode().strip(), run.stderr)


def test_arguments_that_are_not_utf_8_end_without_a_traceback(body: str) -> None:
    """A header with raw bytes, as a shell may pass it, is diagnosed in plain ASCII."""
    arguments = [
        "check",
        "--secret",
        os.fsdecode(b"\xff"),
        "--header",
        os.fsdecode(b"\xff\xfe: t=\xff"),
        "--body",
        body,
    ]

    run = subprocess.run([*CALL, *arguments], capture_output=True, check=False)

    assert (run.returncode, run.stderr) == (1, b"")
    assert run.stdout.startswith(b"does not verify: malformed-header\n")


def test_the_commands_start_without_the_servers_libraries() -> None:
    """Neither aiohttp nor pydantic is imported, which alone would take longer than the whole command."""
    script = (
        "import sys; from click.testing import CliRunner; from paydouble.cli.signature import signature;"
        "CliRunner().invoke(signature, ['check', '--secret', 's', '--header', 'h', '--body', '-']);"
        "print(sorted({'aiohttp', 'asyncio', 'pydantic', 'paydouble.webhooks.diagnosis'} & set(sys.modules)))"
    )

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert run.stdout.strip() == b"['paydouble.webhooks.diagnosis']"
