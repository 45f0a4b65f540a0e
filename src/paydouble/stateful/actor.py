"""A merchant's code under guard: nothing that it raises, and no endless loop of its, ends anything but its own test."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from paydouble.config import Settings
from paydouble.inprocess import InProcess, Unreachable, Webhook
from paydouble.stateful import receiving
from paydouble.stateful.books import Order
from paydouble.stateful.merchant import NEEDED, Merchant, Refused, ServiceLike
from paydouble.stateful.receiving import IGNORE, REFUSE, TAKE
from paydouble.stateful.service import Ambush, Service
from paydouble.stateful.verdicts import AdapterMisfit, DatabaseDown, Died, Hanging, Runaway, place_of
from paydouble.stateful.watchdog import Watchdog

MakeMerchant = Callable[[ServiceLike], Merchant]
_STATUSES: Final = range(100, 600)
_Beliefs = list[tuple[str, Decimal | None, int | None]]


class Actor:
    """The merchant, its service, and its receiver."""

    def __init__(
        self, make: MakeMerchant, settings: Settings, seed: int, orders: Sequence[Order], patience_seconds: float
    ) -> None:
        """Make a merchant. `AdapterMisfit` when it is no `Merchant`, or lacks what the machine cannot do without."""
        self.orders = orders
        self.findings: list[str] = []
        self.down = False
        """Whether the merchant's receiver is out of reach."""
        self.on_taken: Callable[[], None] = lambda: None
        """Called after each webhook that the merchant has worked on."""
        self.upset: tuple[str, int] | None = None
        """What is to happen while the next webhook is worked on, and at which point of the merchant's code."""
        url = getattr(make, "receiver_url", None)
        self.double = InProcess(settings, seed=seed, receiver=self.take, wall=_wall if url else None, shares_clock=True)
        self._now = _wall if url else self.double.sandbox.tick
        self.service = Service(self.double, self.accuse)
        self._watchdog = Watchdog(patience_seconds)
        self._depth = 0
        self._activity = 0
        self.merchant = self._make(make)
        own = type(self.merchant).receive is not Merchant.receive
        self._receive = self.merchant.receive if own else receiving.poster(self.merchant.receiver_url or "")

    def accuse(self, text: str) -> None:
        """Note something that the merchant must not do."""
        self.findings.append(f"The merchant {text}")

    def ask(self, name: str, *arguments: object, earliest: float | None = None) -> Any:  # noqa: ANN401 - as the methods
        """Call a method of the adapter; None when it refused, failed or died. What is wrong becomes a finding."""
        call = f"{name}({', '.join(map(str, arguments))})"
        self._activity += 1
        self._depth += 1
        try:
            with self.service.operation(earliest), self._watchdog.watch():
                return getattr(self.merchant, name)(*arguments)
        except Refused:
            return None
        except Died:
            if self._depth > 1:
                raise
            self.service.dying = True
        except Runaway as runaway:
            self.accuse(f"{runaway} ({call})")
        except Hanging:
            self._hung(call)
        except Exception as error:  # noqa: BLE001 - whatever a merchant raises is a finding
            if not self._excused(error):
                self.findings.append(f"The merchant's {call} raised {place_of(error)}")
        finally:
            self._depth -= 1
            if self.service.dying and not self._depth:
                self._revive()
        return None

    def statuses(self) -> list[str] | None:
        """Return what the merchant believes of each order, asked in one go; None when it failed to say."""
        try:
            with self._watchdog.watch():
                return [self.merchant.order_status(order.id) for order in self.orders]
        except Hanging:
            self._hung("order_status")
        except Exception as error:  # noqa: BLE001 - whatever a merchant raises is a finding
            self.findings.append(f"The merchant's order_status raised {place_of(error)}")
        return None

    def take(self, webhook: Webhook) -> int:
        """Receive a webhook as the merchant does, and judge the answer."""
        if self.down:
            raise Unreachable
        duty, words = receiving.sort(webhook, self.double.sandbox, self._now() // 1000)
        before = self._beliefs() if duty != TAKE else []
        upset = self._prepare(webhook) if duty == TAKE and not self._depth else None
        failures, activity = self.service.failures, self._activity
        status = self._answer(webhook)
        self.service.ambushes.clear()
        if status is None:
            raise Unreachable("reset", "the merchant's process died")
        excused = upset == "database down" or self.service.failures > failures
        self._judge(status, duty, words, excused=excused)
        if duty != TAKE and activity == self._activity and before != self._beliefs():
            self.accuse(f"changes its books because of {words}")
        self.on_taken()
        if upset == "answer lost":
            raise Unreachable("timeout", "the answer was lost")
        return status

    def _make(self, make: MakeMerchant) -> Merchant:
        lacking = [
            text
            for name, text in NEEDED.items()
            if isinstance(make, type) and getattr(make, name, None) is getattr(Merchant, name)
        ]
        if isinstance(make, type) and make.receive is Merchant.receive and not make.receiver_url:  # type: ignore[attr-defined]
            lacking.append("receive(webhook), or receiver_url for a receiver that listens")
        if lacking:
            raise AdapterMisfit(f"The adapter {make.__name__} lacks " + "; ".join(lacking))
        try:
            with self._watchdog.watch():
                made = make(self.service)
        except Hanging:
            raise AdapterMisfit(f"The adapter {make} hangs while it is being made") from None
        if not isinstance(made, Merchant):
            raise AdapterMisfit(f"The adapter is a {type(made).__name__}; derive it from paydouble.stateful.Merchant")
        return made

    def _prepare(self, webhook: Webhook) -> str | None:
        upset, self.upset = self.upset, None
        if upset is None:
            return None
        name, after = upset
        match name:
            case "dies":
                self.service.ambushes.append(Ambush(after, _die))
            case "database down":
                self.service.ambushes.append(Ambush(after, _break, in_database=True))
            case "again meanwhile":
                self.service.ambushes.append(Ambush(after, lambda: self._once_more(webhook)))
        return name

    def _once_more(self, webhook: Webhook) -> None:
        status = self._answer(webhook)
        if status is not None:
            self._judge(status, TAKE, "a webhook that comes twice at the same time", excused=False)

    def _answer(self, webhook: Webhook) -> int | None:  # noqa: PLR0911 - one for each way to fail
        """Return the status of the merchant's answer, or None when it died over it."""
        self._activity += 1
        activity = self._activity
        self._depth += 1
        try:
            with self.service.operation(), self._watchdog.watch():
                status = self._receive(webhook)
        except Died:
            self.service.dying = True
            return None
        except Runaway as runaway:
            self.accuse(f"{runaway} (receive)")
            return 500
        except Hanging:
            self._hung("receive(webhook)")
            return 500
        except Unreachable as unreachable:
            self.findings.append(f"The merchant's receiver gave no answer: {unreachable}")
            return 500
        except Exception as error:  # noqa: BLE001 - whatever a merchant raises is an answer of 500
            if not self._excused(error):
                self.findings.append(f"The merchant's receive raised {place_of(error)}")
            return 500
        finally:
            self._depth -= 1
            if activity == self._activity:
                self._activity -= 1  # nothing else has come in between
            if self.service.dying and not self._depth:
                self._revive()
        if status not in _STATUSES:  # None, a text, or a number that is no status
            self.findings.append(f"The adapter's receive returned {status!r}; it must return an HTTP status")
            return 500
        return status

    def _judge(self, status: int, duty: str, words: str, *, excused: bool) -> None:
        if status >= 500:  # noqa: PLR2004 - HTTP
            if not excused:
                self.accuse(f"answers {status} to {words}")
        elif duty == REFUSE:
            if status < 400:  # noqa: PLR2004 - HTTP
                self.accuse(f"answers {status} to {words}")
        elif status >= 300 and (duty == TAKE or (duty == IGNORE and "unknown type" in words)):  # noqa: PLR2004 - HTTP
            # While the order is being paid it may say: not yet.
            early = self._depth > 0 and status in {404, 409, 425, 429}
            if not (excused or early):
                self.accuse(f"answers {status} to {words}")

    def _beliefs(self) -> _Beliefs:
        merchant = self.merchant
        return [
            (merchant.order_status(each.id), merchant.balance(each.id), merchant.shipments(each.id))
            for each in self.orders
        ]

    def _excused(self, error: BaseException) -> bool:
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, DatabaseDown):
                return True
            seen = seen.__cause__ or seen.__context__
        return self.service.is_own(error)

    def _hung(self, call: str) -> None:
        self.accuse(f"hangs: {call} has not come back after {self._watchdog.seconds:g} s")

    def _revive(self) -> None:
        self.service.dying = False
        self.service.ambushes.clear()
        self.ask("restart")


def _die() -> None:
    raise Died


def _break() -> None:
    raise DatabaseDown("the database is down")


def _wall() -> int:
    return time.time_ns() // 1_000_000
