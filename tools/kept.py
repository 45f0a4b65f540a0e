"""The outcomes of long measurements, kept in a file, so that one of many hours can be made in parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def digest_of(*folders: Path) -> str:
    """Return a digest of all Python code in some folders."""
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


class Kept:
    """The outcomes of runs, kept in a file of JSON lines, so that a measurement of hours can be stopped and continued.

    The first line names the code that was run: outcomes of other code are refused with a ValueError. A last line that a
    killed process has not finished is dropped. Without a path nothing is kept.
    """

    def __init__(self, path: Path | None, code: str) -> None:
        self._path = path
        self._outcomes: dict[str, dict[str, Any]] = {}
        if path is None:
            return
        text = path.read_text() if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        first, *lines = whole.splitlines() or [json.dumps({"code": code})]
        if first != json.dumps({"code": code}):
            raise ValueError(f"{path} has no outcomes of this code; name another file, or delete it")
        self._outcomes = dict(json.loads(line) for line in lines)
        path.write_text("".join(f"{line}\n" for line in (first, *lines)))

    def outcome_of(self, run: str, play: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the kept outcome of a run; without one, run it and keep what comes."""
        if run not in self._outcomes:
            self._outcomes[run] = outcome = play()
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps([run, outcome]) + "\n")
        return self._outcomes[run]
