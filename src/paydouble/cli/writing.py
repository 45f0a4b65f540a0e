"""Whole lines to a stream that may fail: a full disk, a closed pipe, a terminal whose output is stopped.

Lines bypass the stream's own buffers. Those keep what could not be written and write it later, so a line that was
counted as lost would still appear. The number of lost lines is written before the next line that can be written.
"""

from __future__ import annotations

import contextlib
import io
import select
from collections.abc import Callable
from typing import Any, Final, TextIO

_PATIENCE_SECONDS: Final = 1.0


class LineWriter:
    """Writes lines, and counts those that are lost."""

    def __init__(self, stream: TextIO, remark: Callable[[str], str] = "({})".format) -> None:
        """Write to a stream, to its file where it has one; `remark` turns a sentence into a line."""
        self._remark = remark
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        buffer: Any = getattr(stream, "buffer", None)
        raw = getattr(buffer, "raw", buffer)
        self._raw = raw if isinstance(raw, io.RawIOBase) else None
        self._torn = False
        """Whether the stream ends in the middle of a lost line."""
        self._lost = 0
        self._reason = ""

    def write(self, line: str) -> OSError | None:
        """Write a line; returns why it was lost."""
        try:
            self._tell()
            self._push(line)
        except OSError as error:
            self.lose(1, (error.strerror or type(error).__name__).lower())
            return error
        return None

    def lose(self, count: int, reason: str) -> None:
        """Count lines that were lost."""
        self._lost += count
        self._reason = reason

    def tell(self) -> None:
        """Write how many lines were lost, if any, as far as the stream takes it."""
        with contextlib.suppress(OSError):
            self._tell()

    def _tell(self) -> None:
        if self._lost:
            lines = "1 line was" if self._lost == 1 else f"{self._lost} lines were"
            self._push(self._remark(f"{lines} not written: {self._reason}"))
            self._lost = 0

    def _push(self, line: str) -> None:
        if self._raw is None:
            self._stream.write(line + "\n")
            self._stream.flush()
            return
        rest = memoryview(f"{chr(10) if self._torn else ''}{line}\n".encode(self._encoding, "backslashreplace"))
        while rest:
            written = self._raw.write(rest)
            if written is None:  # another process has made the file non-blocking
                select.select([], [self._raw], [], _PATIENCE_SECONDS)
            elif written:
                rest = rest[written:]
                self._torn = bool(rest)
