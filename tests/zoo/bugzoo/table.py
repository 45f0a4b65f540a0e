"""The zoo's table: every variant, and what catches it."""

from __future__ import annotations

from bugzoo import client_bugs, receiver_bugs, shop_bugs
from bugzoo.registry import VARIANTS, Variant

__all__ = ["VARIANTS", "Variant", "client_bugs", "receiver_bugs", "shop_bugs"]
