"""The OpenAPI 3.1 document of the control API, put together from its route table and its models."""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from paydouble.core.durations import format_duration
from paydouble.faults.model import ApiFault, WebhookFault
from paydouble.payments.events import EVENT_TYPES
from paydouble.scenarios.model import Scenario
from paydouble.version import __version__
from paydouble.web.control.answers import ANSWERS, COMPONENTS, OTHER_TYPES, REF
from paydouble.web.control.door import PREFIX
from paydouble.web.control.routes import ROUTES
from paydouble.web.control.scenario_bodies import ScenarioText
from paydouble.web.control.values import ControlRoute
from paydouble.webhooks.deliveries import DELIVERY_STATUSES

Document = dict[str, Any]
_INTRODUCTION: Final = """\
What a test, in any language, makes the double do, and what it then asks. No call here is journalled, faulted or rate
limited. Unknown members are refused; a refusal names the member and changes nothing. Reads answer 200 with a verdict
inside; 4xx is a bad control call."""
_PARAMETERS: Final = {
    "s": "The sandbox's id.",
    "id": "The id of the object, within the sandbox.",
    "name": "The scenario's name.",
    "limit": "At most so many, 1 to 1000.",
    "cursor": "`next_cursor` of the page before.",
    "type": "Only events of this type.",
    "event_type": "Only deliveries of events of this type.",
    "object_id": "Only those about this object.",
    "status": "Only deliveries in this state.",
}
_ADVICE: Final = {
    "clock-advance": "Exactly one of `by`, `to` and `until_idle`. A second advance waits for the first.",
    "fault-add": (
        "Without `on` an effect that only one side has chooses that side; one that both have is on the API. "
        "The first enabled fault that matches and fires decides; with `compose` the next may act too."
    ),
    "fault-change": (
        "Any members of a fault; `match` and `effect` are replaced whole, null takes a member back to its default, "
        "and the counts stay."
    ),
    "scenario-add": (
        "A scenario as an object, or its file as `yaml` text. It stands over any other of its name, for the pay-ins to "
        "come; those that there are keep the life that they began."
    ),
    "scenario-activate": "It goes before the e-mail of a deposit's customer and before the setting `scenario`.",
    "scenario-play": "Of the `deposit` only what matters need be given. Its events have no request.",
    "request-wait": "`timeout` is real time. When it is over the answer says so, with the same explanation.",
    "delivery-wait": "`timeout` is real time. When it is over the answer says so, with the same explanation.",
    "stream": (
        "Each event has the number of what happened as its `id` and its kind as its `event`: request, event, attempt, "
        "delivery, clock, fault or reset. With `Last-Event-ID` it goes on after that number (0: all that is kept); "
        "what is no longer kept is told by an event `gap` with the count. The stream ends with the sandbox."
    ),
}
# What may come besides the answer; 403 is about Host and Origin, 401 about the token.
_REFUSALS: Final = {"400": "Bad call.", "401": "No token, or a wrong one.", "403": "Foreign Host or Origin."}


class _Plain(GenerateJsonSchema):
    """Without a title on each member, which would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


def document(*, server_url: str = "/") -> Document:
    """Return the document as plain JSON data; `server_url` is where the control API is reached, without its prefix."""
    paths: Document = {}
    for route in ROUTES:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.1",
        "info": {"title": "paydouble: control", "version": __version__, "description": _INTRODUCTION},
        "servers": [{"url": server_url}],
        "security": [{"token": []}, {}],
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
    described: Document = {"operationId": route.name, "summary": route.summary, "tags": [route.name.partition("-")[0]]}
    if route.name in _ADVICE:
        described["description"] = _ADVICE[route.name]
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
    if route.method == "POST" and variables[-1:] not in ([], ["s"]):
        described["responses"]["409"] = _refusal("The object cannot do that now.")
    if route.name == "metrics":
        described["responses"]["404"] = _refusal("The extra is not installed.")
    return described


def _parameter(name: str, place: str, schema: Document) -> Document:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, **required, "description": _PARAMETERS[name], "schema": schema}


def _query_schema(name: str) -> Document:
    if name == "limit":
        return {"type": "integer", "minimum": 1, "maximum": 1000}
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
    if route.name == "fault-change":
        return {"$ref": REF + "FaultChange"}
    if route.name == "scenario-add":
        return {"anyOf": [{"$ref": REF + "Scenario"}, {"$ref": REF + "ScenarioText"}]}
    return {"anyOf": [{"$ref": REF + "ApiFault"}, {"$ref": REF + "WebhookFault"}]}


def _answer(route: ControlRoute) -> Document:
    if route.name in OTHER_TYPES:
        return {OTHER_TYPES[route.name]: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": ANSWERS[route.name]}}


def _refusal(text: str) -> Document:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": REF + "Refusal"}}}}


def _models() -> Document:
    models: set[type[BaseModel]] = {ApiFault, WebhookFault, Scenario, ScenarioText}
    for route in ROUTES:
        if route.payload is not None and issubclass(route.payload, BaseModel):
            models.add(route.payload)
    _, made = models_json_schema(
        [(model, "validation") for model in sorted(models, key=lambda model: model.__name__)],
        ref_template=REF + "{model}",
        schema_generator=_Plain,
    )
    found: Document = made["$defs"]
    for schema in found.values():
        schema.pop("title", None)
        for member in schema.get("properties", {}).values():
            if member.get("type") == "string" and isinstance(member.get("default"), int):
                member["default"] = format_duration(member["default"])  # inside, durations are milliseconds
    # All but the id, which stays.
    members = {**found["WebhookFault"]["properties"], **found["ApiFault"]["properties"]}
    for name in ("effect", "match", "on"):
        sides = [found[side]["properties"][name] for side in ("ApiFault", "WebhookFault")]
        members[name] = {"anyOf": sides}
    del members["id"]
    found["FaultChange"] = {"type": "object", "properties": members, "additionalProperties": False}
    return found
