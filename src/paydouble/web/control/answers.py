"""What control calls answer, as JSON Schema: for the document, and for clients that are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from paydouble.core.documents import BYTES_COMPONENTS, component, open_schema, schema, schemas_inside
from paydouble.core.json_schema import (
    AMOUNT,
    ANYTHING,
    COUNT,
    FLAG,
    TEXT,
    Schema,
    described,
    list_of,
    object_of,
    open_object,
    or_null,
    reference,
)
from paydouble.openapi.dialect import portable
from paydouble.records import (
    Advanced,
    Attempt,
    ClockState,
    Delivery,
    Event,
    Fault,
    Health,
    Request,
    Resource,
    SandboxState,
    Scenario,
    UnclaimedRequest,
    WebhookState,
)


def _listing(items: str) -> Schema:
    return object_of({"items": list_of(reference(items)), "next_cursor": or_null(TEXT), "evicted": COUNT})


_MONEY: Final = {
    "refunded_amount": described("What was given back.", AMOUNT),
    "refund_pending_amount": described("What refunds that are not done yet will give back.", AMOUNT),
    "disputed_amount": described("What open disputes are about.", AMOUNT),
    "charged_back_amount": described("What lost and accepted disputes took.", AMOUNT),
}
_RECORDS: Final = (
    Attempt,
    ClockState,
    Delivery,
    Event,
    Fault,
    Request,
    SandboxState,
    WebhookState,
)
_COMPONENTS: Final[Mapping[str, Schema]] = {
    **{component(kind): schema(kind) for kind in _RECORDS},
    **{name: inner for kind in _RECORDS for name, inner in schemas_inside(kind).items()},
    **BYTES_COMPONENTS,
    "Difference": object_of(
        {
            "member": described("The member, with its path where it is inside of a body: `body.customer.email`.", TEXT),
            "wanted": ANYTHING,
            "got": described("What it was; absent members are null.", ANYTHING),
        }
    ),
    "NearMiss": described(
        "A record that came close: what identifies it, and what was not as wanted.",
        object_of(
            {"id": TEXT, "differences": list_of(reference("Difference"))},
            **dict.fromkeys(("at", "method", "target", "event_type", "object_id"), TEXT),
        ),
    ),
    "Refusal": object_of({"error": reference("RefusalReason")}),
    "RefusalReason": object_of(
        {
            "code": described("A stable name.", TEXT),
            "message": described("For a person: what is wrong, and how to fix it.", TEXT),
        },
        member=described("The member that it is about.", TEXT),
    ),
    "PayIn": described(
        "A pay-in with all its members, as the API shows it, and what was refunded and disputed.",
        open_object({**schema(Resource)["properties"], **_MONEY}),
    ),
    "Resource": described("A resource with all its members, as the API shows it.", open_schema(Resource)),
    "ScenarioSummary": schema(Scenario),
    "WholeScenario": described(
        "What it is, where it is from, and every member of its file that is given.", open_schema(Scenario)
    ),
    "UnclaimedRequest": described(
        "As a request of a sandbox's journal, and the business key that it came with. Of its headers the first "
        "16 KiB are kept, of its body the first 4 KiB, and nothing that authenticates.",
        schema(UnclaimedRequest),
    ),
    "Verdict": object_of(
        {
            "passed": FLAG,
            "count": COUNT,
            "expected": TEXT,
            "closest": described("Up to three near misses, when it did not pass.", list_of(reference("NearMiss"))),
            "evicted": COUNT,
        },
        note=TEXT,
        timed_out=FLAG,
    ),
}
COMPONENTS: Final[Mapping[str, Schema]] = {name: portable(schema) for name, schema in sorted(_COMPONENTS.items())}
_REMOVED: Final = {"type": "object", "additionalProperties": COUNT}
# Name of a route -> what it answers.
_ANSWERS: Final[Mapping[str, Schema]] = {
    "health": schema(Health),
    "sandbox-create": reference("Sandbox"),
    "sandbox-list": _listing("Sandbox"),
    "sandbox-read": reference("Sandbox"),
    "sandbox-change": reference("Sandbox"),
    "sandbox-delete": object_of({"deleted": TEXT}),
    "sandbox-reset": object_of({"scope": list_of(TEXT), "removed": _REMOVED}),
    "clock-read": reference("Clock"),
    "clock-set": reference("Clock"),
    "clock-advance": schema(Advanced),
    "fault-list": _listing("Fault"),
    "fault-add": reference("Fault"),
    "fault-clear": object_of({"deleted": COUNT}),
    "fault-read": reference("Fault"),
    "fault-change": reference("Fault"),
    "fault-remove": object_of({"deleted": TEXT, "times_fired": COUNT}),
    "quota-set": object_of({"limit": COUNT, "window": TEXT, "reset_unit": TEXT, "clock": TEXT, "headers": TEXT}),
    "quota-clear": object_of({"deleted": TEXT}),
    "request-list": _listing("Request"),
    "request-forget": object_of({"removed": COUNT}),
    "request-verify": reference("Verdict"),
    "request-wait": reference("Verdict"),
    "unclaimed-request-list": _listing("UnclaimedRequest"),
    "event-list": _listing("Event"),
    "event-read": reference("Event"),
    "event-emit": reference("Event"),
    "delivery-list": _listing("Delivery"),
    "delivery-read": reference("Delivery"),
    "delivery-verify": reference("Verdict"),
    "delivery-wait": reference("Verdict"),
    "delivery-redeliver-failed": object_of({"redelivered": list_of(TEXT)}),
    "delivery-redeliver": reference("Delivery"),
    "delivery-hold": reference("Delivery"),
    "delivery-release": reference("Delivery"),
    "webhook-read": reference("Webhook"),
    "webhook-change": reference("Webhook"),
    "webhook-rotate": reference("Webhook"),
    "webhook-test": reference("Event"),
    "pay-in-list": _listing("PayIn"),
    "pay-in-read": reference("PayIn"),
    "pay-in-transition": reference("PayIn"),
    "refund-transition": reference("Resource"),
    "dispute-transition": reference("Resource"),
    "payout-transition": reference("Resource"),
    "dispute-open": reference("Resource"),
    "scenario-list": _listing("ScenarioSummary"),
    "scenario-add": reference("WholeScenario"),
    "scenario-active": object_of({"name": or_null(TEXT)}),
    "scenario-read": reference("WholeScenario"),
    "scenario-activate": reference("ScenarioSummary"),
    "scenario-deactivate": object_of({"deleted": or_null(TEXT)}),
    "scenario-play": reference("PayIn"),
}
ANSWERS: Final[Mapping[str, Schema]] = {name: portable(schema) for name, schema in _ANSWERS.items()}
# Those whose answer is no JSON document.
OTHER_TYPES: Final[Mapping[str, str]] = {"metrics": "text/plain", "stream": "text/event-stream"}
