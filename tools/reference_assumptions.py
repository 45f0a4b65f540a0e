"""What the double assumes where the service's contract is silent, and the settings that say otherwise."""

from __future__ import annotations

from typing import Final, NamedTuple


class Assumption(NamedTuple):
    """One question that the contract leaves open."""

    question: str
    decision: str
    settings: tuple[str, ...] = ()
    """The settings that decide otherwise; none where every deployment will do the same, or nobody depends on it."""


# Heading -> what is assumed there.
ASSUMPTIONS: Final[dict[str, tuple[Assumption, ...]]] = {
    "Identity": (
        Assumption("I1: form of identifiers", "`payin_`, `refund_`, `dispute_`, `payout_`, `txn_`, `evt_` or `req_` and 24 letters and digits from the sandbox's seed; not in the order of time, so that nobody learns to sort by them"),
        Assumption("I2: `reference`", "made by the service, readable, unique in a sandbox: `PAY-7Q4M-2KXD`"),
        Assumption("I3: times", "ISO 8601 in UTC, with milliseconds and `Z`, from the sandbox's clock", ("timestamps",)),
        Assumption("I4: `api_version`", "`v1`", ("api_version",)),
        Assumption("I5: `livemode`", "false", ("livemode",)),
        Assumption("I6: request id", "`X-Request-Id` on every answer; the same value is `request_id` in errors and in the events that the request caused. An event that no request caused has null", ("event_request_id",)),
    ),
    "Operations": (
        Assumption("Paths of what the contract only names, or does not name", "those marked *assumed* in [the API](api.md); payouts and transactions send no events", ("paths",)),
        Assumption("Payloads", "the OpenAPI document marks each field; the pay-in of an event has the documented fields alone", ("unknown_fields",)),
        Assumption("Status of a POST that creates", "200", ("created_status",)),
        Assumption("Lists", "newest first; `limit` from 1 to 100; a cursor holds a place, so what is created between two pages shifts nothing"),
        Assumption("What a body may be", "`application/json` of at most 1 MiB; anything else is 400", ("body_limit",)),
    ),
    "Lifecycles": (
        Assumption("Transitions", "the tables in [the API](api.md#lifecycles); any other is refused, unless a scenario or a control call says `force: true`"),
        Assumption("How a payment goes by itself", "`pending` after 2 s, `processing` 1 s later, `succeeded` 3 s later: the scenario `happy-path`", ("scenario",)),
        Assumption("Expiry", "a pay-in that has not reached `processing` by `expires_at` is cancelled; 24 h unless the deposit says otherwise (`expires_in`)"),
        Assumption("Refunds", "of succeeded pay-ins; refunded and pending together never exceed the amount"),
        Assumption("A dispute", "waits 7 days for evidence and is else lost; evidence is reviewed for 3 days, and the dispute won", ("disputes.response_window", "disputes.review", "disputes.decision")),
    ),
    "Order of checks": (
        Assumption("Which error comes first", "unknown endpoint 404, address 403, credentials 401, permission 403, quota 429, key 400, known key (replay or 409), body 400, rule of the business 422", ("allowed_addresses", "permissions")),
        Assumption("Wrong method on a known path", "404: the contract's table has no 405"),
        Assumption("400 or 422", "400 for a malformed or missing field, an amount with too many digits included; 422 for a rule of the business"),
    ),
    "Envelopes": (
        Assumption("Which error wears which", "unknown endpoint, 401, 403, 429 and 5xx wear A, the errors of operations B", ("envelope",)),
        Assumption("Codes in envelope A", "in snake case, as in the contract's one example"),
        Assumption("`error.docs`", "an address of no meaning", ("docs_url",)),
    ),
    "Idempotency": (
        Assumption("Form of the key", "one header, a canonical UUID version 4, in either case"),
        Assumption("Identical body", "the same method, path, query and parsed body: order of members and white space do not count, the digits of numbers do", ("fingerprint",)),
        Assumption("A second request while the first runs", "waits, and gets the first one's answer", ("in_flight", "processing_time")),
        Assumption("What is stored", "what the operation has answered: 2xx, 404, 422; not 400, 401, 403, 409, 429, nor a 5xx before the commit"),
        Assumption("End of a key", "24 h after its first request, to the millisecond, on the sandbox's clock", ("idempotency_validity",)),
        Assumption("Mark of a replay", "none: the contract shows no header for it", ("idempotent_replayed",)),
    ),
    "Rate limits": (
        Assumption("Quota", "none; with one, a fixed window of the business on the sandbox's clock", ("rate_limit.limit", "rate_limit.window")),
        Assumption("Unit of `X-RateLimit-Reset`", "Unix seconds", ("rate_limit.reset_unit",)),
        Assumption("When the headers come", "with a 429 alone, and without `Retry-After`", ("rate_limit.headers", "retry_after")),
    ),
    "Webhooks": (
        Assumption("Where to", "the sandbox's `notification_url`; a deposit's own goes before it. Without any, the delivery is recorded as `no_endpoint`"),
        Assumption("Header", "`X-Service-Signature: t=…,v1=…`; while a secret is rotated a second `v1`, made with the old one", ("webhooks.signature_header",)),
        Assumption("Which clock signs", "wall time, at the moment of each attempt; see [clock and signatures](../explanation/clock-and-signatures.md)", ("webhooks.sign_with",)),
        Assumption("When attempts are due", "0, 1 m, 6 m, 36 m, 2 h 36 m, 10 h 36 m, 34 h 36 m and 58 h 36 m after the event: the contract's delays while their sum is within 72 h, without jitter", ("webhooks.schedule", "webhooks.repeat_last", "webhooks.window")),
        Assumption("Success", "a 2xx whose headers come within 10 s of real time; a redirect is a failure", ("webhooks.timeout", "webhooks.response_limit")),
        Assumption("Plain http", "allowed, since the double runs beside the code under test; TLS 1.2 at least where the target is https", ("webhooks.require_https",)),
        Assumption("Where it may send", "loopback and private addresses; link-local and cloud metadata never", ("webhooks.allow_public_targets",)),
        Assumption("Order", "as created, one attempt in flight for each endpoint; a failed delivery holds nothing up"),
    ),
    "The double's own": (
        Assumption("How much it remembers", "10 000 requests and as many deliveries of each sandbox; the lists say how many they let go", ("journal_limit",)),
    ),
}  # fmt: skip
_HOME: Final = {name: heading for heading, rows in ASSUMPTIONS.items() for row in rows for name in row.settings}


def link(setting: str) -> str:
    """Return the link from a setting to what it decides; `KeyError` when nobody has said what that is."""
    heading = _HOME[setting]
    return f"[{heading.lower()}](#{heading.lower().replace(' ', '-').replace(chr(39), '')})"


def assumptions_section() -> str:
    """Return the tables of all assumptions."""
    head = "| question | what the double does | to decide otherwise |\n|---|---|---|"
    return "\n\n".join("\n".join([f"### {heading}\n", head, *map(_row, rows)]) for heading, rows in ASSUMPTIONS.items())


def _row(row: Assumption) -> str:
    return f"| {row.question} | {row.decision} | {', '.join(f'`{name}`' for name in row.settings)} |"
