"""Control calls as values: what goes into a body, and what a description becomes on a handle."""

from __future__ import annotations

import asyncio
import inspect
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from queue import SimpleQueue
from types import MappingProxyType

import pytest

from paydouble.testing.calls import encode, given, segment
from paydouble.testing.handles import Clock, Faults
from paydouble.testing.loops import LoopThread, in_daemon_thread


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("49.90"), b"49.90"),
        (timedelta(hours=1, milliseconds=5), b'"1h5ms"'),
        (datetime(2026, 1, 1, tzinfo=UTC), b'"2026-01-01T00:00:00+00:00"'),
        (MappingProxyType({"a": (1, None)}), b'{"a":[1,null]}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_body_takes_what_a_test_has_at_hand(value: object, text: bytes) -> None:
    """Money exactly, lengths of time as durations, instants with their zone."""
    assert encode({"x": value}) == b'{"x":%s}' % text


def test_a_body_takes_nothing_else() -> None:
    """A set has no order, and an object no meaning."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        encode({"x": {1}})


def test_what_was_left_out_is_not_said() -> None:
    """None can be said."""
    assert given(a=..., b=None, c=1) == {"b": None, "c": 1}


def test_a_name_is_one_segment() -> None:
    """Whatever it is made of."""
    assert segment("a/b?c é") == "a%2Fb%3Fc%20%C3%A9"


def test_a_call_explains_itself() -> None:
    """Its documentation and its signature are those of its description."""
    assert "Arm a fault" in (inspect.getdoc(Faults.add) or "")
    assert "until_idle" in inspect.signature(Clock.advance.__wrapped__).parameters  # type: ignore[attr-defined]


def test_a_loop_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for its start ends with the error."""
    monkeypatch.setattr(LoopThread, "_until_stopped", lambda *_: None)

    with pytest.raises(ValueError, match="coroutine"):
        LoopThread("test")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_breaks_does_so_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its thread, as any thread's failure; stopping it is no mistake."""
    monkeypatch.setattr(asyncio.Event, "wait", lambda _: 1 / 0)
    thread = LoopThread("test")
    thread._thread.join()  # noqa: SLF001 - until it has broken

    thread.stop()


async def test_work_in_a_thread_is_awaited_or_given_up() -> None:
    """Its result comes back, its error is raised here, and a result that is not awaited any more is dropped."""
    release, go_on = LoopThread("test"), threading.Event()
    running: SimpleQueue[threading.Thread] = SimpleQueue()

    def held() -> None:
        running.put(threading.current_thread())
        go_on.wait()

    try:
        assert await in_daemon_thread(lambda: release.run(asyncio.sleep(0, 7))) == 7
        with pytest.raises(ZeroDivisionError):
            await in_daemon_thread(lambda: 1 / 0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_daemon_thread(held), 0.001)
        go_on.set()
        await in_daemon_thread(lambda: running.get().join())  # until its result has come
        assert await in_daemon_thread(lambda: 8) == 8
    finally:
        release.stop()
        release.stop()
