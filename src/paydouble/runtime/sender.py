"""One signed POST to a receiver, and its outcome (contract sections 4 and 6; assumptions, "Webhooks").

Whatever a receiver does ends in an `Outcome`; `send` raises nothing for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from paydouble.config import WebhookSettings
from paydouble.core.errors import UsageError
from paydouble.core.files import check_regular
from paydouble.runtime import connections
from paydouble.runtime.targets import PolicyResolver, TargetRefused, check_literal
from paydouble.runtime.transports import BrokenOff, break_off, drips
from paydouble.runtime.wall import wall_ms
from paydouble.webhooks.deliveries import Attempt, AttemptError, Outcome

# Success is decided by the status, once the headers have arrived; a body is only kept to be shown.
BODY_PATIENCE_SECONDS = 2.0
# Shorter than the keep-alive of any common server, so that no request is sent over a connection that is being closed.
KEEP_ALIVE_SECONDS = 1.0
# After so many turns the event loop has seen that a receiver has closed its connection, even one in this process.
_TURNS: Final = 3
# aiohttp warns about longer bytes that are not wrapped.
_LONG_BYTES: Final = 1_048_576
# Of the headers of a receiver's answer; they are only kept to be shown.
_MOST_HEADER_BYTES: Final = 16_384
_LOG = logging.getLogger("paydouble.delivery")


class Sender:
    """Posts attempts, over connections that all sandboxes share."""

    def __init__(self, *, ca_file: Path | None = None, insecure_targets: bool = False) -> None:
        """Trust the certificates of `ca_file` besides the system's, or any certificate with `insecure_targets`."""
        self._ca_file = ca_file
        self._insecure = insecure_targets
        self._clients: dict[bool, connections.Client] = {}
        self._tls: ssl.SSLContext | None = None
        if ca_file is not None:
            self._tls = self._make_tls()  # an unreadable file is refused at start, not at the first event

    async def send(self, attempt: Attempt, settings: WebhookSettings) -> Outcome:
        """Send an attempt and return its outcome, with the real time that it took."""
        sent_at = wall_ms()
        start = time.perf_counter()
        status: int | None = None
        error: AttemptError | None = None
        body = b""
        headers: tuple[tuple[str, str], ...] = ()
        try:
            url = URL(attempt.url)
            public = settings.allow_public_targets and url.scheme == "https"
            self._check(url, settings, public=public)
            # A session's own timeout would include the body; the contract's ten seconds end with the headers.
            async with asyncio.timeout(settings.timeout / 1000):
                if url.scheme == "https":
                    await _read_closed_connections()
                response = await self._post(attempt, url, public=public)
            async with response:
                status = response.status
                headers = _kept(response)
                body = await _read(response, settings.response_limit)
                if response.content.at_eof() and isinstance(response, connections.Response):
                    response.keep_connection(body)
        except Exception as failure:  # noqa: BLE001 - a receiver may cause any error, and no event may be lost by it
            if status is None:
                error = _explain(failure, settings, attempt.url)
        latency_ms = (time.perf_counter() - start) * 1000
        return Outcome(sent_at, round(latency_ms, 3), status, error, body, headers)

    async def _post(self, attempt: Attempt, url: URL, *, public: bool) -> aiohttp.ClientResponse:
        """Send the bytes by the attempt's transport, and return the answer once its headers have arrived."""
        how = attempt.transport
        headers = attempt.headers
        data: bytes | io.BytesIO | AsyncIterator[bytes] = attempt.body
        if how.kind == "reset":
            tls = self._tls_for(url)
            resolver = PolicyResolver(public=public)
            await break_off(url, headers, attempt.body, resolver, tls if isinstance(tls, ssl.SSLContext) else None)
        if how.kind == "plain":
            if len(attempt.body) > _LONG_BYTES:
                data = io.BytesIO(attempt.body)
        else:
            data = drips(attempt.body, how)
            if how.kind == "drip":
                headers = (*headers, ("Content-Length", str(len(attempt.body))))
        while True:
            # Each try gives up one kept connection, so this ends; a new connection is tried once.
            with contextlib.suppress(connections.Unwritten):
                return await self._client(public=public).post(url, headers=headers, data=data, tls=self._tls_for(url))

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()

    def _check(self, url: URL, settings: WebhookSettings, *, public: bool) -> None:
        if url.scheme not in {"http", "https"} or not url.host:
            raise aiohttp.InvalidURL(str(url), "it is not an http:// or https:// URL")
        if url.scheme == "http" and settings.require_https:
            raise TargetRefused("plain http is refused by webhooks.require_https")
        check_literal(url.host, public=public)

    def _client(self, *, public: bool) -> connections.Client:
        client = self._clients.get(public)
        if client is None:
            client = self._clients[public] = connections.Client(
                resolver=PolicyResolver(public=public),
                use_dns_cache=False,
                limit=0,  # the outbox limits the attempts of each endpoint, so that a slow one delays no other
                keepalive_timeout=KEEP_ALIVE_SECONDS,
            )
        return client

    def _tls_for(self, url: URL) -> ssl.SSLContext | bool:
        if url.scheme != "https":
            return True
        if self._tls is None:
            self._tls = self._make_tls()
        return self._tls

    def _make_tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2  # contract section 8
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self._ca_file is not None:
            try:
                check_regular(self._ca_file)
                context.load_verify_locations(cafile=self._ca_file)
            except (OSError, ssl.SSLError) as error:
                reason = getattr(error, "strerror", None) or "no PEM certificates in it"
                raise UsageError(f"{self._ca_file} cannot be used: {reason}", member="--ca-file") from None
        return context


async def _read_closed_connections() -> None:
    """Let the event loop read from the kept TLS connections, so that no request is sent over one that has ended.

    To send it again over a new connection would be wrong: a receiver that had closed after reading would get the
    attempt twice. For plain connections `connections.has_unread` checks without waiting.
    """
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _kept(response: aiohttp.ClientResponse) -> tuple[tuple[str, str], ...]:
    """Return the headers of an answer as they arrived, up to a limit in bytes."""
    kept: list[tuple[str, str]] = []
    size = 0
    for name, value in response.raw_headers:
        size += len(name) + len(value)
        if size > _MOST_HEADER_BYTES:
            break
        kept.append((name.decode("latin-1"), value.decode("latin-1")))
    return tuple(kept)


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the first `limit` bytes of a body, or what has arrived when it is too slow or ends early."""
    body = bytearray()
    content = response.content
    if content.is_eof() and content.total_bytes <= limit and content.exception() is None:
        return content.read_nowait()  # it has arrived with the head, as most do
    with contextlib.suppress(TimeoutError, aiohttp.ClientError, ConnectionError):
        async with asyncio.timeout(BODY_PATIENCE_SECONDS):
            while len(body) < limit:
                chunk = await content.read(limit - len(body))
                if not chunk:
                    break
                body += chunk
    if not content.at_eof():
        response.close()  # the rest of the body is unread, so the connection cannot be used again
    return bytes(body)


def _explain(failure: Exception, settings: WebhookSettings, url: str) -> AttemptError:
    cause = getattr(failure, "os_error", None) or failure.__cause__
    if isinstance(failure, TimeoutError):
        return AttemptError("timeout", f"no answer within {settings.timeout / 1000:g} s")
    if isinstance(failure, TargetRefused) or isinstance(cause, TargetRefused):
        return AttemptError("policy", str(failure if isinstance(failure, TargetRefused) else cause))
    if isinstance(failure, aiohttp.ClientConnectorError) and isinstance(cause, ConnectionError):
        return _explain_no_connection(cause, url)
    if isinstance(failure, aiohttp.ServerDisconnectedError) and not isinstance(failure.message, str):
        return AttemptError("protocol", "the answer is not HTTP")
    for kind, slug, text in _KINDS:
        if isinstance(failure, kind):
            return AttemptError(
                slug, text.format(reason=_reason(cause or failure), failure=" ".join(str(failure).split())[:200])
            )
    _LOG.error("an attempt failed in a way that was not foreseen", exc_info=failure)
    return AttemptError("internal", f"{type(failure).__name__}: {failure}")


# The first class that fits names the error; subclasses come first.
_KINDS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (BrokenOff, "reset", "{failure}"),
    (connections.UnsolicitedBytes, "protocol", "{failure}"),
    (connections.TooManyInterimAnswers, "protocol", "{failure}"),
    (aiohttp.ClientConnectorDNSError, "dns", "the host cannot be resolved ({reason})"),
    (aiohttp.ClientSSLError, "tls", "no TLS connection: {failure}"),
    (ssl.SSLError, "tls", "no TLS connection: {failure}"),
    (aiohttp.ClientConnectorError, "unreachable", "no connection ({reason})"),
    (aiohttp.InvalidURL, "bad_url", "the target is not a URL that can be posted to: {failure}"),
    (aiohttp.ServerDisconnectedError, "reset", "the receiver closed the connection without an answer"),
    (aiohttp.ClientOSError, "reset", "the receiver closed the connection without an answer"),
    (ConnectionRefusedError, "refused", "nobody listens at the target"),
    (ConnectionError, "reset", "the receiver closed the connection without an answer"),
    (aiohttp.ClientError, "protocol", "the answer is not HTTP: {failure}"),
    (ValueError, "bad_url", "the target is not a URL that can be posted to: {failure}"),
    # Errors of the system, from an attempt that a fault has sent without aiohttp.
    (socket.gaierror, "dns", "the host cannot be resolved ({reason})"),
    (OSError, "unreachable", "no connection ({reason})"),
)


def _explain_no_connection(cause: ConnectionError, url: str) -> AttemptError:
    if isinstance(cause, ConnectionRefusedError):
        return AttemptError("refused", "nobody listens at the target")
    if url[:6].lower() == "https:":
        return AttemptError("tls", "no TLS connection: the receiver broke off the handshake")
    return AttemptError("unreachable", f"no connection ({_reason(cause)})")


def _reason(cause: BaseException | None) -> str:
    return str(getattr(cause, "strerror", None) or cause or "no reason given")
