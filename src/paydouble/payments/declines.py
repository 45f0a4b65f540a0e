"""The reasons for which a payment is declined. The contract lists no failure codes, so all of these are assumed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from paydouble.payments.resources import Failure

_DEFAULT: Final = Failure()

DECLINES: Final[Mapping[str, str]] = MappingProxyType(
    {
        _DEFAULT.code: _DEFAULT.message,
        "card_declined": "The issuer declined the card.",
        "insufficient_funds": "The account has insufficient funds.",
        "expired_card": "The card has expired.",
        "incorrect_cvc": "The security code of the card is wrong.",
        "authentication_failed": "The payer could not be authenticated.",
        "suspected_fraud": "The payment looks like fraud.",
        "processing_error": "The provider could not process the payment.",
    }
)
"""The message of each failure code that the payer's page offers; the first is the default."""
