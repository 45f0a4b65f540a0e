"""The tables, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

SCHEMA = """
CREATE TABLE orders (
    id TEXT PRIMARY KEY, minor INTEGER NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL,
    attempt TEXT NOT NULL DEFAULT 'none', attempt_key TEXT, attempt_body TEXT, attempt_at REAL,
    refunded TEXT NOT NULL DEFAULT '0', marked_paid INTEGER NOT NULL DEFAULT 0, fulfilled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE objects (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, order_id TEXT NOT NULL, parent TEXT, status TEXT NOT NULL,
    amount TEXT NOT NULL, currency TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE TABLE refund_requests (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, payin_id TEXT NOT NULL, amount TEXT NOT NULL,
    state TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL, service_id TEXT
);
CREATE TABLE inbox (
    fact TEXT PRIMARY KEY, number INTEGER NOT NULL, body TEXT NOT NULL, processed INTEGER NOT NULL DEFAULT 0
);
"""


class Database:
    """One connection; each transaction holds the lock from its beginning."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.connection.row_factory = sqlite3.Row
        self.connection.executescript(SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit at the end, or roll back."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """Return what a query finds."""
        return self.connection.execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> sqlite3.Row | None:
        """Return the first row that a query finds."""
        found: sqlite3.Row | None = self.connection.execute(query, values).fetchone()
        return found
