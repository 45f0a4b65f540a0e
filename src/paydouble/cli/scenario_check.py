"""`paydouble scenario check`: the files that are meant, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click
import orjson

from paydouble.cli.terminal import Terminal, count
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import check_file
from paydouble.yamlfile.diagnostics import Diagnostic, render
from paydouble.yamlfile.explaining import MOST_DIAGNOSTICS
from paydouble.yamlfile.reading import Reading

_ENDINGS: Final = (".yaml", ".yml")


def yaml_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that paths name, each once, and those in folders; `click.UsageError` for an empty folder."""
    files: dict[Path, None] = {}
    for path in paths:
        found = [path]
        if path.is_dir():
            found = sorted(each for each in path.rglob("*") if each.suffix in _ENDINGS and not each.is_dir())
            if not found:
                raise click.UsageError(f"there is no file *.yaml in {path}.")
        files |= dict.fromkeys(found)
    return list(files)


def check_files(paths: Sequence[Path]) -> list[Reading[Scenario]]:
    """Return the result of checking each file, alone and with the others."""
    readings = [check_file(path) for path in paths]
    first: dict[str, Reading[Scenario]] = {}
    for path, reading in zip(paths, readings, strict=True):
        if reading.value is None:
            continue
        other = first.setdefault(reading.value.name, reading)
        if other is not reading:
            reading.report(
                [Diagnostic(("name",), f"{other.path} has the same name", advice="the later one would hide it")]
            )
        if path.suffix == ".yml":
            message = "no server looks for files that end in .yml"
            reading.report([Diagnostic((), message, advice=f"call it {path.stem}.yaml", warning=True)])
    return readings


def report(readings: Sequence[Reading[Scenario]], out: Terminal) -> None:
    """Print the findings, and a line that sums them up."""
    for reading in readings:
        for found in reading.diagnostics:
            _show(found, out)
        if len(reading.diagnostics) == MOST_DIAGNOSTICS:
            out.say(out.dim(f"{reading.path}: there may be more; these are the first {MOST_DIAGNOSTICS}"))
    files = count(len(readings), "file")
    every = [found for reading in readings for found in reading.diagnostics]
    warnings = sum(found.warning for found in every)
    noted = f", {count(warnings, 'warning')}" if warnings else ""
    errors = len(every) - warnings
    if errors:
        wrong = sum(reading.wrong for reading in readings)
        out.say(out.red(f"{out.bad} {files}: {count(errors, 'error')} in {wrong}{noted}."))
    else:
        out.say(out.green(f"{out.good} {files}: no errors{noted}."))


def as_json(readings: Sequence[Reading[Scenario]]) -> str:
    """Return the findings of all files as a JSON list; lines and columns count from 1."""
    every = [
        {
            "path": found.path,
            "line": found.span.line + 1,
            "column": found.span.column + 1,
            "length": found.span.length,
            "severity": found.severity,
            "member": found.member,
            "message": found.message,
            "notes": found.notes,
        }
        for reading in readings
        for found in reading.diagnostics
    ]
    return orjson.dumps(every, option=orjson.OPT_INDENT_2).decode()


def _show(found: Diagnostic, out: Terminal) -> None:
    first, *others = render(found)
    severity = found.severity if found.warning else out.red(found.severity)
    out.say(first.replace(f"{found.position}: {found.severity}", f"{out.bold(found.position)}: {severity}", 1))
    for line in others:
        mark = line.lstrip(" |")
        out.say(out.red(line) if mark and not mark.strip("^") else line)
