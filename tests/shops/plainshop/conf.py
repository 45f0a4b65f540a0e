"""The settings of the shop."""

from dataclasses import dataclass

bugs: set[str] = set()
"""The mistakes that are switched on."""


@dataclass(frozen=True)
class Conf:
    """Where the payment service is, and the shop's credentials."""

    base_url: str
    business_key: str
    business_secret: str
    webhook_secret: str
    livemode: bool = False
    timeout: float = 10.0
