"""The document of a business with other settings, held against what that business's service says."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from drive import DEPOSITS, Business, deposit_body, key, settings
from openapi_reader import URL
from openapi_spec_validator import OpenAPIV31SpecValidator
from servers import CONTROL, running

from paydouble.api.operations import OPERATIONS, PREFIX, operations
from paydouble.api.values import Reply
from paydouble.guards.credentials import basic_header
from paydouble.openapi.document import document
from paydouble.server import ServerOptions

Json = dict[str, Any]
PAYOUT = {"amount": 1, "currency": "EUR", "external_identifier": "x-1", "beneficiary": {"name": "A", "account": "D"}}
# What may be set, and each of its values; every combination is held against the document.
SHAPES: dict[str, list[Any]] = {
    "created_status": [200, 201],
    "unknown_fields": ["ignore", "refuse"],
    "retry_after": [False, True],
    "idempotent_replayed": [False, True],
    "rate_limit": [
        None,
        {"limit": 9, "reset_unit": "epoch_milliseconds"},
        {"limit": 9, "headers": "always", "reset_unit": "delta_seconds"},
    ],
}
WEBHOOKS = {"signature_header": "X-Pay-Signature", "timeout": "3s", "schedule": ["0s"], "repeat_last": False}


def _document(**changes: Any) -> Json:  # noqa: ANN401 - JSON is any
    made: Json = json.loads(json.dumps(document(OPERATIONS, server_url=URL, settings=settings(**changes))))
    return made


def _answers(business: Business) -> list[tuple[str, str, Reply]]:
    """Return answers of each kind, with their operations' method and path."""
    wrong = basic_header("key_default", "wrong")
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("post", DEPOSITS, {"body": deposit_body(), "key": key(1)}),
        ("post", DEPOSITS, {"body": deposit_body(), "key": key(1)}),
        ("post", DEPOSITS, {"body": deposit_body(amount=1), "key": key(1)}),
        ("post", DEPOSITS, {"body": deposit_body(currency="ZZZ"), "key": key(2)}),
        ("post", DEPOSITS, {"body": deposit_body(currency="ZZZ"), "key": key(2)}),
        ("post", DEPOSITS, {"body": deposit_body(unknown=1)}),
        ("post", "/payout/payout-initiation", {"body": PAYOUT}),
        ("post", DEPOSITS, {"body": {}}),
        ("get", "/pay-in", {}),
        ("get", "/pay-in", {"authorization": wrong}),
        ("get", "/pay-in?limit=0", {}),
        ("get", "/pay-in", {}),
    ]
    return [
        (method, path.partition("?")[0], business.post(path, **how) if method == "post" else business.get(path, **how))
        for method, path, how in asked
    ]


@pytest.mark.parametrize("values", list(product(*SHAPES.values())), ids=str)
def test_every_answer_is_described(values: tuple[Any, ...]) -> None:
    """Whatever is set, an answer's status and headers are in the document, and those that it requires come."""
    changes = dict(zip(SHAPES, values, strict=True))
    business = Business(**changes)
    paths = _document(**changes)["paths"]

    for method, path, reply in _answers(business):
        responses = paths[PREFIX + path][method]["responses"]
        described = responses[str(reply.status)]["headers"]
        sent = {"X-Request-Id", *(name for name, _ in reply.headers)}
        assert sent <= described.keys()
        assert {name for name, each in described.items() if each["required"]} <= sent
        assert not (reply.status == 200 and changes["created_status"] == 201 and path == DEPOSITS)


@pytest.mark.parametrize(
    "changes",
    [{}, {**{name: values[-1] for name, values in SHAPES.items()}, "webhooks": WEBHOOKS}],
    ids=["default", "changed"],
)
def test_it_is_valid_with_any_settings(changes: Json) -> None:
    """With all settings as they are by default, and with all of them changed."""
    made = _document(**changes)

    assert [error.message for error in OpenAPIV31SpecValidator(made).iter_errors()] == []


def test_a_creation_has_the_status_that_is_set() -> None:
    """Only what creates is 201."""
    paths = _document(created_status=201)["paths"]

    told = {
        operation.name: next(iter(paths[PREFIX + operation.path][operation.method.lower()]["responses"]))
        for operation in OPERATIONS
    }
    assert told == {operation.name: "201" if operation.creates else "200" for operation in OPERATIONS}


def test_the_signature_stands_in_the_header_that_is_set() -> None:
    """A header that was renamed is assumed, and the old name is nowhere."""
    made = _document(webhooks={"signature_header": "X-Pay-Signature"})

    found = [hook["post"]["parameters"][0] for hook in made["webhooks"].values()]
    assert {(each["name"], each["x-provenance"]) for each in found} == {("X-Pay-Signature", "assumed")}
    assert "X-Service-Signature" not in json.dumps(made)


@pytest.mark.parametrize(
    ("changes", "acknowledged", "otherwise"),
    [
        ({}, "within 10 seconds", "retried for up to 72 hours"),
        ({"timeout": "1500ms", "window": "1h"}, "within 1s500ms", "retried for up to 1 hour"),
        ({"timeout": "1h30m", "window": "90s"}, "within 1h30m", "retried for up to 1m30s"),
        ({"schedule": ["0s"], "repeat_last": False}, "within 10 seconds", "is not retried"),
    ],
)
def test_a_delivery_is_described_as_it_is_made(changes: Json, acknowledged: str, otherwise: str) -> None:
    """How long an answer may take and how long it is tried again follow the settings."""
    hook = _document(webhooks=changes)["webhooks"]["pay-in.created"]["post"]

    assert acknowledged in hook["description"]
    assert otherwise in hook["responses"]["default"]["description"]


def test_members_that_nobody_knows_are_refused_where_they_are() -> None:
    """`unknown_fields: refuse` closes every schema of a request, and changes no answer's."""
    plain, closed = (_document(unknown_fields=mode)["components"]["schemas"] for mode in ("ignore", "refuse"))

    assert "additionalProperties" not in plain["DepositRequest"]
    assert {name for name in plain if plain[name] != closed[name]} >= {"DepositRequest", "RefundRequest"}
    assert all(each.get("additionalProperties") is False for each in closed.values() if "properties" in each)


def test_members_that_may_be_missing_are_not_required() -> None:
    """`optional_members` says which."""
    made = _document(optional_members=["customer"])["components"]["schemas"]["DepositRequest"]

    assert made["required"] == ["amount", "currency", "external_identifier", "payment_method"]


def test_moved_paths_and_settings_go_together() -> None:
    """A path of its own and a status of its own, in one document."""
    made = document(operations({"payout-initiation": "/pay"}), server_url=URL, settings=settings(created_status=201))

    assert "201" in made["paths"]["/api/v1/pay"]["post"]["responses"]


async def test_the_served_document_is_the_business_s_own() -> None:
    """Asked with a business's credentials it follows that one's settings, else those of the default sandbox."""
    async with running(ServerOptions(port=0)) as client:
        box = await client.sandbox(settings={"created_status": 201})
        url = f"{CONTROL}/openapi.json"

        async def statuses(headers: dict[str, str]) -> str:
            answer = await client.call("GET", url, headers=headers)
            responses = answer.document["paths"]["/api/v1/pay-in/deposit-creation"]["post"]["responses"]
            return str(next(iter(responses)))

        told = [await statuses({}), await statuses(box.credentials)]
        wrong = await statuses({"Authorization": basic_header(box.document["business_key"], "wrong")})
        await client.control("PATCH", "/sandboxes/default", {"settings": {"created_status": 201}})
        changed = await statuses({})
        await client.control("DELETE", "/sandboxes/default")
        gone = await statuses({})

    assert (told, wrong, changed, gone) == (["200", "201"], "200", "201", "200")


async def test_few_documents_are_kept() -> None:
    """However many settings there are, only the documents that were asked for last are kept."""
    async with running(ServerOptions(port=0)) as client:
        for seconds in range(2, 13):
            await client.control("PATCH", "/sandboxes/default", {"settings": {"webhooks": {"timeout": f"{seconds}s"}}})
            answer = await client.call("GET", f"{CONTROL}/openapi.json")
            told = answer.document["webhooks"]["pay-in.created"]["post"]["description"]
            assert f"within {seconds} seconds" in told
