"""`python -m benchmarks.soak`: sandboxes that come and go, and whether `serve` gives their memory back.

Each round makes a sandbox, creates deposits in it and deletes it; then come as many empty sandboxes at once as a test
suite could make. After the rounds of the warm-up the resident memory must stay within 5 %. Exit status 1 if it does
not, 2 where the system does not tell.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median

from benchmarks.control import controlling
from benchmarks.load import deposit_request, send
from benchmarks.machine import resident_bytes
from benchmarks.servers import running

MOST_GROWTH = 0.05
# What `serve` collects after a delete it collects once it has been quiet for a moment.
_SETTLE_SECONDS = 1.0


def main() -> int:
    """Run the rounds and print what each leaves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=30, help="how many rounds are measured")
    parser.add_argument("--warm-up", type=int, default=5, help="how many rounds go before")
    parser.add_argument("--deposits", type=int, default=1_000, help="deposits of each round's sandbox")
    parser.add_argument("--sandboxes", type=int, default=500, help="empty sandboxes of each round")
    arguments = parser.parse_args()
    figures: list[int] = []
    with running("paydouble") as server:
        for number in range(arguments.warm_up + arguments.rounds):
            _round(server.port, arguments.deposits, arguments.sandboxes)
            time.sleep(_SETTLE_SECONDS)
            resident = resident_bytes(server.pid)
            if resident is None:
                print("soak: this system does not tell how much memory a process has", file=sys.stderr)
                return 2
            print(f"round {number + 1}: {resident / 1e6:.1f} MB", flush=True)
            figures.append(resident)
    measured = figures[arguments.warm_up :]
    share = max(1, len(measured) // 5)
    start, end = median(measured[:share]), median(measured[-share:])
    growth = end / start - 1
    print(f"{start / 1e6:.1f} MB at the start, {end / 1e6:.1f} MB at the end: {growth:+.1%}, at most {MOST_GROWTH:.0%}")
    return int(growth > MOST_GROWTH)


def _round(port: int, deposits: int, sandboxes: int) -> None:
    with controlling(port) as control:
        box = control.post("/sandboxes")
        send(port, [deposit_request(box["business_key"], box["business_secret"]) for _ in range(deposits)])
        control.delete(f"/sandboxes/{box['id']}")
        names = [control.post("/sandboxes")["id"] for _ in range(sandboxes)]
        for name in names:
            control.delete(f"/sandboxes/{name}")


if __name__ == "__main__":
    sys.exit(main())
