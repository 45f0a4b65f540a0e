"""`paydouble conformance merchant`: plays the clauses, shows them as they are played, and writes the reports.

Exit statuses: 0 nothing that binds is broken, 1 it is, 2 unusable arguments or files, 3 what was asked for could not be
tested, 130 interrupted.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from paydouble.cli.terminal import Terminal, count
from paydouble.conformance.clauses import selected
from paydouble.conformance.expected import read_expected
from paydouble.conformance.levels import FAMILIES, LEVELS
from paydouble.conformance.merchant_file import read_merchant
from paydouble.conformance.report import Report, as_json, as_junit
from paydouble.conformance.report_page import as_html
from paydouble.conformance.run import CLAUSES, Result, Unreachable, play
from paydouble.conformance.stage import staged
from paydouble.core.errors import UsageError
from paydouble.core.exit_status import ExitStatus
from paydouble.version import __version__

_SEEDS: Final = 2**24
_MOST_PROBLEMS: Final = 4
_LABEL: Final = 26


class Options(NamedTuple):
    """The options of the command."""

    only: str | None
    strict: bool
    seed: int | None
    html: Path | None
    json_path: Path | None
    junit: Path | None
    artifacts: Path | None
    expected: Path | None
    no_color: bool


def run(path: Path, options: Options) -> int:
    """Run the command; return its exit status."""
    terminal = Terminal(no_color=options.no_color)
    file = read_merchant(path)
    clauses = selected(CLAUSES, options.only)
    known = {} if options.expected is None else read_expected(options.expected)
    outputs: Mapping[Path | None, Callable[[Report], str]] = {
        options.html: as_html,
        options.json_path: as_json,
        options.junit: as_junit,
    }
    for output in outputs:
        _check_folder(output)
    if options.artifacts is not None:
        _make_folder(options.artifacts)
    seed = secrets.randbelow(_SEEDS) if options.seed is None else options.seed
    terminal.say(f"{file.name}: {count(len(clauses), 'clause')}, seed {seed}")
    terminal.say()
    results: list[Result] = []
    started = time.monotonic()
    interrupted = False
    try:
        with staged(file, path.resolve().parent, seed) as stage:
            _show_progress(terminal, play(stage, clauses, options.artifacts), results)
    except Unreachable as problem:
        for line in str(problem).splitlines():
            terminal.say(terminal.red(line))
        terminal.say(f"The shop cannot be tested. Try its calls with: paydouble conformance doctor {path}")
        return ExitStatus.NOT_TESTED
    except KeyboardInterrupt:
        interrupted = True
        terminal.say()
        terminal.say("Interrupted. What was found so far:")
    report = Report(
        file.name,
        str(path),
        __version__,
        seed,
        options.strict,
        frozenset((options.only or "").replace(" ", "").split(",")),
        tuple(results),
        known,
        time.monotonic() - started,
        interrupted,
    )
    _sum_up(terminal, report)
    for output, made in outputs.items():
        if output is not None:
            _write(terminal, output, made(report))
    return ExitStatus.INTERRUPTED if interrupted else report.exit_status


def _show_progress(terminal: Terminal, played: Iterator[Result], results: list[Result]) -> None:
    """Print a line for each family of clauses: on a terminal sign by sign, as they are played."""
    signs = {
        "kept": terminal.green(terminal.good),
        "broken": terminal.red(terminal.bad),
        "not_tested": terminal.dim(terminal.dash),
    }
    live = terminal.width is not None
    for family, group in groupby(played, key=lambda each: each.clause.family):
        line = f"  {family:<3} {FAMILIES[family]:<{_LABEL}}"
        if live:
            terminal.begin(line)
        for result in group:
            results.append(result)
            line += signs[result.verdict]
            if live:
                terminal.begin(signs[result.verdict])
        if live:
            terminal.say()
        else:
            terminal.say(line)


def _sum_up(terminal: Terminal, report: Report) -> None:
    for result in report.broken:
        terminal.say()
        mark = f"{terminal.bad} {result.clause.id} {result.level}  "
        terminal.say_prose(result.headline, first=mark, style=terminal.bold)
        for problem in result.problems[:_MOST_PROBLEMS]:
            terminal.say_prose(problem.seen, first="    seen      ")
            terminal.say_prose(problem.expected, first="    expected  ")
        more = len(result.problems) - _MOST_PROBLEMS
        if more > 0:
            terminal.say(f"    and {count(more, 'problem')} more, which --html and --json show")
        if result.costs:
            terminal.say_prose(result.costs, first="    costs     ")
        terminal.say_prose(result.clause.fix, first="    fix       ")
        if result.clause.id in report.known:
            terminal.say_prose(report.known[result.clause.id], first="    known     ")
        if result.run is not None:
            terminal.say(terminal.dim(f"    run file  {result.run}"))
        terminal.say(terminal.dim(f"    alone     {report.alone(result)}"))
    if report.untested:
        terminal.say()
        terminal.say("Not tested:")
        for reason, results in report.untested.items():
            ids = ", ".join(each.clause.id for each in results)
            terminal.say_prose(f"{ids}: {reason}", first=f"  {terminal.dash} ")
    for name in report.expected.surprises:
        terminal.say()
        terminal.say(
            terminal.red(f"{terminal.bad} {name} is kept, and the file of known failures says broken: remove it there.")
        )
    terminal.say()
    counts = report.counts
    levels = [f"{number} {level}" for level in LEVELS if (number := sum(each.level == level for each in report.broken))]
    inside = f" ({', '.join(levels)})" if levels else ""
    line = (
        f"{counts['kept']} kept, {counts['broken']} broken{inside}, {counts['not_tested']} not tested, "
        f"in {report.seconds:.0f} s; a run fails by {report.binding}."
    )
    good = report.exit_status is ExitStatus.DONE
    terminal.say((terminal.green if good else terminal.red)(f"{terminal.good if good else terminal.bad} {line}"))


def _check_folder(output: Path | None) -> None:
    """Refuse a report that cannot be written, before the run."""
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"{output} cannot be written: there is no folder {output.parent}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror or error}") from None


def _write(terminal: Terminal, output: Path, content: str) -> None:
    try:
        output.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}") from None
    terminal.say(f"{output} is written.")
