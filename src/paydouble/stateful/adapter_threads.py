"""Threads for the adapter of a shop that calls the service over sockets.

Everything that a play consists of (the sandbox, its clock, the rules) belongs to one thread, the machine's. In process
that is the thread in which the merchant's code runs too. A shop that calls over sockets sends its requests while the
adapter's method waits for the shop, so the method runs in a thread of its own, and the machine's thread does jobs until
the method returns:

    machine's thread          worker              server's thread
    run(pay) ───────────────► pay(order-1) ──► the shop ──► POST /api/v1/…
      job ◄────────────────────────────────────────────────── do(exchange)
      reply ──────────────────────────────────────────────► the shop
    result ◄───────────────── return

A job may call the adapter again, for a second click or a webhook that comes meanwhile. That is another `run` inside the
job, with another worker, and its loop does the jobs of both calls. So no state is shared between threads, and a shop
that sends one request after the other has its jobs done in their order.

The shop may hold a lock while it asks the service, so that the inner call waits for the outer one. Then the inner one
is postponed (`Blocked`): the outer one goes on, and before it returns the inner one has come to its end. What the inner
one then raises is raised by the outer one, unless it only says that nothing was done.

A method that does not return is left behind: its thread ends when the shop answers it or dies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from paydouble.inprocess import Unreachable
from paydouble.stateful.merchant import Refused
from paydouble.stateful.verdicts import Blocked, Hanging, ProcessKilled, Runaway
from paydouble.stateful.watchdog import load_factor

T = TypeVar("T")
_SLICES: Final = 10
# How many limits a shop may wait for one answer that a fault holds back: 120 s by default, as in process.
_LIMITS_OF_AN_ANSWER: Final = 12
_JOIN_SECONDS: Final = 1.0
# The share of the limit after which a call inside another one, in which nothing happens, waits for that one.
_BLOCKED: Final = 1 / 40
# A shop reads the clock a few times for each request.
_MOST_LOOKS: Final = 5000
_NO_TIMEOUT: Final = "it waits for an answer that does not come, so its HTTP client seems to have no timeout"
_ONLY_LOOKS: Final = "it asks for the time again and again, which passes only while it sleeps by the play's clock"


class PlayEnded(Exception):
    """A job came too late: its play has ended, or its process was killed."""


# How a call can end that came to nothing: the shop declined it, did not answer, or was killed.
_NOTHING_DONE: Final = (Refused, Unreachable, PlayEnded)


class _Job:
    def __init__(self, work: Callable[[], Any], *, from_socket: bool, only_looks: bool) -> None:
        self._work = work
        self._from_socket = from_socket
        self.only_looks = only_looks
        self.done: Future[Any] = Future()

    def end(self) -> None:
        """Do nothing any more: a socket gets None and closes, a caller `PlayEnded`."""
        if self._from_socket:
            self.done.set_result(None)
        else:
            self.done.set_exception(PlayEnded())

    def run(self) -> None:
        """Do it; what ends a call of the merchant is raised here, since a socket cannot pass it on."""
        try:
            result = self._work()
        except (ProcessKilled, Runaway, Hanging) as ended:
            if self._from_socket:
                raise
            self.done.set_exception(ended)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self.done.set_exception(error)
        else:
            self.done.set_result(result)


class AdapterThreads:
    """The workers of one play, and the jobs of the machine's thread, which makes it."""

    def __init__(self, seconds: float) -> None:
        """Take the limit in real time for a call in which nothing happens."""
        self.seconds = seconds
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._idle: list[_Worker] = []
        self._left_behind: list[_Worker] = []
        self._unanswered: list[_Job] = []
        """Jobs of a process that is being killed."""
        self._held = 0
        self._depth = 0
        self._blocked: list[tuple[_Worker, Future[Any]]] = []
        """Calls that wait for the one that is running, and how they end."""
        self._adding = threading.Lock()
        self._closed = False
        self._owner = threading.get_ident()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Do nothing: `run` has the limit. It takes the place of `Watchdog.watch`."""
        yield

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Mark the block as one in which a fault holds an answer back, so that the shop's wait is no hang."""
        with self._adding:
            self._held += 1
        try:
            yield
        finally:
            with self._adding:
                self._held -= 1

    def run(self, work: Callable[[], T], *, limits: int = 1) -> T:
        """Run a method of the adapter in a worker, and do jobs until it returns; returns or raises what it does.

        `Hanging` when nothing happens for the limit, or `limits` times as long; inside another call `Blocked`, much
        earlier.
        """
        worker = self._idle.pop() if self._idle else _Worker()
        future = worker.start(work, lambda _: self._jobs.put(None))
        ended: list[Future[Any]] = []
        self._depth += 1
        try:
            self._do_jobs_until(future, limits)
            while self._depth == 1 and self._blocked:
                waiting, end = self._blocked[-1]
                self._do_jobs_until(end, limits)
                self._blocked.pop()
                self._idle.append(waiting)
                ended.append(end)
        except Blocked:
            self._blocked.append((worker, future))
            raise
        except BaseException:
            self._left_behind += [worker, *(waiting for waiting, _ in self._blocked)]
            self._blocked.clear()
            raise
        finally:
            self._depth -= 1
        self._idle.append(worker)
        result = future.result()
        for end in ended:
            with suppress(*_NOTHING_DONE):
                end.result()
        return result

    def _do_jobs_until(self, future: Future[Any], limits: int) -> None:
        can_wait = self._depth > 1 and limits == 1
        slice_seconds = self.seconds * (_BLOCKED * load_factor() if can_wait else 1 / _SLICES)
        idle = held = looks = 0
        while not future.done():
            try:
                job = self._jobs.get(timeout=slice_seconds)
            except Empty:
                if self._held:
                    held += 1
                    if held * slice_seconds >= self.seconds * _LIMITS_OF_AN_ANSWER:
                        raise Hanging(_NO_TIMEOUT) from None
                elif can_wait:
                    raise Blocked from None
                else:
                    idle += 1
                    held = 0
                    if idle >= _SLICES * limits * load_factor():
                        raise Hanging from None
            else:
                if job is not None:
                    idle = held = 0
                    looks = looks + 1 if job.only_looks else 0
                    if looks > _MOST_LOOKS:
                        self._unanswered.append(job)
                        raise Hanging(_ONLY_LOOKS)
                    self._do(job)

    def do(self, work: Callable[[], T], *, from_socket: bool = False, only_looks: bool = False) -> Future[T]:
        """Have a job done in the machine's thread, and return its future. One that `only_looks` changes nothing.

        When the play has ended or the process was killed, the future has `PlayEnded`, or None when the job came
        `from_socket`. What ends a call of the merchant is raised by `run` for such a job, and by the future otherwise.
        """
        job = _Job(work, from_socket=from_socket, only_looks=only_looks)
        if threading.get_ident() == self._owner:
            job.run()
            return job.done
        with self._adding:
            if self._closed:
                job.end()
            else:
                self._jobs.put(job)
        return job.done

    def release(self) -> None:
        """End the jobs whose process has been killed: it is dead by now, and gets no answer."""
        for job in self._unanswered:
            job.end()
        self._unanswered.clear()

    def close(self) -> None:
        """End all jobs and threads; a thread that waits for a shop that does not answer ends with it."""
        with self._adding:
            self._closed = True
        with suppress(Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.end()
        self.release()
        for worker in (*self._idle, *self._left_behind):
            worker.stop()
        self._idle.clear()
        self._left_behind.clear()

    def _do(self, job: _Job) -> None:
        try:
            job.run()
        except BaseException:
            self._unanswered.append(job)
            raise


class _Worker:
    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._main, name="paydouble-adapter", daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], T], ended: Callable[[Future[T]], None]) -> Future[T]:
        future: Future[T] = Future()
        future.add_done_callback(ended)

        def run() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - raised in the machine's thread
                future.set_exception(error)
            else:
                future.set_result(result)

        self._work.put(run)
        return future

    def stop(self) -> None:
        self._work.put(None)
        self._thread.join(_JOIN_SECONDS)

    def _main(self) -> None:
        while (run := self._work.get()) is not None:
            run()
            del run
