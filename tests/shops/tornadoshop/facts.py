"""The log of facts, on sqlite3."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    kind TEXT NOT NULL,
    once TEXT UNIQUE,
    at REAL NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS fact_stream ON fact (stream);
"""


@dataclass(frozen=True)
class Fact:
    """Something that has happened."""

    number: int
    stream: str
    kind: str
    at: float
    data: dict[str, Any]


class Log:
    """Facts in the order in which we learned of them; nothing is ever changed."""

    def __init__(self, connection: sqlite3.Connection, checkpoint: Callable[..., None]) -> None:
        self.connection = connection
        self.checkpoint = checkpoint
        connection.executescript(SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all that is appended, or nothing of it."""
        self.checkpoint()
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.checkpoint(in_transaction=True)
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        self.checkpoint()

    def append(self, stream: str, kind: str, at: float, data: dict[str, Any], once: str | None = None) -> bool:
        """Append a fact; False when one with the same `once` is there already."""
        cursor = self.connection.execute(
            "INSERT OR IGNORE INTO fact (stream, kind, once, at, data) VALUES (?, ?, ?, ?, ?)",
            (stream, kind, once, at, json.dumps(data)),
        )
        return cursor.rowcount > 0

    def read(self, stream: str) -> list[Fact]:
        """Return the facts of a stream."""
        rows = self.connection.execute(
            "SELECT number, stream, kind, at, data FROM fact WHERE stream = ? ORDER BY number", (stream,)
        )
        return [Fact(number, name, kind, at, json.loads(data)) for number, name, kind, at, data in rows]

    def streams(self, kind: str) -> list[str]:
        """Return the streams that have a fact of a kind."""
        rows = self.connection.execute(
            "SELECT stream FROM fact WHERE kind = ? GROUP BY stream ORDER BY MIN(number)", (kind,)
        )
        return [name for (name,) in rows]
