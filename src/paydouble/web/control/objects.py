"""Control calls about pay-ins, refunds, disputes and payouts, whose outcomes a test forces."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from paydouble import records
from paydouble.config import Flag
from paydouble.core.documents import Document, open_schema, schema
from paydouble.core.json_schema import AMOUNT, TEXT, described, open_object, reference
from paydouble.core.money import to_minor
from paydouble.core.refusals import sentence
from paydouble.payments.resources import Dispute, Failure, PayIn, Payout, Refund, Resource
from paydouble.sandbox import Sandbox
from paydouble.scenarios.play import PayerAction
from paydouble.web.addresses import Reached
from paydouble.web.control.calls import (
    PAGE,
    SANDBOX,
    Body,
    ControlCall,
    Noun,
    TimelineOf,
    listed,
    listing,
    shown,
)
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.replies import ControlError

_MONEY: Final = {
    "refunded_amount": described("What was given back.", AMOUNT),
    "refund_pending_amount": described("What refunds that are not done yet will give back.", AMOUNT),
    "disputed_amount": described("What open disputes are about.", AMOUNT),
    "charged_back_amount": described("What lost and accepted disputes took.", AMOUNT),
}


_PAYER_ADVICE: Final = (
    "Continues the script of a pay-in that waits for its payer (`await: payer`), with the steps for `pay`, `decline` or"
    " `abandon`. Steps without a delay have happened when the call answers. A declined payment fails with `code`,"
    " unless the script names a failure. 409 when the script does not wait for the payer now, or the pay-in is final."
)


def _no_text(value: object) -> object:
    if isinstance(value, str):
        message = sentence("decimal_type", value, {}, "")
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    return value


Amount = Annotated[
    Decimal,
    Field(gt=0),  # first, so that the schema has it too
    BeforeValidator(_no_text),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]


class FailureBody(Body):
    """What the API then shows as `failure`."""

    code: str = Field(min_length=1, max_length=64)
    message: str = Field(min_length=1, max_length=500)


class Transition(Body):
    """The state to force, now."""

    to: str = Field(min_length=1, max_length=32)
    failure: FailureBody | None = None
    force: Flag = False


class NewRefund(Body):
    """A refund that the merchant's staff makes; without an amount, about all that is left."""

    amount: Amount | None = None
    reason: str | None = Field(None, min_length=1, max_length=500)


class NewDispute(Body):
    """A dispute from the provider; without an amount, about all that is not disputed yet."""

    amount: Amount | None = None
    reason: str = Field("fraudulent", min_length=1, max_length=500)
    force: Flag = False


def list_pay_ins(call: ControlCall) -> Document:
    """List the pay-ins, with the refunded and disputed amounts."""
    box = call.sandbox
    box.tick()
    return listing(
        tuple(box.ledger.newest_first(PayIn))[::-1], lambda each: show_pay_in(box, each, call.reached), call.queries
    )


def read_pay_in(call: ControlCall) -> Document:
    """Show a pay-in, with the refunded and disputed amounts."""
    box = call.sandbox
    box.tick()
    return show_pay_in(box, box.ledger.get(PayIn, call.params["id"]), call.reached)


def timeline_page(call: ControlCall) -> TimelineOf:
    """Show what happened to a pay-in as one HTML file."""
    box = call.sandbox
    box.tick()
    return TimelineOf(box, box.ledger.get(PayIn, call.params["id"]), call.reached)


def open_refund(call: ControlCall) -> Document:
    """Make a refund as the merchant's staff does on the provider's own pages, so that no code of it has asked."""
    wanted: NewRefund = call.body
    box = call.sandbox
    box.tick()
    pay_in = box.ledger.get(PayIn, call.params["id"])
    amount = None if wanted.amount is None else _minor(wanted.amount, pay_in.digits)
    refund = call.host.act(box, lambda: box.open_refund(pay_in, amount=amount, reason=wanted.reason))
    return refund.document(box.ledger.stamp)


def open_dispute(call: ControlCall) -> Document:
    """Open a dispute, as the provider does."""
    wanted: NewDispute = call.body
    box = call.sandbox
    box.tick()
    pay_in = box.ledger.get(PayIn, call.params["id"])
    amount = None if wanted.amount is None else _minor(wanted.amount, pay_in.digits)
    dispute = call.host.act(
        box, lambda: box.open_dispute(pay_in, amount=amount, reason=wanted.reason, force=wanted.force)
    )
    return dispute.document(box.ledger.stamp)


def let_payer_act(call: ControlCall) -> Document:
    """Let the payer act, while the script of the pay-in waits for the payer."""
    done: PayerAction = call.body
    box = call.sandbox
    box.tick()
    pay_in = box.ledger.get(PayIn, call.params["id"])
    call.host.act(box, lambda: box.payer_acts(pay_in, done))
    return show_pay_in(box, pay_in, call.reached)


def _move(call: ControlCall, *, kind: type[Resource]) -> Document:
    wanted: Transition = call.body
    box = call.sandbox
    box.tick()
    resource = box.ledger.get(kind, call.params["id"])
    if wanted.to not in resource.TABLE:
        states = ", ".join(resource.TABLE)
        raise ControlError(
            400, "invalid", f"to: {wanted.to!r} is no state of a {kind.OBJECT}; there are: {states}.", "to"
        )
    if wanted.failure is not None and (wanted.to != "failed" or kind is Dispute):
        raise ControlError(400, "invalid", "failure: only what goes to failed has one.", "failure")
    failure = Failure(wanted.failure.code, wanted.failure.message) if wanted.failure else None
    call.host.act(box, lambda: box.force_transition(resource, wanted.to, failure=failure, force=wanted.force))
    if isinstance(resource, PayIn):
        return show_pay_in(box, resource, call.reached)
    return resource.document(box.ledger.stamp)


def _minor(amount: Decimal, digits: int) -> int:
    try:
        return to_minor(amount, digits)
    except ValueError as error:
        raise ControlError(400, "invalid", f"amount: {error}.", "amount") from None


def show_pay_in(box: Sandbox, resource: PayIn, reached: Reached) -> Document:
    """Return a pay-in as the API shows it, with the refunded and disputed amounts, which the API does not show."""
    document = resource.document(box.ledger.stamp)
    return {**document, "payment_url": reached.checkout + resource.id, **box.ledger.money(resource)}


NOUN: Final = Noun(
    routes=(
        Row(
            "pay-in-list",
            "GET",
            f"{SANDBOX}/pay-ins",
            "List the pay-ins.",
            list_pay_ins,
            listed(reference("PayIn")),
            queries=PAGE,
        ),
        Row(
            "pay-in-read",
            "GET",
            f"{SANDBOX}/pay-ins/{{id}}",
            "Show a pay-in and its money.",
            read_pay_in,
            reference("PayIn"),
        ),
        Row(
            "pay-in-timeline",
            "GET",
            f"{SANDBOX}/pay-ins/{{id}}/timeline.html",
            "What happened to a pay-in, as one HTML file.",
            timeline_page,
            TEXT,
            advice="The file needs no server and no script, and loads nothing: attach it to a failed test or an issue.",
            media="text/html",
        ),
        Row(
            "pay-in-transition",
            "POST",
            f"{SANDBOX}/pay-ins/{{id}}/transition",
            "Force a pay-in's state.",
            partial(_move, kind=PayIn),
            reference("PayIn"),
            Transition,
        ),
        Row(
            "pay-in-payer",
            "POST",
            f"{SANDBOX}/pay-ins/{{id}}/payer",
            "Act as the payer.",
            let_payer_act,
            reference("PayIn"),
            PayerAction,
            advice=_PAYER_ADVICE,
        ),
        Row(
            "refund-transition",
            "POST",
            f"{SANDBOX}/refunds/{{id}}/transition",
            "Force a refund's state.",
            partial(_move, kind=Refund),
            shown(records.Resource),
            Transition,
        ),
        Row(
            "dispute-transition",
            "POST",
            f"{SANDBOX}/disputes/{{id}}/transition",
            "Force a dispute's state.",
            partial(_move, kind=Dispute),
            shown(records.Resource),
            Transition,
        ),
        Row(
            "payout-transition",
            "POST",
            f"{SANDBOX}/payouts/{{id}}/transition",
            "Force a payout's state.",
            partial(_move, kind=Payout),
            shown(records.Resource),
            Transition,
        ),
        Row(
            "refund-open",
            "POST",
            f"{SANDBOX}/pay-ins/{{id}}/refunds",
            "Make a refund, as the merchant's staff does on the provider's own pages.",
            open_refund,
            shown(records.Resource),
            NewRefund,
            status=201,
        ),
        Row(
            "dispute-open",
            "POST",
            f"{SANDBOX}/pay-ins/{{id}}/disputes",
            "Open a dispute, as the provider does.",
            open_dispute,
            shown(records.Resource),
            NewDispute,
            status=201,
        ),
    ),
    tags={
        "pay-in": "Pay-ins, and forcing their status.",
        "refund": "Making refunds, and forcing their status.",
        "dispute": "Opening disputes, and forcing their status.",
        "payout": "Payouts, and forcing their status.",
    },
    components={
        "PayIn": described(
            "A pay-in with all its members, as the API shows it, and what was refunded and disputed.",
            open_object({**schema(records.Resource)["properties"], **_MONEY}),
        ),
        "Resource": described("A resource with all its members, as the API shows it.", open_schema(records.Resource)),
    },
)
