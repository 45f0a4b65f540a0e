"""`paydouble webhook test`: send a sample event from a running server, and print the result.

Exit status: 0 delivered, 1 not delivered, 2 a server, a sandbox or arguments that cannot be used.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

from paydouble.cli.options import control_token_option, server_option
from paydouble.core.exit_status import ExitStatus
from paydouble.core.ids import DEFAULT_ID
from paydouble.payments.events import EVENT_TYPES

if TYPE_CHECKING:
    from paydouble.cli.remote import Box, Document, Stream
    from paydouble.cli.terminal import Terminal

# Added to the receiver's timeout.
_SPARE_SECONDS: Final = 5.0
_UNSENT: Final = {
    "no_endpoint": "the sandbox has no notification URL; start the server with --notification-url, or set one with "
    "PATCH /_paydouble/sandboxes/{sandbox}/webhook",
    "held": "a fault holds it back",
    "dropped": "a fault has dropped it",
}


@click.group()
def webhook() -> None:
    """Send sample webhooks."""


@webhook.command(short_help="Send a sample event, and print its result.")
@server_option()
@control_token_option()
@click.option("--sandbox", default=DEFAULT_ID, show_default=True, help="The sandbox that sends it.")
@click.option(
    "--type",
    "kind",
    type=click.Choice(list(EVENT_TYPES)),
    metavar="TYPE",
    default="pay-in.succeeded",
    show_default=True,
    help="The type of the event, such as refund.failed.",
)
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def test(*, url: str, token: str | None, sandbox: str, kind: str, no_color: bool) -> int:
    """Send a sample event to a sandbox's notification URL, and print the attempt and its result.

    Its object exists only in the event. Exits with 0 when it was delivered, with 1 when not; then the server tries
    again on its schedule, as with any other event.
    """
    from contextlib import closing

    from paydouble.cli.remote import Box
    from paydouble.cli.terminal import Terminal

    out = Terminal(no_color=no_color)
    box = Box(url, token, sandbox)
    with closing(box.follow()) as stream:
        sent = box.control("POST", "/webhook/test", {"type": kind})
        delivery = _wait(stream, sent["id"], time.monotonic() + _patience(box))
    if delivery is None:
        delivery = _delivery(box, sent)
    out.say(f"{kind}  {sent['id']}" + (f"  to {delivery['target']}" if delivery["target"] else ""))
    return _judge(delivery, sandbox, out)


def _patience(box: Box) -> float:
    from paydouble.core.durations import parse_duration

    return parse_duration(box.control("GET", "")["settings"]["webhooks"]["timeout"]) / 1000 + _SPARE_SECONDS


def _wait(stream: Stream, event_id: str, end: float) -> Document | None:
    """Return the delivery of an event's first attempt, or one that will not be sent; None when neither comes."""
    while (note := stream.take(end - time.monotonic())) is not None:
        kind, delivery = note
        ours = kind in {"attempt", "delivery"} and delivery["event_id"] == event_id
        if ours and (kind == "attempt" or delivery["status"] in _UNSENT):
            return delivery
    return None


def _delivery(box: Box, event: Document) -> Document:
    """Return the delivery of an event, as it is now."""
    listed = box.control("GET", f"/deliveries?object_id={event['object_id']}")["items"]
    found: dict[str, Any] = next(each for each in listed if each["event_id"] == event["id"])
    return found


def _judge(delivery: Document, sandbox: str, out: Terminal) -> int:
    """Print the result; returns the exit status."""
    from paydouble.timeline import took

    attempt = delivery.get("attempt")
    if attempt is None:
        due = f", due at {delivery['next_due_at']} on the sandbox's clock" if delivery["next_due_at"] else ""
        why = _UNSENT.get(delivery["status"], f"its delivery is {delivery['status']}{due}").format(sandbox=sandbox)
        out.say(out.red(f"{out.bad} not sent: {why}"))
        return ExitStatus.NEGATIVE
    latency = took(float(attempt["latency_ms"]))
    if attempt["status"] is not None and 200 <= attempt["status"] < 300:  # noqa: PLR2004 - HTTP
        out.say(out.green(f"{out.good} {attempt['status']} {latency}"))
        return ExitStatus.DONE
    error = attempt["error"]
    result = f"{error['kind']} {latency}: {error['message']}" if error else f"{attempt['status']} {latency}"
    out.say(out.red(f"{out.bad} {result}"))
    if delivery["next_due_at"]:
        out.say(f"  again at {delivery['next_due_at']} on the sandbox's clock")
    return ExitStatus.NEGATIVE
