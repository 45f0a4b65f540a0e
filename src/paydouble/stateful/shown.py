"""What a merchant shows, asked again only when it can have changed.

The rules look at every order after each step and each webhook, which was a third to a half of the processor time of
shops with a database. What a merchant shows cannot change while none of its code runs and no time passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import Any

from paydouble.stateful.merchant import Merchant


class WrongReturn(Exception):
    """The adapter returned what no rule can look at; the text is the whole sentence."""


class Shown(Merchant):
    """The part of an adapter that only shows, with the answers of the present moment remembered."""

    def __init__(self, merchant: Merchant, moment: Callable[[], object]) -> None:
        """Take the adapter, and what returns a value that stays equal as long as nothing can have changed."""
        super().__init__(merchant.service)
        self._merchant = merchant
        self._moment = moment
        self._at: object = None
        self._answers: dict[tuple[str, tuple[str, ...]], Any] = {}
        self.asking = ""
        """The call that is running, or that has raised; empty when none is."""

    def order_status(self, order_id: str) -> str:
        """Return the status that the merchant shows for an order."""
        return self._ask("order_status", (order_id,))  # type: ignore[no-any-return]  # a rule looks at it

    def shipments(self, order_id: str) -> int | None:
        """Return how often the merchant fulfilled an order."""
        answer: int | None = self._ask(
            "shipments", (order_id,), lambda it: it is None or _is_count(it), "a number or None"
        )
        return answer

    def balance(self, order_id: str) -> Decimal | None:
        """Return the money that the merchant has of an order."""
        # A float would differ from the ledger by a rounding, which no message could explain.
        answer: Decimal | None = self._ask("balance", (order_id,), _is_amount, "a Decimal or None")
        return answer

    def effects(self, order_id: str) -> Mapping[str, int]:
        """Return how often each effect of an order has happened."""
        answer: Mapping[str, int] = self._ask("effects", (order_id,), _are_counts, "a mapping of names to numbers")
        return answer

    def broken_rules(self) -> Collection[str]:
        """Return which of the merchant's own rules do not hold."""
        answer: Collection[str] = self._ask("broken_rules", (), _are_texts, "a list of texts")
        return answer

    def _ask(
        self, method: str, arguments: tuple[str, ...], fits: Callable[[Any], bool] | None = None, wanted: str = ""
    ) -> Any:  # noqa: ANN401 - as the adapter's own
        moment = self._moment()
        if moment != self._at:
            self._at, self._answers = moment, {}
            self._merchant.look_again()
        asked = method, arguments
        if asked not in self._answers:
            before, self.asking = self.asking, f"{method}({', '.join(arguments)})"
            answer = getattr(self._merchant, method)(*arguments)
            if fits is not None and not fits(answer):
                raise WrongReturn(f"The adapter's {self.asking} returned {answer!r}; it must return {wanted}")
            self._answers[asked] = answer
            self.asking = before
        return self._answers[asked]


def _is_count(answer: Any) -> bool:  # noqa: ANN401 - as the adapter's own
    return isinstance(answer, int) and not isinstance(answer, bool)


def _is_amount(answer: Any) -> bool:  # noqa: ANN401 - as the adapter's own
    return answer is None or isinstance(answer, Decimal) or _is_count(answer)


def _are_counts(answer: Any) -> bool:  # noqa: ANN401 - as the adapter's own
    return isinstance(answer, Mapping) and all(_is_count(times) for times in answer.values())


def _are_texts(answer: Any) -> bool:  # noqa: ANN401 - as the adapter's own
    # A text is a collection of texts too, and would be told letter by letter.
    is_list = isinstance(answer, Collection) and not isinstance(answer, str)
    return is_list and all(isinstance(each, str) for each in answer)
