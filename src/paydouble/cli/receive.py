"""`paydouble receive`: a webhook receiver that verifies, and prints a line for each event that it gets."""

from __future__ import annotations

import shlex
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from paydouble.cli.terminal import Terminal

if TYPE_CHECKING:
    from paydouble.testing.receiver import Received, Receiver

_EVERYBODYS_SECRET = "whsec_sandbox"  # noqa: S105 - as the documentation says
_WIDTH = 100
_INDENT = " " * 10


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8081, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--secret",
    envvar="PAYDOUBLE_WEBHOOK_SECRET",
    show_envvar=True,
    default=_EVERYBODYS_SECRET,
    show_default=True,
    help="The webhook secret to verify with.",
)
@click.option(
    "--fail-first",
    type=click.IntRange(0, 100_000),
    default=0,
    metavar="N",
    help="Answer the first N verified deliveries with 500, to see them come again.",
)
@click.option(
    "--status",
    type=click.IntRange(200, 599),
    default=200,
    show_default=True,
    metavar="CODE",
    help="What verified deliveries are answered with.",
)
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def receive(*, host: str, port: int, secret: str, fail_first: int, status: int, no_color: bool) -> None:
    """Print a line for each webhook that arrives, until told to stop (SIGTERM, SIGINT).

    What verifies is answered with 200, or as the options say; what does not, with 400 or 401.
    """
    import asyncio

    from paydouble.testing.receiver import Receiver

    log = Log(Terminal(no_color=no_color))
    receiver = Receiver(secret, host=host, port=port, on_delivery=log.delivery)
    receiver.answer_next(*[500] * fail_first)
    receiver.status = status
    asyncio.run(_run(receiver, log))


async def _run(receiver: Receiver, log: Log) -> None:
    import asyncio
    import signal

    stopped = asyncio.Event()
    log.on_broken_pipe = stopped.set
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with receiver:
        log.start(receiver)
        await stopped.wait()
    log.end()


class Log:
    """Prints what happens."""

    def __init__(self, terminal: Terminal) -> None:
        """Print to a terminal."""
        self._terminal = terminal
        self._explained: set[str] = set()
        self._broken = False
        self._counts: Counter[str] = Counter()
        self.on_broken_pipe: Callable[[], None] = _nothing

    def start(self, receiver: Receiver) -> None:
        """Say where the receiver is and how to point a server at it."""
        secret = "" if receiver.secret == _EVERYBODYS_SECRET else f" --webhook-secret {shlex.quote(receiver.secret)}"
        self._terminal.say(f"paydouble receives at {receiver.url} and verifies with {receiver.secret}")
        self._terminal.say(f"  send events here:   paydouble serve --notification-url {receiver.url}{secret}")

    def delivery(self, received: Received) -> None:
        """Print one delivery; the first time that a cause turns up, also what to do about it."""
        self._counts.update(received=1, verified=int(received.verified), duplicates=int(received.duplicate))
        # The answer must go out even when nobody reads what we print any more.
        try:
            self._terminal.say(line(received, self._terminal))
            why = received.diagnosis
            if why is not None and why.cause not in self._explained:
                self._explained.add(why.cause)
                for text in (f"{why.message}.", f"To do: {why.remedy}."):
                    self._terminal.say(textwrap.fill(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT))
        except BrokenPipeError:
            self._broken = True
            self.on_broken_pipe()

    def end(self) -> None:
        """Print the sum."""
        if self._broken:
            sys.stdout = None  # or Python would complain when it flushes at exit
            return
        counts = self._counts
        self._terminal.say(
            f"stopped: {counts['received']} received, {counts['verified']} verified, duplicates: {counts['duplicates']}"
        )


def line(received: Received, terminal: Terminal) -> str:
    """Return what one delivery is: time, type, object, state, whether it verified, and the answer."""
    data = received.event.get("data")
    resource = data.get("object") if isinstance(data, dict) else None
    resource = resource if isinstance(resource, dict) else {}
    state = " ".join(_shown(resource[name]) for name in ("status", "amount", "currency") if name in resource)
    if received.diagnosis is None:
        verdict = terminal.green(f"{terminal.good} verified")
    else:
        verdict = terminal.red(f"{terminal.bad} {received.diagnosis.cause}")
    verdict += f" {terminal.arrow} {received.answered}"
    if received.duplicate:
        verdict += ", duplicate"
    elif received.attempt > 1:
        verdict += f", attempt {received.attempt}"
    at = time.strftime("%H:%M:%S", time.localtime(received.at))
    kind = _shown(received.event.get("type", "not an event"))
    return f"{terminal.dim(at)}  {kind:<17}  {_shown(resource.get('id', '-')):<30}  {state:<20}  {verdict}"


def _shown(value: Any) -> str:  # noqa: ANN401 - JSON is any, and this came from anybody
    """Return a value as one short word that can do nothing to a terminal."""
    return str(value)[:40].encode("unicode_escape").decode()


def _nothing() -> None:
    pass
