"""`paydouble scenario`: list, show, check and draw scenario files.

Exit statuses: 0 done or right, 1 a file is wrong or plays otherwise than it says, 2 unusable arguments.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from paydouble.cli.completion import complete_scenarios
from paydouble.cli.options import SEED
from paydouble.cli.terminal import say, say_exactly, say_json
from paydouble.core.errors import UsageError
from paydouble.core.printable import printable

_folders = click.option(
    "--scenarios",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="A folder of your own beside the shipped ones; a file in it replaces the shipped one of its name.",
)


@click.group()
def scenario() -> None:
    """List, show, check and draw scenarios: what happens to a payment, as small files."""


@scenario.command(name="list", short_help="List all scenarios.")
@_folders
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_all(folders: tuple[Path, ...], style: str) -> None:
    """List all scenarios by folder, each with its summary."""
    from paydouble.scenarios.library import read_named

    groups: dict[str, list[tuple[str, Path]]] = {}
    for name, (group, path) in sorted(_files(folders).items()):
        groups.setdefault(group, []).append((name, path))
    # The shipped ones first, in the order of their folders.
    listed = [
        {"group": group, "name": name, "summary": read_named(path).summary, "path": str(path)}
        for group in sorted(groups, key=lambda each: (each in map(str, folders), each))
        for name, path in groups[group]
    ]
    if style == "json":
        import orjson

        say_json(orjson.dumps(listed, option=orjson.OPT_INDENT_2).decode())
        return
    formatter = click.HelpFormatter()
    for group in dict.fromkeys(each["group"] for each in listed):
        with formatter.section(printable(group)):
            inside = [each for each in listed if each["group"] == group]
            formatter.write_dl([(printable(each["name"]), printable(each["summary"])) for each in inside])
    say(*formatter.getvalue().strip("\n").split("\n"))


@scenario.command()
@click.argument("name", metavar="NAME|PATH", shell_complete=complete_scenarios)
@_folders
@click.option("--format", "style", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def show(name: str, folders: tuple[Path, ...], style: str) -> None:
    """Print the file of a scenario, or what it says as JSON."""
    path = _locate(name, folders)
    if style == "yaml":
        text = _text(path).rstrip("\n")
        if sys.stdout.isatty():
            say(*text.expandtabs().splitlines())
        else:
            say_exactly(text)
        return
    from paydouble.core.json_text import dumps
    from paydouble.scenarios.reading import read_scenario
    from paydouble.scenarios.writing import plain

    say_json(dumps(plain(read_scenario(path)), indent=True).decode())


@scenario.command(short_help="Say everything that is wrong with files.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH…")
@click.option("--play", is_flag=True, help="Also play each, twice, and compare the result with what it expects.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the play.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def check(paths: tuple[Path, ...], seed: int, style: str, *, play: bool, no_color: bool) -> int:
    """Say everything that is wrong with files, or with all files in folders."""
    from paydouble.cli.scenario_check import as_json, check_files, report, yaml_files
    from paydouble.cli.terminal import Terminal

    if play and style == "json":
        raise click.UsageError("--play prints text; leave --format out.")
    readings = check_files(yaml_files(paths))
    if style == "json":
        say_json(as_json(readings))
    terminal = Terminal(no_color=no_color)
    wrong = any(reading.wrong for reading in readings)
    if style == "text":
        report(readings, terminal)
    if play:
        from paydouble.cli.scenario_play import play_files

        right = [(Path(each.path), each.value) for each in readings if each.value and not each.wrong]
        wrong = bool(right and play_files(right, terminal, seed=seed)) or wrong
    return int(wrong)


@scenario.command(short_help="Print the JSON Schema of the format.")
def schema() -> None:
    """Print the JSON Schema of the format, with which editors complete and check."""
    from paydouble.scenarios.schema import PATH

    say_json(PATH.read_text("utf-8").rstrip("\n"))


@scenario.command()
@click.argument("name", metavar="NAME|PATH", shell_complete=complete_scenarios)
@_folders
@click.option("--format", "style", type=click.Choice(["text", "mermaid"]), default="text", show_default=True)
def graph(name: str, folders: tuple[Path, ...], style: str) -> None:
    """Draw a scenario as a timeline."""
    from paydouble.scenarios.drawing import draw
    from paydouble.scenarios.reading import read_scenario

    drawn = draw(read_scenario(_locate(name, folders)), "mermaid" if style == "mermaid" else "text")
    say(*drawn.split("\n"))


def _locate(name: str, folders: tuple[Path, ...]) -> Path:
    # What looks like a path is one: no name of a scenario has a dot or a slash.
    return Path(name) if {".", "/", os.sep}.intersection(name) else _find(name, folders)


def _text(path: Path) -> str:
    from paydouble.scenarios.reading import read_file

    reading = read_file(path)
    if not reading.text:  # it cannot be read, or is no text
        first = reading.diagnostics[0]
        raise UsageError(first.sentence, member=first.position)
    return reading.text


def _find(name: str, folders: tuple[Path, ...]) -> Path:
    from paydouble.core.likeness import nearest

    files = _files(folders)
    if name not in files:
        near = nearest(name, files)
        hint = f" did you mean {near!r}?" if near else ""
        raise click.UsageError(f"there is no scenario {name!r};{hint} 'paydouble scenario list' has them all.")
    return files[name][1]


def _files(folders: tuple[Path, ...]) -> dict[str, tuple[str, Path]]:
    """Return each scenario's group and file; later folders replace earlier ones."""
    from paydouble.scenarios.library import shipped_files

    shipped = {name: (path.parent.name, path) for name, path in shipped_files().items()}
    own = {path.stem: (str(folder), path) for folder in folders for path in sorted(folder.rglob("*.yaml"))}
    return {**shipped, **own}
