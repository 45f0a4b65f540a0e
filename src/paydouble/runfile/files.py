"""Run files on disk: lines of JSON, compressed by gzip. Anybody can send one, so reading trusts nothing.

The size is limited while the file is decompressed, so a small file that would become very large is refused early. A
file refers to no other file. Its last line says that it is whole: a file that was cut has none. Lines without
compression are read too, so that a person can look at a run with an editor and change it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Final, NamedTuple

from paydouble.core.files import read_regular
from paydouble.runfile.headers import check_header
from paydouble.runfile.lines import Line, RunFileError, dump, load

SUFFIX: Final = ".paydouble"
MOST_PACKED: Final = 64 * 1024 * 1024
"""Bytes of a file."""
MOST_BYTES: Final = 256 * 1024 * 1024
"""Bytes of its lines together."""
MOST_LINES: Final = 1_000_000
_GZIP: Final = b"\x1f\x8b"
_BROKEN: Final = (EOFError, OSError, zlib.error)
"""What gzip raises for bytes that it cannot decompress, or whose checksum is another one."""
_PIECE: Final = 65_536
_KEYS: Final = ("do", "is", "note", "end")


class Run(NamedTuple):
    """A run: its header, the lines between header and end, and the end. The first of `lines` is line 2 of the file."""

    header: Line
    lines: list[Line]
    end: Line


def text_of(run: Run) -> bytes:
    """Return the lines of a run without compression, which `unpack` reads too."""
    return b"".join(dump(line) + b"\n" for line in (run.header, *run.lines, {"end": run.end}))


def pack(run: Run) -> bytes:
    """Return the bytes of a run's file; the same run gives the same bytes."""
    return gzip.compress(text_of(run), mtime=0)


def write_run(run: Run, path: Path) -> None:
    """Write a run to a file; `RunFileError` when it cannot be written."""
    try:
        path.write_bytes(pack(run))
    except OSError as error:
        raise RunFileError(f"{path}: the run cannot be written ({error.strerror})") from None


def read_run(path: Path) -> Run:
    """Return the run of a file; `RunFileError` says in one sentence why it cannot be used."""
    try:
        packed = read_regular(path, MOST_PACKED + 1)
    except OSError as error:
        raise RunFileError(f"{path}: the file cannot be read ({error.strerror})") from None
    try:
        return unpack(packed)
    except RunFileError as error:
        raise RunFileError(f"{path}: {error}") from None


def unpack(packed: bytes) -> Run:
    """Return the run in the bytes of a file; `RunFileError` as for `read_run`."""
    if len(packed) > MOST_PACKED:
        raise RunFileError(f"the file is larger than {MOST_PACKED} bytes")
    if not packed:
        raise RunFileError("the file is empty")
    stream: IO[bytes] = BytesIO(packed)
    if packed.startswith(_GZIP):
        stream = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]  # it is read in the same way
    try:
        return _assembled(_lines(stream))
    except _Damaged:
        raise
    except RunFileError:
        _check_rest(stream)
        raise


class _Damaged(RunFileError):
    """The compression of a file is broken, or its checksum does not hold."""


def _check_rest(stream: IO[bytes]) -> None:
    """Raise `_Damaged` when the rest of a stream is damaged, which explains a wrong line.

    The checksum is at the end, after all lines.
    """
    try:
        while stream.tell() < MOST_BYTES and stream.read(_PIECE):
            pass
    except _BROKEN as error:
        raise _Damaged(f"the file is cut or damaged ({error})") from None


def _lines(stream: IO[bytes]) -> Iterator[Line]:
    size = number = 0
    while True:
        number += 1
        try:
            text = stream.readline(MOST_BYTES - size + 1)
        except _BROKEN as error:
            raise _Damaged(f"line {number}: the file is cut or damaged ({error})") from None
        size += len(text)
        if size > MOST_BYTES or number > MOST_LINES:
            raise RunFileError(f"the run is larger than {MOST_BYTES} bytes or {MOST_LINES} lines")
        if not text:
            return
        if not text.strip():
            continue
        try:
            yield load(text)
        except ValueError as error:
            raise RunFileError(f"line {number}: this is not a line of a run file: {error}") from None


def _assembled(lines: Iterable[Line]) -> Run:
    found = iter(lines)
    header = next(found, {})
    check_header(header)
    between: list[Line] = []
    for number, line in enumerate(found, 2):
        kinds = [key for key in _KEYS if key in line]
        if len(kinds) != 1 or not isinstance(line[kinds[0]], dict if kinds == ["end"] else str):
            raise RunFileError(f"line {number}: it has not exactly one of do, is, note and end")
        if kinds == ["end"]:
            if next(found, None) is not None:
                raise RunFileError(f"line {number + 1}: there are lines after the end")
            return Run(header, between, line["end"])
        between.append(line)
    raise RunFileError(f"line {len(between) + 2}: the end is missing; the file is cut")
