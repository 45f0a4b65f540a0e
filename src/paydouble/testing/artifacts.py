"""`--paydouble-artifacts DIR`: what happened in a failed test as files.

Each payment gets its timeline as an HTML file, and each sandbox the file of its run, for `paydouble replay` and `show`.
So does a play of the state machine that has found a broken rule.

A file is named after the test, a hash of its full name, and the number of the payment in the test. So tests of
different workers (`pytest-xdist`) never write the same file, and a test that fails again replaces its own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Final

import pytest

from paydouble.runfile.files import SUFFIX, pack, unpack
from paydouble.runfile.lines import RunFileError
from paydouble.runfile.recorded import Taped
from paydouble.runfile.redaction import redacted
from paydouble.testing.calls import Sync
from paydouble.testing.errors import ControlRefused, ServerGone
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.testing.socketless import Sandbox

_TITLE: Final = "paydouble artifacts"
MOST_PAYMENTS: Final = 20
"""Payments of a sandbox that get a file; the newest."""
_LONGEST_NAME: Final = 80


def keep(
    item: pytest.Item, boxes: Iterable[SandboxHandle[Sync] | Sandbox], error: BaseException | None
) -> list[tuple[str, str]]:
    """Write the files of a test that has failed with an error; returns a section of its report, with their paths."""
    folder, stem = _folder(item.config), _stem(item.nodeid)
    lines: list[str] = []
    try:
        used = list(boxes)
        pages = list(chain.from_iterable(map(_pages, used)))
        runs = [each for each in (*map(_run, used), _run_of_play(error)) if each is not None]
        if pages or runs:
            folder.mkdir(parents=True, exist_ok=True)
            for old in chain(folder.glob(f"{stem}-*.html"), folder.glob(f"{stem}-*{SUFFIX}")):
                old.unlink(missing_ok=True)
        for number, page in zip(count(1), pages, strict=False):
            path = folder / f"{stem}-{number}.html"
            path.write_bytes(page.encode("utf-8", "replace"))
            lines.append(str(path))
        for number, run in zip(count(1), runs, strict=False):
            path = folder / f"{stem}-{number}{SUFFIX}"
            if isinstance(run, bytes):
                path.write_bytes(run)
            lines.append(str(path) if isinstance(run, bytes) else run)
    except (OSError, ServerGone, ControlRefused) as refused:
        lines.append(f"the timeline cannot be written to {str(folder)!a}: {refused}")
    return [(_TITLE, "\n".join(lines))] if lines else []


def _pages(box: SandboxHandle[Sync] | Sandbox) -> Iterator[str]:
    for pay_in in box.pay_ins.list()[-MOST_PAYMENTS:]:
        yield box.pay_ins.timeline_html(pay_in.id)


def _run(box: SandboxHandle[Sync] | Sandbox) -> bytes | str | None:
    """Return the file of a sandbox's run, why there is none, or None when nothing has happened in it."""
    try:
        run = unpack(box.export_text().encode())
    except ControlRefused as refused:
        return f"the run is not written: {refused}"
    return pack(run) if run.lines else None


def _run_of_play(error: BaseException | None) -> bytes | str | None:
    """Return the file of the play that has found what a `MerchantBug` reports; None for any other error."""
    taped = getattr(error, "taped", None)
    if not isinstance(taped, Taped):
        return None
    try:
        return pack(redacted(taped.run()))
    except RunFileError as refused:
        return f"the run is not written: {refused}"


def _folder(config: pytest.Config) -> Path:
    """Return the folder: the option's from where pytest was started, the ini key's from the project's root."""
    given = config.getoption("paydouble_artifacts")
    if given:
        return config.invocation_params.dir / str(given)
    return config.rootpath / str(config.getini("paydouble_artifacts"))


def _stem(nodeid: str) -> str:
    """Return the beginning of a test's file names: safe in every file system, and different for different tests."""
    path, _, name = nodeid.partition("::")
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{path.rpartition('/')[2]}-{name}").strip("-.")[:_LONGEST_NAME]
    return f"{plain}-{sha256(nodeid.encode('utf-8', 'replace')).hexdigest()[:8]}"
