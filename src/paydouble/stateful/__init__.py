"""Explore a merchant's own code: `Merchant` is the adapter, `MerchantMachine` the explorer, `Play` one run.

`MerchantMachine` and `explore` need the extra `hypothesis`: `pip install 'paydouble[hypothesis]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from paydouble.inprocess import Unreachable, Webhook
from paydouble.stateful.accepted import Accepted
from paydouble.stateful.merchant import STATUSES, Merchant, Refused, ServiceLike
from paydouble.stateful.play import Play
from paydouble.stateful.verdicts import AdapterMisfit, DatabaseDown, MerchantBug
from paydouble.testing.play_service import Answer

if TYPE_CHECKING:
    from paydouble.stateful.machine import MerchantMachine, explore

__all__ = [
    "STATUSES",
    "Accepted",
    "AdapterMisfit",
    "Answer",
    "DatabaseDown",
    "Merchant",
    "MerchantBug",
    "MerchantMachine",
    "Play",
    "Refused",
    "ServiceLike",
    "Unreachable",
    "Webhook",
    "explore",
]


def __getattr__(name: str) -> object:
    """Load the machine when it is first used, since it alone needs Hypothesis."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module("paydouble.stateful.machine"), name)
    return value
