"""How a server is. Loaded when it starts, unlike the other control calls."""

from __future__ import annotations

import time

from paydouble.core.documents import Document, dump
from paydouble.core.health import Health
from paydouble.runtime.host import Host
from paydouble.version import __version__

_STARTED = time.monotonic()


def health_of(host: Host) -> Document:
    """Return the document of a server's `Health`."""
    return dump(Health("ok", __version__, time.monotonic() - _STARTED, len(host.registry)))
