"""A merchant file as an adapter: a `Merchant` for `MerchantMachine` and `Play`.

`merchant_of("merchant.yaml")` returns its class; `class Shop(HttpMerchant, file="merchant.yaml")` is the same with
methods of one's own, for what the file cannot say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from paydouble.api.operations import PREFIX
from paydouble.conformance.calling import CallFailed, Outcome, perform
from paydouble.conformance.merchant_file import AnyCall, Driver, MerchantFile, PayCall, RulesCall, read_merchant
from paydouble.conformance.process import ShopProcess
from paydouble.conformance.run_values import empty, with_run_values
from paydouble.core.errors import UsageError
from paydouble.core.instants import write_instant
from paydouble.core.money import MINOR_DIGITS
from paydouble.stateful.accepted import Accepted
from paydouble.stateful.merchant import STATUSES, Merchant, Refused, ServiceLike

_REFUSALS: Final = range(400, 500)
_CRASH: Final = 500


class HttpMerchant(Merchant):
    """An adapter that drives a shop as a merchant file says: by HTTP requests, commands, or both.

    A subclass names its file: `class Shop(HttpMerchant, file="merchant.yaml")`. `UsageError` has the file's first
    error with line and column. Commands run in the file's folder.
    """

    served: ClassVar[bool] = True
    file: ClassVar[MerchantFile]
    template: ClassVar[MerchantFile]
    """The file as it is written, with the placeholders that each run fills."""
    driver: ClassVar[Driver]
    folder: ClassVar[Path]
    temporary_folder: ClassVar[Path | None] = None
    """Where the shop keeps its data, if the file has `{temporary_folder}`."""
    process: ClassVar[ShopProcess | None] = None
    """The shop's process, one for all plays, where the file says how it is started."""

    def __init_subclass__(cls, *, file: str | Path | None = None) -> None:
        """Read the file, if one is given."""
        super().__init_subclass__()
        if file is not None:
            path = Path(file)
            _fill(cls, read_merchant(path), path.resolve().parent)

    def __init__(self, service: ServiceLike) -> None:
        """Start the shop if it is not running, or empty it. `CallFailed` when that is not possible."""
        super().__init__(service)
        self._currencies: dict[str, str] = {}
        self._own_ids: dict[str, str] = {}
        """The ids that the shop has made, by the ones that it was given."""
        self._books: dict[str, Outcome] | None = None
        """The orders that were read at this moment; None as long as nobody says when a moment is over."""
        self.prepare()

    def prepare(self) -> None:
        """Start the shop if it does not run for this service or cannot be emptied, and empty it."""
        driver, values = self.driver, self._service_values()
        if self.process is not None and (driver.reset is None or not self.process.runs_with(values)):
            if driver.reset is None and self.temporary_folder is not None:
                self.process.kill()
                empty(self.temporary_folder)
            self.process.start(values)
        if driver.reset is not None:
            self._done(driver.reset)

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Place an order."""
        self._currencies[order_id] = currency
        call = self.driver.place_order
        answer = self._ask(call, order=order_id, **_money(amount, currency))
        _check(answer)
        if call.id is not None:
            self._own_ids[order_id] = _id_in(answer, call.id)

    def order_of_deposit(self, external_identifier: str) -> str:
        """Return the id that the order of a deposit was placed with."""
        named = self.file.order_named(external_identifier)
        return next((given for given, own in self._own_ids.items() if own == named), named)

    def pay(self, order_id: str) -> None:
        """Click the pay button; `Refused` for a status by which the shop declines."""
        self._clicked(self.driver.pay, order_id)

    def retry(self, order_id: str) -> None:
        """Click again; `Refused` for a status by which the shop declines."""
        self._clicked(self.driver.retry or self.driver.pay, order_id)

    def customer_returns(self, order_id: str) -> None:
        """Show the page after the payment."""
        if self.driver.customer_returns is not None:
            self._shown(self.driver.customer_returns, order_id)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Refund an amount; `Refused` for an answer of 4xx."""
        if self.driver.refund is None:
            return
        currency = self._currencies[order_id]
        self._taken(self._ask(self.driver.refund, order=order_id, refund=refund_id, **_money(amount, currency)))

    def cancel(self, order_id: str) -> None:
        """Cancel an order; `Refused` for an answer of 4xx."""
        if self.driver.cancel is not None:
            self._taken(self._ask(self.driver.cancel, order=order_id))

    def tick(self) -> None:
        """Run the background jobs."""
        if self.driver.tick is not None:
            self._done(self.driver.tick)

    def restart(self) -> None:
        """Kill the shop's process and start it again."""
        if self.driver.restart is not None:
            self._done(self.driver.restart)
        elif self.process is not None:
            self.process.start(self._service_values())

    def drain(self) -> None:
        """Wait until the shop has nothing under way."""
        if self.driver.drain is not None:
            self._done(self.driver.drain)

    def set_time(self, now: float) -> None:
        """Set the clock that the shop's code reads, if the file says how."""
        if self.driver.set_time is not None:
            milliseconds = round(now * 1000)
            self._done(self.driver.set_time, now=write_instant(milliseconds), unix=milliseconds // 1000)

    def look_again(self) -> None:
        """Read each order once until the next call of this method."""
        self._books = {}

    def order_status(self, order_id: str) -> str:
        """Return the status that the shop's books show."""
        order = self.driver.order
        answer = self._order(order_id)
        word = str(answer.at(order.status))
        status = order.words.get(word, word)
        if status not in STATUSES:
            known = ", ".join(STATUSES)
            raise CallFailed(
                f"{answer.sent} has the status {word!r}; say in driver.order.words which of these it is: {known}"
            )
        return status

    def shipments(self, order_id: str) -> int | None:
        """Return how often the order was fulfilled."""
        pointer = self.driver.order.shipments
        return None if pointer is None else _whole(self._order(order_id), pointer)

    def balance(self, order_id: str) -> Decimal | None:
        """Return the money that is left of the order; None where the shop keeps no balance of it (`null`)."""
        pointer = self.driver.order.balance
        if pointer is None:
            return None
        answer = self._order(order_id)
        value = answer.at(pointer)
        try:
            return None if value is None else Decimal(str(value))
        except InvalidOperation:
            raise CallFailed(f"{answer.sent} has {value!r} at {pointer}, which is no amount") from None

    def effects(self, order_id: str) -> Mapping[str, int]:
        """Return how often each effect has happened."""
        pointers = self.driver.order.effects
        if not pointers:
            return MappingProxyType({})
        answer = self._order(order_id)
        return {name: _whole(answer, pointer) for name, pointer in pointers.items()}

    def broken_rules(self) -> Collection[str]:
        """Return which of the shop's own rules do not hold."""
        call = self.driver.broken_rules
        if call is None:
            return ()
        answer = self._ask(call)
        _check(answer)
        return texts_in(answer, call)

    def request_id(self, order_id: str) -> str | None:
        """Return the request_id that the books keep of the latest error, if the file says where."""
        pointer = self.driver.order.request_id
        return None if pointer is None else self._order(order_id).at(pointer)

    def _order(self, order_id: str) -> Outcome:
        books = {} if self._books is None else self._books
        if order_id not in books:
            answer = self._ask(self.driver.order, order=order_id)
            _check(answer)
            books[order_id] = answer
        return books[order_id]

    def _done(self, call: AnyCall, **values: object) -> None:
        _check(self._ask(call, **values))

    @staticmethod
    def _taken(answer: Outcome) -> None:
        if answer.status in _REFUSALS:
            raise Refused(answer.answer)
        _check(answer)

    def _clicked(self, call: PayCall, order_id: str) -> None:
        answer = self._shown(call, order_id)
        if answer.status in call.declined:
            raise Refused(answer.answer)

    def _shown(self, call: AnyCall, order_id: str) -> Outcome:
        """Return the answer for a customer; a shop that shows an error has not failed, unless it is a 500."""
        answer = self._ask(call, order=order_id)
        if answer.status == _CRASH:
            _check(answer)
        return answer

    def _ask(self, call: AnyCall, **values: object) -> Outcome:
        if "order" in values:
            values["order"] = self._own_ids.get(str(values["order"]), values["order"])
        return perform(call, {**self._service_values(), **values}, self.folder)

    def _service_values(self) -> dict[str, str]:
        service = self.service
        return {
            "base_url": service.base_url,
            "business_key": service.business_key,
            "business_secret": service.business_secret,
            "webhook_secret": service.webhook_secret,
            "root_url": service.base_url.removesuffix(PREFIX),
            "clock_url": service.clock_url,
        }


CommandMerchant = HttpMerchant
"""The same adapter, under the name for files whose calls are commands: each call of a file is either."""


def merchant_of(path: str | Path) -> type[HttpMerchant]:
    """Return the adapter of a merchant file; `UsageError` has the file's first error with line and column."""
    where = Path(path)
    return adapter_of(read_merchant(where), where.resolve().parent)


def adapter_of(file: MerchantFile, folder: Path) -> type[HttpMerchant]:
    """Return the adapter of a merchant file that was read; commands run in `folder`."""
    adapter = type("".join(part.title() for part in file.name.split("-")), (HttpMerchant,), {})
    _fill(adapter, file, folder)
    return adapter


def _fill(adapter: type[HttpMerchant], template: MerchantFile, folder: Path) -> None:
    file, temporary_folder = with_run_values(template)
    driver = file.driver
    if driver is None:
        raise UsageError(
            f"{file.name} has no driver; say in its file how the shop is driven, or only webhooks can be tested"
        )
    members: dict[str, Any] = {
        "file": file,
        "template": template,
        "driver": driver,
        "service_port": file.service.port,
        "secrets": file.service.secrets,
        "paths": file.service.paths,
        "settings": file.service.settings,
        "folder": folder,
        "temporary_folder": temporary_folder,
        "receiver_url": file.webhook.url,
        "follows_time": _uses_clock(file),
        "reconciles": file.reconciles,
        "rotates_secrets": file.rotates_secrets,
        "interleaves": file.interleaves,
        "retries_by_itself": file.retries_by_itself,
        "refunds_can_fail_late": file.refunds_can_fail_late,
        "disputes_can_reopen": file.disputes_can_reopen,
        "needed_effects": driver.order.needed_effects,
        "accepts": {pattern: Accepted(each.because, each.after) for pattern, each in file.accepts.items()},
        "demands": file.demands,
        "currencies": file.currencies,
        "process": ShopProcess(file.start, folder) if file.start is not None else None,
    }
    # The machine tells by these methods what a shop can do; a call that the file lacks is not tested.
    can = {
        "refund": driver.refund is not None,
        "cancel": driver.cancel is not None,
        "customer_returns": driver.customer_returns is not None,
        "restart": driver.restart is not None or file.start is not None,
        "tick": driver.tick is not None,
        "drain": driver.drain is not None,
        "set_time": driver.set_time is not None,
        "order_of_deposit": file.order_of_deposit is not None or driver.place_order.id is not None,
    }
    members |= {name: getattr(Merchant, name) for name, given in can.items() if not given}
    for name, value in members.items():
        if name not in vars(adapter):
            setattr(adapter, name, value)


def _uses_clock(file: MerchantFile) -> bool:
    """Return whether the shop is told where the clock is."""
    return "{clock_url}" in file.model_dump_json()


def _money(amount: Decimal, currency: str) -> dict[str, object]:
    digits = MINOR_DIGITS[currency]
    return {"amount": f"{amount:.{digits}f}", "minor": int(amount.scaleb(digits)), "currency": currency}


def _check(answer: Outcome) -> None:
    if not answer.ok:
        raise CallFailed(f"{answer.sent} was answered with {answer.answer}")


def _id_in(answer: Outcome, pointer: str) -> str:
    value = answer.at(pointer)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise CallFailed(f"{answer.sent} has {value!r} at {pointer}, which is no id")
    return str(value)


def texts_in(answer: Outcome, call: RulesCall) -> list[str]:
    """Return the texts about broken rules in an answer; `CallFailed` when it has no list of texts."""
    texts = answer.at(call.texts)
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        place = f" at {call.texts}" if call.texts else ""
        raise CallFailed(f"{answer.sent} has {texts!r}{place}, which is no list of texts")
    return texts


def _whole(answer: Outcome, pointer: str) -> int:
    value = answer.at(pointer)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CallFailed(f"{answer.sent} has {value!r} at {pointer}, which is no whole number")
    return value
