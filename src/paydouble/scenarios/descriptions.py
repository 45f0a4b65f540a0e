"""The parts of a scenario in plain words, for drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paydouble.core.durations import format_duration
from paydouble.scenarios.conditions import Moment, When
from paydouble.scenarios.play import Action, Deposit
from paydouble.scenarios.steps import DisputeSpec, OpenDispute, OpenRefund, RefundSpec, Transition

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

_OF_A_FAULT = ("phase", "skip", "times", "probability", "ttl")
_EVIDENCE = {"none": "no evidence", "submitted": "evidence submitted"}


def transition(step: Transition) -> str:
    """Return where a step goes, and what is special about it: `failed (card_declined)`."""
    special: list[str] = []
    failure = getattr(step, "failure", None)
    amount = getattr(step, "amount", None)
    if failure is not None:
        special.append(f"{failure.code}: {failure.message}")
    if amount is not None:
        special.append(f"pays {portion(amount)}")
    if step.force:
        special.append("forced")
    return f"{step.to} ({', '.join(special)})" if special else step.to


def opening(step: OpenDispute | OpenRefund) -> str:
    """Return what begins by itself: `a dispute arrives (50%)`."""
    spec: DisputeSpec | RefundSpec
    if isinstance(step, OpenDispute):
        what, spec = "a dispute arrives", step.dispute
    else:
        what, spec = "a refund begins by itself", step.refund
    special = [] if spec.amount is None else [portion(spec.amount)]
    if "reason" in spec.model_fields_set and spec.reason:
        special.append(spec.reason)
    return f"{what} ({', '.join(special)})" if special else what


def portion(text: str) -> str:
    """Return an amount that depends on another: `2% less`."""
    if text[0] == "+":
        return f"{text[1:]} more"
    return f"{text[1:]} less" if text[0] == "-" else text


def condition(when: When) -> str:
    """Return what a branch asks: `no refund and evidence submitted`."""
    asked: list[str] = []
    if isinstance(when.refund, Moment):
        word, event = ("before", when.refund.before) if when.refund.before else ("after", when.refund.after)
        asked.append(f"refund asked for {word} {event}")
    elif when.refund is not None:
        asked.append("no refund" if when.refund == "none" else f"refund {when.refund}")
    if when.evidence is not None:
        asked.append(_EVIDENCE[when.evidence])
    if when.dispute is not None:
        asked.append("no dispute" if when.dispute == "none" else f"dispute {when.dispute}")
    return " and ".join(asked)


def action(done: Action) -> str:
    """Return what the merchant does."""
    match done.kind:
        case "deposit":
            more = deposit(done.deposit or Deposit())
            return f"makes one more deposit ({more})" if more else "makes one more deposit"
        case "refund":
            assert done.refund is not None  # noqa: S101 - its kind says so
            amount = done.refund.amount
            return "asks for a refund of the rest" if amount is None else f"asks for a refund of {amount:f}"
        case "evidence":
            return f"hands in evidence ({', '.join(done.evidence or ())})"
        case "accept":
            return "accepts the dispute"
        case kind:
            return f"{kind}s the pay-in"


def deposit(wanted: Deposit) -> str:
    """Return what is special about a deposit; nothing when all is as usual."""
    special: list[str] = []
    if wanted.amount is not None:
        special.append(f"{wanted.amount:f} {wanted.currency}")
    if wanted.payment_method is not None:
        special.append(wanted.payment_method.code or wanted.payment_method.type)
    if wanted.expires_in is not None:
        special.append(f"expires in {format_duration(wanted.expires_in * 1000)}")
    return ", ".join(special)


def fault(armed: Fault) -> str:
    """Return what goes wrong on purpose: `on api: error (status: 503), operation: deposit-creation, twice`."""
    from paydouble.faults.model import document  # noqa: PLC0415 - most scenarios have none

    written: dict[str, Any] = document(armed)
    effect = written["effect"]
    details = [f"{name}: {plain(value)}" for name, value in effect.items() if name in armed.effect.model_fields_set]
    details = [each for each in details if not each.startswith("type: ")]
    text = f"on {armed.on}: {effect['type']}" + (f" ({', '.join(details)})" if details else "")
    own = {name: written[name] for name in _OF_A_FAULT if name in armed.model_fields_set and name in written}
    parts = [f"{name}: {plain(value)}" for name, value in {**written.get("match", {}), **own}.items()]
    return ", ".join([text, *parts])


def plain(value: object) -> str:
    """Return a value of a file on one line."""
    return str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
