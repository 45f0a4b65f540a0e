"""A shop on FastAPI: orders, their payment, and the payment service's webhooks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal

import httpx
import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from orders import Order, Orders
from pydantic import BaseModel
from signature import refusal


class Unavailable(Exception):
    """Nobody knows what became of the request; the customer may try again, which is safe."""


class Refused(Exception):
    """The service has said no, and would say so again."""


class Service:
    """The payment service."""

    def __init__(self, base_url: str, auth: tuple[str, str], pauses: Sequence[float] = (1, 2, 4)) -> None:
        """Speak to it at an address; wait these seconds between attempts."""
        self.client = httpx.AsyncClient(base_url=base_url, auth=auth, timeout=5)
        self.pauses = pauses

    async def pay(self, order: Order) -> str:
        """Create the order's deposit and return the address where the customer pays."""
        body = orjson.dumps(order.deposit(), default=exact)
        for pause in (*self.pauses, None):
            try:
                return await self.attempt(body, order.key)
            except (httpx.HTTPError, ValueError):
                if pause is not None:
                    await asyncio.sleep(pause)
        raise Unavailable

    async def attempt(self, body: bytes, key: str) -> str:
        """Send the request once."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        response = await self.client.post("/pay-in/deposit-creation", content=body, headers=headers)
        if response.is_client_error and response.status_code != httpx.codes.TOO_MANY_REQUESTS:
            raise Refused
        response.raise_for_status()
        address: str = response.json()["data"]["payment_url"]
        return address


class NewOrder(BaseModel):
    """What a customer orders."""

    amount: Decimal


def exact(value: object) -> orjson.Fragment:
    """Write money into JSON digit by digit."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError


def make_app(service: Service, webhook_secret: str) -> FastAPI:
    """Return the application."""
    orders = Orders()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.put("/orders/{order_id}", status_code=201)
    async def place(order_id: str, new: NewOrder) -> dict[str, str]:
        return {"status": orders.place(order_id, new.amount).status}

    @app.get("/orders/{order_id}")
    async def show(order_id: str) -> dict[str, str | int]:
        order = orders[order_id]
        return {"status": order.status, "shipped": order.shipped}

    @app.post("/orders/{order_id}/payment")
    async def pay(order_id: str) -> dict[str, str]:
        try:
            return {"pay_at": await service.pay(orders[order_id])}
        except Unavailable:
            raise HTTPException(503, "please try again in a minute") from None
        except Refused:
            raise HTTPException(422, "this order cannot be paid") from None

    @app.post("/webhooks")
    async def webhook(request: Request) -> Response:
        body = await request.body()
        refused = refusal(body, request.headers.get("X-Service-Signature"), webhook_secret)
        if refused is not None:
            return Response(status_code=refused)
        try:
            orders.hear(body)
        except (ValueError, LookupError, TypeError, AttributeError):
            return Response(status_code=400)
        return Response(status_code=200)

    return app
