"""`paydouble explore`: the machine of `paydouble.stateful` on a shop that a file describes.

Exit statuses: 0 nothing was found, 1 a broken rule, 2 unusable arguments or file, 3 the shop cannot be tested, 130
interrupted.
"""

from __future__ import annotations

import shlex
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from paydouble.cli.options import SEED
from paydouble.cli.terminal import Terminal, count
from paydouble.core.durations import parse_duration
from paydouble.core.errors import UsageError
from paydouble.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paydouble.conformance.adapter import HttpMerchant
    from paydouble.conformance.process import ShopProcess
    from paydouble.stateful.coverage import Coverage
    from paydouble.stateful.machine import MerchantMachine
    from paydouble.stateful.verdicts import MerchantBug

_STEPS: Final = 12
_SECOND_MS: Final = 1000
_MOST_EXAMPLES: Final = 100_000
_MOST_FINDINGS: Final = 100
_LEFT_OVER: Final = (
    "In a shop that was just started this play finds nothing. So driver.reset leaves something of an earlier play"
    " behind, such as a variable in memory; let it empty that too, or leave it out of the file."
)
_EXTRA: Final = "the extra hypothesis is missing; install it with: pip install 'paydouble[hypothesis]'"


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default="merchant.yaml")
@click.option("--seed", type=SEED, default=0, show_default=True, help="The same seed plays the same plays.")
@click.option(
    "--examples",
    type=click.IntRange(0, _MOST_EXAMPLES),
    default=100,
    show_default=True,
    help="Random plays after the catalogue; 0 for none.",
)
@click.option("--only", metavar="PHASE", help="Play one phase alone: catalogue, or hunt for the random plays.")
@click.option(
    "--for", "limit", metavar="TIME", help="Stop after this real time, such as 2m; to shorten a finding is not counted."
)
@click.option(
    "--from",
    "first",
    type=click.IntRange(1),
    default=1,
    metavar="PLAY",
    help="Begin the catalogue with this play, to go on where an earlier run has ended.",
)
@click.option(
    "--part",
    metavar="K/N",
    help="Run every N-th play of the catalogue from the K-th on, as one of N runs; the random plays are in part 1.",
)
@click.option(
    "--findings",
    type=click.IntRange(1, _MOST_FINDINGS),
    default=1,
    show_default=True,
    help="Go on until so many different findings.",
)
@click.option(
    "--artifacts",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the run of each play that found something into this folder, for `paydouble replay`.",
)
@click.option("--raw", is_flag=True, help="Keep personal data in that file.")
@click.option("--no-color", is_flag=True, help="Print without colours; so does the environment variable NO_COLOR.")
def explore(
    path: Path,
    seed: int,
    examples: int,
    only: str | None,
    limit: str | None,
    *,
    first: int,
    part: str | None,
    findings: int,
    artifacts: Path | None,
    raw: bool,
    no_color: bool,
) -> None:
    """Look for bugs in a shop of any language: a catalogue of plays, then random ones. PATH is a merchant.yaml."""
    try:
        from paydouble.stateful.machine import MerchantMachine, hunt_settings
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UsageError(_EXTRA) from None
    from hypothesis import seed as seeded

    from paydouble.conformance.adapter import adapter_of
    from paydouble.conformance.calling import CallFailed
    from paydouble.conformance.merchant_file import read_merchant
    from paydouble.stateful.verdicts import AdapterMisfit, MerchantBug

    terminal = Terminal(no_color=no_color)
    adapter = adapter_of(read_merchant(path), path.resolve().parent)
    phases = _phases(only, examples)
    members = {
        "merchant": adapter,
        "seed": seed,
        "phases": phases,
        "seconds": _seconds(limit),
        "first_play": _first(first, adapter, phases),
        "part": _part(part, phases),
        "most_findings": findings,
    }
    began = time.monotonic()
    machine: type[MerchantMachine] = seeded(seed)(type(adapter.__name__, (MerchantMachine,), members))
    try:
        with _interrupted_by_sigterm():
            coverage: Coverage = machine.run(hunt_settings(max(1, examples), _STEPS))
    except MerchantBug:
        _tell_all(terminal, machine, adapter, path, artifacts, raw=raw)
        if findings > 1:
            _sum_up_findings(terminal, machine, path)
        sys.exit(1)
    except (AdapterMisfit, CallFailed) as error:
        for line in str(error).splitlines():
            terminal.say(terminal.red(line))
        terminal.say(f"The shop cannot be tested. Try its calls with: paydouble conformance doctor {path}")
        sys.exit(3)
    except KeyboardInterrupt:
        terminal.say()
        if machine.found:
            _tell_all(terminal, machine, adapter, path, artifacts, raw=raw, is_interrupted=True)
            sys.exit(130)
        _sum_up(terminal, machine.coverage, "Interrupted. Nothing was found so far.")
        _tell_starts(terminal, adapter.process, began)
        sys.exit(130)
    finally:
        if adapter.process is not None:
            adapter.process.kill()
    whole = terminal.green(f"{terminal.good} Nothing was found.")
    cut = f"Nothing was found in the time of --for {limit}; without it, all is played{_going_on(coverage)}."
    _sum_up(terminal, coverage, cut if coverage.was_cut() else whole)
    _tell_starts(terminal, adapter.process, began)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C, so that a run which a limit of CI ends tells what it has found."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell_all(
    terminal: Terminal,
    machine: type[MerchantMachine],
    adapter: type[HttpMerchant],
    path: Path,
    artifacts: Path | None,
    *,
    raw: bool,
    is_interrupted: bool = False,
) -> None:
    found = machine.found
    is_served_afresh = not is_interrupted and adapter.process is not None and adapter.driver.reset is not None
    for number, bug in enumerate(found, 1):
        if number > 1:
            terminal.say()
        if len(found) > 1:
            terminal.say(terminal.bold(f"Finding {number} of {len(found)}"))
        _tell(terminal, bug)
        if artifacts is not None:
            _keep(terminal, bug, artifacts, path, number, raw=raw)
        _tell_place(terminal, bug, _again(path, machine))
        if is_served_afresh and _passes_afresh(machine, adapter, bug):
            terminal.say()
            terminal.say_prose(_LEFT_OVER)
    terminal.say()
    terminal.say("A test to paste begins with:")
    terminal.say("    from paydouble.conformance import merchant_of")
    terminal.say(f"    {adapter.__name__} = merchant_of({str(path)!r})")
    if is_interrupted:
        terminal.say()
        terminal.say("Interrupted, maybe before the shortest play was found.")


def _tell(terminal: Terminal, bug: MerchantBug) -> None:
    first, _, rest = str(bug).partition("\n")
    terminal.say(terminal.red(f"{terminal.bad} {first}"))
    for line in rest.splitlines():
        terminal.say(line)


def _again(path: Path, machine: type[MerchantMachine]) -> str:
    """Return the command that plays the same plays again, without the number to begin with."""
    seed = f" --seed {machine.seed}" if machine.seed else ""
    number, parts = machine.part
    part = f" --part {number}/{parts}" if parts > 1 else ""
    return f"    paydouble explore {shlex.quote(str(path))}{seed}{part} --from"


def _tell_place(terminal: Terminal, bug: MerchantBug, again: str) -> None:
    if bug.place is not None:
        terminal.say()
        terminal.say(f"Play {bug.place.number:,} of {bug.place.of:,} found this. After a fix, go on with it:")
        terminal.say(f"{again} {bug.place.number}")


def _sum_up_findings(terminal: Terminal, machine: type[MerchantMachine], path: Path) -> None:
    coverage = machine.coverage
    terminal.say()
    terminal.say_prose(
        f"{count(len(machine.found), 'finding')}, in {coverage.failed:,} of {coverage.plays:,} plays of the catalogue."
    )
    if coverage.next is not None:
        terminal.say_prose(f"There was no time for {coverage.was_cut()}. To go on:")
        terminal.say(f"{_again(path, machine)} {coverage.next}")


def _going_on(coverage: Coverage) -> str:
    return "" if coverage.next is None else f", and --from {coverage.next} goes on"


def _first(first: int, adapter: type[HttpMerchant], phases: tuple[str, ...]) -> int:
    from paydouble.stateful.catalogue_run import first_of

    if first == 1:
        return first
    if "catalogue" not in phases:
        raise UsageError("the hunt has no numbered plays; leave it out", member="--from")
    return first_of(adapter, first, "--from")


def _part(part: str | None, phases: tuple[str, ...]) -> tuple[int, int]:
    from paydouble.stateful.catalogue_run import part_of

    if part is None:
        return 1, 1
    if "catalogue" not in phases:
        raise UsageError("the hunt has no parts; leave it out", member="--part")
    number, slash, parts = part.partition("/")
    if not (slash and number.isascii() and number.isdecimal() and parts.isascii() and parts.isdecimal()):
        raise UsageError(f"{printable(part)!r} is no part; write 2/4 for the second of four", member="--part")
    return part_of(int(number), int(parts), "--part")


def _passes_afresh(machine: type[MerchantMachine], adapter: type[HttpMerchant], bug: MerchantBug) -> bool:
    """Return whether the play that found something finds nothing in a shop that was just started."""
    from paydouble.conformance.calling import CallFailed
    from paydouble.stateful.catalogue_run import CatalogueRun
    from paydouble.stateful.play_server import serving
    from paydouble.stateful.steps import CataloguePlay, parsed
    from paydouble.stateful.verdicts import AdapterMisfit, MerchantBug

    if adapter.process is not None:
        adapter.process.kill()
    play = CataloguePlay(tuple(map(parsed, bug.calls)), dialect=bug.dialect)
    try:
        with serving(adapter.service_port):
            CatalogueRun(adapter, machine.seed, machine.patience_seconds, machine.shows).one(play)
    except (MerchantBug, AdapterMisfit, CallFailed):
        return False
    return True


def _keep(terminal: Terminal, bug: MerchantBug, folder: Path, merchant: Path, number: int, *, raw: bool) -> None:
    from paydouble.runfile.files import SUFFIX, write_run
    from paydouble.runfile.lines import RunFileError
    from paydouble.runfile.redaction import redacted

    terminal.say()
    if bug.taped is None:
        terminal.say("The run is not written: it is longer than the journals keep.")
        return
    run = bug.taped.run()
    again = f"-{number}" if number > 1 else ""
    target = folder / f"{run.header['play']['merchant']}-{bug.rule.name.lower()}{again}{SUFFIX}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_run(run if raw else redacted(run), target)
    except (OSError, RunFileError) as error:
        terminal.say(f"The run is not written: {error}")
        return
    terminal.say(f"The run is {target}; after a fix:")
    terminal.say(f"    paydouble replay {shlex.quote(str(target))} --merchant {shlex.quote(str(merchant))}")


def _phases(only: str | None, examples: int) -> tuple[str, ...]:
    from paydouble.stateful.machine import PHASES

    if only is not None and only not in PHASES:
        raise UsageError(f"{only!r} is not a phase; there are: {', '.join(PHASES)}", member="--only")
    if only == "hunt" and not examples:
        raise UsageError("the hunt has no plays with --examples 0; give a number, or leave it out", member="--only")
    return (only,) if only else PHASES if examples else PHASES[:1]


def _seconds(limit: str | None) -> float | None:
    if limit is None:
        return None
    try:
        return parse_duration(limit) / _SECOND_MS
    except ValueError as error:
        raise UsageError(str(error), member="--for") from None


def _sum_up(terminal: Terminal, coverage: Coverage, headline: str) -> None:
    terminal.say(headline)
    for line in coverage.summary().splitlines():
        terminal.say_prose(line)


def _tell_starts(terminal: Terminal, process: ShopProcess | None, began: float) -> None:
    """Say what the starts of the shop cost, which is much of a run where a program starts slowly."""
    if process is not None:
        took = f"{process.start_seconds:.0f} of the run's {time.monotonic() - began:.0f} s"
        terminal.say_prose(f"Starts of the shop: {process.starts:,}, which took {took}.")
