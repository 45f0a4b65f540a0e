"""Whole lines to a stream that may fail: a full disk, a closed pipe, a terminal whose output is stopped.

Lines bypass the stream's own buffers. Those keep what could not be written and write it later, so a line that was
counted as lost would still appear. The number of lost lines is written before the next line that can be written.
"""

from __future__ import annotations

import contextlib
import io
import select
from collections.abc import Callable, Sequence
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

    def write(self, *lines: str) -> OSError | None:
        """Write lines at once; returns why some or all of them were lost."""
        try:
            self._tell()
        except OSError as error:
            self._lose(len(lines), error)
            return error
        return self._push(lines)

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
            lost, self._lost = self._lost, 0
            error = self._push([self._remark(f"{lines} not written: {self._reason}")])
            if error is not None:
                self._lost = lost  # the remark itself is none of them
                raise error

    def _push(self, lines: Sequence[str]) -> OSError | None:
        """Write lines; those that the stream does not take are lost, and it says why."""
        text = "".join(f"{line}\n" for line in lines)
        if self._raw is None:
            try:
                self._stream.write(text)
                self._stream.flush()
            except OSError as error:
                self._lose(len(lines), error)
                return error
            return None
        content = f"{chr(10) if self._torn else ''}{text}".encode(self._encoding, "backslashreplace")
        rest = memoryview(content)
        try:
            while rest:
                written = self._raw.write(rest)
                if written is None:  # another process has made the file non-blocking
                    select.select([], [self._raw], [], _PATIENCE_SECONDS)
                elif written:
                    rest = rest[written:]
        except OSError as error:
            taken = content[: len(content) - len(rest)]
            if taken:
                ended = taken.count(b"\n") - int(self._torn)
                self._torn = not taken.endswith(b"\n")
            else:
                ended = 0
            self._lose(len(lines) - ended, error)
            return error
        self._torn = False
        return None

    def _lose(self, count: int, error: OSError) -> None:
        self.lose(count, (error.strerror or type(error).__name__).lower())
