"""The port and the folder that a run gives to the shop that it starts.

Several runs on one machine must not meet at a port or in a database. A merchant file writes `{port}` and
`{temporary_folder}`, and each run has values of its own for them, the same ones at each start of the shop.

A port is kept from other runs, by a UDP socket of the same number, and is none of those that a system gives to outgoing
connections: one of these could take it while the shop is being started again.
"""

from __future__ import annotations

import atexit
import shutil
import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from paydouble.conformance.calling import CallFailed
from paydouble.conformance.merchant_file import MerchantFile
from paydouble.conformance.placeholders import RUN, fill_some, places_of
from paydouble.core.errors import UsageError

_HOST: Final = "127.0.0.1"
# Linux begins with 32768, other systems with 49152.
_PORTS: Final = range(21000, 32000)


class OfRun(NamedTuple):
    """A merchant file with the values of one run."""

    file: MerchantFile
    temporary_folder: Path | None
    """The folder for `{temporary_folder}`; None when the file does not name it."""


def with_run_values(file: MerchantFile) -> OfRun:
    """Return the file with new values in the place of `{port}` and `{temporary_folder}`.

    The values are kept until this process ends. `UsageError` when no port is free.
    """
    names = {name for _, name in places_of(file.model_dump(), RUN)}
    if not names:
        return OfRun(file, None)
    makers = {"port": _free_port, "temporary_folder": _folder}
    values = {name: makers[name]() for name in RUN if name in names}
    folder = values.get("temporary_folder")
    return OfRun(_filled(file, values), None if folder is None else Path(folder))


def _filled(value: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - plain data and models
    match value:
        case str():
            return fill_some(value, values)
        case BaseModel():
            given = {name: _filled(getattr(value, name), values) for name in value.model_fields_set}
            return value.model_copy(update=given)
        case dict():
            return {fill_some(key, values): _filled(each, values) for key, each in value.items()}
        case list() | tuple():
            return type(value)(_filled(each, values) for each in value)
        case _:
            return value


def _free_port() -> str:
    for port in _PORTS:
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind((_HOST, port))
            with closing(socket.socket()) as listener:
                listener.bind((_HOST, port))
        except OSError:
            lock.close()
            continue
        atexit.register(lock.close)
        return str(port)
    raise UsageError(f"no port from {_PORTS[0]} to {_PORTS[-1]} of {_HOST} is free for the shop")


def _folder() -> str:
    folder = TemporaryDirectory(prefix="paydouble-shop-", ignore_cleanup_errors=True)
    # The shop is started later, so it is killed before this: the last function that is registered is called first.
    atexit.register(folder.cleanup)
    return folder.name


def empty(folder: Path) -> None:
    """Remove all that is in a folder; `CallFailed` when that is not possible."""
    try:
        for each in folder.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
    except OSError as error:
        raise CallFailed(f"start: {error.filename} cannot be removed: {error.strerror}") from None
