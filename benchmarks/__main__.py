"""`python -m benchmarks`: measure, print the table, and with `--write` put it into the page.

With `--peers` it measures other mocks, and writes their page.

Exit status: 0 when every target is met (or not judged), 1 when one is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from benchmarks import (
    comparison,
    create,
    crowd,
    deliveries,
    faults,
    image,
    inspector,
    kit,
    livelog,
    measures,
    memory,
    million,
    outage,
    retries,
    sandboxes,
    scenarios,
    start,
    store,
    suites,
)
from benchmarks.machine import describe, pin
from benchmarks.rows import FULL, QUICK, Benchmark, Row, table
from benchmarks.servers import ROOT

BENCHMARKS: Final[dict[str, Benchmark]] = {
    "create": create.BENCHMARK,
    "livelog": livelog.BENCHMARK,
    "scenarios": scenarios.BENCHMARK,
    "image": image.BENCHMARK,
    "deliveries": deliveries.BENCHMARK,
    "start": start.BENCHMARK,
    "suites": suites.BENCHMARK,
    "sandboxes": sandboxes.BENCHMARK,
    "store": store.BENCHMARK,
    "faults": faults.BENCHMARK,
    "kit": kit.BENCHMARK,
    "retries": retries.BENCHMARK,
    "memory": memory.BENCHMARK,
    "measures": measures.BENCHMARK,
    "inspector": inspector.BENCHMARK,
    "crowd": crowd.BENCHMARK,
    "million": million.BENCHMARK,
    "outage": outage.BENCHMARK,
}
_PAGE = Path(__file__).with_name("page.md")
_PEERS_PAGE = Path(__file__).with_name("peers.md")
_CACHE = ROOT / ".cache" / "peers"


def main() -> int:
    """Run what the arguments ask for."""
    arguments = _arguments()
    if arguments.list:
        names = (
            comparison.titles() if arguments.peers else [name for each in BENCHMARKS.values() for name in each.names]
        )
        print("\n".join(names))
        return 0
    if arguments.profile:
        from benchmarks.profiles import PROFILES  # noqa: PLC0415 - pstats and more that a measurement does not need

        PROFILES[arguments.profile]()
        return 0
    effort = QUICK if arguments.quick else FULL
    pin(-1)
    rows: list[Row] = []
    if arguments.peers:
        text = comparison.table(arguments.peers.resolve(), effort)
    else:
        for name in arguments.only or _chosen(everything=bool(arguments.long or arguments.write or arguments.quick)):
            print(f"measuring: {name}", file=sys.stderr, flush=True)
            rows.extend(BENCHMARKS[name].measure(effort))
        text = table(rows, judged=effort.judged)
    print(f"{describe()}\n\n{text}")
    if arguments.write:
        template = _PEERS_PAGE if arguments.peers else _PAGE
        page = template.read_text("utf-8").replace("{machine}", describe()).replace("{table}", text)
        arguments.write.write_text(page, "utf-8")
    return int(any("missed" in row.verdict(judged=effort.judged) for row in rows))


def _chosen(*, everything: bool) -> list[str]:
    return [name for name, benchmark in BENCHMARKS.items() if everything or not benchmark.takes_minutes]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure paydouble against bare code.")
    parser.add_argument("--quick", action="store_true", help="show in seconds that everything works; judge nothing")
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="measure this part; may be repeated")
    parser.add_argument(
        "--long",
        action="store_true",
        help="measure also what takes minutes: "
        + ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.takes_minutes),
    )
    parser.add_argument(
        "--peers",
        nargs="?",
        type=Path,
        const=_CACHE,
        metavar="FOLDER",
        help="measure other mocks instead; they are installed into this folder (default .cache/peers)",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page with the table to this file")
    parser.add_argument("--list", action="store_true", help="print the names of the rows, and measure nothing")
    parser.add_argument("--profile", choices=["create", "sandbox", "retries", "start"], help="profile a job instead")
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or arguments.only or arguments.profile or arguments.list):
        parser.error("--write takes a whole run: leave --quick, --only, --profile and --list out")
    if arguments.peers and (arguments.only or arguments.profile):
        parser.error("--peers measures all servers of its table: leave --only and --profile out")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
