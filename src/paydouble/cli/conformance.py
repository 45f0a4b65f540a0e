"""`paydouble conformance`: a file that says how to reach a shop, and what is wrong with the file or the shop.

Exit statuses: 0 done or right, 1 a call does not work or a clause is broken, 2 unusable arguments or an unusable file,
3 what was asked for cannot be tested, 130 interrupted.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import click

from paydouble.cli.options import SEED
from paydouble.cli.shops import names_python
from paydouble.cli.terminal import Terminal, count, say, say_exactly
from paydouble.conformance.starting import FRAMEWORKS, starting_file
from paydouble.core.errors import UsageError
from paydouble.core.exit_status import ExitStatus
from paydouble.core.printable import printable

_OUT: Final = click.Path(path_type=Path, dir_okay=False)
_FOLDER: Final = click.Path(path_type=Path, file_okay=False)


@click.group()
def conformance() -> None:
    """Say in a file how your shop is reached, in whatever language it is, try the file, and test the shop."""


@conformance.command(short_help="Write a commented merchant.yaml.")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False), default="merchant.yaml")
@click.option("--for", "framework", type=click.Choice(list(FRAMEWORKS)), help="Fill in what is usual for a framework.")
def init(path: Path, framework: str | None) -> None:
    """Write a commented file to edit, by default merchant.yaml. An existing file is not replaced; - prints it."""
    folder = re.sub(r"[^a-z0-9]+", "-", path.resolve().parent.name.lower()).strip("-")
    text = starting_file(folder or "my-shop", framework)
    if str(path) == "-":
        say_exactly(text.removesuffix("\n"))
        return
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; give another name, or - to print the file") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    say(f"{path} is written. Edit it, then try it with: paydouble conformance doctor {path}")


@conformance.command(short_help="Try each call of a merchant.yaml.")
@click.argument("path", type=click.Path(path_type=Path), default="merchant.yaml")
@click.option("--no-color", is_flag=True, help="Print without colours; so does the environment variable NO_COLOR.")
def doctor(path: Path, no_color: bool) -> None:
    """Play one payment against your shop, and say of each call what was sent, answered and expected."""
    from paydouble.conformance.doctor import examine
    from paydouble.conformance.merchant_file import MERCHANT
    from paydouble.yamlfile.diagnostics import render
    from paydouble.yamlfile.reading import read_file

    _check_kind(path)
    terminal = Terminal(no_color=no_color)
    reading = read_file(path, MERCHANT)
    for diagnostic in reading.diagnostics:
        say(*render(diagnostic), err=True)
    if reading.value is None:
        sys.exit(ExitStatus.UNUSABLE)
    wrong = 0
    for check in examine(reading.value, path.resolve().parent):
        if check.ok is None:
            terminal.say(terminal.dim(f"{terminal.dash} {check.name}: not given; {check.expected}"))
            continue
        wrong += not check.ok
        sign = terminal.green(terminal.good) if check.ok else terminal.red(terminal.bad)
        sent = f"  {check.sent}" if check.sent else ""
        terminal.say(f"{sign} {terminal.bold(check.name)}{sent}")
        if not check.ok:
            first, *more = check.answer.splitlines() or [""]
            terminal.say(f"    got       {first}")
            for line in more:
                terminal.say(f"              {line}")
            terminal.say(f"    expected  {check.expected}")
        elif check.answer:
            terminal.say(terminal.dim(f"    {check.answer}"))
    terminal.say()
    if wrong:
        terminal.say(terminal.red(f"{terminal.bad} {count(wrong, 'call')} of {path} did not work as expected."))
        sys.exit(ExitStatus.NEGATIVE)
    terminal.say(terminal.green(f"{terminal.good} The shop can be driven and read by {path}."))


@conformance.command(short_help="Test a shop against the clauses.")
@click.argument("path", type=click.Path(path_type=Path), default="merchant.yaml")
@click.option("--only", metavar="CLAUSES", help="Play these alone: W1, C2.2.")
@click.option("--strict", is_flag=True, help="Fail for a broken recommendation (S) too.")
@click.option("--seed", type=SEED, help="Of all identifiers; the same seed sends the same bytes. Random without it.")
@click.option("--html", type=_OUT, help="Write the findings into one HTML file.")
@click.option("--json", "json_path", type=_OUT, help="Write the results as JSON, in the order in which to fix them.")
@click.option("--junit", type=_OUT, help="Write the results as JUnit XML.")
@click.option("--artifacts", type=_FOLDER, metavar="DIR", help="Write a run file for each broken clause.")
@click.option("--expected", type=click.Path(path_type=Path, dir_okay=False), help="A YAML file of known failures.")
@click.option("--no-color", is_flag=True, help="Print without colours; so does the environment variable NO_COLOR.")
def merchant(path: Path, **options: Any) -> None:  # noqa: ANN401 - those above
    """Play each clause against your shop, and say which ones it breaks. PATH is a merchant.yaml."""
    from paydouble.cli.conformance_run import Options, run

    _check_kind(path)
    sys.exit(run(path, Options(**options)))


def _check_kind(path: Path) -> None:
    """Raise `UsageError` for an adapter in Python, which has no calls that are written down."""
    if names_python(str(path)):
        raise UsageError(
            f"'{printable(str(path))}' is an adapter in Python, and this command takes a merchant.yaml; "
            f"paydouble explore {printable(shlex.quote(str(path)))} begins with a payment that meets no trouble, and "
            "says which method fails"
        )
