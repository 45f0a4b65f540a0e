"""What firing faults add up to for one request of the API: a value that the pipeline and the shell carry out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from paydouble.faults.wire import Wire

Document = dict[str, Any]


class Answer(NamedTuple):
    """An answer that is not the operation's own."""

    status: int
    code: str
    message: str
    envelope: Literal["A", "B"] | None = None
    details: Document | None = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    content_type: str = "application/json"


class Limited(NamedTuple):
    """The headers of an injected 429; `reset_ms` is counted from now, and the sandbox's own unit holds without one."""

    limit: int
    remaining: int
    reset_ms: int
    unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] | None
    headers: Literal["full", "missing", "malformed", "past"]


@dataclass(slots=True)
class Plan:
    """Everything that the faults of one phase do to one request."""

    fired: list[str] = field(default_factory=list)
    delay_ms: int = 0
    answer: Answer | None = None
    limited: Limited | None = None
    store_answer: bool = False
    """The false answer itself is kept under the key (`sticky_5xx`)."""
    forget: bool = False
    """The operation is carried out, and its key forgotten (`lost_record`)."""
    wire: Wire | None = None
    drift: str | None = None
    """Amount by which the settled amount will differ, as a decimal text."""
    rewrite: list[Callable[[Document], None]] = field(default_factory=list)
    """Changes to the true answer's parsed body."""
    stale_for_ms: int | None = None
    unborn_for_ms: int | None = None
    """How young an object must be for a read to show its older state, or no object at all; 0 for any age."""
    expire_rate: bool = False
    remove_method: str | None = None

    @property
    def speaks(self) -> bool:
        """Return whether there is an answer, or a silence, instead of the operation's own."""
        return self.answer is not None or self.wire is not None
