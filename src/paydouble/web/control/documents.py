"""Control calls about the server itself."""

from __future__ import annotations

import time

from orjson import Fragment

from paydouble.runtime.host import Host
from paydouble.version import __version__
from paydouble.web.control.values import ControlCall, Document

_STARTED = time.monotonic()


def health(call: ControlCall) -> Document:
    """Say that the server is well."""
    return health_of(call.host)


def health_of(host: Host) -> Document:
    """Return the state of a server."""
    uptime = f"{time.monotonic() - _STARTED:.3f}"
    return {
        "status": "ok",
        "version": __version__,
        "uptime_seconds": Fragment(uptime),
        "sandboxes": len(host.registry),
    }
