"""Deposits: creation, rates, payment methods, retrieval and cancellation (contract section 4)."""

from __future__ import annotations

from decimal import Decimal
from sys import intern
from typing import TYPE_CHECKING

from orjson import Fragment

from paydouble.api.calls import Call
from paydouble.api.handlers import digits_of, minor_units, page, refuse_duplicate
from paydouble.api.schemas import STAND_IN_CUSTOMER, DepositRequest, MethodsRequest, RatesRequest
from paydouble.core.errors import ApiError, UsageError
from paydouble.core.money import json_amount, write_minor
from paydouble.payments.catalogue import Catalogue, Method, convert, rate
from paydouble.payments.resources import Customer, Document, Order, PayIn

if TYPE_CHECKING:
    from paydouble.faults.plans import Plan
    from paydouble.sandbox import Sandbox
    from paydouble.scenarios.model import Scenario


def completed(sandbox: Sandbox, parsed: object) -> object:
    """Return the parsed body of a deposit with what stands in for the members that the settings let it lack."""
    optional = sandbox.settings.optional_members
    if not optional or not isinstance(parsed, dict):
        return parsed
    # With an empty catalogue every deposit is refused, whatever it names.
    kind = next((method.type for method in sandbox.catalogue.methods), "CREDIT_CARD")
    stand_ins = {"payment_method": {"type": kind}, "customer": dict(STAND_IN_CUSTOMER)}
    return {**{name: stand_ins[name] for name in optional}, **parsed}


def create_deposit(call: Call) -> Document:
    """Create a deposit; emits pay-in.created."""
    scenario = call.scenario or _chosen(call)
    try:
        return open_deposit(call.sandbox, call.payload, scenario, call.plan)
    except UsageError as error:
        reason = f"The scenario {scenario.name!r} does not fit the settings of this sandbox: {error}."
        raise ApiError("VALIDATION_ERROR", reason) from None


def open_deposit(sandbox: Sandbox, wanted: Document, scenario: Scenario, plan: Plan | None = None) -> Document:
    """Open a deposit that plays a scenario, and return its document; `wanted` has the members of `DepositRequest`."""
    catalogue = sandbox.catalogue
    digits = digits_of(sandbox, wanted["currency"])
    currency = intern(wanted["currency"])  # one of a known few
    amount = minor_units(wanted["amount"], currency, digits)
    if plan is not None and plan.expire_rate:
        raise ApiError("VALIDATION_ERROR", "The exchange rate has expired; ask for a new one.")
    method = _choose(catalogue, wanted["payment_method"], currency, wanted["country"], amount)
    if plan is not None and _removed(plan, method):
        raise ApiError("VALIDATION_ERROR", f"payment_method: {method.name} is not available any more.")
    if sandbox.settings.duplicate_external_identifier != "allow":
        refuse_duplicate(sandbox, PayIn, wanted["external_identifier"])
    seconds = wanted["expires_in"]
    payer = wanted["customer"]
    # By position, since keyword arguments for so many members take longer than any other line of a deposit.
    order = Order(
        sandbox.settings.pay_in_expires_in if seconds is None else seconds * 1000,
        wanted["external_identifier"],
        amount,
        currency,
        digits,
        method.named,
        Customer(payer["first_name"], payer["last_name"], payer["email"]),
        wanted["return_url"],
        wanted["notification_url"],
        wanted["metadata"],
    )
    pay_in, document = sandbox.create_pay_in(scenario, order)
    return pay_in.extended(document, sandbox.ledger.stamp)


def play_scenario(sandbox: Sandbox, wanted: DepositRequest, scenario: Scenario) -> Document:
    """Open a deposit for which no request was sent, and return its document; `ApiError` when it is refused."""
    sandbox.recording.did("scenario-play", sandbox.now, name=scenario.name, deposit=wanted)
    document = open_deposit(sandbox, wanted.model_dump(), scenario)
    sandbox.scenarios.plays += 1
    return document


def retrieve(call: Call) -> Document:
    """Return one pay-in."""
    return call.sandbox.ledger.get(PayIn, call.params["id"]).document(call.sandbox.ledger.stamp)


def list_pay_ins(call: Call) -> Document:
    """Return a page of pay-ins."""
    status = call.queries.get("status")
    if status is not None and status not in PayIn.TABLE:
        raise ApiError("INVALID_INPUT", f"status: must be one of {', '.join(PayIn.TABLE)}.")
    return page(call, PayIn, ("external_identifier", "status"))


def cancel(call: Call) -> Document:
    """Cancel a pay-in that is not paid yet."""
    pay_in = call.sandbox.ledger.get(PayIn, call.params["id"])
    call.sandbox.cancel_pay_in(pay_in)
    return pay_in.document(call.sandbox.ledger.stamp)


def exchange_rates(call: Call) -> Document:
    """Quote exchange rates, and convert an amount with them."""
    wanted: RatesRequest = call.payload
    catalogue = call.sandbox.catalogue
    source = wanted.source_currency
    for currency in filter(None, (source, wanted.target_currency)):
        if currency not in catalogue.per_dollar:
            raise ApiError("VALIDATION_ERROR", f"There is no exchange rate for {currency}.")
    targets = [wanted.target_currency] if wanted.target_currency else [c for c in catalogue.per_dollar if c != source]
    amount = None if wanted.amount is None else minor_units(wanted.amount, source, catalogue.digits[source])
    return {"rates": [_quote(call, catalogue, source, target, amount) for target in targets]}


def payment_methods(call: Call) -> Document:
    """List the payment methods for a currency, a country and an amount."""
    wanted: MethodsRequest = call.payload
    catalogue = call.sandbox.catalogue
    currency = wanted.currency
    _supported(catalogue, currency)
    amount = None if wanted.amount is None else minor_units(wanted.amount, currency, catalogue.digits[currency])
    offered = [
        method
        for method in catalogue.methods
        if method.takes(currency, wanted.country, amount) and not _removed(call.plan, method)
    ]
    return {
        "payment_methods": [
            {
                "type": method.type,
                "code": method.code,
                "name": method.name,
                "currencies": list(method.limits),
                "countries": list(method.countries),
                "min_amount": json_amount(method.limits[currency][0], catalogue.digits[currency]),
                "max_amount": json_amount(method.limits[currency][1], catalogue.digits[currency]),
            }
            for method in offered
        ]
    }


def _choose(catalogue: Catalogue, choice: Document, currency: str, country: str | None, amount: int) -> Method:
    for method in catalogue.by_choice.get((choice["type"], choice["code"]), ()):
        limits = method.limits.get(currency)
        if limits is not None and limits[0] <= amount <= limits[1] and method.serves(country):
            return method
    raise _unsuitable(catalogue, choice, currency, country)


def _unsuitable(catalogue: Catalogue, choice: Document, currency: str, country: str | None) -> ApiError:
    _supported(catalogue, currency)
    kind, code = choice["type"], choice["code"]
    named = catalogue.by_choice.get((kind, code))
    if not named:
        name = f"{kind} {code}" if code else kind
        return ApiError("VALIDATION_ERROR", f"payment_method: there is no {name}.")
    method = named[0]
    if currency not in method.limits:
        return ApiError("VALIDATION_ERROR", f"payment_method: {method.name} does not take {currency}.")
    if not method.serves(country):
        return ApiError("VALIDATION_ERROR", f"payment_method: {method.name} is not available in {country}.")
    low, high = (write_minor(limit, catalogue.digits[currency]) for limit in method.limits[currency])
    return ApiError("VALIDATION_ERROR", f"amount: {method.name} takes from {low} to {high} {currency}.")


def _supported(catalogue: Catalogue, currency: str) -> None:
    if currency not in catalogue.currencies:
        raise ApiError("VALIDATION_ERROR", f"currency: {currency} is not supported.")


def _removed(plan: Plan | None, method: Method) -> bool:
    removed = plan.remove_method if plan is not None else None
    return removed is not None and removed in {"*", method.type, method.code}


def _quote(call: Call, catalogue: Catalogue, source: str, target: str, amount: int | None) -> Document:
    value, expires_at = rate(catalogue, call.sandbox.randomness, source, target, call.sandbox.now)
    if call.plan is not None and call.plan.expire_rate:
        expires_at = call.sandbox.now
    quote: Document = {
        "source_currency": source,
        "target_currency": target,
        "rate": Fragment(_plain(value)),
        "expires_at": call.sandbox.ledger.stamp(expires_at),
    }
    if amount is not None:
        quote["source_amount"] = json_amount(amount, catalogue.digits[source])
        quote["target_amount"] = json_amount(
            convert(catalogue, amount, value, source, target), catalogue.digits[target]
        )
    return quote


def _plain(value: Decimal) -> str:
    return format(value, "f")


def _chosen(call: Call) -> Scenario:
    try:
        return call.sandbox.choose_scenario(call.body().parsed)
    except UsageError as error:
        raise ApiError("VALIDATION_ERROR", f"customer.email: {error.message}.") from None
