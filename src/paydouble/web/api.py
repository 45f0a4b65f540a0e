"""`/api/v1` over HTTP: bytes in, one call of the pipeline, bytes out."""

from __future__ import annotations

import logging

from aiohttp import web

from paydouble.api.execution import Step
from paydouble.api.values import Reply, Request
from paydouble.runtime.host import Host
from paydouble.web import wire_faults
from paydouble.web.bodies import read_body
from paydouble.web.replies import render
from paydouble.web.targets import origin_form

_LOG = logging.getLogger("paydouble.api")


async def answer(host: Host, request: web.BaseRequest, begun: tuple[Request, Step] | None = None) -> web.StreamResponse:
    """Return the service's answer to a request; `begun` is a request that the fast path has begun, with its step."""
    if begun is None:
        asked = await _read(host, request)
        step = begin(host, asked)
    else:
        asked, step = begun
    try:
        reply = await host.finish(step)
    except Exception:  # noqa: BLE001 - see `begin`
        reply = _failed(host, asked)
    if reply.wire is not None:
        with host.sending(reply):
            return await wire_faults.perform(request, reply, reply.wire)
    if request.transport is None or request.transport.is_closing():
        host.lost(reply)
    return render(reply, request)


def begin(host: Host, asked: Request) -> Step:
    """Carry a request as far as possible without waiting."""
    try:
        return host.pipeline.handle(asked)
    except Exception:  # noqa: BLE001 - a bug of this package must not look like a lost connection
        return _failed(host, asked)


def _failed(host: Host, asked: Request) -> Reply:
    _LOG.exception("%s %s failed", asked.method, asked.target.partition("?")[0])
    return host.pipeline.internal_error()


async def _read(host: Host, request: web.BaseRequest) -> Request:
    sandbox, _ = host.registry.find(request.headers.get("Authorization"))
    settings = host.options.settings if sandbox is None else sandbox.settings
    body, body_error = await read_body(request, settings.body_limit, host.bodies)
    transport = request.transport
    peer = transport.get_extra_info("peername") if transport is not None else None
    return Request(
        method=request.method,
        target=origin_form(request),
        headers=request.headers,
        body=body,
        raw_headers=request.raw_headers,
        remote=peer[0] if isinstance(peer, tuple) else None,
        body_error=body_error,
    )
