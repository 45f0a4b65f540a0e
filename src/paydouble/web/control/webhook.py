"""Control calls about the target of events and the secrets that sign them."""

from __future__ import annotations

from typing import Final

from paydouble.api.schemas import WebUrl
from paydouble.config import Duration
from paydouble.core.documents import Document, components_of, dump
from paydouble.records import Event, WebhookState, show_event, webhook_of
from paydouble.web.control.calls import SANDBOX, Body, ControlCall, Noun, Secret, shown
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.journal import DocumentedType


class ChangeWebhook(Body):
    """The target of events, and the secret that signs them."""

    notification_url: WebUrl | None = None
    secret: Secret | None = None


class RotateSecret(Body):
    """For how long the old secret signs too."""

    grace: Duration = 0


class TestWebhook(Body):
    """Which sample event to send."""

    type: DocumentedType = "pay-in.succeeded"


def read(call: ControlCall) -> Document:
    """Show the target of events and the secrets that sign them."""
    call.sandbox.tick()
    return dump(webhook_of(call.sandbox))


def change_webhook(call: ControlCall) -> Document:
    """Change the target of events, or replace the secret at once."""
    wanted: ChangeWebhook = call.body
    box = call.sandbox
    if "notification_url" in wanted.model_fields_set:
        call.host.act(box, lambda: box.set_notification_url(wanted.notification_url))
    if wanted.secret is not None:
        box.replace_secret(wanted.secret)
    return read(call)


def rotate_secret(call: ControlCall) -> Document:
    """Make a new secret; during the grace both secrets sign."""
    wanted: RotateSecret = call.body
    call.sandbox.rotate_secret(wanted.grace)
    return read(call)


def test_webhook(call: ControlCall) -> Document:
    """Send a sample event of a documented type, as the service's dashboard does."""
    wanted: TestWebhook = call.body
    box = call.sandbox
    box.tick()
    return show_event(call.host.act(box, lambda: box.send_test_webhook(wanted.type)))


NOUN: Final = Noun(
    routes=(
        Row(
            "webhook-read",
            "GET",
            f"{SANDBOX}/webhook",
            "Show the target of events and the secrets.",
            read,
            shown(WebhookState),
        ),
        Row(
            "webhook-change",
            "PATCH",
            f"{SANDBOX}/webhook",
            "Change the target of events, or the secret.",
            change_webhook,
            shown(WebhookState),
            ChangeWebhook,
        ),
        Row(
            "webhook-rotate",
            "POST",
            f"{SANDBOX}/webhook/rotate-secret",
            "Make a new webhook secret.",
            rotate_secret,
            shown(WebhookState),
            RotateSecret,
        ),
        Row(
            "webhook-test",
            "POST",
            f"{SANDBOX}/webhook/test",
            "Send a sample event.",
            test_webhook,
            shown(Event),
            TestWebhook,
            status=201,
        ),
    ),
    tags={"webhook": "The target of events, and the secret that signs them."},
    components=components_of(WebhookState),
)
