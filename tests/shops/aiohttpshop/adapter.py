"""How the machine drives the aiohttp shop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from decimal import Decimal
from typing import Any, ClassVar
from unittest.mock import Mock

import aiohttp
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from aiohttpshop.app import NotAccepted, Shop, application
from aiohttpshop.gateway import Gateway
from aiohttpshop.store import Store
from paydouble.stateful import Merchant, Refused
from paydouble.testing.aiohttp_connector import SandboxConnector

LOOP = asyncio.new_event_loop()


class AiohttpAdapter(Merchant):
    """Runs each call in one event loop, and the tasks that it has begun to their end."""

    bugs: ClassVar[frozenset[str]] = frozenset()
    interleaves = False
    follows_time = True
    last: ClassVar[Gateway | None] = None

    def __init__(self, service: Any) -> None:
        super().__init__(service)
        self.service = service
        self.store = Store(around_commit=service.checkpoint)
        self.restart()

    def restart(self) -> None:
        if AiohttpAdapter.last is not None:
            LOOP.run_until_complete(AiohttpAdapter.last.close())
        auth = (self.service.business_key, self.service.business_secret)
        gateway = Gateway(self.service.base_url, auth, lambda: SandboxConnector(self.service), self.bugs)
        AiohttpAdapter.last = gateway
        self.shop = Shop(self.store, gateway, self.service.webhook_secret, self.bugs)
        self.app = application(self.shop, is_reconciling=False)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Await something, and the background tasks after it."""
        try:
            return LOOP.run_until_complete(work)
        except NotAccepted as error:
            raise Refused(str(error)) from error

    async def then_background(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Await something, then the tasks that it has begun."""
        result = await work
        await asyncio.gather(*self.shop.tasks)
        return result

    def place_order(self, order_id: str, amount: Any, currency: str) -> None:
        self.shop.place(order_id, Decimal(amount), currency)

    def pay(self, order_id: str) -> None:
        self.run(self.shop.pay(order_id))

    def refund(self, order_id: str, refund_id: str, amount: Any) -> None:
        self.run(self.shop.refund(order_id, refund_id, Decimal(amount)))

    def order_status(self, order_id: str) -> str:
        return self.shop.status(order_id)

    def balance(self, order_id: str) -> Decimal:
        received, refunded, charged_back = self.shop.money(order_id)
        # Money that was both refunded and charged back is a debt, which the machine counts as no money.
        return max(received - refunded - charged_back, Decimal(0))

    def shipments(self, order_id: str) -> int:
        return int(self.store.order(order_id)["fulfilled"])

    def effects(self, order_id: str) -> dict[str, int]:
        return {"confirmation": len(self.store.of_order("mails", order_id))}

    def receive(self, webhook: Any) -> int:
        async def post() -> int:
            payload = aiohttp.StreamReader(Mock(_reading_paused=False), 2**16, loop=LOOP)
            payload.feed_data(webhook.body)
            payload.feed_eof()
            request = make_mocked_request(
                "POST", "/webhooks/payments", headers=dict(webhook.headers), payload=payload, app=self.app
            )
            match = await self.app.router.resolve(request)
            response: web.Response = await match.handler(request)  # type: ignore[assignment]
            return response.status

        return int(self.run(self.then_background(post())))

    def tick(self) -> None:
        self.run(self.shop.reconcile())
