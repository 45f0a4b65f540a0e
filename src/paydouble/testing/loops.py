"""An event loop in its own thread, for work that must continue while the test's thread waits or blocks."""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeVar

from paydouble.core.errors import UsageError

T = TypeVar("T")


def check_asyncio(what: str, instead: str) -> None:
    """Raise `UsageError` unless asyncio runs here; trio, for instance, would fail somewhere inside aiohttp."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(f"{what} needs asyncio, and no event loop of asyncio runs here; {instead}") from None


def blocked_ports() -> frozenset[int]:
    """Return the ports at which this thread's running event loop listens: it cannot answer while the thread waits.

    asyncio's own loops show them by their selector, which has no public name. For other loops (uvloop, or the one of
    Windows) the ports are not known, and the result is empty.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return frozenset()
    selector = getattr(loop, "_selector", None)
    watched = selector.get_map() if isinstance(selector, selectors.BaseSelector) else {}
    return frozenset(port for key in watched.values() if (port := _listening_port(key.fd)) is not None)


def _listening_port(fd: int) -> int | None:
    try:
        with socket.socket(fileno=os.dup(fd)) as watched:
            if watched.family in {socket.AF_INET, socket.AF_INET6} and watched.getsockopt(
                socket.SOL_SOCKET, socket.SO_ACCEPTCONN
            ):
                port: int = watched.getsockname()[1]
                return port
    except OSError:
        pass  # a pipe, or a system that does not show what listens
    return None


def is_this_machine(host: str) -> bool:
    """Return whether a host of a URL is this machine, as far as its name shows."""
    if host in {"localhost", "host.docker.internal", socket.gethostname()}:
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run a function beside the event loop and return its result.

    Not in the loop's own pool, whose threads are waited for when a process ends: a function that never returns must
    not keep a test run from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return  # the wait was cancelled
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # without an error there is one

    def main() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where it is awaited
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=main, name="paydouble-answer", daemon=True).start()
    return await done


class LoopThread:
    """A daemon thread that runs an event loop until `stop`."""

    def __init__(self, name: str) -> None:
        """Start it; the name is shown by debuggers."""
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._main, args=(started,), name=name, daemon=True)
        self._thread.start()
        self._loop = started.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and return its result; an error is raised here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """End the loop and wait for the thread."""
        if self._end is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()

    def _main(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        try:
            asyncio.run(self._until_stopped(started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)  # raised where the start is awaited

    async def _until_stopped(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        self._end = asyncio.Event()
        started.set_result(asyncio.get_running_loop())
        await self._end.wait()
