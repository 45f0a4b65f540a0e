"""Control calls about the server itself."""

from __future__ import annotations

import time

from paydouble.core.documents import dump
from paydouble.records import Health
from paydouble.runtime.host import Host
from paydouble.version import __version__
from paydouble.web.control.values import ControlCall, Document

_STARTED = time.monotonic()


def health(call: ControlCall) -> Document:
    """Say that the server is well."""
    return health_of(call.host)


def health_of(host: Host) -> Document:
    """Return the state of a server."""
    return dump(Health("ok", __version__, time.monotonic() - _STARTED, len(host.registry)))
