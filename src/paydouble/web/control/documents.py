"""Control calls about the server itself."""

from __future__ import annotations

import time
from importlib.metadata import version

from orjson import Fragment

from paydouble.web.control.values import ControlCall, Document

_STARTED = time.monotonic()


def health(call: ControlCall) -> Document:
    """Say that the server is well."""
    uptime = f"{time.monotonic() - _STARTED:.3f}"
    return {
        "status": "ok",
        "version": version("paydouble"),
        "uptime_seconds": Fragment(uptime),
        "sandboxes": len(call.host.registry),
    }
