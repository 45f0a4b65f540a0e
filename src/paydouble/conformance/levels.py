"""The words of clauses: how binding one is, what it needs of a merchant file, and the families."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

Need = Literal[
    "driver",
    "refund",
    "tick",
    "restart",
    "kill",
    "customer_returns",
    "set_time",
    "shipments",
    "balance",
    "request_id",
    "reconciles",
    "https",
]
NEEDS: Final[Mapping[Need, str]] = MappingProxyType(
    {
        "driver": "driver, which says how the shop is driven and its books are read",
        "refund": "driver.refund",
        "tick": "driver.tick, which runs the background jobs",
        "restart": "driver.restart, or start",
        "kill": "start, since the shop's process has to be killed",
        "customer_returns": "driver.customer_returns",
        "set_time": "driver.set_time, or {clock_url} in the shop's environment, since a day has to pass for the shop",
        "shipments": "driver.order.shipments",
        "balance": "driver.order.balance",
        "request_id": "driver.order.request_id",
        "reconciles": "reconciles: true, since no event comes and the shop has to ask",
        "https": "a webhook.url that begins with https",
    }
)
"""What a clause can need of a merchant file → what the file then lacks."""


class Level(StrEnum):
    """How binding a clause is, the most binding first."""

    MUST = "M"
    BOOKS = "B"
    SHOULD = "S"
    INFORMATION = "I"


LEVELS: Final[Mapping[Level, str]] = MappingProxyType(
    {
        Level.MUST: "the contract requires it",
        Level.BOOKS: "no sentence of the contract says it, but without it money or goods go wrong",
        Level.SHOULD: "the contract recommends it, or it follows from the contract",
        Level.INFORMATION: "for information",
    }
)


FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "W1": "the signature",
        "W2": "the answer",
        "W3": "the same again",
        "W4": "order and time",
        "W5": "outages",
        "W6": "what an event says",
        "W7": "the connection",
        "W8": "after the payment",
        "C1": "credentials",
        "C2": "idempotency keys",
        "C3": "errors and retries",
        "C4": "rate limits",
        "C5": "error envelopes",
        "C6": "amounts and refunds",
        "C7": "what is believed",
        "C8": "all together",
    }
)
"""The groups of clauses, by what their ids begin with."""
