"""A read that the service refuses says nothing about the payment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from small_shop import SmallShop
from verdicts_of import verdicts_of

if TYPE_CHECKING:
    from paydouble.stateful.steps import CataloguePlay


class TakesARefusalForAnAnswer(SmallShop):
    """Takes a list that it does not get for an empty one."""

    def list(self, path: str) -> list[dict[str, Any]]:
        """Ask, and look at the status too little."""
        try:
            answer = self.service.call("GET", f"/api/v1{path}&limit=100", self.headers)
        except OSError:
            return super().list(path)
        return [] if answer.status in {429, 503} else super().list(path)


@pytest.mark.parametrize("trouble", ["429", "503"])
def test_a_refused_read_is_no_answer(trouble: str) -> None:
    """A shop that takes it for one pays again once its key is too old."""

    def is_refused(play: CataloguePlay) -> bool:
        return any(step.command == "reads" and step.arguments == (trouble,) for step in play.steps)

    assert list(verdicts_of(SmallShop, is_refused)) == []
    verdicts = list(verdicts_of(TakesARefusalForAnAnswer, is_refused))
    assert verdicts
    assert all(each.startswith("The merchant made 2 deposits for order-1") for each in verdicts)
