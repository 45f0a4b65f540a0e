"""Reading files whose paths come from users: one may be a pipe without a writer, or an endless device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_KINDS: Final = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def check_regular(path: Path) -> None:
    """Raise `OSError` for anything but a regular file or a directory, without opening it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a directory raises its own error
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise OSError(errno.EINVAL, f"Is {kind}, not a regular file", str(path))


def read_regular(path: Path, most: int) -> bytes:
    """Return the first `most` bytes of a regular file; `OSError` if it is not one, or cannot be read."""
    check_regular(path)
    with open(path, "rb", opener=_open) as file:
        return file.read(most)


def _open(path: str, flags: int) -> int:
    # If a pipe has replaced the file since it was checked, opening it must not block.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
