"""Runs the machine over the shops of this folder: `python tests/shops --help`.

The shops were written without a look at the machine. Each has a table of mistakes that are switched on one at a time.
Every run is a process of its own, at the settings that the guide recommends.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, Literal

import hypothesis
from hypothesis import HealthCheck, Phase

from paydouble.stateful import Merchant, MerchantMachine

SHOPS = {"flask": "FlaskAdapter", "fastapi": "FastapiAdapter", "django": "DjangoAdapter"}
PhaseName = Literal["catalogue", "hunt"]
PHASES: Final[tuple[PhaseName, ...]] = ("catalogue", "hunt")
# Those of guides/machine.
EXAMPLES = 100
STEPS = 12
STALL_SECONDS = 120.0


def mistakes(shop: str) -> dict[str, str]:
    """Return the table of a shop."""
    table: dict[str, str] = importlib.import_module(f"{shop}shop.mistakes").MISTAKES
    return table


def hunt(shop: str, mistake: str, seed: int, examples: int, phases: tuple[PhaseName, ...]) -> None:
    """Run phases of the machine in this process, and print its report as JSON."""
    logging.disable()
    adapter: type[Merchant] = getattr(importlib.import_module(f"{shop}shop.adapter"), SHOPS[shop])
    bugs = frozenset({mistake} if mistake else ())
    told = ""
    started = time.process_time()
    merchant = type(adapter.__name__, (adapter,), {"bugs": bugs})
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


def hunt_apart(
    shop: str, mistake: str, seed: int, examples: int, stall: float, phases: tuple[PhaseName, ...]
) -> dict[str, Any]:
    """Run the machine in another process; return what it told, and the processor seconds until then."""
    command = [sys.executable, str(Path(__file__).parent), "--worker", "--shop", shop, "--only", mistake]
    command += ["--phases", *phases]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [*command, "--seeds", str(seed), "--examples", str(examples)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=stall,
                check=True,
            )
        except subprocess.TimeoutExpired:
            return {"told": "", "seconds": stall, "note": f"nothing within {stall:.0f} s"}
        except subprocess.CalledProcessError as error:
            return {"told": "", "seconds": 0.0, "note": "broke: " + error.stderr.strip().rpartition("\n")[2]}
    outcome: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return outcome


def measure(
    shops: list[str], only: str, seeds: int, examples: int, stall: float, phases: tuple[PhaseName, ...]
) -> None:
    """Print a table of what is caught."""
    caught = dict.fromkeys(range(1, seeds + 1), 0)
    count = 0
    for shop in shops:
        print(f"\n{shop}")
        for mistake in mistakes(shop):
            if only and mistake != only:
                continue
            count += 1
            outcomes = {seed: hunt_apart(shop, mistake, seed, examples, stall, phases) for seed in caught}
            for seed, outcome in outcomes.items():
                caught[seed] += bool(outcome["told"])
            marks = "".join("x" if outcome["told"] else "." for outcome in outcomes.values())
            first = next((outcome for outcome in outcomes.values() if outcome["told"]), outcomes[1])
            headline = first["told"].partition("\n")[0] or first.get("note", "not caught")
            print(f"  {mistake:30} {marks} {first['seconds']:6.1f} s  {headline}", flush=True)
    print()
    for seed, number in caught.items():
        print(f"seed {seed}: {number} of {count} caught, {number / count if count else 0:.0%}")


def alarm(shops: list[str], seeds: int, examples: int, stall: float, phases: tuple[PhaseName, ...]) -> None:
    """Print what the machine says of the shops without mistakes."""
    for shop in shops:
        for seed in range(1, seeds + 1):
            outcome = hunt_apart(shop, "", seed, examples, stall, phases)
            print(f"{shop}, seed {seed}: {examples} examples, {outcome['seconds']:.1f} s", end=": ")
            print(outcome["told"] or outcome.get("note", "no alarm"), flush=True)


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="python tests/shops", description=__doc__.partition("\n")[0])
    parser.add_argument("--shop", choices=list(SHOPS), help="one shop instead of all")
    parser.add_argument("--only", metavar="MISTAKE", default="", help="one mistake instead of all")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 on (default: 1)")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help=f"for each run (default: {EXAMPLES})")
    parser.add_argument("--stall", type=float, default=STALL_SECONDS, help="seconds after which a run is ended")
    parser.add_argument(
        "--correct", type=int, metavar="N", help="run the shops without mistakes for N examples instead"
    )
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES, help="what is run (default: both)")
    parser.add_argument("--list", action="store_true", help="print the tables of mistakes")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shops = [arguments.shop] if arguments.shop else list(SHOPS)
    known = {mistake for shop in shops for mistake in mistakes(shop)}
    if arguments.only and arguments.only not in known:
        parser.error(f"no such mistake: {arguments.only}; --list names them")
    phases = tuple(arguments.phases)
    if arguments.worker:
        hunt(shops[0], arguments.only, arguments.seeds, arguments.examples, phases)
    elif arguments.list:
        for shop in shops:
            for mistake, sentence in mistakes(shop).items():
                print(f"{shop:8} {mistake:30} {sentence}")
    elif arguments.correct is not None:
        alarm(shops, arguments.seeds, arguments.correct, max(arguments.stall, arguments.correct * 6.0), phases)
    else:
        measure(shops, arguments.only, arguments.seeds, arguments.examples, arguments.stall, phases)
