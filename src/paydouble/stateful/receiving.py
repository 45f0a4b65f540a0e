"""What a receiver must do with a webhook, decided from its bytes and the ledger.

A webhook without a valid signature must be rejected and change nothing. One with a valid signature that does not
concern this business must change nothing, and one that contradicts what is known may also leave the order to a person.
An event about a payment of this business that says it is of the other environment is in doubt: a receiver that knows
the payment by its id has no reason to look at `livemode`, and one that looks may drop it. Every other one must be
accepted, and none may be answered with a 5xx.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from paydouble.inprocess import Unreachable, Webhook
from paydouble.payments.events import EVENT_TYPES
from paydouble.sandbox import Sandbox
from paydouble.webhooks import signing

_TIMEOUT_SECONDS: Final = 10
_MISTAKES: Final[Mapping[type | None, str]] = MappingProxyType(
    {
        signing.SignatureHeaderMissing: "nothing is signed",
        signing.SignatureHeaderMalformed: "it has no readable t and v1",
        signing.SignatureTimestampOutOfTolerance: f"t is off by more than {signing.DEFAULT_TOLERANCE_SECONDS} s",
        signing.SignatureMismatch: "v1 is not the digest of this body",
    }
)


class Due(StrEnum):
    """What a receiver has to do with a webhook."""

    REJECT = "reject"
    """Answer 4xx and change nothing."""
    IGNORE = "ignore"
    """Answer no 5xx, and change nothing or leave the order to a person."""
    DOUBT = "doubt"
    """Answer no 5xx."""
    UNREADABLE = "unreadable"
    """Answer no 5xx and change nothing."""
    ACKNOWLEDGE = "acknowledge"
    """Answer 2xx and change nothing: a 4xx to an event that means nothing here makes the service send it again for
    three days (contract section 6, delivery rule 6)."""
    ACCEPT = "accept"
    """Answer 2xx, and work on it."""


def classify(webhook: Webhook, box: Sandbox, now: int) -> tuple[Due, str]:  # noqa: PLR0911 - one for each kind
    """Return what a receiver must do with a webhook, and a description of it. `now` is in Unix seconds."""
    problem = _signature_problem(webhook, box, now)
    if problem is not None:
        return problem
    try:
        event = json.loads(webhook.body)
        kind, resource = event["type"], event["data"]["object"]
        object_id = resource["id"]
    except (ValueError, LookupError, TypeError):
        return Due.UNREADABLE, "a signed body that is no event"
    if event.get("livemode", False) != box.settings.livemode:
        is_known = box.ledger.find(object_id) is not None
        return Due.DOUBT if is_known else Due.IGNORE, f"a {kind} of the other environment"
    if kind not in EVENT_TYPES:
        return Due.ACKNOWLEDGE, f"an event of the unknown type {kind}"
    if box.ledger.find(object_id) is None:
        return Due.ACKNOWLEDGE, f"a {kind} about an object that is not this shop's"
    if webhook.body != webhook.delivery.event.body and webhook.number > 1 and _changed(event, webhook):
        return Due.IGNORE, f"a {kind} with the id of an earlier one and another body"
    return Due.ACCEPT, f"a {kind}"


def _changed(event: dict[str, object], webhook: Webhook) -> bool:
    # A copy under a new id or with other whitespace is the same fact; another amount under the same id is not.
    first = json.loads(webhook.delivery.event.body)
    data, other = event["data"], first["data"]
    assert isinstance(data, dict)  # noqa: S101 - checked by `classify`
    return event["id"] == first["id"] and bool(data["object"]["amount"] != other["object"]["amount"])


def _signature_problem(webhook: Webhook, box: Sandbox, now: int) -> tuple[Due, str] | None:
    name = box.settings.webhooks.signature_header
    header = next((value for key, value in webhook.headers if key == name), None)
    error: signing.SignatureError | None = None
    for secret in box.secrets.at(box.now):
        try:
            signing.verify(webhook.body, header, secret, now=now)
        except signing.SignatureError as failed:
            error = failed
        else:
            return None
    # The contract's procedure (section 5) decides.
    shown = f"{name} is {_short(header)!r}" if header else f"there is no {name}"
    return Due.REJECT, f"a webhook whose signature does not hold: {shown} ({_MISTAKES[type(error)]})"


def _short(header: str) -> str:
    return re.sub(r"([0-9A-Fa-f]{8})[0-9A-Fa-f]{24,}", r"\1…", header)


def poster(url: str) -> Callable[[Webhook], int]:
    """Return a receiver that is an HTTP endpoint. `Unreachable` when it gives no answer within ten seconds."""
    parts = urlsplit(url)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def post(webhook: Webhook) -> int:
        connection = make(parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS)
        try:
            headers = {name: value.encode() for name, value in webhook.headers}
            connection.request("POST", path, webhook.body, headers)
            return connection.getresponse().status
        except TimeoutError:
            raise Unreachable("timeout", f"no answer from {url} within {_TIMEOUT_SECONDS} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable("refused", f"no answer from {url}: {type(error).__name__}: {error}") from None
        finally:
            connection.close()

    return post
