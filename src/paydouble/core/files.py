"""Files from anybody: a path may lead to a pipe that nobody writes to, or to a device that never ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_KINDS: Final = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def check_regular(path: Path) -> None:
    """Refuse what is neither a regular file nor a directory, with `OSError`; nothing is opened."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a directory has an error of its own
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise OSError(errno.EINVAL, f"Is {kind}, not a regular file", str(path))


def read_regular(path: Path, most: int) -> bytes:
    """Return the first `most` bytes of a regular file; `OSError` when it is none, or cannot be read."""
    check_regular(path)
    with open(path, "rb", opener=_open) as file:
        return file.read(most)


def _open(path: str, flags: int) -> int:
    # A pipe that has come into the place of the file since it was looked at must not stop the caller.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
