"""The OpenAPI 3.1 document of the control API, made from its route table and its models."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from pydantic import BaseModel

from paydouble.core.documents import BYTES_COMPONENTS, Document
from paydouble.core.json_schema import REF, Schema
from paydouble.faults.model import ApiFault, WebhookFault
from paydouble.openapi.dialect import components, portable
from paydouble.payments.events import EVENT_TYPES
from paydouble.scenarios.model import Scenario
from paydouble.version import __version__
from paydouble.web.addresses import CONTROL_PREFIX
from paydouble.web.control.calls import REFUSAL, ControlRoute
from paydouble.web.control.routes import NOUNS, ROUTES
from paydouble.web.control.scenarios import ScenarioText
from paydouble.web.control.verification import COMPONENTS as VERDICT_COMPONENTS
from paydouble.webhooks.deliveries import DELIVERY_STATUSES
from paydouble.yamlfile.schema import attribute_docs, with_members

_INTRODUCTION: Final = """\
Calls with which a test, in any language, controls the double and asks what happened. They are never journalled, faulted
or rate limited. Unknown members are refused; a refusal names the member and changes nothing. `verify` and `wait` answer
200 with a verdict; 4xx is a bad control call."""
_SERVER: Final = "server"
_PARAMETERS: Final = {
    "s": "The sandbox's id.",
    "id": "The id of the object, within the sandbox.",
    "name": "The scenario's name.",
    "after": "The number after which the stream goes on; 0 for all that is kept.",
    "limit": "The largest number of entries, 1 to 1000.",
    "cursor": "`next_cursor` of the page before.",
    "type": "Only events of this type.",
    "event_type": "Only deliveries of events of this type.",
    "object_id": "Only those about this object.",
    "external_identifier": "Only those of this order: its pay-in, and the pay-in's refunds and disputes.",
    "status": "Only deliveries in this state.",
    "label": "Only sandboxes with this label, `name:value`, or `name` for any value; commas separate several labels.",
}
_TAGS: Final = {**{tag: text for noun in NOUNS for tag, text in noun.tags.items()}, _SERVER: "The server itself."}
COMPONENTS: Final[Mapping[str, Schema]] = {
    name: portable(schema)
    for name, schema in sorted(
        {
            **BYTES_COMPONENTS,
            **REFUSAL,
            **VERDICT_COMPONENTS,
            **{name: schema for noun in NOUNS for name, schema in noun.components.items()},
        }.items()
    )
}
"""The schemas that answers refer to."""
# Other answers that any call may have.
_REFUSALS: Final = {"400": "Bad call.", "401": "No token, or a wrong one.", "403": "Foreign Host or Origin."}


def document(*, server_url: str = "/") -> Document:
    """Return the document as plain JSON data; `server_url` is where the control API is reached, without its prefix."""
    paths: Document = {}
    for route in ROUTES:
        paths.setdefault(CONTROL_PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.1",
        "info": {"title": "paydouble: control", "version": __version__, "description": _INTRODUCTION},
        "servers": [{"url": server_url}],
        "security": [{"token": []}, {}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": dict(sorted({**COMPONENTS, **_models()}.items())),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Only where the server was given a token."}
            },
        },
    }


def _operation(route: ControlRoute) -> Document:
    variables = re.findall(r"\{(\w+)\}", route.path)
    described: Document = {"operationId": route.name, "summary": route.summary, "tags": [_tag(route)]}
    if route.advice:
        described["description"] = route.advice
    described["parameters"] = [
        *(_parameter(name, "path", {"type": "string", "minLength": 1}) for name in variables),
        *(_parameter(name, "query", _query_schema(name)) for name in route.queries),
    ]
    if route.payload is not None:
        described["requestBody"] = {
            "required": _is_required(route),
            "content": {"application/json": {"schema": _body(route)}},
        }
    described["responses"] = {
        str(route.status): {"description": "Done.", "content": _answer(route)},
        **{status: _refusal(text) for status, text in _REFUSALS.items()},
    }
    if variables:
        described["responses"]["404"] = _refusal("No such sandbox or object.")
    if "s" in variables:
        described["responses"]["410"] = _refusal("The sandbox was deleted because nobody used it for its `ttl`.")
    if route.name in {"sandbox-create", "sandbox-fork"}:
        described["responses"]["429"] = _refusal("The server has as many sandboxes as it may have.")
    if route.method == "POST" and variables[-1:] not in ([], ["s"]):
        described["responses"]["409"] = _refusal("The object cannot do that now.")
    if route.name == "metrics":
        described["responses"]["404"] = _refusal("The extra is not installed.")
    return described


def _tag(route: ControlRoute) -> str:
    return next((tag for tag in _TAGS if f"{route.name}-".startswith(f"{tag}-")), _SERVER)


def _parameter(name: str, place: str, schema: Document) -> Document:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, **required, "description": _PARAMETERS[name], "schema": schema}


def _query_schema(name: str) -> Document:
    if name == "limit":
        return {"type": "integer", "minimum": 1, "maximum": 1000}
    if name == "after":
        return {"type": "string", "pattern": "^[0-9]{1,18}$"}
    if name == "cursor":
        return {"type": "string", "pattern": "^[0-9]{1,15}$"}
    if name in {"type", "event_type"}:
        return {"type": "string", "enum": list(EVENT_TYPES)}
    if name == "status":
        return {"type": "string", "enum": list(DELIVERY_STATUSES)}
    return {"type": "string"}


def _is_required(route: ControlRoute) -> bool:
    if route.payload is None or not issubclass(route.payload, BaseModel):
        return True
    return any(field.is_required() for field in route.payload.model_fields.values())


def _body(route: ControlRoute) -> Document:
    if route.payload is not None and issubclass(route.payload, BaseModel):
        return {"$ref": REF + route.payload.__name__}
    return {"$ref": REF + route.body}


def _answer(route: ControlRoute) -> Document:
    return {route.media: {"schema": portable(route.answer)}}


def _refusal(text: str) -> Document:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": REF + "Refusal"}}}}


def _models() -> Document:
    models: set[type[BaseModel]] = {ApiFault, WebhookFault, Scenario, ScenarioText}
    for route in ROUTES:
        if route.payload is not None and issubclass(route.payload, BaseModel):
            models.add(route.payload)
    found = described_models(models)
    return {**found, **_faults(found), **_scenarios(found)}


def described_models(models: Collection[type[BaseModel]]) -> Document:
    """Return the schemas of bodies and of the models inside them, with the texts under their members in the source."""
    found = components((model, "validation") for model in sorted(models, key=lambda model: model.__name__))
    for model in with_members(models):
        for member, text in attribute_docs(model).items():
            if member in model.model_fields:
                shown = found[model.__name__]["properties"][model.model_fields[member].alias or member]
                shown["description"] = " ".join(f"{text} {shown.get('description', '')}".split())
    return found


def _faults(found: Document) -> Document:
    """Return the schemas of faults besides their models: the unions by name, and the members that PATCH changes."""
    sides = {"Api": found["ApiFault"]["properties"], "Webhook": found["WebhookFault"]["properties"]}
    unions: Document = {}
    for side, own in sides.items():
        unions[f"{side}Effect"] = own["effect"]
        own["effect"] = {"$ref": f"{REF}{side}Effect"}
    # All but the id, which cannot change. Absent members stay as they are, so their defaults are not described.
    texts = attribute_docs(ApiFault) | attribute_docs(WebhookFault)
    members: Document = {}
    for name, member in (each for side in reversed(sides.values()) for each in side.items()):
        members[name] = {keyword: value for keyword, value in member.items() if keyword != "description"}
        if name in texts:
            members[name]["description"] = " ".join(texts[name].split())
    del members["id"]
    for name in ("effect", "match"):
        members[name] = {"anyOf": [side[name] for side in sides.values()]}
    members["on"] = {"type": "string", "enum": [side["on"]["const"] for side in sides.values()]}
    return {
        **unions,
        "NewFault": {
            "description": "A fault to arm. Of an effect that only one side has, `on` may be left out.",
            "anyOf": [{"$ref": f"{REF}ApiFault"}, {"$ref": f"{REF}WebhookFault"}],
        },
        "FaultChange": {
            "description": "The members of a fault to change.",
            "type": "object",
            "properties": members,
            "additionalProperties": False,
        },
    }


def _scenarios(found: Document) -> Document:
    """Return the schemas of a scenario in a body."""
    # These two have their own parsers, for which pydantic has no schema.
    members = found["Scenario"]["properties"]
    members["settings"] = {"type": ["object", "null"], "description": members["settings"]["description"]}
    members["faults"] |= {"type": "array", "items": {"$ref": f"{REF}NewFault"}}
    return {
        "NewScenario": {
            "description": "A scenario, or the text of its file.",
            "anyOf": [{"$ref": f"{REF}Scenario"}, {"$ref": f"{REF}ScenarioText"}],
        }
    }
