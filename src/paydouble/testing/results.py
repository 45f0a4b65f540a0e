"""What the double shows of itself, as plain values; numbers with a fraction are `Decimal`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from paydouble.guards.credentials import basic_header
from paydouble.records import Document


def read_instant(text: str) -> datetime:
    """Return an instant that the control API shows."""
    return datetime.fromisoformat(text)


def perhaps_instant(text: str | None) -> datetime | None:
    """Return one, or None."""
    return None if text is None else datetime.fromisoformat(text)


class Credentials(NamedTuple):
    """A business's key and secret: what clients take as `auth`."""

    key: str
    secret: str

    @property
    def header(self) -> str:
        """Return the value of the Authorization header."""
        return basic_header(self.key, self.secret)


@dataclass(frozen=True, slots=True)
class Health:
    """How the server is."""

    status: str
    version: str
    uptime_seconds: float
    sandboxes: int

    @classmethod
    def read(cls, shown: Document) -> Health:
        """Read what the control API shows."""
        return cls(shown["status"], shown["version"], float(shown["uptime_seconds"]), shown["sandboxes"])


@dataclass(frozen=True, slots=True)
class ClockState:
    """Where a sandbox's clock stands and what it waits for."""

    mode: str
    now: datetime
    rate: float
    next_due_at: datetime | None
    pending: int
    """Timers that are set."""
    idle: bool
    """Whether nothing at all is left to happen."""

    @classmethod
    def read(cls, shown: Document) -> ClockState:
        """Read what the control API shows."""
        return cls(
            shown["mode"],
            read_instant(shown["now"]),
            float(shown["rate"]),
            perhaps_instant(shown["next_due_at"]),
            shown["pending"],
            shown["idle"],
        )


@dataclass(frozen=True, slots=True)
class Advanced:
    """What moving the clock did."""

    now: datetime
    fired: int
    """Timers that went off."""
    attempts: int
    """Attempts that fell due on the way; what was due before may have been sent before, and does not count."""
    idle: bool

    @classmethod
    def read(cls, shown: Document) -> Advanced:
        """Read what the control API shows."""
        return cls(read_instant(shown["now"]), shown["fired"], shown["attempts"], shown["idle"])


@dataclass(frozen=True, slots=True)
class SandboxState:
    """A sandbox as it is now."""

    id: str
    notification_url: str | None
    webhook_secret: str
    seed: int
    clock: ClockState
    scenario: str
    settings: Document

    @classmethod
    def read(cls, shown: Document) -> SandboxState:
        """Read what the control API shows."""
        return cls(
            shown["id"],
            shown["notification_url"],
            shown["webhook_secret"],
            shown["seed"],
            ClockState.read(shown["clock"]),
            shown["scenario"],
            shown["settings"],
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault with its counts."""

    id: str
    times_matched: int
    times_fired: int
    active: bool
    """Whether it can still fire."""
    document: Document
    """Its declaration, as the control API shows it."""

    @classmethod
    def read(cls, shown: Document) -> Fault:
        """Read what the control API shows."""
        return cls(shown["id"], shown["times_matched"], shown["times_fired"], shown["active"], shown)

    @property
    def effect(self) -> str:
        """Return the name of its effect."""
        name: str = self.document["effect"]["type"]
        return name


@dataclass(frozen=True, slots=True)
class Scenario:
    """A life that a pay-in can lead."""

    name: str
    summary: str
    source: str
    """`shipped`, `uploaded`, or the path of its file."""
    active: bool
    """Whether every new pay-in plays it."""

    @classmethod
    def read(cls, shown: Mapping[str, Any]) -> Scenario:
        """Read what the control API shows."""
        return cls(shown["name"], shown["summary"], shown["source"], shown["active"])


@dataclass(frozen=True, slots=True)
class WebhookState:
    """Where events go and what signs them."""

    notification_url: str | None
    secret: str
    previous_secret: str | None
    """During a rotation's grace the secret before, which signs along."""
    previous_valid_until: datetime | None
    signature_header: str

    @classmethod
    def read(cls, shown: Document) -> WebhookState:
        """Read what the control API shows."""
        return cls(
            shown["notification_url"],
            shown["secret"],
            shown["previous_secret"],
            perhaps_instant(shown["previous_valid_until"]),
            shown["signature_header"],
        )


@dataclass(frozen=True, slots=True)
class Resource:
    """A pay-in, refund, dispute or payout, as the API shows it."""

    id: str
    status: str
    document: Document

    @classmethod
    def read(cls, shown: Document) -> Resource:
        """Read what the control API shows."""
        return cls(shown["id"], shown["status"], shown)
