"""Requests to the API and calls of the control API, most of them wrong in some places."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import UUID

from paydouble.api.operations import OPERATIONS, PREFIX
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.web.control.routes import ROUTES
from requestfuzz.values import TEXTS, changed, damaged, encodable, encoded, odd

CREATE: Final = f"{PREFIX}/pay-in/deposit-creation"
SCENARIOS: Final = ("happy-path", "happy-path", "instant-success", "card-declined", "abandoned", "refund-fails")
STATES: Final = ("created", "pending", "processing", "succeeded", "failed", "cancelled", "won", "lost", "paid", "nope")
EVENTS: Final = ("pay-in.created", "pay-in.succeeded", "refund.*", "dispute.closed", "nope")
_ODD_BODIES: Final = (b"", b"null", b"[]", b"0", b'""', b"{}" * 2, b"[" * 2_000)
_ODD_METHODS: Final = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "get", "X")
_ODD_QUERIES: Final = ("?", "?limit=0", "?limit=x", "?cursor=%ff", "?limit=1&limit=2", "?status=nope", "?a")
# A share of requests that are only wrong by accident: otherwise nothing would ever be created.
_WELL: Final = 0.45


class Asked(NamedTuple):
    """A request of the API."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Control(NamedTuple):
    """A control call, whose path is below `/_paydouble`."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None


@dataclass
class Draw:
    """Chooses requests; what it has seen of answers makes some of them meaningful."""

    random: Random
    authorization: str
    sandbox: str = "/sandboxes/default"
    ids: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What exists, by the beginning of its identifier."""
    sent: list[Asked] = field(default_factory=list)

    def know(self, identifier: object) -> None:
        """Remember an identifier that an answer has shown."""
        if isinstance(identifier, str):
            known = self.ids[re.split("[_-]", identifier, maxsplit=1)[0]]
            known.insert(0, identifier)
            del known[20:]

    def id_of(self, kind: str) -> str:
        """Return an identifier of that kind, now and then one that does not exist."""
        known = self.ids[kind]
        if known and self.random.random() < 0.9:
            return self.random.choice(known)
        odd_one = self.random.choice((f"{kind}_000000000000000000000000", *TEXTS[:20])) or "x"
        return quote(odd_one, safe="%{}", errors="replace")  # a target is ASCII; `sockets` sends other bytes

    # The API

    def asked(self) -> Asked:
        """Return a request of the API."""
        random = self.random
        if self.sent and random.random() < 0.08:
            return random.choice(self.sent)
        operation = random.choice(OPERATIONS) if random.random() < 0.6 else OPERATIONS[0]
        path = operation.path
        if "{id}" in path:
            kind = {"pay-in": "payin", "transaction": "txn"}.get(path.split("/")[1], path.split("/")[1])
            path = path.replace("{id}", self.id_of(kind))
        body = _BODIES.get(operation.name, _empty)(self) if operation.method == "POST" else None
        data = b"" if body is None else encoded(body)
        headers = {"Authorization": self.authorization}
        if operation.method == "POST":
            headers["Idempotency-Key"] = self.key()
            headers["Content-Type"] = "application/json"
        asked = Asked(operation.method, PREFIX + path, tuple(headers.items()), data)
        if operation.method == "GET" and operation.listed and random.random() < 0.5:
            asked = asked._replace(target=f"{asked.target}?limit={random.randint(1, 100)}")
        if random.random() > _WELL:
            for _ in range(random.choice((1, 1, 1, 2))):
                asked = self._spoiled(asked, body)
        if len(self.sent) < 60:
            self.sent.append(asked)
        else:
            self.sent[random.randrange(60)] = asked
        return asked

    def key(self) -> str:
        """Return a new idempotency key."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def _spoiled(self, asked: Asked, body: Any) -> Asked:  # noqa: ANN401 - JSON is any
        random = self.random
        match random.randrange(12):
            case 0 | 1 | 2 | 3:
                asked = asked._replace(body=encoded(changed(random, body if body is not None else {})))
            case 4:
                asked = asked._replace(body=damaged(random, asked.body))
            case 5:
                asked = asked._replace(body=random.choice(_ODD_BODIES))
            case 6:
                asked = asked._replace(method=random.choice(_ODD_METHODS))
            case 7:
                asked = asked._replace(target=self._target(asked.target))
            case 8:
                query = random.choice(_ODD_QUERIES) + random.choice(("", "&cursor=cGF5aW46Mg"))
                asked = asked._replace(target=asked.target + query)
            case _:
                asked = asked._replace(headers=self._headers(asked.headers))
        return asked

    def _target(self, target: str) -> str:
        random = self.random
        cut = random.randrange(len(target))
        return random.choice(
            (
                target + "/",
                target.replace("/", "//", 1),
                target[: cut + 1],
                target.upper(),
                f"{target}/{'a' * random.choice((1, 3_000))}",
                target[:cut] + random.choice(("%00", "%", "%2f", "%c3%28", ";", "..", "\\", "{id}")) + target[cut:],
                "/",
                PREFIX,
            )
        )

    def _headers(self, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        random = self.random
        if headers and random.random() < 0.3:
            place = random.randrange(len(headers))
            return headers[:place] + headers[place + 1 :]
        name = random.choice(("Authorization", "Idempotency-Key", "Idempotency-Key", "Content-Type", "X-Any"))
        value = random.choice(
            (
                *(
                    "",
                    "Basic",
                    "Basic !!!",
                    "Basic OjA=",
                    "Bearer x",
                    "Basic " + "A" * 4_000,
                    "basic c2FuZGJveF9rZXk6eA==",
                ),
                *("text/plain", "application/json; charset=latin-1", "application/JSON ;", "\xe9", "a" * 300),
                *(self.key(), self.key().upper(), "{" + self.key() + "}", "00000000-0000-1000-8000-000000000000"),
            )
        )
        kept = headers if random.random() < 0.2 else tuple(each for each in headers if each[0] != name)
        return (*kept, (name, value))

    # The control API

    def control(self) -> Control:
        """Return a control call about the sandbox."""
        random = self.random
        route = _ROUTES[random.choice(_USEFUL)] if random.random() < 0.4 else random.choice(CONTROL_ROUTES)
        path = route.path
        if "{id}" in path:
            path = path.replace("{id}", self.id_of(_KINDS[path.split("/")[3]]))
        path = path.replace("{name}", random.choice((*SCENARIOS, "nope"))).replace("/sandboxes/{s}", self.sandbox, 1)
        if route.queries and random.random() < 0.5:
            name = random.choice((*route.queries, "nope"))
            path += f"?{name}={random.choice(('1', '0', 'x', '%ff', '1000000', 'pay-in.*', ''))}"
        body = None
        if route.payload is not None:
            body = encodable(_CONTROL_BODIES.get(route.name, _empty)(self))
            if random.random() > _WELL:
                wrong = encodable(changed(random, body))
                body = wrong if isinstance(wrong, dict) else {"nope": wrong}
        return Control(route.name, route.method, path, body)

    def fault(self) -> dict[str, Any]:
        """Return a fault that fires a few times; its effect may have wrong attributes."""
        random = self.random
        on = random.choice(("api", "webhooks"))
        kind = random.choice(
            [name for name in (API_EFFECTS if on == "api" else WEBHOOK_EFFECTS) if name != "sticky_5xx"]
        )
        effect = {"type": kind, **_ATTRIBUTES.get(kind, {})}
        fault = {"on": on, "effect": effect, "times": random.randint(1, 3)}
        if random.random() < 0.3:
            fault["match"] = {
                random.choice(("operation", "external_identifier", "event_type", "attempt", "path")): odd(random)
            }
        return fault

    def duration(self) -> str:
        """Return a duration."""
        return self.random.choice(("0s", "1ms", "6s", "1m", "3h", "25h", "P3D", "x", "-1s"))


Body = Callable[[Draw], dict[str, Any]]


def _empty(_: Draw) -> dict[str, Any]:
    return {}


def _amount(draw: Draw) -> float:
    return draw.random.choice((49.9, 1, 0.01, 100, draw.random.randint(1, 99_999) / 100))


def _deposit(draw: Draw) -> dict[str, Any]:
    random = draw.random
    body: dict[str, Any] = {
        "amount": _amount(draw),
        "currency": random.choice(("EUR", "EUR", "USD", "JPY", "KWD")),
        "external_identifier": f"order-{random.randrange(40)}",
        "payment_method": {"type": random.choice(("CREDIT_CARD", "CREDIT_CARD", "PIX", "BANK_TRANSFER"))},
        "customer": {
            "first_name": "Ada",
            "last_name": "Lovelace",
            "email": f"{random.choice(SCENARIOS)}@scenario.test",
        },
    }
    more = {
        "country": "DE",
        "notification_url": "http://receiver.test/other",
        "return_url": "https://shop.test/r",
        "expires_in": random.choice((60, 86_400)),
        "metadata": {"cart": "1"},
    }
    return body | {name: value for name, value in more.items() if random.random() < 0.2}


def _payout(draw: Draw) -> dict[str, Any]:
    beneficiary = {"name": "Ada", "account": "DE02120300000000202051"}
    return {"amount": _amount(draw), "currency": "EUR", "external_identifier": "out-1", "beneficiary": beneficiary}


def _transaction(draw: Draw) -> dict[str, Any]:
    return {"type": "ADJUSTMENT", "amount": _amount(draw), "currency": "EUR", "external_identifier": "t-1"}


def _refund(draw: Draw) -> dict[str, Any]:
    body: dict[str, Any] = {"payin_id": draw.id_of("payin")}
    return body if draw.random.random() < 0.3 else body | {"amount": _amount(draw)}


def _question(draw: Draw) -> dict[str, Any]:
    match = {
        draw.random.choice(("operation", "status", "object_id", "body", "headers", "attempt_count")): odd(draw.random)
    }
    return {"match": match, "count": draw.random.randint(0, 3)}


def _transition(draw: Draw) -> dict[str, Any]:
    return {"to": draw.random.choice(STATES), "force": draw.random.random() < 0.4}


def _settings(draw: Draw) -> dict[str, Any]:
    random = draw.random
    return random.choice(
        (
            {"settings": {"envelope": random.choice(("A", "B", "alternate", "by_layer", "C"))}},
            {"settings": {"journal_limit": random.choice((5, 50, 10_000, 0))}},
            {"settings": {"rate_limit": random.choice((None, {"limit": 20, "headers": "always"}))}},
            {"settings": {"permissions": random.choice((None, ["*"], ["pay-in-*"]))}},
            {"settings": {"fingerprint": "raw", "unknown_fields": "refuse"}},
            {"settings": {"body_limit": random.choice((300, 1_048_576))}},
            {"settings": {"webhooks": {"schedule": ["0s", "1m"], "repeat_last": False}}},
            {"scenario": random.choice(SCENARIOS)},
            {"labels": {"a": "b"}},
        )
    )


_BODIES: Final[dict[str, Body]] = {
    "deposit-creation": _deposit,
    "exchange-rates": lambda _: {"source_currency": "EUR", "target_currency": "USD", "amount": 10},
    "available-payment-methods": lambda _: {"currency": "EUR", "country": "DE"},
    "refund-creation": _refund,
    "dispute-evidence-submission": lambda _: {"evidence": {"receipt": "r"}},
    "payout-initiation": _payout,
    "transaction-creation": _transaction,
}
_CONTROL_BODIES: Final[dict[str, Body]] = {
    "sandbox-change": _settings,
    "sandbox-reset": lambda draw: {
        "scope": [draw.random.choice(("state", "deliveries", "requests", "faults", "clock"))]
    },
    "clock-advance": lambda draw: draw.random.choice(({"by": draw.duration()}, {"by": "1h"}, {"until_idle": True})),
    "fault-add": Draw.fault,
    "fault-change": lambda draw: {"times": 2, "enabled": draw.random.random() < 0.5},
    "quota-set": lambda draw: {"limit": draw.random.randint(0, 50)},
    "request-verify": _question,
    "request-wait": _question,
    "delivery-verify": _question,
    "delivery-wait": _question,
    "event-emit": lambda draw: {"type": draw.random.choice(EVENTS), "object_id": draw.id_of("payin")},
    "delivery-redeliver-failed": lambda _: {},
    "webhook-change": lambda draw: {"notification_url": draw.random.choice(("http://receiver.test/2", None))},
    "webhook-rotate": lambda draw: {"grace": draw.duration()},
    "webhook-test": lambda draw: {"type": draw.random.choice(EVENTS)},
    "pay-in-transition": _transition,
    "refund-transition": _transition,
    "dispute-transition": _transition,
    "payout-transition": _transition,
    "pay-in-payer": lambda draw: {"action": draw.random.choice(("pay", "decline", "abandon", "nope"))},
    "dispute-open": lambda draw: {"amount": _amount(draw), "force": draw.random.random() < 0.3},
    "scenario-add": lambda _: {"name": "own", "lifecycle": {"pay_in": [{"after": "1s", "to": "pending"}]}},
    "scenario-activate": lambda draw: {"name": draw.random.choice(SCENARIOS)},
    "scenario-play": lambda _: {"deposit": {"amount": 10}},
}
# What a `{id}` in the path of a control call is the identifier of, by the part of the path before it.
_KINDS: Final = {
    "pay-ins": "payin",
    "refunds": "refund",
    "disputes": "dispute",
    "payouts": "payout",
    "faults": "fault",
    "events": "evt",
    "deliveries": "dlv",
}
_ATTRIBUTES: Final[dict[str, dict[str, Any]]] = {
    "error": {"status": 503},
    "latency": {"fixed": "20ms"},
    "delay": {"fixed": "3s"},
    "redirect": {"to": "http://a.test/"},
    "amount_drift": {"by": "-0.01"},
    "currency_drift": {"to": "JPY"},
    "signature": {"mode": "missing"},
    "payload": {"mode": "unicode"},
    "formatting": {"mode": "pretty"},
}
# A fork and an export copy the whole sandbox, and are tested elsewhere; a stream needs HTTP; a real clock is not
# repeatable; and the sandbox is needed until the end.
_LEFT_OUT: Final = frozenset(
    {"sandbox-delete", "sandbox-fork", "sandbox-checkpoint", "sandbox-export", "clock-set", "stream"}
)
CONTROL_ROUTES: Final = tuple(
    route for route in ROUTES if route.path.startswith("/sandboxes/{s}") and route.name not in _LEFT_OUT
)
_ROUTES: Final = {route.name: route for route in CONTROL_ROUTES}
# These lead to states in which other calls can do something.
_USEFUL: Final = ("clock-advance", "clock-advance", "pay-in-transition", "dispute-open", "fault-add", "webhook-test")
