"""The policy for targets of webhooks (assumptions, "Webhooks").

Loopback and private addresses are always allowed; public ones only when a sandbox allows them, and then only by https;
link-local addresses and the metadata services of clouds never. The policy is applied inside the connector's resolver,
to the very addresses that are connected to. So a name that resolves to another address after a check gains nothing.

The private networks are listed here. `ipaddress.is_private` answers another question (which addresses no router of the
internet forwards): it includes documentation, benchmarking and Teredo addresses, and its answer changes between Python
versions.
"""

from __future__ import annotations

import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

# Cloud metadata services, which hand out credentials: AWS over IPv6, Alibaba, Oracle, and Azure's wire server.
METADATA: Final = frozenset(
    ip_address(text) for text in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
# Loopback and private networks (RFC 1122, RFC 1918, RFC 4193).
OWN: Final = tuple(
    map(ip_network, ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"))
)
# The machine that a container runs on. Some engines give it an address that is not private (0.250.250.254).
MACHINE: Final = "host.docker.internal"
_NAT64: Final = ip_network("64:ff9b::/96")
# Each network chooses where the IPv4 address is in it, so the real target is unknown.
_LOCAL_NAT64: Final = ip_network("64:ff9b:1::/48")
Address = IPv4Address | IPv6Address


class TargetRefused(OSError):
    """The policy forbids an address."""


def unwrap(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address contains, or the address itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def objection(address: Address, *, public: bool) -> str | None:
    """Return why an address must not be connected to, or None."""
    ip = unwrap(address)
    if ip in METADATA or ip.is_link_local:
        return f"{ip} is a link-local or cloud metadata address, which is never a target"
    if ip.is_multicast or ip.is_unspecified or ip in _LOCAL_NAT64 or (ip.is_reserved and not ip.is_loopback):
        return f"{ip} is no host's address"
    if public or any(ip in network for network in OWN):
        return None
    return (
        f"{ip} is neither a loopback nor a private address; "
        "set webhooks.allow_public_targets and use https to send there"
    )


@lru_cache(512)
def check_literal(host: str, *, public: bool) -> None:
    """Raise `TargetRefused` when a host is a forbidden address; names pass, since the resolver checks them."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        # aiohttp treats these as addresses too, without the resolver: 2852039166 is 169.254.169.254.
        if ":" in host or host.replace(".", "").isdigit():
            raise TargetRefused(f"{host} is not a whole IP address; write it like 127.0.0.1 or ::1") from None
        return
    reason = objection(address, public=public)
    if reason:
        raise TargetRefused(reason)


class PolicyResolver(AbstractResolver):
    """The system's resolver without the addresses that must not be connected to."""

    def __init__(self, *, public: bool) -> None:
        """`public` allows addresses outside loopback and private networks."""
        self._public = public
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the allowed addresses of a host; `TargetRefused` when there are none."""
        public = self._public or host == MACHINE
        results = await self._system.resolve(host, port, family)
        kept: list[ResolveResult] = []
        reasons: list[str] = []
        for result in results:
            reason = objection(ip_address(result["host"].partition("%")[0]), public=public)
            if reason:
                reasons.append(reason)
            else:
                kept.append(result)
        if not kept and reasons:
            raise TargetRefused(f"{host}: {reasons[0]}")
        return kept

    async def close(self) -> None:
        """Close the system's resolver."""
        await self._system.close()
