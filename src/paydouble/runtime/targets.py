"""Where events may be sent (assumptions, "Webhooks").

Loopback and private addresses always; public ones only when a sandbox allows them, and then by https alone; link-local
addresses and the metadata services of clouds never. The rule is applied to the addresses that are about to be dialled,
inside the connector's resolver, so that a name which changes its mind between check and use gains nothing.

What is private is written out here. `ipaddress.is_private` answers another question (what no router of the internet
forwards), so it holds documentation, benchmarking and Teredo addresses too, and its answer changes with the version of
Python.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

# Reachable from a cloud machine, and full of credentials: AWS over IPv6, Alibaba, Oracle's and Azure's wire server.
METADATA: Final = frozenset(
    ip_address(text) for text in ("fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
# Loopback, and what a network may use as it likes (RFC 1122, RFC 1918, RFC 4193).
OWN: Final = tuple(
    map(ip_network, ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"))
)
# The machine that a container runs on. Some engines give it an address that is private nowhere else (0.250.250.254).
MACHINE: Final = "host.docker.internal"
_NAT64: Final = ip_network("64:ff9b::/96")
# Where the IPv4 address lies in it is each network's own choice, so nobody can tell where it leads.
_LOCAL_NAT64: Final = ip_network("64:ff9b:1::/48")
Address = IPv4Address | IPv6Address


class TargetRefused(OSError):
    """The target policy forbids an address."""


def unwrap(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def objection(address: Address, *, public: bool) -> str | None:
    """Return why an address must not be dialled, or None."""
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


def check_literal(host: str, *, public: bool) -> None:
    """Raise `TargetRefused` when a host is an address that must not be dialled; names pass, the resolver sees them."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        # aiohttp takes these for addresses too and would not ask the resolver: 2852039166 is 169.254.169.254.
        if ":" in host or host.replace(".", "").isdigit():
            raise TargetRefused(f"{host} is not a whole IP address; write it like 127.0.0.1 or ::1") from None
        return
    reason = objection(address, public=public)
    if reason:
        raise TargetRefused(reason)


class PolicyResolver(AbstractResolver):
    """The system's resolver, less the addresses that must not be dialled."""

    def __init__(self, *, public: bool) -> None:
        """Choose whether addresses outside loopback and private networks pass."""
        self._public = public
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses that may be dialled; `TargetRefused` when that leaves none."""
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
        """Nothing is held."""
        await self._system.close()
