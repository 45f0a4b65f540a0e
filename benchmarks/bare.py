"""The least that an aiohttp server can do: read the body, answer a dict. `python -m benchmarks.bare PORT LOOP`."""

from __future__ import annotations

import sys

from aiohttp import web

ANSWER = {"status": "success", "data": {"id": "pi_000000000000000000000000", "status": "created", "amount": "49.90"}}


async def handler(request: web.Request) -> web.Response:
    """Answer anything."""
    await request.read()
    return web.json_response(ANSWER)


def main() -> None:
    """Serve until SIGTERM."""
    if sys.argv[2] == "uvloop":
        import uvloop  # noqa: PLC0415 - as paydouble does: only where it is wanted

        loop = uvloop.new_event_loop()
    else:
        loop = None
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None, loop=loop)


if __name__ == "__main__":
    main()
