"""A shop on aiohttp: orders, their payment, and the payment service's webhooks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal

import aiohttp
import orjson
from aiohttp import web
from orders import Order, Orders
from signature import refusal


class Unavailable(Exception):
    """Nobody knows what became of the request; the customer may try again, which is safe."""


class Refused(Exception):
    """The service has said no, and would say so again."""


class Service:
    """The payment service."""

    def __init__(self, base_url: str, auth: tuple[str, str], pauses: Sequence[float] = (1, 2, 4)) -> None:
        """Speak to it at an address; wait these seconds between attempts."""
        self.base_url = base_url
        self.headers = {"Authorization": aiohttp.encode_basic_auth(*auth), "Content-Type": "application/json"}
        self.pauses = pauses

    async def open(self, _: web.Application) -> AsyncIterator[None]:
        """Keep a session as long as the application runs."""
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(headers=self.headers, timeout=timeout) as self.session:
            yield

    async def pay(self, order: Order) -> str:
        """Create the order's deposit and return the address where the customer pays."""
        body = orjson.dumps(order.deposit(), default=exact)
        for pause in (*self.pauses, None):
            try:
                return await self.attempt(body, order.key)
            except (aiohttp.ClientError, TimeoutError, ValueError):
                if pause is not None:
                    await asyncio.sleep(pause)
        raise Unavailable

    async def attempt(self, body: bytes, key: str) -> str:
        """Send the request once."""
        url = f"{self.base_url}/pay-in/deposit-creation"
        async with self.session.post(url, data=body, headers={"Idempotency-Key": key}) as response:
            if 400 <= response.status < 500 and response.status != 429:
                raise Refused
            response.raise_for_status()
            address: str = (await response.json())["data"]["payment_url"]
            return address


def exact(value: object) -> orjson.Fragment:
    """Write money into JSON digit by digit."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError


def make_app(service: Service, webhook_secret: str) -> web.Application:
    """Return the application."""
    orders = Orders()
    routes = web.RouteTableDef()

    @routes.put("/orders/{id}")
    async def place(request: web.Request) -> web.Response:
        order = orders.place(request.match_info["id"], Decimal((await request.json())["amount"]))
        return web.json_response({"status": order.status}, status=201)

    @routes.get("/orders/{id}")
    async def show(request: web.Request) -> web.Response:
        order = orders[request.match_info["id"]]
        return web.json_response({"status": order.status, "shipped": order.shipped})

    @routes.post("/orders/{id}/payment")
    async def pay(request: web.Request) -> web.Response:
        try:
            return web.json_response({"pay_at": await service.pay(orders[request.match_info["id"]])})
        except Unavailable:
            return web.json_response({"error": "please try again in a minute"}, status=503)
        except Refused:
            return web.json_response({"error": "this order cannot be paid"}, status=422)

    @routes.post("/webhooks")
    async def webhook(request: web.Request) -> web.Response:
        body = await request.read()
        refused = refusal(body, request.headers.get("X-Service-Signature"), webhook_secret)
        if refused is not None:
            return web.Response(status=refused)
        try:
            orders.hear(body)
        except (ValueError, LookupError, TypeError, AttributeError):
            return web.Response(status=400)
        return web.Response(status=200)

    app = web.Application()
    app.cleanup_ctx.append(service.open)
    app.add_routes(routes)
    return app
