"""A business on a server, with a real receiver for its webhooks, for tests of faults on them."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from receivers import Answer, Received, Receiver, receiving
from servers import Box, Client

import paydouble
from paydouble.faults.armed import Armed
from paydouble.faults.model import parse_fault
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.webhooks.deliveries import Delivery

Json = dict[str, Any]
# The events of a pay-in by the happy path, within six seconds.
LIFE = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]
SIGNATURE = "X-Service-Signature"


@dataclass
class Hooked:
    """One business, its receiver, and its sandbox as the server holds it."""

    receiver: Receiver
    box: Box
    sandbox: Sandbox

    def fault(self, effect: Json, **members: Any) -> Armed:  # noqa: ANN401 - those of a fault
        """Arm a fault on webhooks."""
        return self.sandbox.faults.add(parse_fault({"on": "webhooks", "effect": effect, **members}), self.sandbox.now)

    async def live(self, **deposit: Any) -> str:  # noqa: ANN401 - those of a deposit
        """Create a deposit, let its payer pay, and return its id when all of its events have been delivered."""
        pay_in_id: str = (await self.box.deposit(**deposit))["id"]
        await self.box.advance(by="6s")
        return pay_in_id

    async def emit(self, kind: str, pay_in_id: str, *, settle: bool = True) -> Delivery:
        """Emit one event about a pay-in, and return its delivery once it has settled."""
        host = self.box.client.server.host
        resource = self.sandbox.ledger.get(PayIn, pay_in_id)
        event = host.act(self.sandbox, lambda: self.sandbox.emit_event(kind, resource))
        if settle:
            await host.pump(self.sandbox).quiet()
        return self.sandbox.delivery(f"dlv_{event.id[4:]}")

    async def settle(self) -> None:
        """Return when everything that is due has been sent and answered."""
        await self.box.client.server.host.pump(self.sandbox).quiet()

    @property
    def requests(self) -> list[Received]:
        """Return what the receiver got."""
        return self.receiver.requests

    @property
    def documents(self) -> list[Json]:
        """Return the bodies that the receiver got, parsed."""
        return [json.loads(request.body) for request in self.requests]

    @property
    def types(self) -> list[str]:
        """Return the types of the events that the receiver got, in order."""
        return [document["type"] for document in self.documents]

    @property
    def deliveries(self) -> list[Delivery]:
        """Return every delivery, in the order in which they were made."""
        return list(self.sandbox.outbox.deliveries.values())

    def verifies(self, request: Received) -> bool:
        """Return whether a correct receiver accepts a request now."""
        header = dict(request.headers).get(SIGNATURE)
        try:
            paydouble.verify(request.body, header, self.sandbox.secrets.current)
        except paydouble.SignatureError:
            return False
        return True


@asynccontextmanager
async def hooked(
    client: Client,
    *answers: Answer,
    tls: ssl.SSLContext | None = None,
    **members: Any,  # noqa: ANN401 - those of a sandbox
) -> AsyncIterator[Hooked]:
    """Run a receiver, and a business that plays the happy path and sends there."""
    async with receiving(*answers, tls=tls) as receiver:
        box = await client.sandbox(**{"notification_url": receiver.url, **members})
        yield Hooked(receiver, box, client.server.host.registry.get(box.id))
