"""The service of a machine's play, as the transports and connectors of the HTTP clients call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Answer", "PlayService"]


class Answer(Protocol):
    """An HTTP answer, as a merchant's client gets it."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names in any case."""

    @property
    def body(self) -> bytes:
        """The body's bytes; not always JSON, and not always all that the service meant to send."""


class PlayService(Protocol):
    """The service that a machine makes a merchant with (`paydouble.stateful.ServiceLike`)."""

    def call(
        self, method: str, path: str, headers: Mapping[str, str] = ..., body: bytes = b"", timeout: float | None = 30.0
    ) -> Answer:
        """Send a request; an `OSError` when no whole answer comes."""
