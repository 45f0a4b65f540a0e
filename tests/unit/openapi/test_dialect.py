"""Both OpenAPI documents are written so that generators of clients, which differ in much, make the same of them.

What real generators make of them, the step `generators` of `tools/check.py` shows.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import pytest
from openapi_reader import Json, made, nodes
from openapi_spec_validator import OpenAPIV31SpecValidator

from paydouble.config import RateLimit
from paydouble.faults.api_effects import RateLimit as RateLimitEffect
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.journal import Verdict
from paydouble.openapi.dialect import components, portable
from paydouble.records import ERROR_KINDS, STATES, VERDICTS
from paydouble.runtime import sender
from paydouble.web.control.openapi import document
from paydouble.webhooks.deliveries import DELIVERY_STATUSES

# JSON Schema 2020-12 as far as it is used here, and what OpenAPI and we add.
KEYWORDS = {
    *("$ref", "type", "const", "enum", "format", "description", "examples", "discriminator", "x-provenance"),
    *("anyOf", "oneOf", "allOf", "properties", "required", "additionalProperties", "items", "propertyNames"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
}


@cache
def control() -> Json:
    """Return the control API's document as a reader gets it: through JSON."""
    text: Json = json.loads(json.dumps(document()))
    return text


DOCUMENTS = {"api": made, "control": control}


def schemas_in(value: Any, place: str = "$") -> Iterator[tuple[str, Json]]:  # noqa: ANN401 - JSON is any
    """Yield every schema of a schema, itself first, with its place."""
    if not isinstance(value, dict):
        return
    yield place, value
    for name, member in value.get("properties", {}).items():
        yield from schemas_in(member, f"{place}.{name}")
    for keyword in ("items", "additionalProperties", "propertyNames"):
        yield from schemas_in(value.get(keyword), f"{place}.{keyword}")
    for keyword in ("anyOf", "oneOf", "allOf"):
        for index, option in enumerate(value.get(keyword, ())):
            yield from schemas_in(option, f"{place}.{keyword}[{index}]")


def all_schemas(which: str) -> list[tuple[str, Json]]:
    """Return every schema of a document: components, bodies, parameters, headers."""
    whole = DOCUMENTS[which]()
    tops = [(name, schema) for name, schema in whole["components"]["schemas"].items()]
    for place, node in nodes({"paths": whole["paths"], "webhooks": whole.get("webhooks", {})}):
        if "schema" in node:
            tops.append((place, node["schema"]))
    return [found for place, top in tops for found in schemas_in(top, place)]


@pytest.mark.parametrize("which", DOCUMENTS)
def test_it_is_valid_and_no_reference_leads_nowhere(which: str) -> None:
    """An independent validator accepts the document, and each `$ref` has a target that is spoken of."""
    whole = DOCUMENTS[which]()
    referred = {node["$ref"] for _, node in nodes(whole) if "$ref" in node}
    referred |= {name for _, node in nodes(whole) if "mapping" in node for name in node["mapping"].values()}

    assert list(OpenAPIV31SpecValidator(whole).iter_errors()) == []
    assert {name for name in referred if "/schemas/" in name} == {
        f"#/components/schemas/{name}" for name in whole["components"]["schemas"]
    }


@pytest.mark.parametrize("which", DOCUMENTS)
def test_it_speaks_json_schema_alone(which: str) -> None:
    """No keyword of Python's libraries, no default that makes a member required, no pattern that is Python's alone."""
    found = all_schemas(which)

    # The default of a parameter makes nothing required.
    spoken = {keyword for place, schema in found for keyword in schema if (place[0], keyword) != ("$", "default")}

    assert spoken <= KEYWORDS
    assert [place for place, schema in found if "(?" in schema.get("pattern", "")] == []
    assert [place for place, schema in found if schema.get("type") == "array" and "items" not in schema] == []
    assert len(found) > 300


@pytest.mark.parametrize("which", DOCUMENTS)
def test_numbers_say_how_wide_they_are(which: str) -> None:
    """A number is a double, and a whole number that needs more than 32 bits says so."""
    for place, schema in all_schemas(which):
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "number" in kinds:
            assert schema.get("format") == "double", place
        if "integer" in kinds:
            fits = schema.get("minimum", -(2**63)) >= -(2**31) and schema.get("maximum", 2**63) < 2**31
            assert fits or schema.get("format") == "int64", place


@pytest.mark.parametrize("which", DOCUMENTS)
def test_a_member_that_may_be_null_is_a_type_with_null(which: str) -> None:
    """Null stands beside a type, and in a union only where the rest of it is a name or has a fixed set of values."""
    for place, schema in all_schemas(which):
        options = schema.get("anyOf", [])
        if {"type": "null"} in options and len(options) == 2:
            (other,) = (each for each in options if each != {"type": "null"})
            assert {"$ref", "enum", "const", "anyOf"} & other.keys(), place


def test_a_fault_is_a_union_with_a_name() -> None:
    """A fault is one of two, and its effect one of many, told apart by a `type` that each of them requires."""
    schemas = control()["components"]["schemas"]
    body = control()["paths"]["/_paydouble/sandboxes/{s}/faults"]["post"]["requestBody"]

    assert body["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/NewFault"}
    for side, effects in (("Api", API_EFFECTS), ("Webhook", WEBHOOK_EFFECTS)):
        assert {"$ref": f"#/components/schemas/{side}Fault"} in schemas["NewFault"]["anyOf"]
        assert schemas[f"{side}Fault"]["properties"]["effect"] == {"$ref": f"#/components/schemas/{side}Effect"}
        union = schemas[f"{side}Effect"]
        assert union["discriminator"]["propertyName"] == "type"
        assert set(union["discriminator"]["mapping"]) == set(effects)
        assert len(union["oneOf"]) == len(effects)
        for name, reference in union["discriminator"]["mapping"].items():
            effect = schemas[reference.removeprefix("#/components/schemas/")]
            assert effect["properties"]["type"]["const"] == name
            assert "type" in effect["required"]


def test_a_change_of_a_fault_speaks_of_no_default() -> None:
    """What a PATCH leaves out stays as it is."""
    change = control()["components"]["schemas"]["FaultChange"]["properties"]

    assert [name for name, member in change.items() if "` when absent" in member.get("description", "")] == []
    assert "id" not in change


def test_every_name_that_an_answer_can_hold_is_explained() -> None:
    """Verdicts, states and kinds of errors: those that there are, each with its meaning."""
    schemas = control()["components"]["schemas"]

    assert list(VERDICTS) == list(get_args(Verdict))
    assert list(STATES) == list(DELIVERY_STATUSES)
    # The kinds that the sender gives, in its table and beside it.
    assert set(
        re.findall(r'(?:AttemptError\(|^    \([\w.]+, )"(\w+)"', inspect.getsource(sender), re.MULTILINE)
    ) == set(ERROR_KINDS)
    for schema, member, meanings in (
        ("Idempotency", "verdict", VERDICTS),
        ("Delivery", "status", STATES),
        ("AttemptError", "kind", ERROR_KINDS),
    ):
        shown = schemas[schema]["properties"][member]
        assert shown["enum"] == list(meanings)
        assert [name for name, meaning in meanings.items() if f"`{name}`: {meaning}" not in shown["description"]] == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "number", "gt": 0, "le": 5}, {"exclusiveMinimum": 0, "maximum": 5, "format": "double"}),
        ({"type": "string", "pattern": "^(?P<sign>[+-]?)$"}, {"pattern": "^([+-]?)$"}),
        ({"type": "string", "default": 90_000}, {"description": '`"1m30s"` when absent.'}),
        ({"type": "boolean", "description": "On.", "default": True}, {"description": "On. `true` when absent."}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, {"type": ["string", "null"]}),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({"prefixItems": [{"type": "string"}] * 2}, {"items": {"type": "string"}}),
        ({"type": "integer", "minimum": 1, "maximum": 9}, {"minimum": 1, "maximum": 9}),
        ({"type": "integer", "minimum": 1}, {"minimum": 1, "format": "int64"}),
        ({"properties": {"title": {"title": "Title"}}}, {"properties": {"title": {}}}),
    ],
)
def test_each_way_of_putting_it_is_rewritten(schema: Json, expected: Json) -> None:
    """One line for each thing that generators differ in."""
    kept = {"type": schema["type"]} if "type" in schema else {}

    assert kept | expected == portable(schema)


def test_what_has_no_portable_form_is_refused() -> None:
    """Two classes of one name, and a list of different kinds, are for us to change."""
    with pytest.raises(ValueError, match="two models share a name"):
        components([(RateLimit, "validation"), (RateLimitEffect, "validation")])
    with pytest.raises(ValueError, match="different kinds"):
        portable({"prefixItems": [{"type": "string"}, {"type": "integer"}]})
