"""The OpenAPI document is honest about what the contract shows, and what the double had to assume."""

from __future__ import annotations

from openapi_reader import all_operations, api_operations, headers_of, made, nodes

# What the contract shows, read off it by hand; everything else has to say `assumed`.
PAY_IN = {
    *("id", "object", "reference", "external_identifier", "amount", "currency", "status", "payment_method", "customer"),
    *("created_at", "updated_at"),
}
DOCUMENTED_MEMBERS = {
    # Section 2.1
    **{
        name: {"id", "object", "type", "api_version", "created_at", "data", "request_id", "livemode"}
        for name in ("PayInEvent", "RefundEvent", "DisputeEvent")
    },
    **{name: {"object", "previous_attributes"} for name in ("PayInEventData", "RefundEventData", "DisputeEventData")},
    # Section 2.2
    "PayInObject": PAY_IN,
    "PayInView": PAY_IN,
    "PaymentMethodView": {"type", "code", "name"},
    "CustomerView": {"first_name", "last_name", "email"},
    # Section 2.4
    **{
        name: {"success", "data"}
        for name in (
            *("PayInAnswer", "PayInPageAnswer", "RatesAnswer", "MethodsAnswer", "RefundAnswer", "RefundPageAnswer"),
            *("DisputeAnswer", "DisputePageAnswer", "PayoutAnswer", "PayoutPageAnswer", "TransactionAnswer"),
            "TransactionPageAnswer",
        )
    },
    # Section 7
    "EnvelopeA": {"error"},
    "ErrorA": {"code", "message", "status", "request_id", "docs"},
    "EnvelopeB": {"success", "error", "request_id"},
    "ErrorB": {"code", "message", "details"},
    "ConflictDetails": {"original_request_id", "key"},
}
DOCUMENTED_OPERATIONS = {  # section 4
    "POST /api/v1/pay-in/deposit-creation",
    "POST /api/v1/pay-in/deposit-creation/exchange-rates",
    "POST /api/v1/pay-in/deposit-creation/available-payment-methods",
}
DOCUMENTED_STATUSES = {"400", "401", "403", "404", "409", "422", "429", "5XX"}  # section 7
# Section 8, section 4 of deliveries, and the idempotency rules.
DOCUMENTED_HEADERS = {
    *("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Service-Signature", "Idempotency-Key")
}


def test_exactly_what_the_contract_shows_is_documented() -> None:
    """Members, operations, statuses and headers say `documented` where the contract has them, else `assumed`."""
    members = {
        name: {member for member, value in schema["properties"].items() if value["x-provenance"] == "documented"}
        for name, schema in made()["components"]["schemas"].items()
    }
    places = {place for place, operation in api_operations() if operation["x-provenance"] == "documented"}
    statuses = {
        status
        for _, operation in api_operations()
        for status, response in operation["responses"].items()
        if response["x-provenance"] == "documented"
    }
    headers = {
        name
        for _, operation in all_operations()
        for name, header in headers_of(operation)
        if header["x-provenance"] == "documented"
    }

    assert {name: marked for name, marked in members.items() if marked} == DOCUMENTED_MEMBERS
    assert places == DOCUMENTED_OPERATIONS
    assert statuses == DOCUMENTED_STATUSES
    assert headers == DOCUMENTED_HEADERS


def test_nothing_is_without_a_mark() -> None:
    """Every operation, parameter, status, header and member says where it comes from."""
    unmarked = []
    for place, operation in all_operations():
        described = [(place, operation), *headers_of(operation)]
        described += [(f"{place} {each['name']}", each) for each in operation.get("parameters", [])]
        described += [(f"{place} {status}", response) for status, response in operation["responses"].items()]
        unmarked += [name for name, each in described if each.get("x-provenance") not in {"documented", "assumed"}]
    for place, node in nodes({"schemas": made()["components"]["schemas"], "webhooks": made()["webhooks"]}):
        if place.endswith(".properties"):
            unmarked += [
                f"{place}.{name}"
                for name, member in node.items()
                if member.get("x-provenance") not in {"documented", "assumed"}
            ]

    assert unmarked == []
