"""What a receiver under a test's control answers: a status, a late one, none at all, or a crash after the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from paydouble.core.errors import UsageError

if TYPE_CHECKING:
    from paydouble.testing.receiver import Received

Work = Callable[["Received"], Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `work`, if there is any, is done first; with the ending `work` its result is what is answered."""

    status: int = 200
    after: float = 0.0
    """Seconds of real time before it leaves."""
    ending: Literal["answer", "hang", "crash", "work"] = "answer"
    work: Work | None = None


Answering = int | Answer | Work
"""A status, an answer, or a function that is given the delivery and returns one of them (None is 200)."""


def slow(seconds: float, status: int = 200) -> Answer:
    """Return an answer that leaves after a time (real seconds)."""
    return Answer(status, after=seconds)


def hang(work: Work | None = None) -> Answer:
    """Return an answer that never comes: the connection stays open until the sender or the receiver ends."""
    return Answer(ending="hang", work=work)


def crash(work: Work | None = None) -> Answer:
    """Return the end of a process after its work is done: the connection breaks off without an answer."""
    return Answer(ending="crash", work=work)


def as_answer(answering: object) -> Answer:
    """Return what was meant; `UsageError` when that is no answer."""
    if answering is None:
        return Answer()
    if isinstance(answering, Answer):
        return answering
    if isinstance(answering, int) and 200 <= answering <= 599:  # noqa: PLR2004 - HTTP
        return Answer(answering)
    if callable(answering):
        return Answer(ending="work", work=answering)
    message = f"{answering!r} is no answer; give a status from 200 to 599, an Answer, or a function that returns one"
    raise UsageError(message, member="answers")


def decision(result: object) -> Answer:
    """Return what a function that answers has decided; `UsageError` when that is no answer, or wants more work."""
    answer = as_answer(result)
    if answer.work is not None:
        raise UsageError("a function answered with more work; do that in the function", member="answers")
    return answer
