"""What a merchant shows, asked again only when it can have changed.

The rules look at every order after each step and each webhook, which was a third to a half of the processor time of
shops with a database. What a merchant shows cannot change while none of its code runs and no time passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from paydouble.stateful.merchant import Merchant


class Shown(Merchant):
    """The part of an adapter that only shows, with the answers of the present moment remembered."""

    def __init__(self, merchant: Merchant, moment: Callable[[], object]) -> None:
        """Take the adapter, and what returns a value that stays equal as long as nothing can have changed."""
        super().__init__(merchant.service)
        self._merchant = merchant
        self._moment = moment
        self._at: object = None
        self._answers: dict[tuple[str, str], Any] = {}
        self.asking = ""
        """The call that is running, or that has raised; empty when none is."""

    def order_status(self, order_id: str) -> str:
        """Return the status that the merchant shows for an order."""
        return self._ask("order_status", order_id)  # type: ignore[no-any-return]  # as the adapter's own

    def shipments(self, order_id: str) -> int | None:
        """Return how often the merchant fulfilled an order."""
        return self._ask("shipments", order_id)  # type: ignore[no-any-return]  # as the adapter's own

    def balance(self, order_id: str) -> Decimal | None:
        """Return the money that the merchant has of an order."""
        return self._ask("balance", order_id)  # type: ignore[no-any-return]  # as the adapter's own

    def effects(self, order_id: str) -> Mapping[str, int]:
        """Return how often each effect of an order has happened."""
        return self._ask("effects", order_id)  # type: ignore[no-any-return]  # as the adapter's own

    def _ask(self, method: str, order_id: str) -> Any:  # noqa: ANN401 - as the adapter's own
        moment = self._moment()
        if moment != self._at:
            self._at, self._answers = moment, {}
            self._merchant.look_again()
        asked = method, order_id
        if asked not in self._answers:
            before, self.asking = self.asking, f"{method}({order_id})"
            self._answers[asked] = getattr(self._merchant, method)(order_id)
            self.asking = before
        return self._answers[asked]
