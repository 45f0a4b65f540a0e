"""Any shop that speaks HTTP: how to reach it is said in a file, `merchant.yaml`.

`merchant_of(path)` is the adapter of such a file, for `MerchantMachine` and `Play` of `paydouble.stateful`;
`HttpMerchant` is its base, for an adapter that adds methods of its own.
"""

from __future__ import annotations

from paydouble.conformance.adapter import CommandMerchant, HttpMerchant, merchant_of
from paydouble.conformance.calling import CallFailed
from paydouble.conformance.merchant_file import MerchantFile, read_merchant

__all__ = ["CallFailed", "CommandMerchant", "HttpMerchant", "MerchantFile", "merchant_of", "read_merchant"]
