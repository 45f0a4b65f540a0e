"""Runs the machine over the shops of this folder, and over the zoo: `python tests/shops --help`.

The shops were written without a look at the machine. Each has a table of mistakes that are switched on one at a time.
The zoo of `tests/zoo` grew with the machine. Its variants that a named test catches, not the machine, are left out.
Every run is a process of its own, at the settings that the guide recommends.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "zoo"))
sys.path.append(str(Path(__file__).parents[2] / "tools"))

import hypothesis
from bugzoo.adapter import ZooMerchant
from bugzoo.table import VARIANTS
from hypothesis import HealthCheck, Phase

import paydouble
from kept import Kept, digest_of
from paydouble.stateful import Merchant, MerchantMachine
from paydouble.stateful.machine import PHASES, PhaseName

SHOPS = {
    "flask": "FlaskAdapter",
    "fastapi": "FastapiAdapter",
    "django": "DjangoAdapter",
    "aiohttp": "AiohttpAdapter",
    "worker": "WorkerAdapter",
    "event": "EventAdapter",
    "falcon": "FalconAdapter",
    "starlette": "StarletteAdapter",
    "bottle": "BottleShop",
    "tornado": "TornadoShop",
    "plain": "PlainShop",
}
ZOO: Final = "zoo"
# Those of guides/machine.
EXAMPLES = 100
STEPS = 12
STALL_SECONDS = 600.0
_END: Final = "<!-- end of the table -->"


def digest_of_code() -> str:
    """Return a digest of the machine and of all shops."""
    tests = Path(__file__).parents[1]
    return digest_of(Path(paydouble.__file__).parent, tests / "shops", tests / "zoo")


class Options(NamedTuple):
    """What is run, and for how long."""

    seeds: int
    examples: int
    stall: float
    """Real seconds after which a run is ended."""
    phases: tuple[PhaseName, ...]
    jobs: int
    """Runs at the same time."""
    kept: Kept


def mistakes(shop: str) -> dict[str, str]:
    """Return the table of a shop, or that of the zoo: each mistake, and what it does."""
    if shop == ZOO:
        return {each.name: each.does for each in VARIANTS if each.test is None}
    table: dict[str, str] = importlib.import_module(f"{shop}shop.mistakes").MISTAKES
    return table


def merchant_with(shop: str, mistake: str) -> type[Merchant]:
    """Return the adapter of a shop with one mistake; with none when `mistake` is empty."""
    if shop == ZOO:
        return next((each.merchant for each in VARIANTS if each.name == mistake), ZooMerchant)
    adapter: type[Merchant] = getattr(importlib.import_module(f"{shop}shop.adapter"), SHOPS[shop])
    return type(adapter.__name__, (adapter,), {"bugs": frozenset({mistake} if mistake else ())})


def hunt(shop: str, mistake: str, seed: int, examples: int, phases: tuple[PhaseName, ...]) -> None:
    """Run phases of the machine in this process, and print its report as JSON."""
    logging.disable()
    merchant = merchant_with(shop, mistake)
    told = ""
    started = time.process_time()
    machine: Any = hypothesis.seed(seed)(
        type("ShopMachine", (MerchantMachine,), {"merchant": merchant, "phases": phases})
    )
    # As in the guide, but without shrinking: what is measured is the time until something is found.
    settings = hypothesis.settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        with contextlib.redirect_stdout(sys.stderr):  # the summary of the machine
            machine.run(settings)
    except Exception as error:  # noqa: BLE001 # whatever it tells is the result
        told = str(error) or type(error).__name__
    print(json.dumps({"told": told, "seconds": time.process_time() - started}))


def hunt_apart(shop: str, mistake: str, seed: int, options: Options, phases: tuple[PhaseName, ...]) -> dict[str, Any]:
    """Run the machine in another process, unless its outcome is kept; return it."""
    run = f"{shop} {mistake or 'correct'}, seed {seed}, {options.examples} examples, {' and '.join(phases)}"
    return options.kept.outcome_of(run, lambda: run_apart(shop, mistake, seed, options, phases))


def run_apart(shop: str, mistake: str, seed: int, options: Options, phases: tuple[PhaseName, ...]) -> dict[str, Any]:
    """Run the machine in another process; return what it told, and the processor seconds until then."""
    command = [sys.executable, str(Path(__file__).parent), "--worker", "--shop", shop, "--only", mistake]
    command += ["--phases", *phases]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [*command, "--seeds", str(seed), "--examples", str(options.examples)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=options.stall,
                check=True,
            )
        except subprocess.TimeoutExpired:
            return {"told": "", "seconds": options.stall, "note": f"nothing within {options.stall:.0f} s"}
        except subprocess.CalledProcessError as error:
            return {"told": "", "seconds": 0.0, "note": "broke: " + error.stderr.strip().rpartition("\n")[2]}
    outcome: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return outcome


class Result(NamedTuple):
    """What became of one mistake: for each seed what told it, empty when nothing did, and the processor seconds."""

    shop: str
    mistake: str
    told: tuple[str, ...]
    seconds: tuple[float, ...]
    note: str

    def line(self) -> str:
        """Return its line of the table."""
        marks = "".join("x" if told else "." for told in self.told)
        headline = next(filter(None, self.told), "").partition("\n")[0] or self.note or "not caught"
        return f"  {self.mistake:30} {marks} {median(self.seconds):6.1f} s  {headline}"


def judge(shop: str, mistake: str, options: Options) -> Result:
    """Run the machine on a shop with one mistake.

    The catalogue is the same for every seed, so it is run once; hunts follow when it has found nothing.
    """
    first: dict[str, Any] = {"told": "", "seconds": 0.0}
    if "catalogue" in options.phases:
        first = hunt_apart(shop, mistake, 1, options, ("catalogue",))
    seeds = range(1, options.seeds + 1)
    if first["told"] or "hunt" not in options.phases:
        outcomes = [first for _ in seeds]
    else:
        hunts = [hunt_apart(shop, mistake, seed, options, ("hunt",)) for seed in seeds]
        outcomes = [{**each, "seconds": each["seconds"] + first["seconds"]} for each in hunts]
    return Result(
        shop,
        mistake,
        tuple(each["told"] for each in outcomes),
        tuple(each["seconds"] for each in outcomes),
        next((each["note"] for each in (first, *outcomes) if "note" in each), ""),
    )


def measure(shops: list[str], only: str, options: Options, page: Path | None) -> None:
    """Print a table of what is caught, and write its summary into a page."""
    chosen = [(shop, mistake) for shop in shops for mistake in mistakes(shop) if only in {"", mistake}]
    results: list[Result] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda each: judge(each[0], each[1], options), chosen):
            if not results or results[-1].shop != result.shop:
                print(f"\n{result.shop}")
            print(result.line(), flush=True)
            results.append(result)
    table = summary(results, options)
    print(f"\n{table}")
    if page is not None:
        write_into(page, f"<!-- {' and '.join(options.phases)} -->", table)


def write_into(page: Path, begin: str, table: str) -> None:
    """Replace the table of a page that follows the line `begin`."""
    before, found, rest = page.read_text().partition(begin)
    _, ended, after = rest.partition(_END)
    if not (found and ended):
        sys.exit(f"{page} has no place for the table: a line {begin} and a line {_END}")
    page.write_text(f"{before}{begin}\n{table}\n{_END}{after}")


def summary(results: list[Result], options: Options) -> str:
    """Return the share that was caught in each shop, as a table of Markdown."""
    lines = [
        "| shop | mistakes | caught, by seed | not caught by every seed | seconds to the report, median and p90 |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = {shop: [each for each in results if each.shop == shop] for shop in [*SHOPS, ZOO]}
    if len({each.shop for each in results}) > 1:
        rows["all but the zoo"] = [each for each in results if each.shop != ZOO]
    for shop, these in rows.items():
        if not these:
            continue
        caught = [sum(bool(each.told[seed]) for each in these) for seed in range(options.seeds)]
        rates = ", ".join(f"{number} ({number / len(these):.0%})" for number in caught)
        missed = ", ".join(f"`{each.mistake}`" for each in these if not all(each.told)) if shop in {*SHOPS, ZOO} else ""
        times = sorted(seconds for each in these for told, seconds in zip(each.told, each.seconds, strict=True) if told)
        spans = f"{median(times):.1f}, {times[ceil(0.9 * len(times)) - 1]:.1f}" if times else "–"
        lines.append(f"| {shop} | {len(these)} | {rates} | {missed or '–'} | {spans} |")
    return "\n".join(lines)


def alarm(shops: list[str], options: Options) -> None:
    """Print what the machine says of the shops without mistakes."""
    runs = [(shop, seed) for shop in shops for seed in range(1, options.seeds + 1)]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda run: hunt_apart(run[0], "", run[1], options, options.phases), runs)
        for (shop, seed), outcome in zip(runs, outcomes, strict=True):
            print(f"{shop}, seed {seed}: {options.examples} examples, {outcome['seconds']:.1f} s", end=": ")
            print(outcome["told"] or outcome.get("note", "no alarm"), flush=True)


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="python tests/shops", description=__doc__.partition("\n")[0])
    parser.add_argument("--shop", choices=[*SHOPS, ZOO], help="one shop instead of all")
    parser.add_argument("--only", metavar="MISTAKE", default="", help="one mistake instead of all")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 on (default: 1)")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help=f"for each run (default: {EXAMPLES})")
    parser.add_argument("--stall", type=float, default=STALL_SECONDS, help="seconds after which a run is ended")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once (default: one a core)")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep each run's outcome, and run no kept one again")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the summary into a page")
    parser.add_argument(
        "--correct", type=int, metavar="N", help="run the shops without mistakes for N examples instead"
    )
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES, help="what is run (default: both)")
    parser.add_argument("--list", action="store_true", help="print the tables of mistakes")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shops = [arguments.shop] if arguments.shop else [*SHOPS, ZOO]
    known = {mistake for shop in shops for mistake in mistakes(shop)}
    if arguments.only and arguments.only not in known:
        parser.error(f"no such mistake: {arguments.only}; --list names them")
    phases = tuple(arguments.phases)
    try:
        kept = Kept(arguments.kept, digest_of_code())
    except (OSError, ValueError) as error:
        parser.error(f"--kept: {error}")
    if arguments.worker:
        hunt(shops[0], arguments.only, arguments.seeds, arguments.examples, phases)
    elif arguments.list:
        for shop in shops:
            for mistake, sentence in mistakes(shop).items():
                print(f"{shop:8} {mistake:30} {sentence}")
    elif arguments.correct is not None:
        stall = max(arguments.stall, arguments.correct * 6.0)
        alarm(shops, Options(arguments.seeds, arguments.correct, stall, phases, arguments.jobs, kept))
    else:
        options = Options(arguments.seeds, arguments.examples, arguments.stall, phases, arguments.jobs, kept)
        measure(shops, arguments.only, options, arguments.write)
