"""What a server knows about the use of a sandbox: how long it may be unused, and its labels.

Neither changes what happens in the sandbox, so a run does not record them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Tenancy(NamedTuple):
    """The lease and the labels of a sandbox."""

    ttl: int | None = None
    """Milliseconds of real time after which an unused sandbox is deleted; None for never."""
    labels: Mapping[str, str] = MappingProxyType({})


NO_TENANCY: Final = Tenancy()
"""A sandbox that is kept, without labels."""
