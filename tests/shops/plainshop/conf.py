"""The settings of the shop."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Conf:
    """Where the payment service is, the shop's credentials, and the mistakes that are switched on."""

    base_url: str
    business_key: str
    business_secret: str
    webhook_secret: str
    livemode: bool = False
    timeout: float = 10.0
    mistakes: frozenset[str] = field(default_factory=frozenset)

    def wrong(self, name: str) -> bool:
        """Return whether the mistake of this name is switched on."""
        return name in self.mistakes
