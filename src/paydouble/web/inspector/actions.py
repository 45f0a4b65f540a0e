"""What a person can do with a payment. Each action is a call of the control API, or what its handlers do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from paydouble.core.errors import ApiError
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector import payment
from paydouble.web.inspector.control_calls import perform
from paydouble.web.inspector.visits import PageRoute, Shown, Visit, payment_url, see

if TYPE_CHECKING:
    from paydouble.core.documents import Document

Action = Callable[[Visit], Awaitable[None]]
_PAYMENT: Final = "inspector/sandboxes/{s}/payments/{id}"


async def control(visit: Visit, method: str, *path: str, body: Document | None = None) -> None:
    """Make a control call about the visit's sandbox; `path` is below the sandbox. `ControlError` for a refused one."""
    await perform(visit, method, "sandboxes", visit.params["s"], *path, body=b"" if body is None else body)


async def _do(visit: Visit, *, action: Action) -> Shown:
    """Do something, and show the payment again; a refusal is shown on its page."""
    try:
        await action(visit)
    except (ControlError, ApiError) as error:
        return payment.show(visit, problem=str(error), status=409)
    return see(payment_url(visit.params["s"], visit.params["id"]))


async def _transition(visit: Visit) -> None:
    form = visit.form
    body: dict[str, Any] = {"to": form.get("to", ""), "force": form.get("force") == "yes"}
    if body["to"] == "failed" and (code := form.get("code", "").strip()):
        body["failure"] = {"code": code, "message": form.get("message", "").strip() or "The payment was declined."}
    try:
        await control(visit, "POST", "pay-ins", visit.params["id"], "transition", body=body)
    except ControlError as error:
        if error.code != "illegal_transition":
            raise
        # The form has a box for what is a member of the call.
        raise ControlError(error.status, error.code, str(error).replace("Add force: true", "Tick the box")) from None


async def _refund(visit: Visit) -> None:
    await _open(visit, "refunds")


async def _dispute(visit: Visit) -> None:
    await _open(visit, "disputes")


async def _open(visit: Visit, kind: str) -> None:
    amount = _amount(visit)
    body: dict[str, Any] = {} if amount is None else {"amount": amount}
    if reason := visit.form.get("reason", "").strip():
        body["reason"] = reason
    await control(visit, "POST", "pay-ins", visit.params["id"], kind, body=body)


def _amount(visit: Visit) -> Decimal | None:
    """Return the amount of a form, or None if it was left empty."""
    text = visit.form.get("amount", "").strip()
    if not text:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount <= 0:
        raise ApiError("VALIDATION_ERROR", f"{text[:40]!r} is no amount; write it like 12.50, or leave it empty.")
    return amount


async def _delivery(visit: Visit, *, action: str) -> None:
    await control(visit, "POST", "deliveries", visit.params["delivery"], action)


ACTIONS: Final[dict[str, Action]] = {"transition": _transition, "refund": _refund, "dispute": _dispute}
DELIVERY_ACTIONS: Final = ("redeliver", "hold", "release")
ROUTES: Final = (
    *(PageRoute("POST", f"{_PAYMENT}/{name}", partial(_do, action=action)) for name, action in ACTIONS.items()),
    *(
        PageRoute(
            "POST", f"{_PAYMENT}/deliveries/{{delivery}}/{name}", partial(_do, action=partial(_delivery, action=name))
        )
        for name in DELIVERY_ACTIONS
    ),
)
