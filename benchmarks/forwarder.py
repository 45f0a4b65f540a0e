"""The least that creating and delivering can cost: `python -m benchmarks.forwarder PORT BODY URL…`.

For each request the same body is signed and posted to the next URL with one aiohttp session.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from benchmarks.bare import ANSWER
from paydouble.webhooks.signing import signature_header

_SESSION = web.AppKey("session", aiohttp.ClientSession)


def main() -> None:
    """Serve until SIGTERM."""
    body = sys.argv[2].encode()
    urls = itertools.cycle(sys.argv[3:])

    async def handler(request: web.Request) -> web.Response:
        if request.method == "POST":
            await request.read()
            signature = signature_header(body, ("secret",), int(time.time()))
            headers = {"Content-Type": "application/json", "X-Service-Signature": signature}
            async with request.app[_SESSION].post(next(urls), data=body, headers=headers) as response:
                await response.read()
        return web.json_response(ANSWER)

    async def session(app: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession() as made:
            app[_SESSION] = made
            yield

    app = web.Application()
    app.cleanup_ctx.append(session)
    app.router.add_route("*", "/{path:.*}", handler)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)


if __name__ == "__main__":
    main()
