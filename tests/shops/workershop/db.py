"""The tables, and the queue among them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TABLES = """
CREATE TABLE orders (
    id TEXT PRIMARY KEY, minor INTEGER, currency TEXT, stock TEXT DEFAULT 'held', shipped INTEGER DEFAULT 0
);
CREATE TABLE payments (number INTEGER PRIMARY KEY, order_id TEXT, key TEXT, body TEXT, begun REAL, state TEXT);
CREATE TABLE refunds (
    reference TEXT PRIMARY KEY, order_id TEXT, payin_id TEXT, minor INTEGER, key TEXT, body TEXT, begun REAL,
    state TEXT, version TEXT DEFAULT ''
);
CREATE TABLE remote (
    id TEXT PRIMARY KEY, kind TEXT, order_id TEXT, status TEXT, minor INTEGER, currency TEXT, version TEXT
);
CREATE TABLE seen (event_id TEXT PRIMARY KEY);
CREATE TABLE stock_moves (order_id TEXT, what TEXT);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, kind TEXT, ref TEXT, payload TEXT DEFAULT '', run_at REAL, runs INTEGER DEFAULT 0,
    locked_until REAL DEFAULT 0
);
"""


class Database:
    """SQLite; `around` is called where another process could step in, or this one end.

    `before_commit` is called where a commit can fail.
    """

    def __init__(
        self,
        path: str = ":memory:",
        around: Callable[[], None] = lambda: None,
        before_commit: Callable[[], None] = lambda: None,
    ) -> None:
        self.link = sqlite3.connect(path, isolation_level=None)
        self.link.row_factory = sqlite3.Row
        self.link.executescript(TABLES)
        self.around = around
        self.before_commit = before_commit

    @contextmanager
    def begin(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Give `execute` within one transaction."""
        self.around()
        self.link.execute("BEGIN IMMEDIATE")
        try:
            yield self.execute
            self.before_commit()
        except BaseException:
            self.link.execute("ROLLBACK")
            raise
        self.link.execute("COMMIT")
        self.around()

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Run one statement."""
        return self.link.execute(sql, values)

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows."""
        return self.execute(sql, *values).fetchall()

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row."""
        return next(iter(self.rows(sql, *values)), None)
