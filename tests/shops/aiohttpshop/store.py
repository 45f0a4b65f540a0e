"""The repository: all SQL of the shop."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SCHEMA = """
CREATE TABLE orders (
    id TEXT PRIMARY KEY, amount TEXT NOT NULL, currency TEXT NOT NULL, fulfilled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY, order_id TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, started REAL NOT NULL,
    state TEXT NOT NULL
);
CREATE TABLE pay_ins (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL,
    changed TEXT NOT NULL
);
CREATE TABLE refunds (
    reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, pay_in TEXT NOT NULL, amount TEXT NOT NULL, key TEXT NOT NULL,
    body BLOB NOT NULL, started REAL NOT NULL, status TEXT NOT NULL, changed TEXT NOT NULL
);
CREATE TABLE disputes (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL, amount TEXT NOT NULL, changed TEXT NOT NULL
);
CREATE TABLE inbox (event_id TEXT PRIMARY KEY, body BLOB NOT NULL, done INTEGER NOT NULL);
CREATE TABLE mails (order_id TEXT NOT NULL, kind TEXT NOT NULL);
"""


class Store:
    """One connection; every change is a transaction, and none is open while the shop waits for anything."""

    def __init__(self, path: str = ":memory:", around_commit: Callable[[], None] = lambda: None) -> None:
        """Open the database; `around_commit` is called before and after each transaction."""
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.executescript(SCHEMA)
        self.around_commit = around_commit

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is done inside, or none of it."""
        self.around_commit()
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        self.around_commit()

    def run(self, statement: str, *values: Any) -> int:
        """Execute a statement; returns how many rows it changed."""
        return self.connection.execute(statement, values).rowcount

    def all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        return self.connection.execute(statement, values).fetchall()

    def one(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query."""
        row: sqlite3.Row | None = self.connection.execute(statement, values).fetchone()
        return row

    def order(self, order_id: str) -> sqlite3.Row:
        """Return an order; KeyError when there is no such order."""
        row = self.one("SELECT * FROM orders WHERE id = ?", order_id)
        if row is None:
            raise KeyError(order_id)
        return row

    def last_attempt(self, order_id: str) -> sqlite3.Row | None:
        """Return the newest attempt to pay an order."""
        return self.one("SELECT * FROM attempts WHERE order_id = ? ORDER BY number DESC LIMIT 1", order_id)

    def of_order(self, table: str, order_id: str) -> list[sqlite3.Row]:
        """Return the rows of an order in a table."""
        return self.all(f"SELECT * FROM {table} WHERE order_id = ? ORDER BY rowid", order_id)  # noqa: S608 # our own names
