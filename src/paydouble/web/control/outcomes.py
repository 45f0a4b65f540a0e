"""Control calls that make something happen: webhook settings, forced transitions, disputes."""

from __future__ import annotations

from decimal import Decimal

from paydouble.core.documents import dump
from paydouble.core.money import to_minor
from paydouble.payments.resources import Dispute, Failure, PayIn, Payout, Refund, Resource
from paydouble.records import webhook_of
from paydouble.web.control import views
from paydouble.web.control.models import ChangeWebhook, NewDispute, RotateSecret, Transition
from paydouble.web.control.values import ControlCall, ControlError, Document


def webhook(call: ControlCall) -> Document:
    """Show where events go and what signs them."""
    call.sandbox.tick()
    return dump(webhook_of(call.sandbox))


def change_webhook(call: ControlCall) -> Document:
    """Aim events elsewhere, or set the secret at once."""
    wanted: ChangeWebhook = call.body
    box = call.sandbox
    if "notification_url" in wanted.model_fields_set:
        call.host.act(box, lambda: box.set_notification_url(wanted.notification_url))
    if wanted.secret is not None:
        box.secrets.replace(wanted.secret)
    return webhook(call)


def rotate_secret(call: ControlCall) -> Document:
    """Make a new secret; during the grace both sign."""
    wanted: RotateSecret = call.body
    call.sandbox.rotate_secret(wanted.grace)
    return webhook(call)


def list_pay_ins(call: ControlCall) -> Document:
    """List the pay-ins, with what was refunded and disputed."""
    box = call.sandbox
    box.tick()
    return views.listing(
        tuple(box.ledger.newest_first(PayIn))[::-1], lambda each: views.pay_in(box, each, call.reached), call.queries
    )


def read_pay_in(call: ControlCall) -> Document:
    """Show a pay-in, with what was refunded and disputed."""
    box = call.sandbox
    box.tick()
    return views.pay_in(box, box.ledger.get(PayIn, call.params["id"]), call.reached)


def move_pay_in(call: ControlCall) -> Document:
    """Force a pay-in's state."""
    return _move(call, PayIn)


def move_refund(call: ControlCall) -> Document:
    """Force a refund's state."""
    return _move(call, Refund)


def move_dispute(call: ControlCall) -> Document:
    """Force a dispute's state."""
    return _move(call, Dispute)


def move_payout(call: ControlCall) -> Document:
    """Force a payout's state."""
    return _move(call, Payout)


def open_dispute(call: ControlCall) -> Document:
    """A dispute arrives from the provider."""
    wanted: NewDispute = call.body
    box = call.sandbox
    box.tick()
    pay_in = box.ledger.get(PayIn, call.params["id"])
    amount = None if wanted.amount is None else _minor(wanted.amount, pay_in.digits)
    dispute = call.host.act(
        box, lambda: box.open_dispute(pay_in, amount=amount, reason=wanted.reason, force=wanted.force)
    )
    return dispute.document(box.ledger.stamp)


def _move(call: ControlCall, kind: type[Resource]) -> Document:
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
        return views.pay_in(box, resource, call.reached)
    return resource.document(box.ledger.stamp)


def _minor(amount: Decimal, digits: int) -> int:
    try:
        return to_minor(amount, digits)
    except ValueError as error:
        raise ControlError(400, "invalid", f"amount: {error}.", "amount") from None
