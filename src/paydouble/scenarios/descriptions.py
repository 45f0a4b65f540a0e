"""The parts of a scenario described in a few words, for drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from paydouble.core.durations import format_duration
from paydouble.scenarios.play import Action, Deposit, PayerAction
from paydouble.scenarios.steps import (
    AwaitPayer,
    DisputeSpec,
    Leaf,
    Moment,
    OpenDispute,
    OpenRefund,
    RefundSpec,
    Transition,
    TransitionStep,
    When,
)

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

_OF_A_FAULT = ("phase", "skip", "times", "probability", "ttl")
_PAYER = {"pay": "pays", "decline": "is declined", "abandon": "gives up"}
_EVIDENCE = {"none": "no evidence", "submitted": "evidence submitted"}


def leaf(step: Leaf) -> str:
    """Describe a step that contains no others: `failed (card_declined: Declined.)`, `a dispute arrives (50%)`."""
    match step:
        case OpenDispute():
            return _opening("a dispute arrives", step.dispute)
        case OpenRefund():
            return _opening("the provider makes a refund", step.refund)
        case TransitionStep():
            return _transition(step)
        case _:
            assert_never(step)


def _transition(step: Transition) -> str:
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


def _opening(what: str, spec: DisputeSpec | RefundSpec) -> str:
    special = [] if spec.amount is None else [portion(spec.amount)]
    if "reason" in spec.model_fields_set and spec.reason:
        special.append(spec.reason)
    return f"{what} ({', '.join(special)})" if special else what


def portion(text: str) -> str:
    """Describe an amount that may be relative to another one: `45.00`, `2% less`."""
    if text[0] == "+":
        return f"{text[1:]} more"
    return f"{text[1:]} less" if text[0] == "-" else text


def condition(when: When) -> str:
    """Describe the condition of a branch: `no refund and evidence submitted`."""
    asked: list[str] = []
    if isinstance(when.refund, Moment):
        word, event = ("before", when.refund.before) if when.refund.before else ("after", when.refund.after)
        asked.append(f"refund requested {word} {event}")
    elif when.refund is not None:
        asked.append("no refund" if when.refund == "none" else f"refund {when.refund}")
    if when.evidence is not None:
        asked.append(_EVIDENCE[when.evidence])
    if when.dispute is not None:
        asked.append("no dispute" if when.dispute == "none" else f"dispute {when.dispute}")
    return " and ".join(asked)


def wait(step: AwaitPayer) -> str:
    """Describe a wait for the payer: `waits up to 15m for the payer`."""
    return f"waits {'' if step.within is None else f'up to {format_duration(step.within)} '}for the payer"


def side(step: AwaitPayer, name: str) -> str:
    """Describe what the payer does on one side of a wait: `pays`, `does nothing for 15m`."""
    if name != "timeout":
        return _PAYER[name]
    return (
        "does nothing until it expires" if step.within is None else f"does nothing for {format_duration(step.within)}"
    )


def action(done: Action) -> str:
    """Describe an action of the merchant."""
    match done.kind:
        case "deposit":
            more = deposit(done.deposit or Deposit())
            return f"makes one more deposit ({more})" if more else "makes one more deposit"
        case "refund":
            assert done.refund is not None  # noqa: S101 - its kind says so
            amount = done.refund.amount
            return "requests a refund of the rest" if amount is None else f"requests a refund of {amount:f}"
        case "evidence":
            return f"submits evidence ({', '.join(done.evidence or ())})"
        case "accept":
            return "accepts the dispute"
        case "payer":
            assert done.payer is not None  # noqa: S101 - its kind says so
            return f"the payer {payer_action(done.payer)}"
        case kind:
            return f"{kind}s the pay-in"


def payer_action(done: PayerAction) -> str:
    """Describe what the payer does: `is declined (expired_card)`."""
    return _PAYER[done.action] + ("" if done.code is None else f" ({done.code})")


def deposit(wanted: Deposit) -> str:
    """Describe what differs from the default deposit; empty when nothing does."""
    special: list[str] = []
    if wanted.amount is not None:
        special.append(f"{wanted.amount:f} {wanted.currency}")
    if wanted.payment_method is not None:
        special.append(wanted.payment_method.code or wanted.payment_method.type)
    if wanted.expires_in is not None:
        special.append(f"expires in {format_duration(wanted.expires_in * 1000)}")
    return ", ".join(special)


def fault(of: Fault) -> str:
    """Describe a fault: `on api: error (status: 503), operation: deposit-creation, times: 2`."""
    from paydouble.faults.model import document  # noqa: PLC0415 - most scenarios have none

    written: dict[str, Any] = document(of)
    effect = written["effect"]
    details = [f"{name}: {plain(value)}" for name, value in effect.items() if name in of.effect.model_fields_set]
    details = [each for each in details if not each.startswith("type: ")]
    text = f"on {of.on}: {effect['type']}" + (f" ({', '.join(details)})" if details else "")
    own = {name: written[name] for name in _OF_A_FAULT if name in of.model_fields_set and name in written}
    parts = [f"{name}: {plain(value)}" for name, value in {**written.get("match", {}), **own}.items()]
    return ", ".join([text, *parts])


def plain(value: object) -> str:
    """Return a value of a file on one line."""
    return str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
