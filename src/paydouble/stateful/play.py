"""A stage for a merchant: the double, the merchant's code, and everything that can come between them.

Each public command is one step of a story; a machine chooses them, and so can a test. After each, what must hold of any
merchant is checked; `end` heals everything, lets it settle and checks what must hold then. A command that has nothing
to act on does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, Self

from paydouble.config import Settings, load_settings
from paydouble.core.durations import parse_duration
from paydouble.core.errors import ApiError, IllegalTransition, UsageError
from paydouble.core.money import MINOR_DIGITS, parse_amount
from paydouble.payments.lifecycle import UNSUCCESSFUL
from paydouble.sandbox import Sandbox
from paydouble.stateful import books, invariants
from paydouble.stateful.actor import Actor, MakeMerchant
from paydouble.stateful.books import Order
from paydouble.stateful.provider import ACTS
from paydouble.stateful.service import Ambush
from paydouble.stateful.story import Story
from paydouble.stateful.troubles import DIALECTS, HOOKS, POSTS, READS, STRIKES, Trouble, aimed, arm
from paydouble.stateful.verdicts import Died, MerchantBug

TWISTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "none": "",
        "second click": "the customer clicks again meanwhile",
        "dies": "the merchant's process dies in the middle and is started again",
        "webhook first": "the first webhook overtakes the reply",
    }
)
UPSETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "answer lost": "The merchant's answer to the next webhook will be lost",
        "dies": "The merchant's process will die over the next webhook, and be started again",
        "database down": "The merchant's database will fail for a moment over the next webhook",
        "again meanwhile": "The next webhook will come once more while it is being worked on",
    }
)
REFUNDS: Final = ("none", "request lost", "reply lost", "two replies lost", "500 after the commit", "503", "proxy page")
_ROUNDS: Final = 6
_HOUR: Final = 3_600_000
_settings: dict[str, Settings] = {}


class Play:
    """One run of one merchant. As a context manager it ends with `end`, unless something was raised before."""

    def __init__(
        self, merchant: MakeMerchant, *, dialect: str = "plain", seed: int = 0, patience_seconds: float = 10.0
    ) -> None:
        """Raise the curtain. `patience_seconds` is what one call of the adapter may take in real time.

        `UsageError` for an unknown dialect, `AdapterMisfit` for an adapter that cannot be used.
        """
        if dialect not in _settings:
            _settings[dialect] = load_settings(_named(DIALECTS, dialect, "dialect"))
        self.orders: list[Order] = []
        self.story = Story(dialect, seed)
        self._name = getattr(merchant, "__name__", "make_merchant")
        self._actor = Actor(merchant, _settings[dialect], seed, self.orders, patience_seconds)
        self._actor.on_taken = self._look_at_beliefs
        self._double = self._actor.double
        self._box = self._double.sandbox
        self._seen = 0
        self._reading: list[str] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End, unless something was raised."""
        try:
            if kind is None:
                self.end()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the merchant."""
        self._actor.ask("close")

    @property
    def failed(self) -> bool:
        """Whether something has been found."""
        return bool(self._actor.findings)

    def status(self, order: int = 1) -> str:
        """Return what the merchant believes of an order."""
        return str(self._actor.ask("order_status", self._order(order)[0].id))

    def shipments(self, order: int = 1) -> int | None:
        """Return how often the merchant has fulfilled an order, if it counts that."""
        return self._actor.merchant.shipments(self._order(order)[0].id)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox, for a test that wants to look at it."""
        return self._box

    # What customers do

    def order(self, amount: str = "49.90", currency: str = "EUR") -> None:
        """Place the next order; they are called `order-1`, `order-2` and so on."""
        order = Order(f"order-{len(self.orders) + 1}", parse_amount(amount, currency), currency)
        with self._step(f"{order.id} is placed: {amount} {currency}", f"play.order({amount!r}, {currency!r})"):
            self.orders.append(order)
            self._actor.ask("place_order", order.id, order.money, currency)

    def pay(
        self, order: int = 1, trouble: str = "none", *, twist: str = "none", at: int = 0, life: str = "happy-path"
    ) -> None:
        """The customer presses the button. A twist acts `at` a point of the merchant's code, counted from 0."""
        options = _options(trouble=trouble, twist=twist, at=at if twist in {"second click", "dies"} else 0, life=life)
        self._press("pay", order, trouble, twist, at, life, options)

    def retry(self, order: int = 1, trouble: str = "none") -> None:
        """The customer presses it again."""
        self._press("retry", order, trouble, "none", 0, "happy-path", _options(trouble=trouble))

    def returns(self, order: int = 1) -> None:
        """The payer comes back to the shop's page."""
        target, number = self._order(order)
        with self._step(f"The payer of {target.id} comes back to the shop", f"play.returns({number})"):
            self._actor.ask("customer_returns", target.id)

    def refund(self, order: int = 1, share: str = "all", trouble: str = "none", *, twist: str = "none") -> None:
        """The merchant gives money back: `all`, `most` (two thirds) or `half`."""
        target, number = self._order(order)
        amount = {"all": target.amount, "most": target.amount * 2 // 3, "half": target.amount // 2}[share]
        refund_id = f"{target.id}-refund-{len(target.wishes) + 1}"
        target.wishes[refund_id] = amount
        options = _options(share=share, trouble=trouble, twist=twist)
        self._refund(target, refund_id, trouble, twist, f"play.refund({number}{options})", f"{share} of it")

    def refund_again(self, order: int = 1) -> None:
        """The merchant's clerk presses the last refund's button once more."""
        target, number = self._order(order)
        if target.wishes:
            refund_id = next(reversed(target.wishes))
            self._refund(target, refund_id, "none", "none", f"play.refund_again({number})", "the same once more")

    # What the world does

    def wait(self, time: str) -> None:
        """Let time pass; then the merchant's background jobs run."""
        with self._step(f"{time} pass", f"play.wait({time!r})"):
            self._double.advance(by=parse_duration(time))
            self._actor.ask("tick")

    def pass_time(self, time: str) -> None:
        """Let time pass without any background job."""
        with self._step(f"{time} pass, and no background job runs", f"play.pass_time({time!r})"):
            self._double.advance(by=parse_duration(time))

    def outage(self, time: str) -> None:
        """The merchant's receiver is out of reach for a time."""
        with self._step(f"The merchant's receiver is down for {time}", f"play.outage({time!r})"):
            self._actor.down = True
            self._double.advance(by=parse_duration(time))
            self._actor.down = False
            self._actor.ask("tick")

    def dead_line(self, order: int = 1, time: str = "80h", *, restarted: bool = False) -> None:
        """The customer pays, the line goes dead both ways after the commit, and comes back after a time.

        The merchant may be `restarted` meanwhile. Then the customer clicks again.
        """
        target, number = self._order(order)
        meanwhile = "the merchant is started anew meanwhile; " if restarted else ""
        sentence = f"{target.id} is paid for, and no reply and no webhook comes through for {time}; {meanwhile}"
        options = _options(restarted=restarted)
        with self._step(f"{sentence}then a second click", f"play.dead_line({number}, {time!r}{options})", _DEAD):
            self._wish(target)
            armed = self._arm(_DEAD)
            self._actor.down = True
            self._actor.ask("pay", target.id)
            self._double.advance(by=parse_duration(time))
            self._disarm(armed)
            if restarted:
                self._actor.ask("restart")
            self._wish(target)
            self._actor.ask("retry", target.id)
            self._actor.down = False
            self._actor.ask("tick")

    def restart(self) -> None:
        """The merchant's process is killed and started again."""
        with self._step("The merchant is started anew", "play.restart()"):
            self._actor.ask("restart")

    def reads(self, trouble: str) -> None:
        """The API's next answers to GETs are not what they should be."""
        found = _named(READS, trouble, "trouble")
        with self._step(_sentence(found.words), f"play.reads({trouble!r})", found, method="GET"):
            self._reading += self._arm(found, method="GET")

    def webhooks(self, trouble: str) -> None:
        """The next webhooks do not come as they should."""
        found = _named(HOOKS, trouble, "trouble")
        with self._step(_sentence(found.words), f"play.webhooks({trouble!r})", found):
            self._arm(found)

    def upset(self, what: str, at: int = 0) -> None:
        """Something happens while the merchant works on the next webhook, `at` a point of its code."""
        words = _named(UPSETS, what, "upset")
        with self._step(words, f"play.upset({what!r}{_options(at=at)})"):
            self._actor.upset = (what, at)

    def strike(self, how: str, which: int = 1) -> None:
        """An old webhook comes again, as it was or forged; the newest is 1."""
        found = _named(STRIKES, how, "strike")
        done = [each for each in self._box.outbox.deliveries.values() if each.status == "delivered" and not each.queue]
        if not done:
            return
        place = (which - 1) % len(done)
        delivery = done[-1 - place]
        about = f"{_sentence(found.words)} ({delivery.event.type})"
        with self._step(about, f"play.strike({how!r}, {place + 1})", found, object_id=delivery.event.object_id):
            armed = self._arm(found, object_id=delivery.event.object_id)
            self._box.redeliver(delivery)
            self._double.deliver()
            self._disarm(armed)

    def provider(self, what: str, order: int = 1) -> None:
        """The payment provider does something that nobody has asked for: one of `ACTS`."""
        target, number = self._order(order)
        act = _named(ACTS, what, "act")
        try:
            words = act(self._box, target, books.truth(self._box, target))
        except (ApiError, IllegalTransition, UsageError):
            words = None
        if words is not None:
            with self._step(f"{target.id}: {words}", f"play.provider({what!r}, {number})"):
                pass

    # The end

    def end(self) -> None:
        """Heal everything, let it come to rest, and check what must hold of every order then."""
        with self._checked():
            self._box.faults.clear()
            self._actor.upset = None
            self._actor.service.ambushes.clear()
            for round_number in range(_ROUNDS):
                before = self._actor.statuses(), self._box.journal.events.total
                self._actor.ask("tick")
                self._double.advance(by=_HOUR)
                self._double.advance(limit=10_000)
                if (
                    round_number
                    and self._box.idle
                    and before == (self._actor.statuses(), self._box.journal.events.total)
                ):
                    break
            self._actor.ask("tick")
        for order, status in zip(self.orders, self._actor.statuses() or (), strict=False):
            found = books.truth(self._box, order)
            for text in invariants.in_the_end(self._actor.merchant, order, status, found):
                self._actor.accuse(text)
        self._report()

    # Inside

    @contextmanager
    def _step(self, sentence: str, call: str, trouble: Trouble | None = None, **match: str) -> Iterator[None]:
        self.story.tell(sentence, call, aimed(trouble, **match) if trouble is not None else ())
        with self._checked():
            yield

    @contextmanager
    def _checked(self) -> Iterator[None]:
        yield
        self._double.deliver()
        findings = [*invariants.of_requests(self._box, self._seen), *invariants.of_books(self._box, self.orders)]
        self._seen = self._box.journal.requests.total
        for text in findings:
            self._actor.accuse(text)
        self._look_at_beliefs()
        self._report()

    def _look_at_beliefs(self) -> None:
        for order, status in zip(self.orders, self._actor.statuses() or (), strict=False):
            found = books.truth(self._box, order)
            for text in invariants.of_beliefs(self._actor.merchant, order, status, found):
                self._actor.accuse(text)
            order.status = status

    def _report(self) -> None:
        if self._actor.findings:
            verdict = self._actor.findings[0]
            raise MerchantBug(verdict, self.story.report(verdict, self._name, self._box))

    def _press(  # noqa: PLR0913, PLR0917 - what a click can meet
        self, how: str, order: int, trouble: str, twist: str, at: int, life: str, options: str
    ) -> None:
        target, number = self._order(order)
        met = _named(POSTS, trouble, "trouble")
        clauses = [f"{target.id} is paid for" if how == "pay" else f"The customer clicks again to pay {target.id}"]
        clauses += [words for words in (met.words, _named(TWISTS, twist, "twist")) if words]
        if life != "happy-path":
            clauses.append(f"its life will be {life}")
        match = {"operation": "deposit-creation", "external_identifier": target.id}
        with self._step("; ".join(clauses), f"play.{how}({number}{options})", met, **match):
            self._wish(target)
            self._box.scenarios.activate(life)
            armed = self._arm(met, **match)
            if twist == "webhook first":
                armed += self._arm(_FIRST)
                self.story.faults += aimed(_FIRST)
            self._lie_in_wait(twist, at, lambda: self._actor.ask("pay", target.id))
            start = self._box.journal.requests.total
            self._actor.ask(how, target.id, earliest=met.earliest)
            self._actor.service.ambushes.clear()
            self._disarm(armed)
            for text in invariants.of_keys(self._box, start):
                self._actor.accuse(text)
            target.poisoned |= trouble == "stored 500"
            gets_through = (met.passing or trouble == "none") and not target.poisoned
            if gets_through and twist != "dies" and not self._reading:
                target.due = f"the customer has pressed the button and {met.words or 'nothing went wrong'}"

    def _refund(self, target: Order, refund_id: str, trouble: str, twist: str, call: str, what: str) -> None:  # noqa: PLR0913, PLR0917 - what a refund can meet
        met = _named(POSTS, trouble, "trouble")
        digits = MINOR_DIGITS[target.currency]
        amount = Decimal(target.wishes[refund_id]).scaleb(-digits)
        clauses = [f"{target.id} is refunded: {what}", met.words, _named(TWISTS, twist, "twist")]
        with self._step("; ".join(filter(None, clauses)), call, met, operation="refund-creation"):
            armed = self._arm(met, operation="refund-creation")
            self._lie_in_wait(twist, 0, lambda: self._actor.ask("refund", target.id, refund_id, amount))
            self._actor.ask("refund", target.id, refund_id, amount, earliest=met.earliest)
            self._actor.service.ambushes.clear()
            self._disarm(armed)

    def _lie_in_wait(self, twist: str, at: int, click: Callable[[], Any]) -> None:
        ambushes = self._actor.service.ambushes
        if twist == "second click" and self._actor.merchant.interleaves:
            ambushes.append(Ambush(at, click))
        elif twist == "dies":
            ambushes.append(Ambush(at, _die))

    def _wish(self, order: Order) -> None:
        # A click on what is being paid, or is paid, is no wish for another deposit.
        pay_ins = books.truth(self._box, order).pay_ins
        if all(each.status in UNSUCCESSFUL for each in pay_ins):
            order.presses = len(pay_ins) + 1

    def _order(self, number: int) -> tuple[Order, int]:
        if not self.orders:
            self.order()  # shortest stories begin with a plain one
        place = (number - 1) % len(self.orders)
        return self.orders[place], place + 1

    def _arm(self, trouble: Trouble, **match: str) -> list[str]:
        return [self._box.faults.add(fault, self._box.now).id for fault in arm(trouble, **match)]

    def _disarm(self, fault_ids: list[str]) -> None:
        for fault_id in fault_ids:
            self._box.faults.remove(fault_id)


_DEAD: Final = Trouble("", ({"on": "api", "phase": "after_commit", "effect": {"type": "connection_reset"}},))
_FIRST: Final = Trouble(
    "",
    ({"on": "webhooks", "times": 1, "match": {"event_type": "pay-in.created"}, "effect": {"type": "before_response"}},),
)


def _die() -> None:
    raise Died


def _options(**given: object) -> str:
    plain = {"trouble": "none", "twist": "none", "at": 0, "life": "happy-path", "share": "all", "restarted": False}
    return "".join(f", {name}={value!r}" for name, value in given.items() if value != plain[name])


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _named(table: Mapping[str, Any], name: str, what: str) -> Any:  # noqa: ANN401 - as the table
    if name not in table:
        raise UsageError(f"there is no {what} {name!r}; there are: {', '.join(table)}")
    return table[name]
