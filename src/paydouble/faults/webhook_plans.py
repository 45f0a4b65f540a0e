"""What firing faults do to an event on its way out: two plans, one for the event and one for each attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from paydouble.faults.seeded_values import SeededValues

BodyChange = Callable[[bytes], bytes]
Strategy = Literal["reverse", "swap", "shuffle", "permutation"]
SignatureMode = Literal[
    "missing",
    "empty",
    "malformed",
    "non_ascii",
    "wrong_secret",
    "stale",
    "future",
    "v0_only",
    "two_v1",
    "uppercase",
    "reordered",
]


@dataclass(slots=True, frozen=True)
class Copies:
    """Further deliveries of an event; times are on the sandbox's clock, in milliseconds."""

    count: int
    spacing_ms: int
    concurrent: bool
    new_id: bool
    after_success: bool


class Gathering(NamedTuple):
    """A window of events that leave in another order once it is full, or once its patience ends."""

    fault_id: str
    strategy: Strategy
    window: int
    order: tuple[int, ...]
    patience_ms: int
    each_object: bool
    seeded: SeededValues

    def arrange(self, count: int) -> list[int]:
        """Return in which order that many events leave, as places in the order in which they came."""
        match self.strategy:
            case "reverse":
                return list(range(count - 1, -1, -1))
            case "swap":
                swapped = [place + 1 if place % 2 == 0 else place - 1 for place in range(count)]
                return [min(place, count - 1) for place in swapped]
            case "shuffle":
                return self.seeded.order("shuffle", count)
            case _:
                chosen = [place - 1 for place in self.order if place <= count]
                return chosen + [place for place in range(count) if place not in chosen]


@dataclass(slots=True)
class EventPlan:
    """What happens to an event when it is made."""

    fired: list[str] = field(default_factory=list)
    delay_ms: int = 0
    drop: bool = False
    hold: bool = False
    copies: list[Copies] = field(default_factory=list)
    gathering: Gathering | None = None
    lead_ms: int | None = None
    """The event leaves before the reply of the request that caused it, and the reply waits so long after that."""
    tie: bool = False
    foreign: SeededValues | None = None
    offsets: tuple[int, ...] | None = None
    attempts: int | None = None
    livemode: bool | None = None


@dataclass(slots=True)
class AttemptPlan:
    """What happens to one attempt."""

    fired: list[str] = field(default_factory=list)
    before_signing: list[BodyChange] = field(default_factory=list)
    after_signing: list[BodyChange] = field(default_factory=list)
    signature: SignatureMode | None = None
    age_seconds: int = 0
    transport: Literal["plain", "chunked", "drip", "reset"] = "plain"
    drip_chunks: int = 1
    drip_seconds: float = 0.0
