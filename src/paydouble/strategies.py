"""Hypothesis strategies for a merchant's own property tests.

They generate what the service itself would accept or send: deposits, accepted and refused idempotency keys, events with
their exact bytes, histories that the lifecycle tables allow or forbid, deliveries with copies and in any order, and
signature headers that must be refused. Needs the extra `hypothesis`.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import Final, NamedTuple

import orjson
from hypothesis import strategies as st

from paydouble.core.ids import Ids
from paydouble.core.instants import Stamps
from paydouble.core.money import write_minor
from paydouble.core.seeded_random import SeededRandom
from paydouble.payments import events as frozen
from paydouble.payments.catalogue import load_catalogue
from paydouble.payments.lifecycle import TABLES, first
from paydouble.payments.resources import Customer, Document, PayIn, PaymentMethod
from paydouble.webhooks.signing import DEFAULT_HEADER_NAME, sign

_START: Final = 1_767_225_600_000
# A dispute can be updated without an end.
_LONGEST: Final = 8
# Those that emit events.
_KINDS: Final = tuple(kind.OBJECT for kind in frozen.FAMILIES.values())
_names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(str.strip)


class DepositBody(NamedTuple):
    """A request body for deposit-creation, and its main members."""

    body: bytes
    external_identifier: str
    amount: str
    """The exact digits, as in the body."""
    currency: str


class SentEvent(NamedTuple):
    """An event as a receiver gets it."""

    id: str
    type: str
    body: bytes

    def headers(self, secret: str, at: int) -> dict[str, str]:
        """Return the headers of a delivery that is signed `at` Unix seconds."""
        return {"Content-Type": "application/json", DEFAULT_HEADER_NAME: sign(self.body, secret, at)}


class History(NamedTuple):
    """The states of one object, first to last."""

    kind: str
    states: tuple[str, ...]


class HostileHeader(NamedTuple):
    """A signature header that a receiver must refuse for its body, and the status that the contract recommends."""

    value: str | None
    status: int


def amounts(currency: str, method: str = "CREDIT_CARD") -> st.SearchStrategy[str]:
    """Make exact amounts of a currency that a payment method takes, as decimal texts."""
    limits = [
        each.limits[currency] for each in load_catalogue().methods if each.type == method and currency in each.limits
    ]
    low, high = limits[0]
    return st.integers(low, high).map(lambda minor: write_minor(minor, load_catalogue().digits[currency]))


def currencies(method: str = "CREDIT_CARD") -> st.SearchStrategy[str]:
    """Make codes of currencies that a payment method takes."""
    return st.sampled_from([code for each in load_catalogue().methods if each.type == method for code in each.limits])


@st.composite
def deposits(draw: st.DrawFn) -> DepositBody:
    """Make bodies that deposit-creation takes; amounts have their currency's digits, names any letters."""
    currency = draw(currencies())
    amount = draw(amounts(currency))
    order = draw(st.text("abcdefghijklmnopqrstuvwxyz0123456789-_/", min_size=1, max_size=128))
    name = orjson.dumps({"first_name": draw(_names), "last_name": draw(_names), "email": "ada@example.test"})
    head = orjson.dumps({"currency": currency, "external_identifier": order, "payment_method": {"type": "CREDIT_CARD"}})
    body = head[:-1] + b',"amount":' + amount.encode() + b',"customer":' + name + b"}"
    return DepositBody(body, order, amount, currency)


def keys() -> st.SearchStrategy[str]:
    """Make idempotency keys that the service takes: UUIDs of version 4, in any case."""
    made = st.uuids(version=4).map(str)
    return made | made.map(str.upper)


def bad_keys() -> st.SearchStrategy[str]:
    """Make idempotency keys that the service refuses."""
    good = st.uuids(version=4)
    return st.one_of(
        st.just(""),
        good.map(lambda key: key.hex),
        good.map(lambda key: f"{{{key}}}"),
        good.map(lambda key: key.urn),
        good.map(lambda key: str(uuid.UUID(bytes=hashlib.sha256(key.bytes).digest()[:16], version=1))),
        good.map(lambda key: str(key)[:-1]),
        st.text("0123456789abcdef-", max_size=35),
    )


def legal_histories(kind: str | None = None) -> st.SearchStrategy[History]:
    """Make histories that the lifecycle tables allow: of a `payin`, a `refund` or a `dispute`, or of any of them.

    Raises `ValueError` for any other kind.
    """
    return _histories(kind, legal=True)


def illegal_histories(kind: str | None = None) -> st.SearchStrategy[History]:
    """Make histories whose last transition the lifecycle tables forbid; all before it are legal.

    Raises `ValueError` for an unknown kind.
    """
    return _histories(kind, legal=False)


@st.composite
def events(draw: st.DrawFn, history: History | None = None) -> list[SentEvent]:
    """Make the events of one pay-in, in the order in which they happened, with the service's own bytes."""
    states = (history or draw(legal_histories("payin"))).states
    ids = Ids(SeededRandom(draw(st.integers(0, 2**32))))
    currency = draw(currencies())
    minor = draw(st.integers(100, 10_000))
    stamp = Stamps().write
    method = PaymentMethod("CREDIT_CARD", "card", "Credit card")
    customer = Customer(draw(_names), draw(_names), "ada@example.test")
    pay_in = PayIn(
        id=ids.make("payin"), sequence=1, reference=ids.reference("PAY"),
        external_identifier=f"order-{draw(st.integers(1, 99))}", amount=minor, currency=currency, digits=2,
        payment_method=method, customer=customer, created_at=_START, updated_at=_START,
        expires_at=_START + 86_400_000, checkout_base="",
    )  # fmt: skip
    before: Document = {}
    sent, now = [], _START
    for state in states:
        pay_in.status, pay_in.updated_at = state, now
        after = pay_in.event_object(stamp)
        previous = frozen.changes(before, after) if before else {}
        event_id = ids.make("evt")
        kind = f"pay-in.{state}"
        body = frozen.freeze(
            event_id=event_id, kind=kind, api_version="v1", created_at=stamp(now), resource=after, previous=previous,
            request_id=None, omit_request_id=False, livemode=False,
        )  # fmt: skip
        sent.append(SentEvent(event_id, kind, body))
        before = after
        now += draw(st.integers(0, 10_000))
    return sent


@st.composite
def deliveries(draw: st.DrawFn) -> list[SentEvent]:
    """Make what a receiver may get for one pay-in: every event at least once, in any order, some of them again."""
    made = draw(events())
    again = draw(st.lists(st.sampled_from(made), max_size=3))
    return draw(st.permutations([*made, *again]))


def hostile_headers(body: bytes, secret: str, now: int) -> st.SearchStrategy[HostileHeader]:
    """Make signature headers that a receiver must refuse for a body at an instant (Unix seconds)."""
    digest = sign(body, secret, now).partition("v1=")[2]
    other = sign(body, secret + "?", now)
    old = st.integers(301, 10**6).map(lambda age: sign(body, secret, max(0, now - age)))
    broken = (
        None, "", " ", ",", "t=", "v1=", f"t={now}", f"t={now},v1=", f"v1={digest}", f"t={now},v0={digest}",
        f"t=+{now},v1={digest}", f"t={now}.0,v1={digest}", f"t=,v1={digest}", "this is no signature",
    )  # fmt: skip
    return st.one_of(
        st.sampled_from([HostileHeader(each, 400) for each in broken]),
        old.map(lambda value: HostileHeader(value, 400)),
        st.sampled_from(
            [
                HostileHeader(other, 401),
                HostileHeader(f"t={now},v1={digest[:-1]}", 401),
                HostileHeader(f"t={now},v1=\u00fc\u4e2d\u00e9", 401),
                HostileHeader(f"t={now - 1},v1={digest}", 401),
            ]
        ),
    )


def _histories(kind: str | None, *, legal: bool) -> st.SearchStrategy[History]:
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"{kind!r} has no events; there are: {', '.join(sorted(_KINDS))}")
    return _history(kind, legal=legal)


@st.composite
def _history(draw: st.DrawFn, kind: str | None, *, legal: bool) -> History:
    chosen = kind or draw(st.sampled_from(sorted(_KINDS)))
    table = TABLES[chosen]
    states = [first(table)]
    while table[states[-1]] and len(states) < _LONGEST and draw(st.integers(0, 4)):
        states.append(draw(st.sampled_from(table[states[-1]])))
    if not legal:
        # A dispute without an answer may take any status.
        if set(table) == set(table[states[-1]]):
            states.append("under_review")
        states.append(draw(st.sampled_from(sorted(set(table) - set(table[states[-1]])))))
    return History(chosen, tuple(states))
