"""The control table: every call under `/_paydouble`, once."""

from __future__ import annotations

from typing import Final

from paydouble.web.control import documents, outcomes, records, sandboxes
from paydouble.web.control.models import (
    Advance,
    ChangeSandbox,
    ChangeWebhook,
    ClockBody,
    CreateSandbox,
    OpenDispute,
    Reset,
    RotateSecret,
    Transition,
)
from paydouble.web.control.values import ControlRoute as Row

_BOX: Final = "/sandboxes/{s}"
_PAGE: Final = ("limit", "cursor")

ROUTES: Final = (
    Row("health", "GET", "/health", "Whether the server is well.", documents.health, open_to_all=True),
    Row("sandbox-create", "POST", "/sandboxes", "Make an isolated business.", sandboxes.create, CreateSandbox, 201),
    Row("sandbox-list", "GET", "/sandboxes", "List the sandboxes.", sandboxes.list_all, queries=_PAGE),
    Row("sandbox-read", "GET", _BOX, "Show a sandbox.", sandboxes.read),
    Row("sandbox-change", "PATCH", _BOX, "Change a living sandbox.", sandboxes.change, ChangeSandbox),
    Row("sandbox-delete", "DELETE", _BOX, "Let a sandbox go.", sandboxes.delete),
    Row(
        "sandbox-reset",
        "POST",
        _BOX + "/reset",
        "Forget what happened; cancel what is pending.",
        sandboxes.reset,
        Reset,
    ),
    Row("clock-read", "GET", _BOX + "/clock", "Show the clock.", sandboxes.read_clock),
    Row("clock-set", "PUT", _BOX + "/clock", "Put another clock in.", sandboxes.set_clock, ClockBody),
    Row(
        "clock-advance",
        "POST",
        _BOX + "/clock/advance",
        "Move the clock; returns when all is settled.",
        sandboxes.advance,
        Advance,
    ),
    Row("request-list", "GET", _BOX + "/requests", "The request journal.", records.requests, queries=_PAGE),
    Row("request-forget", "DELETE", _BOX + "/requests", "Empty the request journal.", records.forget_requests),
    Row("event-list", "GET", _BOX + "/events", "The events.", records.events, queries=("type", "object_id", *_PAGE)),
    Row("event-read", "GET", _BOX + "/events/{id}", "One event, with its exact body.", records.event),
    Row(
        "delivery-list",
        "GET",
        _BOX + "/deliveries",
        "The deliveries.",
        records.deliveries,
        queries=("event_type", "object_id", "status", *_PAGE),
    ),
    Row("delivery-read", "GET", _BOX + "/deliveries/{id}", "One delivery, with every attempt.", records.delivery),
    Row("webhook-read", "GET", _BOX + "/webhook", "Target and secret of events.", outcomes.webhook),
    Row("webhook-change", "PATCH", _BOX + "/webhook", "Aim events elsewhere.", outcomes.change_webhook, ChangeWebhook),
    Row(
        "webhook-rotate",
        "POST",
        _BOX + "/webhook/rotate-secret",
        "Make a new webhook secret.",
        outcomes.rotate_secret,
        RotateSecret,
    ),
    Row(
        "pay-in-transition",
        "POST",
        _BOX + "/pay-ins/{id}/transition",
        "Force a pay-in's state.",
        outcomes.move_pay_in,
        Transition,
    ),
    Row(
        "refund-transition",
        "POST",
        _BOX + "/refunds/{id}/transition",
        "Force a refund's state.",
        outcomes.move_refund,
        Transition,
    ),
    Row(
        "dispute-transition",
        "POST",
        _BOX + "/disputes/{id}/transition",
        "Force a dispute's state.",
        outcomes.move_dispute,
        Transition,
    ),
    Row(
        "payout-transition",
        "POST",
        _BOX + "/payouts/{id}/transition",
        "Force a payout's state.",
        outcomes.move_payout,
        Transition,
    ),
    Row(
        "dispute-open",
        "POST",
        _BOX + "/pay-ins/{id}/disputes",
        "A dispute arrives.",
        outcomes.open_dispute,
        OpenDispute,
        201,
    ),
)
