"""`WebhookReceiver`: the verifying receiver in its own thread, for tests that block or run in any event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self

from paydouble.testing.errors import NotAsExpected
from paydouble.testing.loops import LoopThread
from paydouble.testing.receiver import DEFAULT_SECRET, Answering, Received, Receiver

_SHOWN: Final = 20


class WebhookReceiver:
    """Receives webhooks at its own port, verifies them, keeps their bytes, and gives programmed answers.

    Verified deliveries get the `answers`, each once and in order, and then 200 (or `status`). Others are refused with
    400 or 401. A context manager; it listens from the start.
    """

    def __init__(
        self,
        secret: str = DEFAULT_SECRET,
        *,
        answers: Iterable[Answering] = (),
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """Listen and verify with a secret; port 0 takes a free one. `UsageError` when the port cannot be had."""
        self._arrived = threading.Condition()
        self._receiver = Receiver(secret, host=host, port=port, on_delivery=self._note)
        self._receiver.answer_next(*answers)
        self._thread: LoopThread | None = LoopThread("paydouble-webhook-receiver")
        try:
            self._thread.run(self._receiver.start())
        except BaseException:
            self._thread.stop()
            raise

    @property
    def url(self) -> str:
        """Return the URL to deliver to."""
        return self._receiver.url

    @property
    def secret(self) -> str:
        """Return the secret that it verifies with; set it after a rotation."""
        return self._receiver.secret

    @secret.setter
    def secret(self, secret: str) -> None:
        self._receiver.secret = secret

    @property
    def status(self) -> int:
        """Return the status that is answered after the programmed answers."""
        return self._receiver.status

    @status.setter
    def status(self, status: int) -> None:
        self._receiver.status = status

    @property
    def received(self) -> list[Received]:
        """Return the newest 10 000 deliveries, oldest first, refused ones included."""
        with self._arrived:
            return list(self._receiver.received)

    @property
    def failures(self) -> list[Exception]:
        """Return the exceptions that answering functions have raised; the sender got a 500 for each."""
        return list(self._receiver.failures)

    def answer_next(self, *answers: Answering) -> None:
        """Answer the next verified deliveries with these, each once and in order."""
        self._receiver.answer_next(*answers)

    def wait(self, wanted: int | Callable[[Received], bool] = 1, timeout: float = 5.0) -> list[Received]:
        """Return all deliveries as soon as there are `wanted`, or one that the predicate accepts.

        `NotAsExpected` after `timeout` seconds of real time; it shows what came instead.
        """
        __tracebackhide__ = True

        def enough() -> bool:
            received = self._receiver.received
            return len(received) >= wanted if isinstance(wanted, int) else any(map(wanted, received))

        with self._arrived:
            if not self._arrived.wait_for(enough, timeout):
                raise NotAsExpected(self._explain(wanted, timeout))
            return list(self._receiver.received)

    def clear(self) -> None:
        """Remove what was received; ids of accepted events stay known."""
        with self._arrived:
            self._receiver.received.clear()

    def down(self) -> None:
        """Refuse every connection until `up`; the port stays taken."""
        self._running().run(self._receiver.down())

    def up(self) -> None:
        """Listen again, at the same port."""
        self._running().run(self._receiver.up())

    def stop(self) -> None:
        """Go down for good and free the port."""
        thread, self._thread = self._thread, None
        if thread is not None:
            try:
                thread.run(self._receiver.stop())
            finally:
                thread.stop()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _running(self) -> LoopThread:
        if self._thread is None:
            message = "this webhook receiver has been stopped; make another"
            raise RuntimeError(message)
        return self._thread

    def _note(self, _: Received) -> None:
        with self._arrived:
            self._arrived.notify_all()

    def _explain(self, wanted: object, timeout: float) -> str:
        received = self._receiver.received
        what = f"{wanted} deliveries" if isinstance(wanted, int) else "a delivery that the predicate accepts"
        lines = [f"expected {what} at {self.url} within {timeout:g} s, received {len(received)}"]
        lines += [f"  {describe(each)}" for each in received[-_SHOWN:]]
        lines += [f"  a function that answers has raised {failure!r}" for failure in self._receiver.failures[-_SHOWN:]]
        if not received:
            lines.append("  is the sandbox's notification_url this receiver's, and has its clock been advanced?")
        return "\n".join(lines)


def describe(received: Received) -> str:
    """Return a delivery as one line."""
    kind = received.event.get("type", f"{len(received.body)} bytes that are no event")
    if received.error is not None:
        return f"{kind}: {received.error} (answered {received.answered})"
    return f"{kind}, attempt {received.attempt}: answered {received.answered or 'nothing'}"
