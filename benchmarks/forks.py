"""How long a fork of a sandbox takes, by the number of its pay-ins: `python -m benchmarks.forks`.

It prints the median and the range of the processor time, garbage collections included.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from paydouble import Sandbox
from paydouble.sandbox.forking import ForkSpec

SIZES: Final = (10, 1_000)
ROUNDS: Final = 25
_DEPOSIT: Final = {
    "amount": 49.9,
    "currency": "EUR",
    "payment_method": {"type": "CREDIT_CARD"},
    "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
}


def world(size: int, *, paid: bool) -> Sandbox:
    """Return a sandbox with so many pay-ins: new ones, or paid ones whose four events were each delivered."""
    box = Sandbox(receiver=lambda _: 200) if paid else Sandbox(notification_url=None)
    for number in range(size):
        deposit = {**_DEPOSIT, "external_identifier": f"order-{number}"}
        if box.handle("POST", "/pay-in/deposit-creation", deposit).status != 200:
            raise SystemExit("benchmarks: no deposit was made")
    if paid:
        box.clock.advance("1h")
    return box


def milliseconds(box: Sandbox) -> list[float]:
    """Return the processor time of each fork, sorted."""
    figures = []
    for _ in range(ROUNDS):
        start = time.process_time()
        box.core.fork(ForkSpec())
        figures.append((time.process_time() - start) * 1e3)
    return sorted(figures)


def main() -> None:
    """Print a line for each size."""
    for size in SIZES:
        for paid in (False, True):
            figures = milliseconds(world(size, paid=paid))
            what = "paid, with four delivered events each" if paid else "new"
            median = figures[len(figures) // 2]
            sys.stdout.write(f"{size:5} pay-ins, {what}: {median:.2f} ms ({figures[0]:.2f} to {figures[-1]:.2f})\n")


if __name__ == "__main__":
    main()
