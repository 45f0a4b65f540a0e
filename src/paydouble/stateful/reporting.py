"""A broken rule as what its reader gets: the headline, the story of the play, and its recording."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from paydouble.core.errors import UsageError
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.runfile.recorded import Taped, taped
from paydouble.stateful import expected
from paydouble.stateful.driver import Driver
from paydouble.stateful.expected import Order
from paydouble.stateful.findings import Finding, Rule, by_cause
from paydouble.stateful.held_to import Shows, while_disputed
from paydouble.stateful.story import Story, names_in, what_was_sent
from paydouble.stateful.verdicts import MerchantBug


class Reporter:
    """Reports what was found in one play."""

    def __init__(self, driver: Driver, story: Story, orders: Sequence[Order], shows: Shows, name: str) -> None:
        """Take the merchant's driver, the play's story and orders, which may grow, and how the merchant is called."""
        self._driver = driver
        self._box = driver.double.sandbox
        self._story = story
        self._orders = orders
        self._shows = shows
        self._name = name

    def sent(self) -> list[str]:
        """Return what the merchant and the service have sent so far, in lines, without what is of other orders."""
        return what_was_sent(self._box, self._driver.acts, self._others_than_told())

    def bug(self, sent: Sequence[str]) -> MerchantBug:
        """Return the finding that explains the most, with all others and what was `sent` until the first one."""
        first, *others = by_cause(self._driver.findings)
        story = self._story
        story.shows = self._shows if self._depends_on_what_it_shows(first.rule) else ""
        text = story.report(first.text, [each.text for each in others], self._name, self._box, sent)
        bug = MerchantBug(first.text, text, first.rule, story.calls, story.dialect)
        bug.others = tuple(others)
        bug.taped = self.taped(first)
        return bug

    def taped(self, finding: Finding | None = None) -> Taped | None:
        """Return the recording of the play so far, with a finding as its verdict; None when it is too long to keep."""
        with suppress(UsageError):
            found = taped(self._box, self._driver.double.pipeline)
            if finding is not None:
                found.end.update({"verdict": f"{finding.text}.", "rule": finding.rule.name})
            found.header["play"] = {
                "merchant": self._name,
                "seed": self._story.seed,
                "dialect": self._story.dialect,
                "shows": self._shows if isinstance(self._shows, str) else dict(self._shows),
                "calls": list(self._story.calls),
            }
            return found
        return None

    def _depends_on_what_it_shows(self, rule: Rule) -> bool:
        is_of_disputes = bool(while_disputed(self._shows) and self._box.ledger.count(Dispute))
        return rule == Rule.LOST or (rule in {Rule.END, Rule.VIEW} and is_of_disputes)

    def _others_than_told(self) -> frozenset[str]:
        """Return the names of the orders that the first finding is not about, and of their objects."""
        names = names_in(by_cause(self._driver.findings)[0].text)
        told = [order for order in self._orders if order.id in names]
        if not told:
            return frozenset()
        ids = {each.id for kind in (PayIn, Refund, Dispute) for each in self._box.ledger.newest_first(kind)}
        numbers = {each.external_identifier for each in self._box.ledger.newest_first(PayIn)}
        own = {each.id for order in told for each in expected.expected_state(self._box, order).resources}
        own |= {number for number in numbers if any(order.owns(number) for order in told)}
        return frozenset({*ids, *numbers, *(order.id for order in self._orders)} - own - {order.id for order in told})
