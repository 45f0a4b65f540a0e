"""`/api/v1` over HTTP: bytes in, one call of the pipeline, bytes out."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from paydouble.api.values import Reply, Request, Step
from paydouble.runtime.host import Host
from paydouble.web import wire_faults
from paydouble.web.replies import render

# A client that sends its body more slowly than this is told so, and let go.
BODY_PATIENCE_SECONDS = 30.0
_LOG = logging.getLogger("paydouble.api")


async def answer(host: Host, request: web.BaseRequest, begun: tuple[Request, Step] | None = None) -> web.StreamResponse:
    """Return the service's answer to a request; `begun` is how far it has gone, when it has."""
    if begun is None:
        asked = await _read(request)
        step = begin(host, asked)
    else:
        asked, step = begun
    try:
        reply = await host.finish(step)
    except Exception:  # noqa: BLE001 - see `begin`
        reply = _failed(host, asked)
    if reply.wire is not None:
        return await wire_faults.perform(request, reply, reply.wire)
    return render(reply, request)


def begin(host: Host, asked: Request) -> Step:
    """Take a request as far as it goes without waiting."""
    try:
        return host.pipeline.handle(asked)
    except Exception:  # noqa: BLE001 - the last line of defence: a bug of ours must not look like a lost connection
        return _failed(host, asked)


def _failed(host: Host, asked: Request) -> Reply:
    _LOG.exception("%s %s failed", asked.method, asked.target.partition("?")[0])
    return host.pipeline.internal_error(asked)


async def _read(request: web.BaseRequest) -> Request:
    body, body_error = await read_body(request)
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


def origin_form(request: web.BaseRequest) -> str:
    """Return path and query as they came, also of a request that names the whole URL as to a proxy."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs


def parse_query(query: str) -> dict[str, str]:
    """Return a query string's members, decoded."""
    return dict(URL.build(path="/", query_string=query, encoded=True).query) if query else {}


async def read_body(request: web.BaseRequest) -> tuple[bytes, str | None]:
    """Return the body, or why it cannot be had. The usual body has arrived with its headers."""
    if not request.body_exists:
        return b"", None
    try:
        if request.content.is_eof():
            return request.content.read_nowait(), None
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        async with asyncio.timeout(BODY_PATIENCE_SECONDS):
            return await request.read(), None
    except TimeoutError:
        return b"", f"The body did not arrive within {BODY_PATIENCE_SECONDS:g} seconds."
    except web.HTTPRequestEntityTooLarge as error:
        return b"", f"The body is larger than {error.max_size if hasattr(error, 'max_size') else 'allowed'}."
    except (web.RequestPayloadError, HttpProcessingError, ConnectionError) as error:
        return b"", f"The body cannot be read: {' '.join(str(error).split())[:200]}."
