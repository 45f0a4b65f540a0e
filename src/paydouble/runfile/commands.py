"""The lines of a run: how an entry of a recording is written, and what a written command does to a sandbox.

`write` makes a line from an entry. A line with `do` is a command, with `is` a result, with `note` a text for people.
`COMMANDS` has for each control command what carries it out; `player.py` calls it when the sandbox's clock has been
moved to the instant of the command (`at`), and carries out requests and attempts itself. The names of control commands
are those of their control calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from paydouble.api.handlers.pay_ins import play_scenario
from paydouble.api.schemas import DepositRequest
from paydouble.config import load_settings
from paydouble.core.documents import Document
from paydouble.faults.model import ApiFault, WebhookFault, document, parse_fault
from paydouble.journal import RequestEntry
from paydouble.payments.events import Event
from paydouble.payments.resources import Dispute, Failure, PayIn, Payout, Refund, Resource
from paydouble.runfile.headers import standing
from paydouble.runfile.lines import (
    Line,
    instant,
    read_instant,
    without_nothing,
    write_block,
    write_bytes,
    write_pairs,
    write_text,
)
from paydouble.sandbox.recording import Answered, Continued, Did, Entry, Remark, Settled, Taken, Ticked
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import PayerAction
from paydouble.scenarios.reading import parse_text
from paydouble.scenarios.writing import write_scenario

if TYPE_CHECKING:
    from paydouble.sandbox import Sandbox

# The members of control commands that are instants.
_INSTANTS: Final = frozenset({"start"})


def write(entry: Entry) -> Line:
    """Return an entry of a recording as a line."""
    return _WRITERS[type(entry)](entry)


def _continued(entry: Continued) -> Line:
    return without_nothing(
        {
            "do": "continue",
            "at": instant(entry.at),
            "wall": _wall(entry.wall),
            "request": entry.entry.id,
            "joined": entry.joined,
        }
    )


def _event(event: Event) -> Line:
    return without_nothing(
        {
            "is": "event",
            "at": instant(event.created_at),
            "id": event.id,
            "type": event.type,
            "object": event.object_id,
            "request": event.request_id,
            "body": write_bytes(event.body),
        }
    )


def _tick(entry: Ticked) -> Line:
    return {"do": "tick", "at": instant(entry.at)}


def _control(did: Did) -> Line:
    members = {name: _written(name, value) for name, value in did.members.items()}
    return {"do": did.name, "at": instant(did.at), **members}


def _note(remark: Remark) -> Line:
    return {"note": remark.text}


def _request(entry: RequestEntry) -> Line:
    return without_nothing(
        {
            "do": "request",
            "at": instant(entry.at),
            "wall": _wall(entry.arrived),
            "id": entry.id,
            "method": entry.method,
            "target": write_text(entry.target),
            "headers": write_block(entry.headers),
            "body": write_bytes(entry.body if entry.whole_body is None else entry.whole_body),
            "body_error": entry.body_error,
            "remote": entry.remote,
            "checkout": entry.checkout,
        }
    )


def _answer(answered: Answered) -> Line:
    entry, wire = answered.entry, answered.wire
    shown = {
        "is": "answer",
        "request": entry.id,
        "status": entry.status,
        "headers": write_pairs(entry.response_headers),
        "body": write_bytes(entry.response_body),
        "faults": list(entry.faults),
        "delay_ms": answered.delay_ms,
    }
    if wire is not None:
        shown["wire"] = {"kind": wire.kind, "seconds": wire.seconds, "fraction": wire.fraction, "by": wire.by}
    return without_nothing(shown)


def _attempt(taken: Taken) -> Line:
    delivery, attempt = taken.delivery, taken.attempt
    how = attempt.transport
    return without_nothing(
        {
            "do": "attempt",
            "at": instant(taken.at),
            "wall": _wall(taken.wall),
            "delivery": delivery.id,
            "number": attempt.number,
            "endpoint": write_text(taken.endpoint),
            "event": delivery.event.id,
            "headers": write_pairs(attempt.headers),
            "body": None if attempt.body == delivery.event.body else write_bytes(attempt.body),
            "transport": None if how.kind == "plain" else how.kind,
            "faults": list(attempt.faults),
        }
    )


def _outcome(settled: Settled) -> Line:
    outcome = settled.outcome
    error = outcome.error
    return without_nothing(
        {
            "do": "outcome",
            "at": instant(settled.at),
            "delivery": settled.delivery.id,
            "number": settled.attempt.number,
            "wall": _wall(outcome.sent_at),
            "status": outcome.status,
            "error": None if error is None else {"kind": error.kind, "message": write_text(error.message)},
            "headers": write_pairs(outcome.response_headers),
            "body": write_bytes(outcome.response_body),
            "latency_ms": outcome.latency_ms,
        }
    )


_WRITERS: Final[Mapping[type[Entry], Callable[[Any], Line]]] = {
    RequestEntry: _request,
    Continued: _continued,
    Answered: _answer,
    Event: _event,
    Taken: _attempt,
    Settled: _outcome,
    Ticked: _tick,
    Did: _control,
    Remark: _note,
}


def _wall(milliseconds: int) -> str | None:
    return instant(milliseconds) if milliseconds else None


def _written(name: str, value: Any) -> Any:  # noqa: ANN401 - a member of any command
    if isinstance(value, ApiFault | WebhookFault):
        return document(value)
    if isinstance(value, Scenario):
        return write_scenario(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=isinstance(value, PayerAction))
    if isinstance(value, Failure):
        return value.document()
    return instant(value) if name in _INSTANTS else value


def wall_of(line: Line) -> int:
    """Return the machine's time of a command in milliseconds; 0 without one."""
    text = line.get("wall")
    return 0 if text is None else read_instant(text)


# What carries a control command out


def _transition(box: Sandbox, line: Line) -> None:
    given = line.get("failure")
    failure = None if given is None else Failure(given["code"], given["message"])
    box.force_transition(_resource(box, line), line["to"], failure=failure, force=line["force"])


def _set_clock(box: Sandbox, line: Line) -> None:
    box.set_clock(standing(read_instant(line["start"]), line["mode"], float(line["rate"])))


def _play(box: Sandbox, line: Line) -> None:
    members: Document = line["deposit"]
    amount = members.get("amount")
    exact = {**members, "amount": None if amount is None else Decimal(amount)}
    play_scenario(box, DepositRequest.model_validate(exact), box.scenario(line["name"]))


def _refund(box: Sandbox, line: Line) -> None:
    box.open_refund(_pay_in(box, line), amount=line["amount"], reason=line["reason"])


def _dispute(box: Sandbox, line: Line) -> None:
    box.open_dispute(_pay_in(box, line), amount=line["amount"], reason=line["reason"], force=line["force"])


def _resource(box: Sandbox, line: Line) -> Resource:
    for kind in (PayIn, Refund, Dispute, Payout):
        found = box.ledger.find(line["id"])
        if isinstance(found, kind):
            return found
    raise KeyError(line["id"])


def _pay_in(box: Sandbox, line: Line) -> PayIn:
    return box.ledger.get(PayIn, line["id"])


COMMANDS: Final[Mapping[str, Callable[[Sandbox, Line], object]]] = {
    "tick": lambda box, _: box.tick(),
    "clock-set": _set_clock,
    "sandbox-change": lambda box, line: box.apply(load_settings(line["settings"])),
    "fault-add": lambda box, line: box.add_fault(parse_fault(line["fault"])),
    "fault-change": lambda box, line: box.change_fault(line["id"], parse_fault(line["fault"])),
    "fault-remove": lambda box, line: box.remove_fault(line["id"]),
    "quota-restart": lambda box, _: box.restart_quota(),
    "transition": _transition,
    "refund-open": _refund,
    "dispute-open": _dispute,
    "pay-in-payer": lambda box, line: box.payer_acts(_pay_in(box, line), PayerAction.model_validate(line["act"])),
    "event-emit": lambda box, line: box.emit_event(line["type"], _resource(box, line)),
    "webhook-test": lambda box, line: box.send_test_webhook(line["type"]),
    "webhook-change": lambda box, line: box.set_notification_url(line["notification_url"]),
    "webhook-rotate": lambda box, line: box.rotate_secret(line["grace"]),
    "webhook-replace": lambda box, line: box.replace_secret(line["secret"]),
    "delivery-redeliver": lambda box, line: box.redeliver(box.delivery(line["id"])),
    "delivery-hold": lambda box, line: box.hold(box.delivery(line["id"])),
    "delivery-release": lambda box, line: box.release(box.delivery(line["id"])),
    "scenario-add": lambda box, line: box.upload_scenario(parse_text(line["scenario"])),
    "scenario-activate": lambda box, line: box.activate_scenario(line["name"]),
    "scenario-play": _play,
}
"""By name: what carries a control command out."""
