"""`--paydouble-artifacts DIR`: the timeline of each payment of a failed test as an HTML file.

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

from paydouble.testing.calls import Sync
from paydouble.testing.errors import ControlRefused, ServerGone
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.testing.socketless import Sandbox

_TITLE: Final = "paydouble artifacts"
MOST_PAYMENTS: Final = 20
"""Payments of a sandbox that get a file; the newest."""
_LONGEST_NAME: Final = 80


def keep(item: pytest.Item, boxes: Iterable[SandboxHandle[Sync] | Sandbox]) -> list[tuple[str, str]]:
    """Write the files of a failed test; returns a section of its report, with their paths."""
    folder, stem = _folder(item.config), _stem(item.nodeid)
    lines: list[str] = []
    try:
        pages = list(chain.from_iterable(map(_pages, boxes)))
        if pages:
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob(f"{stem}-*.html"):
                old.unlink(missing_ok=True)
        for number, page in zip(count(1), pages, strict=False):
            path = folder / f"{stem}-{number}.html"
            path.write_bytes(page.encode("utf-8", "replace"))
            lines.append(str(path))
    except (OSError, ServerGone, ControlRefused) as error:
        lines.append(f"the timeline cannot be written to {str(folder)!a}: {error}")
    return [(_TITLE, "\n".join(lines))] if lines else []


def _pages(box: SandboxHandle[Sync] | Sandbox) -> Iterator[str]:
    for pay_in in box.pay_ins.list()[-MOST_PAYMENTS:]:
        yield box.pay_ins.timeline_html(pay_in.id)


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
