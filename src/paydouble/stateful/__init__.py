"""Explore a merchant's own code: `Merchant` is the adapter, `MerchantMachine` the explorer, `Play` one run.

Needs the extra `hypothesis`: `pip install 'paydouble[hypothesis]'`.
"""

from __future__ import annotations

from paydouble.inprocess import Unreachable, Webhook
from paydouble.stateful.machine import MerchantMachine, explore
from paydouble.stateful.merchant import STATUSES, Answer, Merchant, Refused, ServiceLike
from paydouble.stateful.play import Play
from paydouble.stateful.verdicts import AdapterMisfit, DatabaseDown, MerchantBug

__all__ = [
    "STATUSES",
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
