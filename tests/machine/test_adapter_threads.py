"""The threads of an adapter, and the jobs of the machine's thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext, suppress

import pytest
from bounds import AT_MOST_SECONDS

from paydouble.stateful import Refused, Unreachable
from paydouble.stateful.adapter_threads import AdapterThreads, PlayEnded
from paydouble.stateful.verdicts import Blocked, Hanging, ProcessKilled
from paydouble.stateful.watchdog import load_factor


@pytest.fixture
def threads() -> Iterator[AdapterThreads]:
    """Return threads that are ended afterwards, with a limit that no busy machine reaches."""
    made = AdapterThreads(AT_MOST_SECONDS)
    yield made
    made.close()


def test_jobs_are_done_in_the_machines_thread(threads: AdapterThreads) -> None:
    """Also those of a call inside a job, and their results come back."""

    def outer() -> tuple[int, int]:
        return threads.do(lambda: threads.run(inner)).result(), threading.get_ident()

    def inner() -> int:
        return threads.do(threading.get_ident).result()

    in_job, in_worker = threads.run(outer)

    assert in_job == threading.get_ident() != in_worker


def test_a_call_that_waits_for_the_outer_one_is_postponed() -> None:
    """It goes on when the outer one lets the lock go, and both have ended when the outer one returns."""
    lock, done, blocked = threading.Lock(), [], []
    threads = AdapterThreads(1)

    def outer() -> None:
        with lock:
            threads.do(click).result()
            done.append("outer")

    def click() -> None:
        try:
            threads.run(inner)
        except Blocked:
            blocked.append(True)

    def inner() -> None:
        with lock:
            done.append(threads.do(lambda: "inner").result())

    threads.run(outer)
    threads.close()

    assert (done, blocked) == (["outer", "inner"], [True])


@pytest.mark.parametrize(("raised", "shown"), [(KeyError, True), (Refused, False), (Unreachable, False)])
def test_what_a_postponed_call_raises_is_raised_by_the_outer_one(raised: type[Exception], shown: bool) -> None:
    """A crash is no less one for its waiting; that nothing was done, or nobody answered, is an ordinary end."""
    lock = threading.Lock()
    threads = AdapterThreads(1)

    def outer() -> None:
        with lock:
            threads.do(click).result()

    def click() -> None:
        with suppress(Blocked):
            threads.run(inner)

    def inner() -> None:
        with lock:
            raise raised

    with pytest.raises(raised) if shown else nullcontext():
        threads.run(outer)

    threads.close()


def test_a_call_that_waits_forever_hangs() -> None:
    """Nothing lets its lock go, also when the outer call is over."""
    released = threading.Event()
    threads = AdapterThreads(0.2)

    def click() -> None:
        with suppress(Blocked):
            threads.run(lambda: released.wait(AT_MOST_SECONDS))

    with pytest.raises(Hanging):
        threads.run(lambda: threads.do(click).result())

    released.set()
    threads.close()


def test_a_call_after_another_has_the_same_thread(threads: AdapterThreads) -> None:
    """So that an adapter may keep what belongs to a thread, such as a database connection."""

    def nested() -> int:
        threads.do(lambda: threads.run(threading.get_ident)).result()
        return threading.get_ident()

    assert threads.run(nested) == threads.run(threading.get_ident)


@pytest.mark.parametrize("error", [ValueError, ProcessKilled])
def test_an_error_of_a_job_is_raised_where_it_is_waited_for(
    threads: AdapterThreads, error: type[BaseException]
) -> None:
    """And then by the call."""
    caught: list[BaseException] = []

    def work() -> None:
        try:
            threads.do(fails).result()
        except BaseException as raised:
            caught.append(raised)
            raise

    def fails() -> None:
        raise error

    with pytest.raises(error):
        threads.run(work)

    assert [type(each) for each in caught] == [error]


def test_what_ends_a_call_over_a_socket_is_raised_by_the_call(threads: AdapterThreads) -> None:
    """The socket waits until the process is dead, and gets no answer."""
    sent = threading.Event()
    futures = []

    def work() -> None:
        futures.append(threads.do(_killed, from_socket=True))
        sent.wait(AT_MOST_SECONDS)

    with pytest.raises(ProcessKilled):
        threads.run(work)
    assert not futures[0].done()
    threads.release()
    sent.set()

    assert futures[0].result() is None


def _killed() -> None:
    raise ProcessKilled


def test_a_job_that_comes_too_late_is_refused() -> None:
    """The play has ended; a socket gets nothing."""
    threads = AdapterThreads(5)
    waiting = _in_thread(lambda: threads.do(int))
    threads.close()
    late = [_in_thread(lambda: threads.do(int)), _in_thread(lambda: threads.do(int, from_socket=True))]

    for future in (waiting, late[0]):
        with pytest.raises(PlayEnded):
            future.result()
    assert late[1].result() is None


def _in_thread(work: Callable[[], Future[int]]) -> Future[int]:
    made: list[Future[int]] = []
    thread = threading.Thread(target=lambda: made.append(work()))
    thread.start()
    thread.join()
    return made[0]


def test_a_job_of_the_machines_own_thread_is_done_at_once(threads: AdapterThreads) -> None:
    """There is nobody else who could do it."""
    assert threads.do(lambda: 7).result() == 7


def test_a_call_may_take_as_long_as_it_does_something() -> None:
    """Each job begins the limit anew."""
    threads, stopped = AdapterThreads(0.2), threading.Event()

    def work() -> None:
        for _ in range(4):
            threading.Event().wait(0.1)
            threads.do(int).result()
        stopped.wait(30)

    with pytest.raises(Hanging):
        threads.run(work)
    stopped.set()
    threads.close()


@pytest.mark.parametrize(("load", "factor"), [((0.0,), 1.0), ((3.0,), 3.0), ((99.0,), 10.0)])
def test_a_busy_computer_has_more_time(monkeypatch: pytest.MonkeyPatch, load: tuple[float], factor: float) -> None:
    """By its load average for each processor, at most ten times as much."""
    monkeypatch.setattr(os, "getloadavg", lambda: load, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    assert load_factor() == factor


def test_a_computer_without_a_load_average_counts_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "getloadavg", raising=False)

    assert load_factor() == 1
