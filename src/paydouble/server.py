"""The composition root: options become a host, ports, and a clean shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import http_parser, web

from paydouble.api.values import Request
from paydouble.core.errors import UsageError
from paydouble.core.ids import DEFAULT_ID
from paydouble.runtime.host import Host, HostOptions, SandboxSpec
from paydouble.runtime.watching import watch
from paydouble.sandbox import Sandbox
from paydouble.sandbox.identity import Secrets
from paydouble.web.addresses import Addresses
from paydouble.web.control.access import Access
from paydouble.web.http_server import HttpServer
from paydouble.web.lazy_control import LazyControl
from paydouble.web.listening import Listener, listen
from paydouble.web.private_names import missing

if TYPE_CHECKING:
    from paydouble.runfile.store import Stored

DEFAULT_SANDBOX = SandboxSpec(id=DEFAULT_ID, **Secrets()._asdict())
# How long a server that stops waits for open connections to end.
_GRACE_SECONDS = 0.5


@dataclass(slots=True, frozen=True)
class ServerOptions:
    """How a server is reached, and what it serves."""

    host: str = "127.0.0.1"
    port: int = 8080
    control_port: int | None = None
    control_token: str | None = None
    insecure_control: bool = False
    allowed_hosts: Collection[str] = ()
    public_url: str | None = None
    """Where clients reach the server, when their requests say something else."""
    trust_forwarded: Collection[str] = ()
    """Addresses and networks of proxies whose `X-Forwarded-Host`, `-Proto` and `-Port` are believed."""
    fast_path: bool = True
    """Answer the usual request while it is read, if this version of aiohttp allows it (`web/private_names.py`)."""
    inspector: bool = True
    """Serve the inspector's pages beside the control API."""
    watch: bool = False
    """Reload scenario files that change."""
    say: Callable[[str], None] | None = None
    """Called with lines for the terminal, such as what `watch` has reloaded."""
    default_sandbox: SandboxSpec = DEFAULT_SANDBOX
    initial: Sandbox | None = None
    """A sandbox with a past, which becomes the default one; its credentials and settings are kept."""
    stored: Collection[Stored] = ()
    """The sandboxes of the store."""
    shared: HostOptions = field(default_factory=HostOptions)


class Server:
    """A running paydouble. `async with Server(options) as server` starts and stops it."""

    def __init__(self, options: ServerOptions) -> None:
        """Check the options, as far as that needs no port; `UsageError` names the option that cannot be."""
        _check_control(options)
        if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
            raise UsageError("aiohttp's compiled HTTP parser is missing; install a wheel of aiohttp for this platform")
        self.options = options
        self.addresses = Addresses(
            options.allowed_hosts, public_url=_public_url(options), trusted=_networks(options.trust_forwarded)
        )
        self.port = options.port
        self.control_port = options.control_port
        self.host = Host(options.shared)
        self.default: Sandbox | None = None
        self.home = ""
        """The path of the first page for a person with a browser."""
        self._listeners: list[Listener] = []
        self._watching: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """Return the URL of the server on this machine."""
        return self.host.base_url

    @property
    def requests(self) -> int:
        """Return how many requests all ports have had so far."""
        return sum(each.server.requests_count for each in self._listeners)

    async def start(self) -> None:
        """Bind the ports and create the default sandbox; `UsageError` when a port cannot be bound."""
        options = self.options
        if options.fast_path and (names := missing()):
            (options.say or _discard)(
                f"This aiohttp has no {', '.join(names)}; requests are answered without the fast path."
            )
        access = Access(options.control_token, self.addresses)
        control = LazyControl(self.host, access, self.addresses, inspector=options.inspector)
        self.home = control.home
        try:
            self.port = await self._bind(control if options.control_port is None else None, options.port, "--port")
            if options.control_port is not None:
                self.control_port = await self._bind(control, options.control_port, "--control-port", with_api=False)
            self.host.base_url = f"http://{_reachable(options.host)}:{self.port}"
            self.addresses.bound(_reachable(options.host).strip("[]"), self.port, self.control_port)
            self.host.checkout_base = self.addresses.own.checkout
            self.host.checkout_for = self._checkout
            self.default = self._make_default()
            if options.watch:
                self._watching = asyncio.create_task(watch(options.shared.library, options.say or _discard))
        except BaseException:
            await self.stop()
            raise

    def _make_default(self) -> Sandbox:
        spec, initial = self.options.default_sandbox, self.options.initial
        sandbox_id = spec.id or DEFAULT_ID
        for stored in self.options.stored:
            self.host.resume(stored)
        if sandbox_id in self.host.registry:
            box = self.host.registry.get(sandbox_id)
        elif initial is None:
            return self.host.create(spec)
        else:
            box = self.host.adopt(initial, sandbox_id)
        if spec.notification_url not in {None, box.notification_url}:
            self.host.act(box, lambda: box.set_notification_url(spec.notification_url))
        return box

    async def stop(self) -> None:
        """Cancel deliveries, stop answering, and free the ports."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for each in self._listeners:
            await each.refuse()
        await self.host.close()
        for each in self._listeners:
            await each.close()
        self._listeners.clear()

    async def __aenter__(self) -> Server:  # noqa: PYI034 - final in practice
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop."""
        await self.stop()

    def _home_of(self, request: web.BaseRequest) -> str:
        """Return where a browser is led to from `/`: the port of the control side may be another one."""
        if self.control_port is None:
            return self.home
        reached = self.addresses.reached(request.headers, request.remote, at_control=False)
        return f"{reached.control}{self.home}"

    def _checkout(self, request: Request) -> str:
        return self.addresses.reached(request.headers, request.remote, at_control=False).checkout

    async def _bind(self, control: LazyControl | None, port: int, option: str, *, with_api: bool = True) -> int:
        server = HttpServer(
            self.host,
            control,
            home=self._home_of if with_api else lambda _: self.home,
            with_api=with_api,
            fast=self.options.fast_path,
        )
        listener = await listen_at(server, self.options.host, port, option)
        self._listeners.append(listener)
        return listener.port


async def listen_at(server: web.Server, host: str, port: int, option: str) -> Listener:
    """Let a server listen; port 0 takes a free one. `UsageError` names the `option` when the port cannot be bound."""
    try:
        return await listen(server, (host, port), _GRACE_SECONDS)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        hint = "; choose another, or 0 for a free one" if port else ""
        raise UsageError(f"{host}:{port} cannot be used ({reason}){hint}", member=option) from None


def _discard(_: str) -> None:
    """Take a line and do nothing."""


def _public_url(options: ServerOptions) -> str | None:
    url = options.public_url
    if url is None:
        return None
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        if (
            parts.scheme in {"http", "https"}
            and parts.hostname
            and parts.port != 0
            and not re.search(r"[^!-~]|[?#@]", url)
        ):
            return url
    raise UsageError(f"{url!r} is not a URL such as https://pay.example.test:9000", member="--public-url")


def _networks(given: Collection[str]) -> list[IPv4Network | IPv6Network]:
    networks = []
    for each in given:
        try:
            networks.append(ip_network(each, strict=False))
        except ValueError:
            message = f"{each!r} is neither an address nor a network such as 10.0.0.0/8"
            raise UsageError(message, member="--trust-forwarded") from None
    return networks


def _check_control(options: ServerOptions) -> None:
    if options.control_token is not None or options.insecure_control or _is_loopback(options.host):
        return
    raise UsageError(
        f"{options.host} is reachable from other machines, and so would the control API be; "
        "set --control-token, or --insecure-control when that is meant",
        member="--host",
    )


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _reachable(host: str) -> str:
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared with, not bound to
        return "localhost"
    return f"[{host}]" if ":" in host else host
