"""Lists of commands for a run: chosen at random, played, shortened while they still fail, printed as calls to paste."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from drive import DAY, HOUR, MINUTE, SECOND, URL
from random_runs import KINDS, RandomRun

from paydouble.payments.lifecycle import TABLES

Command = tuple[str, dict[str, Any]]
Script = list[Command]
SCENARIOS = ["happy-path", "card-declined", "abandoned", "refund-fails"]
SCOPES = [["state", "deliveries", "requests", "clock"], ["state", "clock"], ["state"], ["deliveries"], ["requests"]]


def draw(random: Random, length: int) -> Script:
    """Return a list of commands."""
    which = random.randrange
    makers: list[tuple[int, str, Callable[[], dict[str, Any]]]] = [
        (4, "deposit", lambda: {"amount": random.randint(1, 9_999), "scenario": random.choice(SCENARIOS),
                                "expires_in": random.choice([60, 86_400])}),
        (1, "cancel", lambda: {"which": which(8)}),
        (3, "refund", lambda: {"which": which(8), "amount": random.choice([None, 1, 500, 5_000])}),
        (2, "dispute", lambda: {"which": which(8)}),
        (1, "evidence", lambda: {"which": which(8)}),
        (1, "payout", lambda: {"amount": random.randint(1, 9_999)}),
        (2, "retry", lambda: {"which": which(8)}),
        (1, "misuse", lambda: {"which": which(8)}),
        (2, "force", lambda: _forced(random)),
        (2, "receive", lambda: {"status": random.choice([200, 200, 204, 302, 500, None])}),
        (6, "advance", lambda: {"by": random.choice([1, SECOND, 6 * SECOND, MINUTE, HOUR, DAY - 1, DAY, 8 * DAY])}),
        (1, "rotate", lambda: {"grace": random.choice([0, HOUR])}),
        (1, "aim", lambda: {"url": random.choice([URL, URL + "/2", None])}),
        (1, "reset", lambda: {"scope": random.choice(SCOPES)}),
    ]  # fmt: skip
    weights = [weight for weight, _, _ in makers]
    return [(name, make()) for _, name, make in random.choices(makers, weights, k=length)]


def _forced(random: Random) -> dict[str, Any]:
    kind = random.choice(list(KINDS))
    return {
        "kind": kind,
        "which": random.randrange(8),
        "to": random.choice(list(TABLES[kind])),
        "force": random.random() < 0.3,
    }


def play(script: Script, seed: int) -> RandomRun:
    """Play a list of commands, with every invariant checked after each."""
    run = RandomRun(seed)
    for name, arguments in script:
        getattr(run, name)(**arguments)
        run.check()
    run.end()
    return run


def failure(script: Script, seed: int) -> str | None:
    """Return what goes wrong when a list is played, or None."""
    try:
        play(script, seed)
    except Exception as error:  # noqa: BLE001 - any failure is what is looked for
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return None


def shorten(script: Script, seed: int) -> Script:
    """Return the shortest part of a list that still fails (delta debugging)."""
    size = len(script) // 2
    while size:
        start = 0
        while start < len(script):
            rest = script[:start] + script[start + size :]
            if failure(rest, seed) is None:
                start += size
            else:
                script = rest
        size //= 2
    return script


def reproduction(script: Script, seed: int) -> str:
    """Return a failing list as calls to paste into a test."""
    short = shorten(script, seed)
    calls = []
    for name, arguments in short:
        written = ", ".join(f"{argument}={value!r}" for argument, value in arguments.items())
        calls += [f"run.{name}({written})", "run.check()"]
    return "\n".join([f"# seed {seed}: {failure(short, seed)}", f"run = RandomRun({seed})", *calls, "run.end()"])
