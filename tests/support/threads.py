"""Whether a test leaves threads behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bounds import AT_MOST_SECONDS


@contextmanager
def no_thread_left() -> Iterator[None]:
    """Fail when the block leaves a thread that was not there before; one that ends meanwhile is of an earlier test."""
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(AT_MOST_SECONDS)  # one that was told to end needs a busy machine's time for it
    assert not any(thread.is_alive() for thread in left)
