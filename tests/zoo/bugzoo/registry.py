"""The list of variants: each is the correct merchant with one part replaced, and says which row it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from bugzoo.adapter import ZooMerchant
from bugzoo.client import Client
from bugzoo.receiver import Receiver
from bugzoo.shop import Shop
from bugzoo.store import Store

T = TypeVar("T", bound=type)
SLOTS: dict[type, str] = {
    Client: "client_part",
    Shop: "shop_part",
    Receiver: "receiver_part",
    Store: "store_part",
}


@dataclass(frozen=True)
class Variant:
    """A broken merchant: the row of the table of failure modes, what it does, and the test that catches it."""

    name: str
    row: int
    does: str
    merchant: type[ZooMerchant]
    test: str | None
    """The named test that catches it; None for the machine."""


VARIANTS: list[Variant] = []


def mistake(row: int, *, test: str | None = None, **others: type) -> Callable[[T], T]:
    """Make a variant of a part: the merchant with this part, and with `others` that the mistake comes along with."""

    def register(part: T) -> T:
        slot = next(name for base, name in SLOTS.items() if issubclass(part, base))
        parts: dict[str, Any] = {slot: part, **others}
        merchant = type(part.__name__, (ZooMerchant,), parts)
        VARIANTS.append(Variant(part.__name__, row, str(part.__doc__).strip().rstrip("."), merchant, test))
        return part

    return register
