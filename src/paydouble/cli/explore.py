"""`paydouble explore`: the machine of `paydouble.stateful` on a shop that a file describes, or an adapter in Python.

Exit statuses: 0 nothing was found, 1 a broken rule, 2 unusable arguments or file, 3 the shop cannot be tested, 130
interrupted.
"""

from __future__ import annotations

import pickle
import shlex
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from click.core import ParameterSource

from paydouble.cli.options import SEED
from paydouble.cli.shops import METAVAR, Shop, complete_shops, shop_of
from paydouble.cli.terminal import Terminal, count
from paydouble.core.durations import parse_duration
from paydouble.core.errors import UsageError
from paydouble.core.exit_status import ExitStatus
from paydouble.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis import settings

    from paydouble.stateful.coverage import Coverage
    from paydouble.stateful.machine import MerchantMachine
    from paydouble.stateful.merchant import Merchant
    from paydouble.stateful.verdicts import MerchantBug

_STEPS: Final = 12
_SECOND_MS: Final = 1000
_MOST_EXAMPLES: Final = 100_000
_MOST_FINDINGS: Final = 100
_MOST_JOBS: Final = 100
_LEFT_OVER: Final = (
    "In a shop that was just started this play finds nothing. So driver.reset leaves something of an earlier play"
    " behind, such as a variable in memory: let it empty that too, or leave it out of the file. Or the play depends on"
    " a race, such as work that goes on after an answer without driver.drain."
)
_EXTRA: Final = "the extra hypothesis is missing; install it with: pip install 'paydouble[hypothesis]'"


@click.command()
@click.argument("named", metavar=f"[{METAVAR}]", shell_complete=complete_shops, default="merchant.yaml")
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
    "--jobs",
    type=click.IntRange(1, _MOST_JOBS),
    default=1,
    show_default=True,
    help="Run so many parts at the same time, each with a shop of its own; as many as the computer has processors.",
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
@click.option("--tried", type=click.Path(path_type=Path), hidden=True, help="Write what was tried there; for --jobs.")
@click.option("--raw", is_flag=True, help="Keep personal data in that file.")
@click.option("--no-color", is_flag=True, help="Print without colours; so does the environment variable NO_COLOR.")
def explore(
    named: str,
    seed: int,
    examples: int,
    only: str | None,
    limit: str | None,
    *,
    first: int,
    part: str | None,
    jobs: int,
    findings: int,
    artifacts: Path | None,
    tried: Path | None,
    raw: bool,
    no_color: bool,
) -> None:
    """Look for bugs in a shop of any language: a catalogue of plays, then random ones.

    SHOP is a merchant.yaml, the default, or an adapter in Python: a file, with the name of its class if it has several
    (adapter.py:ShopAdapter), or a module (tests.adapter:ShopAdapter).
    """
    try:
        from paydouble.stateful.machine import MerchantMachine, hunt_settings
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UsageError(_EXTRA) from None
    from hypothesis import seed as seeded

    from paydouble.stateful.processors import processors

    terminal = Terminal(no_color=no_color)
    shop = shop_of(named)
    adapter = shop.adapter
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
    if jobs > 1:
        sys.exit(_at_the_same_time(terminal, shop, jobs, phases, part))
    machine: type[MerchantMachine] = seeded(seed)(type(adapter.__name__, (MerchantMachine,), members))
    report = _Report(terminal, machine, shop, artifacts, raw, time.monotonic(), tried)
    coverage = _played(report, hunt_settings(max(1, examples), _STEPS))
    whole = terminal.green(f"{terminal.good} Nothing was found.")
    cut = f"Nothing was found in the time of --for {limit}; without it, all is played{_going_on(coverage)}."
    report.nothing_found(cut if coverage.was_cut() else whole)
    if coverage.was_cut() and part is None and (number := processors()) > 1:
        terminal.say_prose(f"This computer has {number} processors: --jobs {number} uses all of them.")


def _played(report: _Report, hunt: settings) -> Coverage:
    """Run the machine; returns what was tried. Ends the command with a report unless nothing was found."""
    from paydouble.conformance.calling import CallFailed
    from paydouble.stateful.verdicts import AdapterMisfit, MerchantBug

    with _interrupted_by_sigterm():
        try:
            coverage: Coverage = report.machine.run(hunt)
        except MerchantBug:
            report.found()
            sys.exit(ExitStatus.NEGATIVE)
        except (AdapterMisfit, CallFailed) as error:
            report.failed(error)
            sys.exit(ExitStatus.NOT_TESTED)
        except KeyboardInterrupt:
            report.interrupted()
            sys.exit(ExitStatus.INTERRUPTED)
        finally:
            report.shop.end()
    return coverage


def _at_the_same_time(terminal: Terminal, shop: Shop, jobs: int, phases: tuple[str, ...], part: str | None) -> int:
    """Run this command once for each of so many parts; returns the exit status."""
    from paydouble.cli.explore_jobs import check_jobs, run_parts

    if part is not None:
        raise UsageError("it makes the parts itself; leave --part out", member="--jobs")
    if "catalogue" not in phases:
        raise UsageError("the hunt has no parts; leave it out", member="--jobs")
    check_jobs(shop)
    context = click.get_current_context()
    arguments: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if isinstance(option, click.Option) and name in context.params and name != "jobs" and given:
            arguments.append(option.opts[0] if option.is_flag else f"{option.opts[0]}={context.params[name]}")
    with _interrupted_by_sigterm():
        return run_parts(terminal, [*arguments, "--", shop.named], jobs)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C, so that a run which a limit of CI ends tells what it has found."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Report(NamedTuple):
    """What is said of a run when it is over."""

    terminal: Terminal
    machine: type[MerchantMachine]
    shop: Shop
    artifacts: Path | None
    raw: bool
    began: float
    tried: Path | None
    """Where what was tried is written, instead of being told."""

    def found(self) -> None:
        """Tell all findings of a run that ended because of them, and what was tried until then."""
        self._tell_all()
        self.terminal.say()
        if self.machine.most_findings > 1:
            coverage, findings = self.machine.coverage, count(len(self.machine.found), "finding")
            self.terminal.say_prose(f"{findings}, in {coverage.failed:,} of {coverage.plays:,} plays of the catalogue.")
        self._tell_tried()
        self._tell_next("To go on:")

    def failed(self, error: Exception) -> None:
        """Tell why a run cannot go on, after what it has found."""
        if self.machine.found:
            self._tell_all(is_cut_short=True)
            self.terminal.say()
        for line in str(error).splitlines():
            self.terminal.say(self.terminal.red(line))
        self.terminal.say(self.shop.advice)
        self._tell_next("The catalogue has come to this play. Go on with it:")

    def interrupted(self) -> None:
        """Tell what a run has found until it was interrupted, or what it has tried."""
        self.terminal.say()
        if self.machine.found:
            self._tell_all(is_cut_short=True)
            self.terminal.say()
            self.terminal.say("Interrupted, maybe before the shortest play was found.")
        else:
            self.nothing_found("Interrupted. Nothing was found so far.")
        self._tell_next("To go on:")

    def nothing_found(self, headline: str) -> None:
        """Tell what was tried, and what the starts of the shop cost: they are much of a run where it starts slowly."""
        self.terminal.say(headline)
        self._tell_tried()
        described = self.shop.described
        process = described.process if described is not None else None
        if process is not None:
            took = f"{process.start_seconds:.0f} of the run's {time.monotonic() - self.began:.0f} s"
            self.terminal.say_prose(f"Starts of the shop: {process.starts:,}, which took {took}.")

    def _tell_all(self, *, is_cut_short: bool = False) -> None:
        say, found = self.terminal.say, self.machine.found
        for number, bug in enumerate(found, 1):
            if number > 1:
                say()
            if len(found) > 1:
                say(self.terminal.bold(f"Finding {number} of {len(found)}"))
            self._tell(bug)
            if self.artifacts is not None:
                self._keep(bug, self.artifacts, number)
            if bug.place is not None:
                say()
                say(f"Play {bug.place.number:,} of {bug.place.of:,} found this. After a fix, go on with it:")
                say(f"{self._again()} {bug.place.number}")
            if not is_cut_short and self._passes_afresh(bug):
                say()
                self.terminal.say_prose(_LEFT_OVER)
        say()
        say("A test to paste begins with:")
        for line in self.shop.to_paste:
            say(f"    {line}")

    def _tell(self, bug: MerchantBug) -> None:
        first, _, rest = str(bug).partition("\n")
        self.terminal.say(self.terminal.red(f"{self.terminal.bad} {first}"))
        for line in rest.splitlines():
            self.terminal.say(line)

    def _tell_tried(self) -> None:
        if self.tried is not None:
            self.tried.write_bytes(pickle.dumps(self.machine.coverage))
            return
        for line in self.machine.coverage.summary().splitlines():
            self.terminal.say_prose(line)

    def _tell_next(self, why: str) -> None:
        """Say how a catalogue goes on that was cut short."""
        if self.machine.coverage.next is not None:
            self.terminal.say_prose(why)
            self.terminal.say(f"{self._again()} {self.machine.coverage.next}")

    def _again(self) -> str:
        """Return the command that plays the same plays again, without the number to begin with."""
        seed = f" --seed {self.machine.seed}" if self.machine.seed else ""
        number, parts = self.machine.part
        part = f" --part {number}/{parts}" if parts > 1 else ""
        return f"    paydouble explore {shlex.quote(self.shop.named)}{seed}{part} --from"

    def _passes_afresh(self, bug: MerchantBug) -> bool:
        """Return whether the play that found something finds nothing in a shop that was just started, without reset."""
        from paydouble.conformance.calling import CallFailed
        from paydouble.stateful.catalogue_run import CatalogueRun
        from paydouble.stateful.play_server import serving
        from paydouble.stateful.steps import CataloguePlay, parsed
        from paydouble.stateful.verdicts import AdapterMisfit, MerchantBug

        adapter, machine = self.shop.described, self.machine
        if adapter is None or adapter.process is None or adapter.driver.reset is None:
            return False
        adapter.process.kill()
        play = CataloguePlay(tuple(map(parsed, bug.calls)), dialect=bug.dialect)
        try:
            with serving(adapter.service_port):
                CatalogueRun(adapter, machine.seed, machine.patience_seconds, machine.shows).one(play)
        except (MerchantBug, AdapterMisfit, CallFailed):
            return False
        return True

    def _keep(self, bug: MerchantBug, folder: Path, number: int) -> None:
        from paydouble.runfile.files import SUFFIX, write_run
        from paydouble.runfile.lines import RunFileError
        from paydouble.runfile.redaction import redacted

        say = self.terminal.say
        say()
        if bug.taped is None:
            say("The run is not written: it is longer than the journals keep.")
            return
        run = bug.taped.run()
        part, parts = self.machine.part
        # Parts that run at the same time write into one folder.
        which = f"-part-{part}" if parts > 1 else ""
        again = f"-{number}" if number > 1 else ""
        target = folder / f"{run.header['play']['merchant']}-{bug.rule.name.lower()}{which}{again}{SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_run(run if self.raw else redacted(run), target)
        except (OSError, RunFileError) as error:
            say(f"The run is not written: {error}")
            return
        say(f"The run is {target}; after a fix:")
        say(f"    paydouble replay {shlex.quote(str(target))} --merchant {shlex.quote(self.shop.named)}")


def _going_on(coverage: Coverage) -> str:
    return "" if coverage.next is None else f", and --from {coverage.next} goes on"


def _first(first: int, adapter: type[Merchant], phases: tuple[str, ...]) -> int:
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
