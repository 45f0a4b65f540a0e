"""A port for what starts later, or never."""

from __future__ import annotations

import secrets
import socket

# Below those that Linux gives to a program that asks for any port: another test would get one of these meanwhile.
_PORTS = range(10_000, 32_768)


def free_port() -> int:
    """Return a port of this machine's loopback at which nobody listens, and that nobody gets by chance."""
    while True:
        # Not `random`, whose seed is the same in each worker of a parallel run.
        port = secrets.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def free_ports(count: int) -> list[int]:
    """Return so many different ports, each as from `free_port`."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)
