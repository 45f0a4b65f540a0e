"""Tries each call of a merchant file once, and says what was sent, what came back, and what was expected.

One payment is played against the shop: an order is placed and paid, its webhooks arrive, the books are read, and the
other calls of the file follow. What the machine's rules say of the shop is not asked here; a call is right when the
shop can be driven and read by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

from paydouble.conformance.adapter import HttpMerchant, adapter_of, texts_in
from paydouble.conformance.calling import CallFailed, Outcome
from paydouble.conformance.merchant_file import AnyCall, MerchantFile, RulesCall
from paydouble.conformance.run_values import with_run_values
from paydouble.stateful.merchant import ServiceLike
from paydouble.stateful.play import Play
from paydouble.stateful.verdicts import AdapterMisfit, MerchantBug

WITHOUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "retry": "`pay` is the next click as well",
        "refund": "refunds are not tested",
        "cancel": "orders that the customer cancels are not tested",
        "customer_returns": "the page after the payment is not tested",
        "tick": "background jobs run when the shop runs them",
        "broken_rules": "nothing is looked at but single orders",
        "drain": "what the shop does after it has answered is not waited for",
        "reset": "the shop is started again for each play",
        "restart": "the shop is killed and started by `start`",
    }
)
"""Optional call → what follows when the file lacks it."""
WITHOUT_VALUE: Final[Mapping[str, str]] = MappingProxyType(
    {"shipments": "that an order is shipped once is not tested", "balance": "the money of an order is not tested"}
)
"""Optional value of the books → what follows when the file lacks it."""
_DEPOSIT: Final = "/pay-in/deposit-creation"
_ORDER: Final = "order-1"
_NO_ROUTE: Final = frozenset({404, 405})
_CREATED: Final = frozenset({200, 201})


class Check(NamedTuple):
    """One thing that was tried."""

    name: str
    """The member of the file, or what the shop had to do by itself."""
    ok: bool | None
    """Whether it is as expected; None when the file lacks it."""
    expected: str
    sent: str
    """The request or the command; empty when there is none."""
    answer: str


class _Asked(NamedTuple):
    call: AnyCall
    outcome: Outcome | None
    problem: str


class Recorder(HttpMerchant):
    """An adapter that keeps what each call was answered."""

    asked: ClassVar[list[_Asked]]
    base_url: ClassVar[str]
    not_started: ClassVar[str] = ""
    """Why the shop could not be started or emptied."""

    def __init__(self, service: ServiceLike) -> None:
        """Start without calls."""
        type(self).asked = []
        type(self).base_url = service.base_url
        try:
            super().__init__(service)
        except CallFailed as failed:
            type(self).not_started = str(failed)
            raise

    def _ask(self, call: AnyCall, **values: object) -> Outcome:
        try:
            outcome = super()._ask(call, **values)
        except CallFailed as failed:
            self.asked.append(_Asked(call, None, str(failed)))
            raise
        self.asked.append(_Asked(call, outcome, ""))
        return outcome

    @classmethod
    def latest(cls, call: AnyCall) -> _Asked | None:
        """Return the latest use of a call of the file."""
        return next((each for each in reversed(cls.asked) if each.call is call), None)


def examine(file: MerchantFile, folder: Path) -> Iterator[Check]:
    """Yield the checks of a file as they are made; commands run in `folder`, and the shop is stopped at the end."""
    file = with_run_values(file).file
    adapter: type[Recorder] = type("Doctor", (Recorder, adapter_of(file, folder)), {"asked": []})
    try:
        yield from _examine(adapter, file)
    finally:
        if adapter.process is not None:
            adapter.process.kill()


def _examine(adapter: type[Recorder], file: MerchantFile) -> Iterator[Check]:
    driver = adapter.driver
    try:
        play = Play(adapter)
    except (AdapterMisfit, CallFailed) as error:
        failed = "reset" if driver.reset is not None and adapter.latest(driver.reset) else "start"
        yield Check(
            failed, ok=False, expected="a shop that is ready", sent="", answer=adapter.not_started or str(error)
        )
        return
    try:
        yield from _played(adapter, play, file)
    finally:
        with suppress(MerchantBug, CallFailed):
            play.close()
    for name, lacks in WITHOUT.items():
        if getattr(driver, name) is None:
            yield Check(name, ok=None, expected=lacks, sent="", answer="")


def _played(adapter: type[Recorder], play: Play, file: MerchantFile) -> Iterator[Check]:
    driver = adapter.driver
    if file.start is not None:
        yield Check("start", ok=True, expected=file.start.ready, sent=" ".join(file.start.command), answer="ready")
    if driver.reset is not None:
        yield _call(adapter, "reset", driver.reset)
    with suppress(MerchantBug, CallFailed):
        play.order()
    yield _call(adapter, "place_order", driver.place_order)
    yield _books(adapter, play, "before the payment", ("unpaid", "pending"))
    with suppress(MerchantBug, CallFailed):
        play.pay()
    yield _call(adapter, "pay", driver.pay)
    yield _deposit(play, adapter.base_url)
    with suppress(MerchantBug, CallFailed):
        play.wait("10s")
    yield _webhooks(play, file)
    yield _books(adapter, play, "after the webhooks", ("paid",))
    yield from _numbers(adapter)

    def cancel_another() -> None:
        play.order()
        play.pay(2)  # a shop may know an order from its first click on
        play.cancel(2)

    steps: dict[str, Callable[[], None]] = {
        "customer_returns": play.returns,
        "refund": play.refund,
        "cancel": cancel_another,
        "restart": play.restart,
    }
    for name, step in steps.items():
        call = getattr(driver, name)
        if call is not None:
            with suppress(MerchantBug, CallFailed):
                step()
            yield _call(adapter, name, call)
    for name in ("tick", "drain"):
        call = getattr(driver, name)
        if call is not None:
            yield _call(adapter, name, call)
    if driver.broken_rules is not None:
        yield _rules(adapter, driver.broken_rules)


def _call(adapter: type[Recorder], name: str, call: AnyCall) -> Check:
    """Return the check of a call of the file, by its latest use."""
    may_refuse = name in {"refund", "cancel"}
    expected = "2xx, or 4xx other than 404 and 405 to refuse" if may_refuse else "2xx"
    used = adapter.latest(call)
    if used is None:
        return Check(name, ok=False, expected=expected, sent="", answer="it was not called")
    if used.outcome is None:
        return Check(name, ok=False, expected=expected, sent="", answer=used.problem)
    status = used.outcome.status
    refuses = may_refuse and 400 <= status < 500 and status not in _NO_ROUTE  # noqa: PLR2004 - HTTP
    ok = used.outcome.ok or refuses
    return Check(name, ok=ok, expected=expected, sent=used.outcome.sent, answer=used.outcome.answer)


def _rules(adapter: type[Recorder], call: RulesCall) -> Check:
    """Return the check of the call that reads broken rules; there should be none after a plain payment."""
    check = _call(adapter, "broken_rules", call)._replace(expected="[], an empty list of texts")
    used = adapter.latest(call)
    if not check.ok or used is None or used.outcome is None:
        return check
    try:
        texts = texts_in(used.outcome, call)
    except CallFailed as failed:
        return check._replace(ok=False, sent="", answer=str(failed))
    return check._replace(ok=not texts, answer=repr(texts))


def _books(adapter: type[Recorder], play: Play, when: str, wanted: tuple[str, ...]) -> Check:
    with suppress(MerchantBug, CallFailed):
        play.status()
    used = adapter.latest(adapter.driver.order)
    name, expected = f"order {when}", " or ".join(wanted)
    if used is None or used.outcome is None:
        return Check(name, ok=False, expected=expected, sent="", answer="" if used is None else used.problem)
    order = adapter.driver.order
    try:
        word = str(used.outcome.at(order.status))
    except CallFailed as failed:
        return Check(name, ok=False, expected=expected, sent=used.outcome.sent, answer=str(failed))
    found = order.words.get(word, word)
    translated = "" if found == word else f", which is {found}"
    answer = f"{used.outcome.answer}: {order.status} is {word}{translated}"
    return Check(name, ok=found in wanted, expected=expected, sent=used.outcome.sent, answer=answer)


def _deposit(play: Play, base_url: str) -> Check:
    made = [each for each in play.sandbox.journal.requests.entries if each.target.endswith(_DEPOSIT)]
    expected = (
        f"a deposit with the external_identifier {_ORDER}; "
        "order_of_deposit and driver.place_order.id in the file tell another form"
    )
    if not made:
        answer = f"the shop sent none to {base_url}; does it use the address, the key and the secret of the file?"
        return Check("the shop's deposit", ok=False, expected=expected, sent="", answer=answer)
    last = made[-1]
    good = play.orders[0].owns(last.external_identifier) and last.status in _CREATED
    answer = f"{last.external_identifier or 'none'}, answered with {last.status}"
    return Check("the shop's deposit", ok=good, expected=expected, sent="", answer=answer)


def _webhooks(play: Play, file: MerchantFile) -> Check:
    sent = f"POST {file.webhook.url}"
    outcomes = [
        attempt.outcome
        for delivery in play.sandbox.outbox.deliveries.values()
        for attempt in delivery.attempts
        if attempt.outcome is not None
    ]
    if not outcomes:
        return Check("webhook", ok=False, expected="2xx", sent=sent, answer="none was sent, as there is no payment")
    said = (str(each.status) if each.error is None else each.error.message for each in outcomes)
    good = all(each.succeeded for each in outcomes)
    return Check("webhook", ok=good, expected="2xx", sent=sent, answer=", ".join(dict.fromkeys(said)))


def _numbers(adapter: type[Recorder]) -> Iterator[Check]:
    """Yield the checks of the other values that are read from the books."""
    order = adapter.driver.order
    used = adapter.latest(order)
    named = {"shipments": order.shipments, "balance": order.balance, **order.effects}
    for name, pointer in named.items():
        if pointer is None:
            yield Check(f"order.{name}", ok=None, expected=WITHOUT_VALUE[name], sent="", answer="")
        elif used is not None and used.outcome is not None:
            expected = f"a number at {pointer}"
            try:
                found = used.outcome.at(pointer)
            except CallFailed as failed:
                yield Check(f"order.{name}", ok=False, expected=expected, sent="", answer=str(failed))
            else:
                good = isinstance(found, int | float | str) and not isinstance(found, bool)
                yield Check(f"order.{name}", ok=good, expected=expected, sent="", answer=repr(found))
