"""Each error type of our models has a sentence, and none of them is about Python types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from paydouble.api.operations import OPERATIONS
from paydouble.api.schemas import DepositRequest
from paydouble.config import Settings, explain
from paydouble.conformance.merchant_file import MerchantFile
from paydouble.core.json_text import Number
from paydouble.core.refusals import FITTING, KINDS, sentence
from paydouble.faults.model import ApiFault, WebhookFault
from paydouble.scenarios.model import Scenario
from paydouble.web.control.deliveries import DeliveryQuestion
from paydouble.web.control.journal import RequestQuestion
from paydouble.web.control.objects import NewDispute
from paydouble.web.control.routes import ROUTES
from paydouble.web.control.sandboxes import CreateSandbox

_LENGTHS = {"min_length": "string_too_short", "max_length": "string_too_long"}
_SIZES = {"min_length": "too_short", "max_length": "too_long"}
_BOUNDS = {"gt": "greater_than", "ge": "greater_than_equal", "lt": "less_than", "le": "less_than_equal"}
# A type of pydantic's schemas -> the error types that it always has, and those of its constraints.
_GIVES: dict[str, tuple[set[str], dict[str, str]]] = {
    "bool": ({"bool_type", "bool_parsing"}, {}),
    "decimal": ({"is_instance_of", "decimal_type", "decimal_parsing", "finite_number"}, _BOUNDS),
    "dict": ({"dict_type"}, _SIZES),
    "float": ({"float_type", "float_parsing", "finite_number"}, _BOUNDS),
    "int": ({"int_type", "int_parsing", "int_from_float", "int_parsing_size", "finite_number"}, _BOUNDS),
    "list": ({"list_type"}, _SIZES),
    "literal": ({"literal_error"}, {}),
    "model": ({"model_type"}, {}),
    "model-fields": ({"missing", "extra_forbidden", "invalid_key"}, {}),
    "str": ({"string_type", "string_unicode"}, {**_LENGTHS, "pattern": "string_pattern_mismatch"}),
    "tagged-union": ({"union_tag_invalid", "union_tag_not_found"}, {}),
    "tuple": ({"tuple_type", "missing", "too_long"}, _SIZES),
    # These have no error types of their own, or those of our validators.
    **dict.fromkeys(
        ("any", "default", "definition-ref", "definitions", "function-after", "function-before", "function-plain"),
        ({"value_error"}, {}),
    ),
    **dict.fromkeys(("function-wrap", "model-field", "no-info", "nullable", "union", "with-info"), (set[str](), {})),
}
MODELS: list[type[BaseModel]] = [
    *(Settings, ApiFault, WebhookFault, Scenario, MerchantFile),
    *(row.payload for row in OPERATIONS if row.payload is not None),
    *(row.payload for row in ROUTES if row.payload is not None and issubclass(row.payload, BaseModel)),
]


def schemas_of(model: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """Yield every part of a model's schema that has a type."""
    model.model_rebuild()
    waiting: list[Any] = [model.__pydantic_core_schema__]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            waiting += part.values()
            if isinstance(part.get("type"), str):
                yield part
        elif isinstance(part, list | tuple):
            waiting += part


def test_every_kind_of_error_has_a_sentence_of_ours() -> None:
    """This covers the models of the API, the control API, settings, faults and scenarios."""
    found = [part for model in MODELS for part in schemas_of(model)]
    kinds = set()
    for part in found:
        always, constrained = _GIVES[part["type"]]
        kinds |= always | {kind for constraint, kind in constrained.items() if part.get(constraint) is not None}

    assert kinds <= KINDS
    assert {part["pattern"] for part in found if "pattern" in part and part["type"] == "str"} == set(FITTING)
    assert len(found) > 1000


SENTENCES = [
    (DepositRequest, {"amount": "49"}, "amount", "is text; send a number such as 49.90"),
    (DepositRequest, {"amount": True}, "amount", "is true; send a number such as 49.90"),
    (DepositRequest, {"amount": None}, "amount", "is null; send a number such as 49.90"),
    (DepositRequest, {"amount": Number("-1.50")}, "amount", "is -1.50; send more than 0"),
    (DepositRequest, {"amount": Decimal("NaN")}, "amount", "is the number NaN; send a number"),
    (DepositRequest, [], "", "is a list; send an object"),
    (NewDispute, {"amount": "49"}, "amount", "is text; send a number such as 49.90"),
    (NewDispute, {"amount": False}, "amount", "is false; send a number such as 49.90"),
    (NewDispute, {"reason": ""}, "reason", "is empty; send at least 1 character"),
    (NewDispute, {"reason": "x" * 501}, "reason", "has 501 characters; send at most 500 characters"),
    (NewDispute, {"reason": 5}, "reason", "is the number 5; send a text"),
    (CreateSandbox, {"id": "a b"}, "id", "is 'a b'; send 1 to 64 letters, digits, dots, hyphens and underscores"),
    (CreateSandbox, {"seed": 1.5}, "seed", "is the number 1.5; send a whole number"),
    (CreateSandbox, {"clock": "manul"}, "clock", "is 'manul'; did you mean 'manual'?"),
    (CreateSandbox, {"clock": 5}, "clock", "is the number 5; send 'real', 'manual' or 'auto'"),
    (CreateSandbox, {"clock": {"mod": "manual"}}, "clock.mod", "this member is not known; did you mean 'mode'?"),
    (CreateSandbox, {"clock": {"mode": "real", "rate": "x"}}, "clock.rate", "is text; send a number"),
    (CreateSandbox, {"clock": {"seed": 1, "mode": "real"}}, "clock.seed", "did you mean 'seed', outside of clock?"),
    (CreateSandbox, {"notificationUrl": "x"}, "notificationUrl", "not known; did you mean 'notification_url'?"),
    (CreateSandbox, {"xyz": 1}, "xyz", "this member is not known"),
    (RequestQuestion, {"match": {"verdct": "new"}}, "match.verdct", "not known; did you mean 'verdict'?"),
    (RequestQuestion, {"match": {"count": 1}}, "match.count", "not known; did you mean 'count', outside of match?"),
    (RequestQuestion, {"match": {"verdict": "replayed"}}, "match.verdict", "is 'replayed'; did you mean 'replay'?"),
    (RequestQuestion, {"sequence": []}, "sequence", "is empty; send at least 1 entry"),
    (RequestQuestion, {"sequence": [{"x": 1}]}, "sequence.0.x", "this member is not known"),
    (RequestQuestion, {"timeout": "11m"}, "timeout", "is too long for real time; send a duration of at most 10m"),
    (DeliveryQuestion, {"match": {"attempt_count": -1}}, "match.attempt_count", "is -1; send at least 0"),
    (Settings, {"journal_limit": "many"}, "journal_limit", "is text; send a whole number"),
    (Settings, {"livemode": "maybe"}, "livemode", "is text; send true or false"),
    (
        Settings,
        {"webhooks": {"timeout": "0s"}},
        "webhooks.timeout",
        "is not more than 0; send a duration of at least 1ms",
    ),
    (Settings, {"webhooks": {"schedul": []}}, "webhooks.schedul", "not known; did you mean 'schedule'?"),
    (Settings, {"webhooks": {"schedule": []}}, "webhooks.schedule", "is empty; send at least 1 entry"),
    (Settings, {"created_status": 202}, "created_status", "is the number 202; send 200 or 201"),
]


@pytest.mark.parametrize(("model", "data", "member", "said"), SENTENCES)
def test_a_message_says_what_was_sent_and_what_to_send(
    model: type[BaseModel], data: object, member: str, said: str
) -> None:
    """The value is the subject of the sentence, and the member comes before it."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)

    place, text = explain(caught.value, model)

    assert place == member
    assert text.endswith(said)


@pytest.mark.parametrize(
    ("kind", "value", "limits", "said"),
    [
        ("literal_error", False, {"expected": "True"}, "is false; send true"),
        ("literal_error", "x" * 99, {"expected": "'a' or None"}, f"is '{'x' * 40}…'; send 'a' or null"),
        ("too_long", iter("abc"), {"max_length": 2, "actual_length": 3}, "has 3 entries; send at most 2 entries"),
        ("less_than", "5", {"lt": 5}, "is '5'; send less than 5"),
        ("union_tag_invalid", {}, {"tag": "drp", "expected_tags": "'drop', 'hold'"}, "is 'drp'; did you mean 'drop'?"),
        ("union_tag_invalid", {}, {"tag": "xyz", "expected_tags": "'drop'"}, "is 'xyz'; send 'drop'"),
        ("union_tag_not_found", {}, {"discriminator": "'type'"}, "has no type"),
        ("string_unicode", "\ud800", {}, "is text; send a text of Unicode characters"),
        ("invalid_key", 1, {}, "is the name of a member, and a name is a text"),
        ("dict_type", {1}, {}, "is an object; send an object"),
    ],
)
def test_the_rest_of_the_kinds(kind: str, value: object, limits: dict[str, Any], said: str) -> None:
    """These error types are hard to provoke with the present models."""
    assert sentence(kind, value, limits, "") == said


def test_the_message_of_a_validator_is_kept() -> None:
    """It loses pydantic's prefix and Python's spelling of numbers, and is on one line."""
    assert sentence("value_error", 0, {}, "Value error, Decimal('1.5') is\nodd") == "1.5 is odd"
    assert sentence("never_heard_of", 0, {}, "Input is odd") == "input is odd"


@pytest.mark.parametrize("build", [lambda: "é" * 39 + "𝄞x", lambda: "x" * 10_000], ids=["wide", "long"])
def test_a_sentence_stays_short(build: Callable[[], str]) -> None:
    """A message is short for any value."""
    assert len(sentence("string_pattern_mismatch", build(), {"pattern": r"^[A-Z]{3}$"}, "")) < 120
