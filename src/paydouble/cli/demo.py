"""`paydouble demo`: a server, a verifying receiver and five acts between them, in one process and about a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paydouble.cli.options import SEED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from paydouble.cli.demo_stage import Act, Stage
    from paydouble.cli.terminal import Terminal


@click.command()
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of every identifier and draw.")
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def demo(seed: int, no_color: bool) -> int:
    """Show it all in a few seconds: deposits, a refund, a dispute, 50 hours of outage.

    Exits with 0 when all of it came out right, with 1 when not.
    """
    import asyncio
    import time

    from paydouble.cli.terminal import Terminal

    return asyncio.run(_play(Terminal(no_color=no_color), seed, time.perf_counter()))


async def _play(terminal: Terminal, seed: int, started: float) -> int:
    import time

    from paydouble.cli.demo_acts import ACTS
    from paydouble.cli.demo_stage import START, open_stage
    from paydouble.core.durations import format_duration

    terminal.say("A payment service, a merchant and its webhook receiver, over real HTTP.")
    call, event = f"merchant {terminal.arrow}", f"{terminal.arrow} merchant"
    terminal.say(f"Times are the sandbox's. {call} is an API call, {event} a webhook.")
    wrong = 0
    async with open_stage(terminal, seed) as stage:
        for number, (title, act) in enumerate(ACTS, start=1):
            terminal.say()
            terminal.say(terminal.bold(f"{number}. {title[0].upper()}{title[1:]}"))
            wrong += not await _play_act(stage, number, act)
        sandbox_time = format_duration(await stage.now() - START)
    took = f"{sandbox_time} passed in {time.perf_counter() - started:.2f} s of real time"
    terminal.say()
    if wrong:
        terminal.say(terminal.red(f"{terminal.bad} {wrong} of {len(ACTS)} acts went wrong; {took}."))
        return 1
    terminal.say(terminal.green(f"{terminal.good} All {len(ACTS)} acts came out right: {took}."))
    return 0


async def _play_act(stage: Stage, number: int, play: Callable[[Act], Awaitable[str]]) -> bool:
    """Play an act, print its rows and what came out of it; returns whether that was right."""
    from aiohttp import ClientError

    from paydouble.cli.demo_stage import Act, Unexpected
    from paydouble.cli.demo_timeline import print_row, print_verdict

    made = (await stage.control("GET", "/deliveries?limit=1000"))["items"]
    act = Act(stage, number, await stage.now(), len(made))
    verdict = ""
    try:
        verdict = await play(act)
    except (Unexpected, ClientError, TimeoutError) as error:
        act.problems.append(f"the act broke off: {error}")
    for row in act.rows:
        print_row(row, act.began, stage.terminal)
    print_verdict(verdict, act.problems, stage.terminal)
    return not act.problems
