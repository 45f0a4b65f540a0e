"""Events of disputes and refunds that come before anything else tells the merchant of their payment."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from small_shop import SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import ServiceLike, Webhook
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.steps import CataloguePlay

EARLY = "the event of a dispute or refund comes before anything else tells of the payment"


def is_early(play: CataloguePlay) -> bool:
    """Return whether a play is about such an event."""
    return play.reason == EARLY


class DropsWhatComesEarly(SmallShop):
    """Learns of refunds and disputes by their events alone; one about a payment that it does not know is dropped."""

    def list(self, path: str) -> list[dict[str, Any]]:
        return super().list(path) if path.startswith("/pay-in") else []


class KeepsWhatComesEarly(DropsWhatComesEarly):
    """Works on such an event once the payment is known."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.early: list[dict[str, Any]] = []

    def receive(self, webhook: Webhook) -> int:
        status = super().receive(webhook)
        event = json.loads(webhook.body, parse_float=Decimal, parse_int=Decimal) if status == 200 else {}
        if str(event.get("type")).startswith(("refund.", "dispute.")):
            shown = event["data"]["object"]
            if self.order_of(shown) is None:
                self.early.append(shown)
        return status

    def learn(self, resource: dict[str, Any]) -> None:
        super().learn(resource)
        waiting, self.early = self.early, []
        for each in waiting:
            (self.early.append if self.order_of(each) is None else super().learn)(each)


def test_what_was_acknowledged_too_early_is_judged_in_the_end() -> None:
    """The service does not send it again, whatever the merchant knew when it answered."""
    found = list(verdicts_of(DropsWhatComesEarly, is_early))

    assert len(found) == len([play for play in catalogue() if is_early(play)]) - 1  # an open dispute may be unknown
    assert not [each for each in found if "no event of the latest change" in each]
    assert {each.rpartition(" says ")[2] for each in found if " says " in each} == {
        "charged_back",
        "partly_refunded or review",
        "refunded or review",
    }
    assert list(verdicts_of(KeepsWhatComesEarly, is_early)) == []
    assert list(verdicts_of(SmallShop, is_early)) == []
