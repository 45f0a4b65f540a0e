"""A control call, written once for sync and async callers.

A call is a generator: it yields each exchange with the control API that it needs, is sent the answer, and returns its
result. It knows no socket and no event loop. An executor carries it out: over HTTP, blocking or awaited, or in this
process. So each name, its arguments and its result are defined once, and the types follow from the handle:
`Handle[Sync]` gives the result, `Handle[Async]` something to await.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload
from urllib.parse import quote, urlencode

import orjson

from paydouble.core.documents import Document, read_json
from paydouble.core.durations import format_duration
from paydouble.testing.errors import ControlRefused

# More than a local server ever needs.
PATIENCE_SECONDS = 30.0
_LARGEST_PAGE = 1000


class Sync:
    """Marks handles whose calls return their result."""


class Async:
    """Marks handles whose calls are awaited."""


M = TypeVar("M", Sync, Async)
P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to the control API."""

    method: str
    path: str
    """Below `/_paydouble`, with its query."""
    body: Mapping[str, Any] | None
    patience: float
    """Seconds after which a server that does not answer counts as gone."""
    text: bool = False
    """Whether the answer is a text and no JSON; a refusal is JSON all the same."""

    def read(self, status: int, answer: bytes) -> Any:  # noqa: ANN401 - JSON is any
        """Return the value of an answer: its text where that is wanted, else that of its JSON, None if it is none."""
        if self.text and status < 400:  # noqa: PLR2004 - HTTP
            return answer.decode("utf-8", "replace")
        return decode(answer)


Steps = Generator[Exchange, tuple[int, Any], T]
"""A call: it is sent the status and the JSON value of each answer, None for an answer that is not JSON."""


def carry_out(steps: Steps[T], exchange: Callable[[Exchange], tuple[int, Any]]) -> T:
    """Return the result of a call, whose exchanges are made by a function that blocks."""
    __tracebackhide__ = True
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(exchange(wanted))
    except StopIteration as end:
        result: T = end.value
        return result


def ask(
    method: str, path: str, body: Mapping[str, Any] | None = None, *, patience: float = PATIENCE_SECONDS
) -> Steps[Document]:
    """Make one exchange and return its document; `ControlRefused` says what the server says."""
    __tracebackhide__ = True
    status, document = yield Exchange(method, path, body, patience)
    return _checked(method, path, status, document)


def ask_text(path: str, method: str = "GET", body: Mapping[str, Any] | None = None) -> Steps[str]:
    """Return the text of an answer that is no JSON; `ControlRefused` says what the server says."""
    __tracebackhide__ = True
    status, answer = yield Exchange(method, path, body, PATIENCE_SECONDS, text=True)
    return answer if isinstance(answer, str) else str(_checked(method, path, status, answer))


def _checked(method: str, path: str, status: int, document: Any) -> Document:  # noqa: ANN401 - JSON is any
    __tracebackhide__ = True
    if not isinstance(document, dict):
        message = f"{method} {path} was answered {status} without a JSON object; is this address really paydouble's?"
        raise ControlRefused(status, "not_paydouble", message)
    if status >= 400:  # noqa: PLR2004 - HTTP
        error = document.get("error")
        error = error if isinstance(error, dict) else {}
        message = error.get("message") or f"{method} {path} was answered {status}."
        raise ControlRefused(status, error.get("code", "refused"), message, error.get("member", ""))
    return document


def ask_all(path: str, query: Mapping[str, str | None] | None = None) -> Steps[list[Document]]:
    """Return everything that a list holds, page by page."""
    given = {name: value for name, value in (query or {}).items() if value is not None}
    items: list[Document] = []
    cursor: str | None = None
    while True:
        page = {**given, "limit": str(_LARGEST_PAGE), **({} if cursor is None else {"cursor": cursor})}
        document = yield from ask("GET", f"{path}?{urlencode(page)}")
        items += document["items"]
        cursor = document["next_cursor"]
        if cursor is None:
            return items


def encode(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON: `Decimal` exactly, `timedelta` as a duration, `datetime` as an instant."""
    return orjson.dumps(body, default=_special)


def decode(answer: bytes) -> Any:  # noqa: ANN401 - JSON is any
    """Return the value of an answer's JSON text, None when it is not JSON."""
    try:
        return read_json(answer)
    except ValueError:
        return None


def _special(value: object) -> object:
    match value:
        case Decimal():
            return orjson.Fragment(str(value))
        case timedelta():
            return format_duration(value // timedelta(milliseconds=1))
        case Mapping():
            return dict(value)
        case _:
            raise TypeError


def given(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a call takes
    """Return the members that were given; `...` marks those that were left out, since None is a value."""
    return {name: value for name, value in members.items() if value is not ...}


def segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe="")


class Executor(Protocol):
    """Carries calls out: over HTTP or in this process."""

    def run(self, steps: Steps[T]) -> Any:  # noqa: ANN401 - T, or something that gives T when it is awaited
        """Carry a call out."""

    def blocked_ports(self) -> frozenset[int]:
        """Return the ports of this machine whose listeners cannot answer until a call returns."""


class Handle(Generic[M]):
    """A part of the double that a test can query and change."""

    def __init__(self, executor: Executor, path: str = "") -> None:
        """Make calls through an executor, below a path of the control API."""
        self._executor = executor
        self._path = path


class Pending(Coroutine[Any, Any, T_co], Generic[T_co]):
    """A call that is carried out when it is awaited; `async with` awaits it and enters its result."""

    def __init__(self, work: Coroutine[Any, Any, T_co]) -> None:
        """Take the coroutine; Python warns as usual when it is never awaited."""
        self._work = work
        self._entered: Any = None

    def __await__(self) -> Generator[Any, Any, T_co]:
        """Carry the call out."""
        return self._work.__await__()

    def send(self, value: Any) -> Any:  # noqa: ANN401 - a coroutine's own, so that a task can be made of it
        """Resume it."""
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:  # noqa: ANN401 - see `send`
        """Raise an error in it."""
        return self._work.throw(*error)

    def close(self) -> None:
        """Close it."""
        self._work.close()

    async def __aenter__(self) -> T_co:
        """Carry the call out and enter what it gives."""
        self._entered = await self._work
        await self._entered.__aenter__()
        return self._entered  # type: ignore[no-any-return]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it."""
        await self._entered.__aexit__(kind, error, trace)


class Get(Generic[T_co]):
    """Turns a method that describes a call without arguments into an attribute; one to await on `Handle[Async]`."""

    def __init__(self, describe: Callable[[Any], Steps[T_co]]) -> None:
        """Take the description: a generator function."""
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Handle[Sync], owner: type) -> T_co: ...
    @overload
    def __get__(self, instance: Handle[Async], owner: type) -> Pending[T_co]: ...
    def __get__(self, instance: Handle[Any] | None, owner: type) -> Any:
        """Make the call."""
        __tracebackhide__ = True
        return self if instance is None else instance._executor.run(self._describe(instance))  # noqa: SLF001 - a friend


class Call(Generic[P, T]):
    """Turns a method that describes a call into one that makes it."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        """Take the description: a generator function."""
        self._describe = describe
        functools.update_wrapper(self, describe)  # type: ignore[arg-type]  # typeshed wants the same call

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Handle[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Handle[Async], owner: type) -> Callable[P, Pending[T]]: ...
    def __get__(self, instance: Handle[Any] | None, owner: type) -> Any:
        """Return the method of a handle."""
        if instance is None:
            return self

        @functools.wraps(self._describe)
        def method(*arguments: P.args, **members: P.kwargs) -> Any:  # noqa: ANN401 - see the overloads
            __tracebackhide__ = True
            return instance._executor.run(self._describe(instance, *arguments, **members))  # noqa: SLF001 - a friend

        return method
