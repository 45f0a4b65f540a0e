"""Adapters for shops that run in a process of their own: they are started, reset, killed and asked over HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from ports import free_port

from paydouble.stateful import Merchant, ServiceLike

HERE = Path(__file__).parents[1] / "served"


class Process:
    """A shop that runs, at a port that it keeps when it is killed and started again."""

    def __init__(self, command: list[str]) -> None:
        """Start it."""
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory()
        self._command = [*command, str(self.port), f"{self._folder.name}/orders.json"]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.running = subprocess.Popen(self._command, stderr=subprocess.PIPE)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                if self.running.poll() is not None:
                    assert self.running.stderr is not None
                    raise RuntimeError(self.running.stderr.read().decode()) from None
                time.sleep(0.01)
            else:
                return

    def kill(self) -> None:
        """End it without a warning."""
        self.running.kill()
        self.running.communicate()

    def close(self) -> None:
        """End it for good."""
        self.kill()
        self._folder.cleanup()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer's document."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return json.loads(answer.read() or b"null")
        finally:
            connection.close()


class ShopElsewhere(Merchant):
    """Drives a shop in a process of its own; one process serves all plays."""

    served = True
    follows_time = True
    command: ClassVar[list[str]]
    mistake: ClassVar[str] = ""
    timeout_seconds: ClassVar[float] = 0.4
    running: ClassVar[dict[str, Process]] = {}

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        name = " ".join(self.command)
        if name not in self.running:
            self.running[name] = Process(self.command)
        self.shop = self.running[name]
        self.receiver_url = f"http://127.0.0.1:{self.shop.port}/webhooks"
        config = {
            "url": service.base_url,
            "clock_url": service.clock_url if self.follows_time else "",
            "key": service.business_key,
            "secret": service.business_secret,
            "webhook_secret": service.webhook_secret,
            "mistake": self.mistake,
            "timeout": self.timeout_seconds,
        }
        self.shop.ask("POST", "/test/reset", config)

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.shop.ask("POST", "/test/orders", {"id": order_id, "amount": str(amount), "currency": currency})

    def pay(self, order_id: str) -> None:
        self.shop.ask("POST", f"/orders/{order_id}/pay")

    def customer_returns(self, order_id: str) -> None:
        self.shop.ask("POST", f"/orders/{order_id}/return")

    def order_status(self, order_id: str) -> str:
        return str(self.shop.ask("GET", f"/orders/{order_id}")["status"])

    def shipments(self, order_id: str) -> int:
        return int(self.shop.ask("GET", f"/orders/{order_id}")["shipped"])

    def tick(self) -> None:
        self.shop.ask("POST", "/test/tick")

    def restart(self) -> None:
        self.shop.kill()
        self.shop.start()


class PythonShop(ShopElsewhere):
    """The shop of `shop.py`."""

    command: ClassVar[list[str]] = [sys.executable, "-S", str(HERE / "shop.py")]


class NodeShop(ShopElsewhere):
    """The shop of `shop.mjs`."""

    command: ClassVar[list[str]] = ["node", str(HERE / "shop.mjs")]
