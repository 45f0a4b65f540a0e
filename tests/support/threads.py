"""Whether a test leaves threads behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_thread_left() -> Iterator[None]:
    """Fail when the block leaves a thread that was not there before; one that ends meanwhile is of an earlier test."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before
