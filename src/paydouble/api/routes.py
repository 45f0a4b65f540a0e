"""From method and path to an operation. A wrong method on a known path is not found: the contract has no 405."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar
from urllib.parse import unquote


class Routed(Protocol):
    """A row of a routing table."""

    @property
    def method(self) -> str:
        """The HTTP method."""

    @property
    def path(self) -> str:
        """The path template, with `{name}` for a segment that varies."""


T = TypeVar("T", bound=Routed)


class Routes(dict[tuple[str, str], tuple[T, dict[str, str]]]):
    """A routing table. As a mapping it holds the paths without variables, which most requests are for."""

    def __init__(self, rows: Sequence[T], prefix: str = "") -> None:
        """Compile the rows."""
        super().__init__()
        self._templates: list[tuple[str, tuple[str, ...], T]] = []
        self.fixed: dict[str, str] = {}
        """Each path without variables by itself, so that the entries of a journal share one text."""
        for row in rows:
            path = prefix + row.path
            if "{" in path:
                self._templates.append((row.method, tuple(path.split("/")), row))
            else:
                self[(row.method, path)] = (row, {})
                self.fixed[path] = path

    def match(self, method: str, path: str) -> tuple[T, dict[str, str]] | None:
        """Return the row that answers, with its path's variables, or None."""
        found = self.get((method, path))
        if found is not None:
            return found
        if path in self.fixed:
            return None  # known under another method, so it is not the id of a resource
        segments = path.split("/")
        for wanted, template, row in self._templates:
            if wanted != method or len(template) != len(segments):
                continue
            params = _bind(template, segments)
            if params is not None:
                return row, params
        return None


def _bind(template: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    params: dict[str, str] = {}
    for part, segment in zip(template, segments, strict=True):
        if part.startswith("{"):
            if not segment:
                return None
            params[part[1:-1]] = unquote(segment, errors="replace")
        elif part != segment:
            return None
    return params
