"""The machine's vocabulary: what can go wrong, its description, and the faults that cause it.

The name is used in calls of `Play`, the description in reports, and the faults are those of the control API. Simplest
first, since shrinking prefers earlier entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from paydouble.core.errors import UsageError
from paydouble.faults.model import Fault, parse_fault
from paydouble.stateful.crafted import CRAFTED, Crafted
from paydouble.stateful.policies import LIST_ORDER, REQUEST_IDS

Document = dict[str, Any]
Entry = TypeVar("Entry")
_RETIMES: Final = frozenset({"reorder", "duplicate", "delay", "tie"})


class Trouble(NamedTuple):
    """One thing that goes wrong."""

    description: str
    faults: tuple[Document, ...] = ()
    gets_through: bool = False
    """Whether a client that retries as the contract asks (section 7) succeeds."""
    retry_after_seconds: float | None = None
    """After a 429: the least pause in seconds before the client may ask again."""
    refuses: bool = False
    """Whether it refuses a request for good, as the service never does with one that it has carried out."""
    is_final: bool = False
    """Whether a correct client may stop at its answer, and take the operation for one that is not carried out."""
    tells_nothing: bool = False
    """Whether a read that meets it has no answer of the service."""

    @property
    def reorders(self) -> bool:
        """Whether it changes the order of webhooks."""
        return any(fault["effect"]["type"] == "reorder" for fault in self.faults)

    @property
    def retimes(self) -> bool:
        """Whether it changes when a webhook comes, or how often."""
        return any(fault["effect"]["type"] in _RETIMES for fault in self.faults)


def _api(effect: str, *, phase: str | None = None, times: int | None = 1, **attributes: object) -> tuple[Document, ...]:
    fault: Document = {"on": "api", "compose": False, "effect": {"type": effect, **attributes}}
    if phase is not None:
        fault["phase"] = phase
    if times is not None:
        fault["times"] = times
    return (fault,)


def _limited(words: str, *, retry_after_seconds: float = 5.0, **attributes: Any) -> Trouble:  # noqa: ANN401 - those of the effect
    return Trouble(words, _api("rate_limit", reset="5s", **attributes), retry_after_seconds=retry_after_seconds)


_AFTER: Final = "after_commit"
_BEFORE: Final = "before_commit"
_AS_BODY: Final[Document] = {"as": "body"}
# Without a readable reset any pause is correct.
_OWN_PAUSE: Final = 0.1

POST_TROUBLES: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        "none": Trouble(""),
        "request lost": Trouble(
            "the request is lost on its way", _api("connection_reset", phase=_BEFORE), gets_through=True
        ),
        "reply lost": Trouble(
            "the reply is lost after the commit", _api("connection_reset", phase=_AFTER), gets_through=True
        ),
        "two replies lost": Trouble(
            "two replies are lost after the commit", _api("connection_reset", phase=_AFTER, times=2), gets_through=True
        ),
        "500 after the commit": Trouble(
            "the service answers 500 though it has done it", _api("error", phase=_AFTER, status=500), gets_through=True
        ),
        "503": Trouble(
            "the service answers 503 twice", _api("error", phase=_BEFORE, times=2, status=503), gets_through=True
        ),
        "proxy page": Trouble(
            "a proxy answers with its 502 page after the commit", _api("html_error", phase=_AFTER), gets_through=True
        ),
        "page with 200": Trouble(
            "something on the way answers 200 with a page that is no JSON, and the service gets nothing",
            _api("garbage", phase=_BEFORE, **_AS_BODY),
            gets_through=True,
        ),
        "reply too late": Trouble(
            "the reply comes after a minute", _api("latency", phase=_AFTER, fixed="60s"), gets_through=True
        ),
        "reply cut": Trouble(
            "the connection ends in the middle of the reply", _api("truncate", phase=_AFTER), gets_through=True
        ),
        "reply short": Trouble(
            "the reply is announced shorter than it is, and arrives without its end",
            _api("wrong_content_length", phase=_AFTER, by=-100),
            gets_through=True,
        ),
        "reply in drips": Trouble(
            "the reply drips in over ten minutes", _api("slow_body", chunks=100, over="10m"), gets_through=True
        ),
        "closed": Trouble(
            "the connection is closed without a byte", _api("empty_response", phase=_BEFORE), gets_through=True
        ),
        "stored 500": Trouble(
            "the service answers 500 to every retry under this key", _api("sticky_5xx"), is_final=True
        ),
        "409": Trouble("the service answers 409 to an identical request", _api("force_conflict", times=None)),
        "429": _limited("the service refuses the request (429)"),
        "429 in seconds": _limited(
            "the service refuses the request (429, the reset counted from now)", reset_unit="delta_seconds"
        ),
        "429 in milliseconds": _limited(
            "the service refuses the request (429, the reset in milliseconds)", reset_unit="epoch_milliseconds"
        ),
        "429 with requests left": _limited("the service refuses the request (429, though some remain)", remaining=5),
        "429 without headers": _limited(
            "the service refuses the request (429 without headers)", headers="missing", retry_after_seconds=_OWN_PAUSE
        ),
        "429 with malformed headers": _limited(
            "the service refuses the request (429 with malformed headers)",
            headers="malformed",
            retry_after_seconds=_OWN_PAUSE,
        ),
        "429 with a reset in the past": _limited(
            "the service refuses the request (429, the reset in the past)",
            headers="past",
            retry_after_seconds=_OWN_PAUSE,
        ),
        "401": Trouble("the credentials are refused", _api("error", status=401, times=None), is_final=True),
        # Many clients tell the two apart.
        "403": Trouble("the shop's address is refused (403)", _api("error", status=403, times=None), is_final=True),
        "redirect": Trouble(
            "the service redirects to another host", _api("redirect", to="http://elsewhere.test/"), is_final=True
        ),
        "unknown members": Trouble(
            "the answers have unknown members", _api("unknown_members", times=None), gets_through=True
        ),
        "unknown status": Trouble("the answer has an unknown status", _api("unknown_status")),
        "unknown code": Trouble(
            "the request is refused with an unknown code", _api("unknown_code"), refuses=True, is_final=True
        ),
        "method gone": Trouble(
            "the payment method has just vanished", _api("remove_method", method="CREDIT_CARD"), is_final=True
        ),
        "underpaid": Trouble("the amount paid is 1 less than requested", _api("amount_drift", by="-1")),
        "overpaid": Trouble("the amount paid is 1 more than requested", _api("amount_drift", by="1")),
        # The play takes one in which the merchant sells.
        "other currency": Trouble("the amount is paid in another currency", _api("currency_drift", to="USD")),
    }
)


def _behind(effect: str, operation: str = "pay-in-*") -> tuple[Document, ...]:
    # A read replica is minutes behind, not days. Of disputes, two states of one instant could not be told apart.
    return _only(operation, _api(effect, times=3, **{"for": "10m"}))


def _only(operation: str, faults: Iterable[Document]) -> tuple[Document, ...]:
    return tuple({**fault, "match": {"operation": operation}} for fault in faults)


SECOND_PAGES: Final = "second pages lost"
"""The trouble of reads that lets the first request of each list through, as of its first page."""
READ_TROUBLES: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        "stale": Trouble("the next reads show older states of payments", _behind("stale_read")),
        "not found yet": Trouble(
            "the next reads do not find payments of the last ten minutes", _behind("not_found_yet")
        ),
        "refunds not found yet": Trouble(
            "the next reads do not find refunds of the last ten minutes", _behind("not_found_yet", "refund-*")
        ),
        "overtaken": Trouble(
            "events of four seconds overtake the answer to the next read", _api("latency", phase=_AFTER, fixed="4s")
        ),
        "proxy page": Trouble(
            "the next reads meet a proxy's 502 page", _api("html_error", times=2), tells_nothing=True
        ),
        # As of a router while the service behind it is replaced. It is no answer about a payment.
        "lists gone": Trouble(
            "the next lists meet a proxy's 404 page",
            _only("*-list", _api("html_error", times=2, status=404)),
            tells_nothing=True,
        ),
        SECOND_PAGES: Trouble(
            "of each list the second request and the third are answered with 503",
            tuple(
                {**fault, "skip": 1}
                for kind in ("pay-in", "refund", "dispute")
                for fault in _only(f"{kind}-list", _api("error", times=2, status=503))
            ),
            tells_nothing=True,
        ),
        "503": Trouble("the next reads are answered with 503", _api("error", times=2, status=503), tells_nothing=True),
        "429": Trouble("the next reads are refused (429)", _api("rate_limit", times=2, reset="5s"), tells_nothing=True),
        "lost": Trouble("the next reads get no answer", _api("connection_reset", times=2), tells_nothing=True),
        "unknown status": Trouble("the next read shows an unknown status", _api("unknown_status")),
        "unknown members": Trouble("the next reads show unknown members", _api("unknown_members", times=3)),
    }
)

ORDER_READ_TROUBLES: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        "500": Trouble("is answered with 500", _api("error", times=None, status=500), tells_nothing=True),
        "unknown status": Trouble("shows an unknown status", _api("unknown_status", times=None)),
    }
)
"""What each read about one order meets, also in the end: the service works, and one of its records is broken."""


def _hook(words: str, effect: str, *, times: int | None = 1, **attributes: object) -> Trouble:
    fault: Document = {"on": "webhooks", "times": times, "compose": True, "effect": {"type": effect, **attributes}}
    return Trouble(words, (fault,))


WEBHOOK_TROUBLES: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        "duplicate": _hook("the next two webhooks come twice", "duplicate", times=2),
        "duplicate four": _hook("the next four webhooks come twice", "duplicate", times=4),
        "new id": _hook("the next four events come again under a new id", "duplicate", times=4, new_id=True),
        "duplicate days later": _hook(
            "the next four webhooks come again three days later", "duplicate", times=4, spacing="3d"
        ),
        "reverse": _hook("the next four webhooks come in reverse", "reorder", times=4, window=4),
        "swap": _hook("the next webhooks swap places", "reorder", times=4, strategy="swap"),
        "overtake": _hook(
            "the next two webhooks, also of two objects, come in reverse", "reorder", times=2, each="sandbox"
        ),
        "tie": _hook("the next events have the same time", "tie", times=3),
        "drop": _hook("the next webhook is never sent", "drop"),
        "drop all": _hook("no webhook is sent from now on", "drop", times=None),
        "late four": _hook("the next four webhooks leave an hour late", "delay", times=4, fixed="1h"),
        "late": _hook("the next webhook leaves three days late", "delay", fixed="3d"),
        "other environment": _hook("the next four events come from the live environment", "livemode", times=4),
        "foreign": _hook("the next webhooks are followed by webhooks of another business", "foreign", times=2),
        "pretty": _hook("the next webhook is pretty-printed", "formatting", mode="pretty"),
        "key order": _hook("the next webhook has its members in another order", "formatting", mode="key_order"),
        "newline": _hook("the next webhook ends with a newline", "formatting", mode="trailing_newline"),
        "escaped": _hook("the next webhook has all texts but times escaped, as in \\u0070", "payload", mode="escaped"),
        "unicode": _hook("the next webhook has names from all over the world", "payload", mode="unicode"),
        "big number": _hook(
            "the next webhook has a further member, x_sequence, whose number is above 2^53",
            "payload",
            mode="big_number",
        ),
        "extra members": _hook(
            "the next two webhooks have further members, called x_future", "payload", times=2, mode="extra_members"
        ),
        "null members": _hook(
            "the next webhook has null for customer and previous_attributes", "payload", mode="null_members"
        ),
        "two signatures": _hook(
            "the next webhooks have two v1, the first one wrong", "signature", times=2, mode="two_v1"
        ),
        "reordered header": _hook("the next webhook has v1 before t", "signature", mode="reordered"),
        "290 seconds old": _hook("the next webhook was signed 290 seconds ago", "signature", mode="stale", age="290s"),
    }
)

OF_ROTATION: Final = frozenset({"two signatures", "right digest first", "right digest last"})
"""What comes while a secret is rotated, and only to a merchant that has said that it accepts it."""

# A receiver that accepts this fulfils an order that nobody paid.
_FORGED_SUCCESS: Final = (
    {"path": "id", "value": "evt_forged"},
    {"path": "type", "value": "pay-in.succeeded"},
    {"path": "data.object.status", "value": "succeeded"},
    {"path": "data.object.updated_at", "value": "2027-01-01T00:00:00.000Z"},
)


def _inject(words: str, *effects: Document, forged: bool = False) -> Trouble:
    everything = [*effects, *({"type": "tamper", **change} for change in _FORGED_SUCCESS if forged)]
    return Trouble(
        words, tuple({"on": "webhooks", "times": 1, "compose": True, "effect": effect} for effect in everything)
    )


def _signed(mode: str, **attributes: object) -> Document:
    return {"type": "signature", "mode": mode, **attributes}


INJECTED_WEBHOOKS: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        "again": _inject("an earlier webhook is sent again"),
        "changed body": _inject("a success is forged into the body of an earlier webhook", forged=True),
        "wrong secret": _inject("a success is forged under a wrong secret", _signed("wrong_secret"), forged=True),
        "no signature": _inject("a success is forged without a signature", _signed("missing"), forged=True),
        "empty signature": _inject("a success is forged with an empty signature", _signed("empty"), forged=True),
        "malformed signature": _inject(
            "a success is forged with a malformed header", _signed("malformed"), forged=True
        ),
        "non-ASCII signature": _inject(
            "a success is forged with a non-ASCII header", _signed("non_ascii"), forged=True
        ),
        "v0": _inject("an earlier webhook comes with a v0 alone", _signed("v0_only")),
        "310 seconds old": _inject("an earlier webhook is replayed after 310 seconds", _signed("stale", age="310s")),
        "no JSON": _inject("a signed body is no JSON", {"type": "payload", "mode": "invalid_json"}),
        "empty body": _inject("a signed body is empty", {"type": "payload", "mode": "empty"}),
        "half a body": _inject("a signed body ends in the middle", {"type": "payload", "mode": "truncated"}),
        "unknown type": _inject("an event of an unknown type comes", {"type": "payload", "mode": "unknown_type"}),
        "other body": _inject(
            "an earlier webhook comes again with another amount",
            {"type": "change_on_resend", "path": "data.object.amount", "value": 2},
        ),
    }
)

INJECTED: Final[Mapping[str, Trouble | Crafted]] = MappingProxyType({**INJECTED_WEBHOOKS, **CRAFTED})
"""Every webhook that is sent besides the service's own: by a fault, or written byte by byte."""

DIALECTS: Final[Mapping[str, Document]] = MappingProxyType(
    {
        "plain": {},
        "envelope A": {"envelope": "A"},
        "envelope B": {"envelope": "B"},
        "both envelopes": {"envelope": "alternate"},
        "201": {"created_status": 201},
        "bytes count": {"fingerprint": "raw"},
        "whole seconds": {"timestamps": "seconds"},
        "no request id": {"event_request_id": "omit"},
        "lower-case header": {"webhooks": {"signature_header": "x-service-signature"}},
        "short pages": {"page_limit": 2},
        "shared request ids": {"event_request_id": "object"},
        "oldest first": {"list_order": "oldest_first"},
    }
)
POLICY_OF_DIALECT: Final[Mapping[str, str]] = MappingProxyType(
    {"shared request ids": REQUEST_IDS, "oldest first": LIST_ORDER}
)
"""Dialect → the policy that each finding in it is about."""

SCENARIOS: Final = ("happy-path", "card-declined", "abandoned", "refund-fails")
PAYER_SCENARIOS: Final = ("payer-decides", "payer-abandons", "payer-returns-first", "challenge")
"""Those in which a payment waits for its payer."""
SLOW_SCENARIOS: Final[Mapping[str, str]] = MappingProxyType(
    {"slow-verification": "4h30m3s", "slow-bank-transfer": "53h40m", "fails-after-review": "47h30m3s"}
)
"""Those in which a payment takes hours or days → the time until half an hour before its end."""
SLOW_REFUND: Final = "slow-refund"
"""The one in which each refund takes days."""

REFUND_TROUBLES: Final = (
    "none",
    "request lost",
    "reply lost",
    "two replies lost",
    "500 after the commit",
    "503",
    "proxy page",
    "page with 200",
    # Clients tell a timeout from a lost connection.
    "reply too late",
    "409",
    "429",
    "401",
    "403",
    "unknown code",
)
OWN_REFUND_TROUBLES: Final[Mapping[str, Trouble]] = MappingProxyType(
    {
        name: POST_TROUBLES[name]
        for name in REFUND_TROUBLES
        if POST_TROUBLES[name].gets_through or POST_TROUBLES[name].retry_after_seconds is not None
    }
)
"""What disturbs a refund that a merchant makes of its own accord, and does not excuse that it is never made."""
CANCELLATION_TROUBLES: Final[Mapping[str, Trouble]] = OWN_REFUND_TROUBLES
"""What disturbs a request that cancels a payment: whatever comes of it, a merchant can find out."""
AFTERWARDS: Final = ("none", "401", "403", "409", "429", "500 after the commit", "proxy page")
"""What the next request of a click can meet after one that was lost. Each comes from the service's edge or from its
check of the key, so the operation may have been carried out all the same."""
TO_THE_END: Final = "end"
DURATIONS: Final[Mapping[int | str, str]] = MappingProxyType(
    {
        0: "",
        1: "this lasts for one reply",
        2: "this lasts for 2 replies",
        6: "this lasts for 6 replies",
        TO_THE_END: "this lasts to the end",
    }
)
"""How long a trouble of a POST, a read or a dead line lasts, in replies; 0 for its own number."""
LONGER_THAN_A_CLICK: Final = max(lasts for lasts in DURATIONS if isinstance(lasts, int))
"""The duration of more replies than the attempts of a click."""
SHARES: Final[Mapping[str, Fraction]] = MappingProxyType(
    {"all": Fraction(1), "half": Fraction(1, 2), "most": Fraction(2, 3), "third": Fraction(1, 3)}
)
"""How much of an order is refunded."""


def named(table: Mapping[Any, Entry], name: int | str, what: str) -> Entry:
    """Return an entry of a table; `UsageError` with all names when it has none of this name. `what` says what it is."""
    if name not in table:
        raise UsageError(f"there is no {what} {name!r}; there are: {', '.join(map(str, table))}")
    return table[name]


def next_requests(troubles: Sequence[Trouble], **match: str) -> list[Document]:
    """Return faults for the requests that follow a disturbed one, one after the other, as documents of the control API.

    They have to be armed before its own: a request counts for the faults that were armed before the one that it meets.
    """
    return [
        {**document, "times": 1, "skip": place}
        for place, trouble in reversed([*enumerate(troubles, 1)])
        for document in documents_of(trouble, **match)
    ]


def faults_of(trouble: Trouble, lasts: int | str = 0, **match: str) -> list[Fault]:
    """Return the faults of a trouble, limited to requests or webhooks that `match`."""
    return parsed_faults(documents_of(trouble, lasts, **match))


def parsed_faults(documents: Sequence[Document]) -> list[Fault]:
    """Return faults that are written as documents of the control API."""
    return [_parsed(json.dumps(document)) for document in documents]


def _limited_to(document: Document, match: Mapping[str, str], lasts: int | str) -> Document:
    changed = {**document, "match": {**document.get("match", {}), **match}} if match else dict(document)
    if lasts and "times" in document:
        changed.pop("times")
        changed |= {} if lasts == TO_THE_END else {"times": lasts}
    return changed


def documents_of(trouble: Trouble, lasts: int | str = 0, **match: str) -> list[Document]:
    """Return the faults of a trouble as documents of the control API."""
    return [_limited_to(document, match, lasts) for document in trouble.faults]


@cache
def _parsed(text: str) -> Fault:
    # A fault is frozen, so one parsed value serves every play.
    return parse_fault(json.loads(text))
