"""The OpenAPI document: whole, valid, with examples that fit, and the same every time."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from click.testing import CliRunner
from openapi_reader import URL, all_operations, api_operations, made, nodes, problems
from openapi_spec_validator import OpenAPIV31SpecValidator

from paydouble.api.operations import OPERATIONS, operations
from paydouble.cli.openapi import openapi
from paydouble.openapi.document import document
from paydouble.payments.events import EVENT_TYPES


def test_it_is_openapi_3_1() -> None:
    """An independent validator accepts the document."""
    errors = [error.message for error in OpenAPIV31SpecValidator(made()).iter_errors()]

    assert errors == []
    assert made()["openapi"].startswith("3.1.")


def test_it_describes_every_operation_once() -> None:
    """Each row of the operations table is there under its name, method and path."""
    expected = {operation.name: f"{operation.method} /api/v1{operation.path}" for operation in OPERATIONS}

    assert expected == {operation["operationId"]: place for place, operation in api_operations()}


def test_it_follows_moved_paths() -> None:
    """An assumed operation that settings put elsewhere is described where it is."""
    moved = document(operations({"refund-list": "/refunds"}), server_url=URL)["paths"]

    assert moved["/api/v1/refunds"]["get"]["operationId"] == "refund-list"
    assert "/api/v1/refund" not in moved


def test_it_describes_every_event() -> None:
    """Each event type of the contract is a webhook, in the contract's words, with its own `type`."""
    webhooks = made()["webhooks"]

    assert list(EVENT_TYPES) == list(webhooks)
    for kind, (meaning, sent_when) in EVENT_TYPES.items():
        described = webhooks[kind]["post"]
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        assert f"{meaning}." == described["summary"]
        assert f"Sent when: {sent_when}." in described["description"]
        assert kind == schema["allOf"][1]["properties"]["type"]["const"]


def test_every_error_offers_both_envelopes() -> None:
    """An error answer of any status may wear either envelope, never something else."""
    both = [{"$ref": "#/components/schemas/EnvelopeA"}, {"$ref": "#/components/schemas/EnvelopeB"}]
    offered = [
        response["content"]["application/json"]["schema"]
        for _, operation in api_operations()
        for status, response in operation["responses"].items()
        if status != "200"
    ]

    assert [schema for schema in offered if schema != {"oneOf": both}] == []
    assert len(offered) > 100


def test_a_conflict_is_possible_on_post_alone() -> None:
    """Only a POST has an idempotency key, so only a POST answers 409."""
    methods = {place.split()[0] for place, operation in api_operations() if "409" in operation["responses"]}

    assert methods == {"POST"}


def test_rate_limit_headers_come_with_429_alone() -> None:
    """The three headers are described where the contract has them."""
    for _, operation in api_operations():
        for status, response in operation["responses"].items():
            limits = {name for name in response["headers"] if name.startswith("X-RateLimit-")}
            assert len(limits) == (3 if status == "429" else 0)
            assert "X-Request-Id" in response["headers"]


def test_examples_validate() -> None:
    """Every example of a request, an answer, an error, a parameter and an event fits its schema."""
    wrong, seen = [], 0
    for place, operation in all_operations():
        contents = [operation.get("requestBody"), *operation["responses"].values()]
        for content in (each["content"]["application/json"] for each in contents if each and "content" in each):
            examples = [content["example"]] if "example" in content else []
            for reference in content.get("examples", {}).values():
                name = reference["$ref"].removeprefix("#/components/examples/")
                examples.append(made()["components"]["examples"][name]["value"])
            assert examples, place
            seen += len(examples)
            wrong += [(place, each) for example in examples for each in problems(content["schema"], example)]
        for parameter in operation.get("parameters", []):
            if "example" in parameter:
                wrong += [(place, each) for each in problems(parameter["schema"], parameter["example"])]

    assert wrong == []
    assert seen > 200


def test_member_examples_validate() -> None:
    """The `examples` beside a member fit that member."""
    wrong = [
        (place, problem)
        for place, node in nodes(made()["components"]["schemas"], "schemas")
        if "examples" in node and not place.endswith(".properties")
        for example in node["examples"]
        for problem in problems(node, example)
    ]

    assert wrong == []


@pytest.mark.parametrize("envelope", ["A", "B"])
def test_the_envelopes_exclude_each_other(envelope: str) -> None:
    """A body of one envelope is never also one of the other, so `oneOf` holds."""
    example = made()["components"]["examples"][f"NOT_FOUND.{envelope}"]["value"]
    other = "B" if envelope == "A" else "A"

    assert problems({"$ref": f"#/components/schemas/Envelope{envelope}"}, example) == []
    assert problems({"$ref": f"#/components/schemas/Envelope{other}"}, example) != []


def test_no_reference_leads_nowhere_and_no_component_is_idle() -> None:
    """Each `$ref` has a target, and each component is referred to."""
    referred = {node["$ref"] for _, node in nodes(made()) if "$ref" in node}
    components = {
        f"#/components/{kind}/{name}" for kind in ("schemas", "examples") for name in made()["components"][kind]
    }

    assert components == referred


def test_it_is_the_same_every_time() -> None:
    """Two documents of the same table are the same text, in the same order."""
    assert json.dumps(document(OPERATIONS, server_url=URL)) == json.dumps(document(OPERATIONS, server_url=URL))


def test_it_makes_no_noise() -> None:
    """No member carries `default: null` or a title that repeats its name."""
    noisy = [place for place, node in nodes(made()["components"]["schemas"]) if node.get("default", 0) is None]
    titled = [place for place, node in nodes(made()["components"]["schemas"]) if isinstance(node.get("title"), str)]

    assert noisy == []
    assert titled == []


def test_the_key_pattern_takes_what_the_service_takes() -> None:
    """The pattern of `Idempotency-Key` is UUID version 4, in its canonical form alone."""
    parameters = made()["paths"]["/api/v1/refund/refund-creation"]["post"]["parameters"]
    pattern = next(each["schema"]["pattern"] for each in parameters if each["name"] == "Idempotency-Key")

    assert re.search(pattern, "5F0C9D3E-8a41-4b7e-9c1d-2e6f7a8b9c0d")
    assert not re.search(pattern, "5f0c9d3e-8a41-1b7e-9c1d-2e6f7a8b9c0d")  # version 1
    assert not re.search(pattern, "5f0c9d3e-8a41-4b7e-cc1d-2e6f7a8b9c0d")  # another variant
    assert not re.search(pattern, "{5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d}")


def test_the_command_prints_it_as_json_and_as_yaml() -> None:
    """`paydouble openapi` prints the same content in both formats."""
    as_json = CliRunner().invoke(openapi)
    as_yaml = CliRunner().invoke(openapi, ["--format", "yaml"])

    assert (as_json.exit_code, as_yaml.exit_code) == (0, 0)
    assert made() == json.loads(as_json.output)
    assert made() == yaml.safe_load(as_yaml.output)
