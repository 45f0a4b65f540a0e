"""`paydouble receive`: a webhook receiver that verifies, and prints a line for each event that it gets."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from paydouble.cli.options import event_filter, events_option
from paydouble.cli.terminal import Terminal
from paydouble.cli.writing import LineWriter
from paydouble.timeline import money, payment, resource_of, word

if TYPE_CHECKING:
    from paydouble.testing.receiver import Received, Receiver

_DEFAULT_SECRET = "whsec_sandbox"  # noqa: S105 - documented, not secret
_INDENT = " " * 10
# Pay-ins whose order is remembered, for the refunds and disputes that name nothing else.
_MOST_ORDERS = 10_000


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8081, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--secret",
    envvar="PAYDOUBLE_WEBHOOK_SECRET",
    show_envvar=True,
    default=_DEFAULT_SECRET,
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
@events_option()
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def receive(
    *, host: str, port: int, secret: str, fail_first: int, status: int, events: Sequence[str], no_color: bool
) -> None:
    """Print a line for each webhook that arrives, until it is stopped (SIGTERM, SIGINT).

    What verifies is answered with 200, or as the options say; what does not, with 400 or 401. With
    --events all are answered, and some are shown.
    """
    import asyncio

    from paydouble.testing.receiver import Receiver

    log = Log(Terminal(no_color=no_color), event_filter(events))
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

    def __init__(self, terminal: Terminal, wanted: Callable[[str], bool] | None = None) -> None:
        """Print to a terminal, only of events whose type is `wanted`, if that is given."""
        self._terminal = terminal
        self._out = LineWriter(sys.stdout)
        self._wanted = wanted
        self._explained: set[str] = set()
        self._orders: dict[str, str] = {}
        self._day = ""
        self._broken = False
        self._counts: Counter[str] = Counter()
        self.on_broken_pipe: Callable[[], None] = _nothing

    def start(self, receiver: Receiver) -> None:
        """Say where the receiver is and how to point a server at it."""
        secret = "" if receiver.secret == _DEFAULT_SECRET else f" --webhook-secret {shlex.quote(receiver.secret)}"
        self._say(f"paydouble receives at {receiver.url} and verifies with {receiver.secret}")
        self._say(f"  send events here:   paydouble serve --notification-url {receiver.url}{secret}")
        self._date(time.time())

    def delivery(self, received: Received) -> None:
        """Print one delivery; the first time that a cause turns up, also what to do about it."""
        kind = received.event.get("type")
        shown = self._wanted is None or (isinstance(kind, str) and self._wanted(kind))
        self._counts.update(
            received=1, verified=int(received.verified), duplicates=int(received.duplicate), hidden=int(not shown)
        )
        if not shown:
            return
        self._date(received.at)
        for line in self._lines(received):
            self._say(line)
        why = received.diagnosis
        if why is not None and why.cause not in self._explained:
            self._explained.add(why.cause)
            for text in (f"{why.message}.", f"To do: {why.remedy}."):
                for line in self._terminal.prose(text, first=_INDENT):
                    self._say(line)

    def end(self) -> None:
        """Print the totals."""
        if self._broken:
            sys.stdout = None  # or Python would complain when it flushes at exit
            return
        counts = self._counts
        hidden = f", not shown: {counts['hidden']}" if self._wanted is not None else ""
        self._say(
            f"stopped: {counts['received']} received, {counts['verified']} verified, "
            f"duplicates: {counts['duplicates']}{hidden}"
        )

    def _say(self, line: str) -> None:
        # The answer must go out even when nobody reads what we print any more, or a disk is full.
        if isinstance(self._out.write(self._terminal.shown(line)), BrokenPipeError):
            self._broken = True
            self.on_broken_pipe()

    def _date(self, at: float) -> None:
        """Print the date and the time zone when another day has begun."""
        day = time.strftime("%Y-%m-%d", time.localtime(at))
        if day != self._day:
            self._day = day
            self._say(self._terminal.bold(f"{day}, local time (UTC{_zone(at)})"))

    def _lines(self, received: Received) -> list[str]:
        """Return what one delivery is: time, type, payment, amount, whether it verified, and the answer."""
        out = self._terminal
        if received.diagnosis is None:
            verdict = out.green(f"{out.good} verified")
        else:
            verdict = out.red(f"{out.bad} {received.diagnosis.cause}")
        verdict += f" {out.arrow} {received.answered}"
        if received.duplicate:
            verdict += ", duplicate"
        elif received.attempt > 1:
            verdict += f", attempt {received.attempt}"
        at = time.strftime("%H:%M:%S", time.localtime(received.at))
        kind = word(received.event.get("type", "not an event"))
        what = "  ".join(filter(None, self._about(received))) or "-"
        return out.fold(f"{out.dim(at)}  {kind:<17}", [f"{what:<22}", verdict], len(_INDENT))

    def _about(self, received: Received) -> tuple[str, str]:
        """Return the merchant's name for the payment, as far as it is known, and the amount."""
        resource = resource_of(received.body)
        name = payment(resource)
        pay_in, order = resource.get("id"), resource.get("external_identifier")
        if received.verified and resource.get("object") == "payin" and isinstance(pay_in, str) and order:
            self._orders[pay_in] = word(order)
            if len(self._orders) > _MOST_ORDERS:
                del self._orders[next(iter(self._orders))]
        elif isinstance(resource.get("payin_id"), str):
            name = self._orders.get(resource["payin_id"], name)
        return name, money(resource)


def _zone(at: float) -> str:
    offset = time.strftime("%z", time.localtime(at))
    return f"{offset[:3]}:{offset[3:]}"


def _nothing() -> None:
    pass
