"""What control calls answer, as JSON Schema: for the document, and for clients that are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from paydouble.webhooks.deliveries import DELIVERY_STATUSES

Schema = dict[str, Any]
REF: Final = "#/components/schemas/"
_TEXT: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_FLAG: Final[Schema] = {"type": "boolean"}
_ANY: Final[Schema] = {}
_BYTES: Final[Schema] = {
    "description": "Text, or an object with `base64` where the bytes are no UTF-8.",
    "anyOf": [
        _TEXT,
        {"type": "object", "required": ["base64"], "properties": {"base64": _TEXT}, "additionalProperties": False},
    ],
}
_HEADERS: Final[Schema] = {
    "type": "array",
    "items": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
    "description": "Names and values as they were sent, in their order.",
}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _ref(name: str) -> Schema:
    return {"$ref": REF + name}


def _object(required: Mapping[str, Schema], **optional: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _listing(items: str) -> Schema:
    return _object({"items": _list(_ref(items)), "next_cursor": _or_null(_TEXT), "evicted": _COUNT})


_SOURCE: Final[Schema] = {"type": "string", "description": "`shipped`, `uploaded`, or the path of its file."}
_SCENARIO: Final = {"name": _TEXT, "summary": _TEXT, "source": _SOURCE, "active": _FLAG}
_DELIVERY: Final = {
    "id": _TEXT,
    "event_id": _TEXT,
    "event_type": _TEXT,
    "object_id": _TEXT,
    "target": _or_null(_TEXT),
    "status": {"enum": list(DELIVERY_STATUSES)},
    "next_due_at": _or_null(_TIME),
    "faults": _list(_TEXT),
    "attempts": _list(_ref("Attempt")),
}
COMPONENTS: Final[Mapping[str, Schema]] = {
    "Attempt": _object(
        {
            "number": _COUNT,
            "due_at": _TIME,
            "sent_at": _or_null(_TIME),
            "signed_at": _COUNT,
            "headers": _HEADERS,
            "body": _BYTES,
            "status": _or_null(_COUNT),
            "error": _or_null(_object({"kind": _TEXT, "message": _TEXT})),
            "latency_ms": _or_null({"type": "number", "minimum": 0}),
            "response_body": _or_null(_BYTES),
            "faults": _list(_TEXT),
        }
    ),
    "Clock": _object(
        {
            "mode": {"enum": ["real", "manual", "auto"]},
            "now": _TIME,
            "rate": {"type": "number"},
            "next_due_at": _or_null(_TIME),
            "pending": _COUNT,
            "idle": _FLAG,
        }
    ),
    "Delivery": _object(_DELIVERY),
    "Refusal": _object({"error": _object({"code": _TEXT, "message": _TEXT}, member=_TEXT)}),
    "Event": _object(
        {
            "id": _TEXT,
            "type": _TEXT,
            "object_id": _TEXT,
            "created_at": _TIME,
            "request_id": _or_null(_TEXT),
            "body": _BYTES,
        }
    ),
    "Fault": _object(
        {
            "id": _TEXT,
            "on": {"enum": ["api", "webhooks"]},
            "enabled": _FLAG,
            "skip": _COUNT,
            "probability": {"type": "number"},
            "compose": _FLAG,
            "match": {"type": "object"},
            "effect": _object({"type": _TEXT}),
            "times_matched": _COUNT,
            "times_fired": _COUNT,
            "created_at": _TIME,
            "expires_at": _or_null(_TIME),
            "active": _FLAG,
        },
        name=_TEXT,
        phase={"enum": ["before_commit", "after_commit"]},
        times=_COUNT,
        ttl=_TEXT,
    ),
    "Request": _object(
        {
            "id": _TEXT,
            "at": _TIME,
            "method": _TEXT,
            "path": _TEXT,
            "target": _TEXT,
            "operation": _or_null(_TEXT),
            "headers": _HEADERS,
            "body": _BYTES,
            "status": _or_null(_COUNT),
            "response_body": _BYTES,
            "idempotency": _object(
                {
                    "key": _or_null(_TEXT),
                    "verdict": {"enum": ["new", "replay", "joined", "conflict", "none"]},
                    "bytes_differ": _FLAG,
                }
            ),
            "faults": _list(_TEXT),
            "events": _list(_TEXT),
        }
    ),
    "Resource": _object({"id": _TEXT, "object": _TEXT, "status": _TEXT}),
    "Sandbox": _object(
        {
            "id": _TEXT,
            "base_url": _TEXT,
            "business_key": _TEXT,
            "business_secret": _TEXT,
            "webhook_secret": _TEXT,
            "notification_url": _or_null(_TEXT),
            "seed": {"type": "integer"},
            "clock": _ref("Clock"),
            "scenario": _TEXT,
            "settings": {"type": "object"},
        }
    ),
    "ScenarioSummary": _object(_SCENARIO),
    "WholeScenario": {
        **_object(_SCENARIO),
        "description": "What it is, where it is from, and every member of its file that is given.",
    },
    "Verdict": _object(
        {
            "passed": _FLAG,
            "count": _COUNT,
            "expected": _TEXT,
            "closest": _list(
                _object(
                    {"id": _TEXT, "differences": _list(_object({"member": _TEXT, "wanted": _ANY, "got": _ANY}))},
                )
            ),
            "evicted": _COUNT,
        },
        note=_TEXT,
        timed_out=_FLAG,
    ),
    "Webhook": _object(
        {
            "notification_url": _or_null(_TEXT),
            "secret": _TEXT,
            "previous_secret": _or_null(_TEXT),
            "previous_valid_until": _or_null(_TIME),
            "signature_header": _TEXT,
        }
    ),
}
_MOVED: Final = _object({"now": _TIME, "fired": _COUNT, "attempts": _COUNT, "idle": _FLAG})
_REMOVED: Final = {"type": "object", "additionalProperties": _COUNT}
# Name of a route -> what it answers.
ANSWERS: Final[Mapping[str, Schema]] = {
    "health": _object({"status": _TEXT, "version": _TEXT, "uptime_seconds": {"type": "number"}, "sandboxes": _COUNT}),
    "sandbox-create": _ref("Sandbox"),
    "sandbox-list": _listing("Sandbox"),
    "sandbox-read": _ref("Sandbox"),
    "sandbox-change": _ref("Sandbox"),
    "sandbox-delete": _object({"deleted": _TEXT}),
    "sandbox-reset": _object({"scope": _list(_TEXT), "removed": _REMOVED}),
    "clock-read": _ref("Clock"),
    "clock-set": _ref("Clock"),
    "clock-advance": _MOVED,
    "fault-list": _listing("Fault"),
    "fault-add": _ref("Fault"),
    "fault-clear": _object({"deleted": _COUNT}),
    "fault-read": _ref("Fault"),
    "fault-change": _ref("Fault"),
    "fault-remove": _object({"deleted": _TEXT, "times_fired": _COUNT}),
    "quota-set": _object({"limit": _COUNT, "window": _TEXT, "reset_unit": _TEXT, "headers": _TEXT}),
    "quota-clear": _object({"deleted": _TEXT}),
    "request-list": _listing("Request"),
    "request-forget": _object({"removed": _COUNT}),
    "request-verify": _ref("Verdict"),
    "request-wait": _ref("Verdict"),
    "event-list": _listing("Event"),
    "event-read": _ref("Event"),
    "event-emit": _ref("Event"),
    "delivery-list": _listing("Delivery"),
    "delivery-read": _ref("Delivery"),
    "delivery-verify": _ref("Verdict"),
    "delivery-wait": _ref("Verdict"),
    "delivery-redeliver-failed": _object({"redelivered": _list(_TEXT)}),
    "delivery-redeliver": _ref("Delivery"),
    "delivery-hold": _ref("Delivery"),
    "delivery-release": _ref("Delivery"),
    "webhook-read": _ref("Webhook"),
    "webhook-change": _ref("Webhook"),
    "webhook-rotate": _ref("Webhook"),
    "webhook-test": _ref("Event"),
    "pay-in-transition": _ref("Resource"),
    "refund-transition": _ref("Resource"),
    "dispute-transition": _ref("Resource"),
    "payout-transition": _ref("Resource"),
    "dispute-open": _ref("Resource"),
    "scenario-list": _listing("ScenarioSummary"),
    "scenario-add": _ref("WholeScenario"),
    "scenario-active": _object({"name": _or_null(_TEXT)}),
    "scenario-read": _ref("WholeScenario"),
    "scenario-activate": _ref("ScenarioSummary"),
    "scenario-deactivate": _object({"deleted": _or_null(_TEXT)}),
    "scenario-play": _ref("Resource"),
}
# Those whose answer is no JSON document.
OTHER_TYPES: Final[Mapping[str, str]] = {"metrics": "text/plain", "stream": "text/event-stream"}
