"""Reading files whose paths come from users."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from paydouble.core import files
from paydouble.core.files import read_regular


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    """The beginning of a long file is read, or all of a short one."""
    path = tmp_path / "a"
    path.write_bytes(b"12345")

    assert (read_regular(path, 3), read_regular(path, 9)) == (b"123", b"12345")


def test_files_that_may_never_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe without a writer, a device, a socket, and links to them are refused."""
    monkeypatch.chdir(tmp_path)  # the path of a socket has a hundred characters at most
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    said = []
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for path in (tmp_path / "pipe", tmp_path / "link", tmp_path / "socket", Path("/dev/zero")):
            with pytest.raises(OSError, match="not a regular file") as refused:
                read_regular(path, 9)
            said.append(refused.value.strerror)

    assert [each and each.split(",")[0] for each in said] == ["Is a pipe", "Is a pipe", "Is a socket", "Is a device"]


def test_a_pipe_that_replaces_a_file_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may do so between the check and the opening."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(files, "check_regular", lambda _: None)

    assert read_regular(tmp_path / "pipe", 9) == b""
