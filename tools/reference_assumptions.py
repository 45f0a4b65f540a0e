"""The assumptions where the service's contract is silent, and the settings that change them."""

from __future__ import annotations

from typing import Final, NamedTuple


class Assumption(NamedTuple):
    """One question that the contract leaves open."""

    question: str
    decision: str
    settings: tuple[str, ...] = ()
    """The settings that decide otherwise."""
    reason: str = ""
    """Without a setting: why there is one answer only."""


# Heading -> what is assumed there.
ASSUMPTIONS: Final[dict[str, tuple[Assumption, ...]]] = {
    "Identity": (
        Assumption("I1: form of identifiers", "`payin_`, `refund_`, `dispute_`, `payout_`, `txn_`, `evt_` or `req_` and 24 letters and digits from the sandbox's seed; not in the order of time, so that no client sorts by them", reason="one answer: the contract shows a prefix, and a receiver must not read anything else from an id"),
        Assumption("I2: `reference`", "made by the service, readable, unique in a sandbox: `PAY-7Q4M-2KXD`", reason="one answer: it is shown to people, and no code depends on its form"),
        Assumption("I3: times", "ISO 8601 in UTC, with milliseconds and `Z`, from the sandbox's clock", ("timestamps",)),
        Assumption("I4: `api_version`", "`v1`", ("api_version",)),
        Assumption("I5: `livemode`", "false", ("livemode",)),
        Assumption("I6: request id", "`X-Request-Id` on every answer; the same value is `request_id` in errors and in the events that the request caused. A replay is the first answer and has its id; the journal has the retry's own. An event that no request caused has null", ("event_request_id",)),
    ),
    "Operations": (
        Assumption("Paths of operations that the contract only names, or does not name", "those marked *assumed* in [the API](api.md); payouts and transactions send no events", ("paths",)),
        Assumption("Payloads", "the OpenAPI document marks each field; the pay-in of an event only has the documented fields", ("unknown_fields", "optional_members")),
        Assumption("Currencies, payment methods, limits and rates", "every currency of ISO 4217 with its minor digits, the common methods, `CREDIT_CARD` first, and a table of rates; see [the catalogue](#the-catalogue)", ("catalogue.shipped", "catalogue.currencies", "catalogue.payment_methods")),
        Assumption("Status of a POST that creates something", "200", ("created_status",)),
        Assumption("An `external_identifier` that comes again", "allowed: another pay-in, refund, payout or transaction is made", ("duplicate_external_identifier",)),
        Assumption("What a pay-in shows of its refunds and disputes", "nothing, as in the contract; the control API shows it always (`GET /_paydouble/sandboxes/{s}/pay-ins/{id}`)", reason="one answer: the contract lists the fields of a pay-in"),
        Assumption("Lists", "newest first; `limit` from 1 to 100; a cursor is a position, so objects created between two pages shift nothing; other lists refuse it; a page may have fewer items than `limit`, and `next_cursor` says whether there are more", ("list_order", "page_limit")),
        Assumption("What a body may be", "`application/json` of at most 1 MiB; anything else is 400", ("body_limit",)),
    ),
    "Lifecycles": (
        Assumption("Transitions", "the tables in [the API](api.md#lifecycles); any other is refused, unless a scenario or a control call says `force: true`", reason="one answer: `force: true` makes any other transition"),
        Assumption("Default script of a payment", "`pending` after 2 s, `processing` 1 s later, `succeeded` 3 s later: the scenario `happy-path`", ("scenario",)),
        Assumption("Expiry", "a pay-in that has not reached `processing` by `expires_at` is cancelled; 24 h unless the deposit says otherwise (`expires_in`)", ("pay_in_expires_in",)),
        Assumption("Refunds", "of succeeded pay-ins; refunded and pending together never exceed the amount", reason="one answer: a refund of more than was paid makes no sense"),
        Assumption("Refunds of disputed money", "refused with 422: amounts under an open dispute, and those lost or accepted in one, cannot be refunded", ("refunds.while_disputed",)),
        Assumption("A dispute", "waits 7 days for evidence, and is lost without; with evidence the review takes 3 days, and the dispute is won", ("disputes.response_window", "disputes.review", "disputes.decision")),
        Assumption("Several disputes of a pay-in", "those that are open, lost or accepted have at most its amount together; a control call with `force: true` can exceed it", reason="one answer: the same money is not taken back twice; `force: true` is the exception"),
        Assumption("Late and further evidence", "from `evidence_due_by` on evidence is refused with 422; more evidence does not move the decision, which comes when the review of the first ends", ("disputes.response_window", "disputes.review")),
    ),
    "Order of checks": (
        Assumption("Which error comes first", "unknown endpoint 404, address 403, credentials 401, permission 403, quota 429, key 400, known key (replay or 409), body 400, business rule 422", ("allowed_addresses", "permissions")),
        Assumption("401", 'carries `WWW-Authenticate: Basic realm="paydouble", charset="UTF-8"`, which HTTP Basic requires (RFC 9110, RFC 7617)', reason="one answer: HTTP Basic, which the contract names, requires it (RFC 7617)"),
        Assumption("Wrong method on a known path", "404: the contract's table has no 405", reason="one answer: 404 is the only status of the contract's table that fits"),
        Assumption("HEAD", "answers as GET, without a body", reason="one answer: HTTP defines it (RFC 9110)"),
        Assumption("400 or 422", "400 for a malformed or missing field, including an amount with too many digits; 422 for a business rule", reason="one answer: the contract's table says it, malformed or missing against a rule"),
    ),
    "Envelopes": (
        Assumption("Which error has which", "unknown endpoint, 401, 403, 429 and 5xx have A, the errors of operations B", ("envelope",)),
        Assumption("Codes in envelope A", "in snake case, as in the contract's one example", reason="one answer: the contract's one example; the fault `error` sends any other code"),
        Assumption("`details` of a 409", "in both; `key` is spelled as in the refused request", reason="one answer: the contract names both members"),
        Assumption("`error.docs`", "a placeholder address", ("docs_url",)),
    ),
    "Idempotency": (
        Assumption("Form of the key", "one header, a canonical UUID version 4, in either case", reason="one answer: the contract names UUID v4 and 400"),
        Assumption("Identical body", "the same method, path, query and parsed body: order of members and white space do not count, the digits of numbers do", ("fingerprint",)),
        Assumption("Another Content-Type under a known key", "400, as for a new key; so is a body that cannot be parsed; neither is 409", reason="one answer: there is no parsed body to compare"),
        Assumption("A second request while the first runs", "waits, and gets the answer of the first", ("in_flight", "processing_time")),
        Assumption("What is stored", "the answers of the operation: 2xx, 404, 422; not 400, 401, 403, 409, 429, nor a 5xx before the commit", reason="one answer: the contract's rule 3; the faults `sticky_5xx` and `lost_record` do otherwise"),
        Assumption("End of a key", "24 h after its first request, to the millisecond, on the sandbox's clock", ("idempotency_validity",)),
        Assumption("Mark of a replay", "none: the contract shows no header for it", ("idempotent_replayed",)),
    ),
    "Rate limits": (
        Assumption("Quota", "none; with one, a fixed window of the business on the sandbox's clock, which begins with its first request", ("rate_limit.limit", "rate_limit.window")),
        Assumption("Unit of `X-RateLimit-Reset`", "Unix seconds", ("rate_limit.reset_unit",)),
        Assumption("Which clock `X-RateLimit-Reset` counts on", "with epoch units wall time: now plus the rest of the window on the sandbox's clock, because a client sleeps by its own clock, with which it also verifies the signature's `t`. `sandbox_clock` is for clients that share the sandbox's clock", ("rate_limit.clock",)),
        Assumption("When the headers come", "only with a 429, and without `Retry-After`", ("rate_limit.headers", "retry_after")),
    ),
    "Webhooks": (
        Assumption("Where to", "the sandbox's `notification_url`; a deposit's own is used first. Without both, the delivery is `no_endpoint`", reason="the URLs themselves decide: `notification_url` of the sandbox, of the deposit, or of the control call"),
        Assumption("Header", "`X-Service-Signature: t=…,v1=…`; while a secret is rotated, a second `v1` with the old one", ("webhooks.signature_header",)),
        Assumption("Which clock signs", "wall time, at the moment of each attempt; see [clock and signatures](../explanation/clock-and-signatures.md)", ("webhooks.sign_with",)),
        Assumption("When attempts are due", "0, 1 m, 6 m, 36 m, 2 h 36 m, 10 h 36 m, 34 h 36 m and 58 h 36 m after the event: the contract's delays while their sum is within 72 h, without jitter", ("webhooks.schedule", "webhooks.repeat_last", "webhooks.window")),
        Assumption("Success", "a 2xx whose headers come within 10 s of real time; a redirect is a failure", ("webhooks.timeout", "webhooks.response_limit")),
        Assumption("Plain http", "allowed, because the double runs beside the code under test; at least TLS 1.2 for https targets", ("webhooks.require_https",)),
        Assumption("Where it may send", "loopback and private addresses; never link-local ones and cloud metadata", ("webhooks.allow_public_targets",)),
        Assumption("Order", "events are sent in the order of creation, and a failed delivery blocks nothing. On a manual or auto clock one attempt is in flight for each endpoint, so the order of arrival is repeatable; on a real clock up to eight are, but only one of each object, so a slow answer only delays its own object", ("webhooks.in_flight",)),
    ),
    "The double's own": (
        Assumption("When an auto clock moves", "when nothing has been in flight for 50 ms; after a reply that was lost, or changed by a fault, it waits 5 s for the retry, so that the key has not expired by then", ("auto_patience",)),
        Assumption("Size of the journals", "10 000 requests and as many deliveries of each sandbox, in total at most 64 MiB; the lists say how many were evicted. An open delivery is always kept, but without room the answers to its attempts are not", ("journal_limit", "journal_bytes")),
    ),
}  # fmt: skip
_HOME: Final = {name: heading for heading, rows in ASSUMPTIONS.items() for row in rows for name in row.settings}


def link(setting: str) -> str:
    """Return the link from a setting to its assumption; `KeyError` if there is none."""
    if setting not in _HOME:
        raise KeyError(f"no assumption names the setting {setting}; add it to tools/reference_assumptions.py")
    heading = _HOME[setting]
    return f"[{heading.lower()}](#{heading.lower().replace(' ', '-').replace(chr(39), '')})"


def assumptions_section() -> str:
    """Return the tables of all assumptions."""
    head = "| question | what the double does | to decide otherwise |\n|---|---|---|"
    return "\n\n".join("\n".join([f"### {heading}\n", head, *map(_row, rows)]) for heading, rows in ASSUMPTIONS.items())


def _row(row: Assumption) -> str:
    otherwise = ", ".join(f"`{name}`" for name in row.settings) or row.reason
    return f"| {row.question} | {row.decision} | {otherwise} |"
