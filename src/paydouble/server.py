"""The composition root: options become sandboxes, ports and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from ipaddress import ip_address

from aiohttp import http_parser, web

from paydouble.core.errors import UsageError
from paydouble.runtime.host import Host, HostOptions, SandboxSpec
from paydouble.runtime.watching import watch
from paydouble.sandbox import Sandbox
from paydouble.web.app import front
from paydouble.web.control.access import Access
from paydouble.web.control.door import Door

DEFAULT_SANDBOX = SandboxSpec(
    id="default",
    business_key="sandbox_key",
    business_secret="sandbox_secret",  # noqa: S106 - everybody's, as the documentation says
    webhook_secret="whsec_sandbox",  # noqa: S106 - likewise
)
# Connections that are still open when a server stops get this long to end by themselves.
_GRACE_SECONDS = 0.5


@dataclass(slots=True, frozen=True)
class ServerOptions:
    """How a server is reached, and what it is made of."""

    host: str = "127.0.0.1"
    port: int = 8080
    control_port: int | None = None
    control_token: str | None = None
    insecure_control: bool = False
    allowed_hosts: Collection[str] = ()
    watch: bool = False
    """Read changed scenario files again."""
    say: Callable[[str], None] | None = None
    """Takes lines for the person at the terminal, such as what `watch` has read; without it nobody is told."""
    default_sandbox: SandboxSpec = DEFAULT_SANDBOX
    shared: HostOptions = field(default_factory=HostOptions)


class Server:
    """A running paydouble. `async with Server(options) as server` starts and stops it."""

    def __init__(self, options: ServerOptions) -> None:
        """Check what can be checked without a port; `UsageError` says what cannot be."""
        _check_control(options)
        if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
            raise UsageError("aiohttp's compiled HTTP parser is missing; install a wheel of aiohttp for this platform")
        self.options = options
        self.port = options.port
        self.control_port = options.control_port
        self.host = Host(options.shared)
        self.default: Sandbox | None = None
        self._runners: list[web.ServerRunner] = []
        self._watching: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """Return where the server is reached from this machine."""
        return self.host.base_url

    async def start(self) -> None:
        """Bind the ports and make the default sandbox; `UsageError` when a port cannot be had."""
        options = self.options
        access = Access(options.control_token, options.allowed_hosts)
        control = Door(self.host, access)
        try:
            self.port = await self._bind(control if options.control_port is None else None, options.port, "--port")
            if options.control_port is not None:
                self.control_port = await self._bind(control, options.control_port, "--control-port", with_api=False)
            here = f"http://{_reachable(options.host)}"
            self.host.base_url = f"{here}:{self.port}"
            self.host.pages_url = f"{here}:{self.port if self.control_port is None else self.control_port}"
            self.default = self.host.create(options.default_sandbox)
            if options.watch:
                self._watching = asyncio.create_task(watch(options.shared.library, options.say or _nobody))
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Break off deliveries, answer nobody any more, and free the ports."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for runner in self._runners:
            for site in tuple(runner.sites):
                await site.stop()
        await self.host.close()
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()

    async def __aenter__(self) -> Server:  # noqa: PYI034 - final in practice
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop."""
        await self.stop()

    async def _bind(self, control: Door | None, port: int, option: str, *, with_api: bool = True) -> int:
        runner = web.ServerRunner(front(self.host, control, with_api=with_api), shutdown_timeout=_GRACE_SECONDS)
        await runner.setup()
        self._runners.append(runner)
        site = web.TCPSite(runner, self.options.host, port, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            hint = "; choose another, or 0 for a free one" if port else ""
            raise UsageError(f"{self.options.host}:{port} cannot be used ({reason}){hint}", member=option) from None
        sockets = runner.addresses
        return int(sockets[0][1]) if sockets else port


def _nobody(_: str) -> None:
    """Tell nobody."""


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
