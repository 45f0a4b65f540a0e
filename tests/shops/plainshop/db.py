"""The database: one SQLite connection, tables, and transactions."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

TABLES = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, amount INTEGER NOT NULL, currency TEXT NOT NULL, status TEXT NOT NULL,
    created_at REAL NOT NULL, fulfilled_at REAL
);
-- Each POST to the payment service, with its key and its exact body, from before it is sent.
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, order_id TEXT NOT NULL, subject TEXT,
    path TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL,
    open_sends INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL, last_sent_at REAL, next_try_at REAL, resource_id TEXT
);
CREATE TABLE IF NOT EXISTS payins (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL, amount INTEGER, currency TEXT,
    payment_url TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS refunds (
    id TEXT PRIMARY KEY, payin_id TEXT NOT NULL, amount INTEGER NOT NULL, status TEXT NOT NULL,
    service_id TEXT UNIQUE, updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS disputes (
    id TEXT PRIMARY KEY, payin_id TEXT NOT NULL, amount INTEGER NOT NULL, status TEXT NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT, received_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS shipments (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS stock_moves (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS points (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mails (
    id INTEGER PRIMARY KEY, order_id TEXT NOT NULL, kind TEXT NOT NULL, sent_at REAL
);
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value REAL NOT NULL);
"""
EMPTY = """
DELETE FROM orders; DELETE FROM calls; DELETE FROM payins; DELETE FROM refunds; DELETE FROM disputes;
DELETE FROM events; DELETE FROM shipments; DELETE FROM stock_moves; DELETE FROM points; DELETE FROM mails;
DELETE FROM state;
"""


def connect(path: str = ":memory:") -> sqlite3.Connection:
    """Open a database and make its tables."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.executescript(TABLES)
    return connection


def empty(connection: sqlite3.Connection) -> None:
    """Delete all rows."""
    connection.executescript(EMPTY)


def _nothing(*, in_transaction: bool = False) -> None:
    """Watch nothing."""


class Database:
    """A connection with explicit transactions. `watch` is called around each of them."""

    def __init__(self, connection: sqlite3.Connection, watch: Callable[..., None] | None = None) -> None:
        self.connection = connection
        self.watch = watch or _nothing
        self._after_commit: list[Callable[[], None]] = []

    def all(self, sql: str, *values: object) -> list[sqlite3.Row]:
        return self.connection.execute(sql, values).fetchall()

    def one(self, sql: str, *values: object) -> Any:
        return self.connection.execute(sql, values).fetchone()

    def run(self, sql: str, *values: object) -> int:
        """Execute one statement and return the number of rows that it changed."""
        return self.connection.execute(sql, values).rowcount

    def after_commit(self, work: Callable[[], None]) -> None:
        """Call `work` when the present transaction has been committed."""
        self._after_commit.append(work)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock, and commit at the end."""
        self.watch()
        self._after_commit = []
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.watch(in_transaction=True)
            self.connection.execute("COMMIT")
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        work, self._after_commit = self._after_commit, []
        self.watch()
        for function in work:
            function()
