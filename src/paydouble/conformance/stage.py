"""Where the cases of a run take place: one server, one shop, and a fresh sandbox for each case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paydouble.config import overlay
from paydouble.conformance.adapter import HttpMerchant, adapter_of
from paydouble.conformance.calling import CallFailed, Outcome
from paydouble.conformance.levels import Need
from paydouble.conformance.merchant_file import AnyCall, MerchantFile
from paydouble.conformance.run_values import with_run_values
from paydouble.core.ids import DEFAULT_ID
from paydouble.core.instants import write_instant
from paydouble.stateful.merchant import Merchant, knows_play_time
from paydouble.testing import Paydouble

if TYPE_CHECKING:
    from paydouble.testing.calls import Sync
    from paydouble.testing.sandboxes import SandboxHandle

# The one that a server has from its start; it makes place for the case's own.
Listener = Callable[[str, Outcome | None, str], None]


@dataclass(frozen=True, slots=True)
class _Service:
    """What the adapter knows about the service; a shop that is reached over HTTP makes no calls through it."""

    base_url: str
    clock_url: str
    business_key: str
    business_secret: str
    webhook_secret: str


class Driver(HttpMerchant):
    """An adapter that reports its calls, and keeps the shop running from case to case."""

    listener: Listener | None = None

    def prepare(self) -> None:
        """Start the shop if it is not running, and empty it if the file says how."""
        if self.process is not None and not self.process.running:
            self.process.start(self._service_values())
        if self.driver.reset is not None:
            self._done(self.driver.reset)

    def _ask(self, call: AnyCall, **values: object) -> Outcome:
        try:
            outcome = super()._ask(call, **values)
        except CallFailed as failed:
            if self.listener is not None:
                self.listener(str(failed), None, str(failed))
            raise
        if self.listener is not None:
            self.listener(outcome.sent, outcome, "")
        return outcome


class NotDriven(Exception):
    """A clause uses what the merchant file lacks, and does not say so in its `needs`."""


class Stage:
    """A server and a shop. `begin` makes a fresh sandbox for the next case."""

    def __init__(self, file: MerchantFile, folder: Path, server: Paydouble, seed: int) -> None:
        """Take a merchant file, the folder in which its commands run, and a running server."""
        self.file = file = with_run_values(file).file
        self.seed = seed
        self.prefix = f"pd-{seed:x}-"
        """How the ids of orders begin: a shop that keeps its books from run to run meets new ones."""
        self.answer_seconds: list[float] = []
        """How long the shop took to answer each webhook, in real seconds."""
        self.works_at_once = False
        """Whether the effect of a plain event was there when the event was acknowledged."""
        self.reads_for_truth = False
        """Whether the shop takes what happened from reads of the API, and not from events."""
        self._server = server
        self._cases = 0
        self._adapter: type[Driver] | None = None
        if file.driver is not None:
            self._adapter = type("Shop", (Driver, adapter_of(file, folder)), {})
        self._made: Driver | None = None
        server.find(DEFAULT_ID).delete()
        self.sandbox = self._new_sandbox()

    @property
    def driver(self) -> Driver:
        """Return the shop's driver; clauses that use it say that they need one."""
        if self._made is None:
            raise NotDriven
        return self._made

    @property
    def follows_time(self) -> bool:
        """Return whether the shop's clock is the sandbox's."""
        return self._adapter is not None and knows_play_time(self._adapter)

    def order_named(self, external_identifier: str) -> str:
        """Return the id that the order of a deposit was placed with."""
        order_of = self.file.order_named if self._made is None else self._made.order_of_deposit
        return order_of(external_identifier)

    def has(self, need: Need) -> bool:
        """Return whether the merchant file gives something."""
        if need == "https":
            return self.file.webhook.url.startswith("https://")
        if need == "reconciles":
            return self.file.reconciles
        adapter = self._adapter
        if adapter is None:
            return False
        given: dict[Need, bool] = {
            "driver": True,
            "kill": adapter.process is not None,
            "set_time": self.follows_time,
            "shipments": adapter.driver.order.shipments is not None,
            "balance": adapter.driver.order.balance is not None,
            "request_id": adapter.driver.order.request_id is not None,
        }
        return given[need] if need in given else getattr(adapter, need) is not getattr(Merchant, need)

    def begin(self) -> None:
        """Make a fresh sandbox, and a shop that is ready; `CallFailed` when it is not."""
        self.sandbox.delete()
        self.sandbox = self._new_sandbox()
        if self._adapter is not None:
            if self._made is not None:
                self._made.close()
            self._made = self._adapter(self._service())
            self.set_time()

    def listen(self, listener: Listener) -> None:
        """Report each call of the driver to a listener."""
        if self._made is not None:
            self._made.listener = listener

    def kill(self) -> None:
        """Kill the shop's processes."""
        process = self.driver.process
        if process is None:
            raise NotDriven
        process.kill()

    def set_time(self) -> None:
        """Set the shop's clock to the sandbox's, if it can be set."""
        if self._made is not None and self._made.driver.set_time is not None:
            self._made.set_time(self.sandbox.clock.read().now.timestamp())

    def now(self) -> int:
        """Return the time of the shop's clock, in Unix seconds."""
        return int(self.sandbox.clock.read().now.timestamp()) if self.follows_time else int(time.time())

    def close(self) -> None:
        """Stop the shop if it was started, and delete the sandbox."""
        if self._adapter is not None and self._adapter.process is not None:
            self._adapter.process.kill()
        self.sandbox.delete()

    def _service(self) -> Any:  # noqa: ANN401 - has what the adapter's placeholders need, and no calls
        sandbox = self.sandbox
        return _Service(
            sandbox.base_url,
            f"{self._server.url}/_paydouble/sandboxes/{sandbox.id}/clock",
            sandbox.business_key,
            sandbox.business_secret,
            sandbox.webhook_secret,
        )

    def _new_sandbox(self) -> SandboxHandle[Sync]:
        self._cases += 1
        sign_with = "sandbox_clock" if self.follows_time else "wall_clock"
        return self._server.sandbox(
            id=DEFAULT_ID,
            seed=self.seed * 1000 + self._cases,
            clock={"mode": "manual", "start": write_instant(int(time.time()) * 1000)},
            settings=overlay(self.file.service.settings, {"webhooks": {"sign_with": sign_with}}),
            **self.file.service.secrets._asdict(),
        )


@contextmanager
def staged(file: MerchantFile, folder: Path, seed: int) -> Iterator[Stage]:
    """Yield a stage; the shop is stopped at the end, and nothing is left running."""
    with Paydouble.start(port=file.service.port, paths=file.service.paths) as server:
        stage = Stage(file, folder, server, seed)
        try:
            yield stage
        finally:
            stage.close()
