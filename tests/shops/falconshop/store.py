"""The database: sqlite3, no ORM. One connection, one lock, transactions that take the write lock at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
  id TEXT PRIMARY KEY, amount INTEGER NOT NULL, currency TEXT NOT NULL, customer TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'unpaid', -- unpaid paid failed cancelled review
  refunded INTEGER NOT NULL DEFAULT 0, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS payments (
  ref TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders(id), attempt INTEGER NOT NULL,
  idem_key TEXT NOT NULL, body TEXT NOT NULL, created REAL NOT NULL,
  payin_id TEXT UNIQUE, url TEXT, state TEXT NOT NULL DEFAULT 'sending', state_at INTEGER,
  checked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS refunds (
  ref TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders(id), payin_id TEXT NOT NULL,
  amount INTEGER NOT NULL, idem_key TEXT, body TEXT, created REAL NOT NULL, ticket TEXT UNIQUE,
  refund_id TEXT UNIQUE, state TEXT NOT NULL DEFAULT 'sending', state_at INTEGER);
CREATE TABLE IF NOT EXISTS disputes (
  id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders(id), payin_id TEXT NOT NULL,
  amount INTEGER NOT NULL, state TEXT NOT NULL, state_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS bookings (
  id INTEGER PRIMARY KEY, order_id TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS shipments (
  id TEXT PRIMARY KEY, order_id TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'due'); -- due sent
CREATE TABLE IF NOT EXISTS inbox (
  event_id TEXT PRIMARY KEY, body BLOB NOT NULL, state TEXT NOT NULL DEFAULT 'new', received REAL NOT NULL);
"""


class Store:
    """One connection to the database."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.row_factory = sqlite3.Row
        self.lock = threading.RLock()
        self.connection.executescript(SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def rows(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        with self.lock:
            return self.connection.execute(sql, args).fetchall()

    def row(self, sql: str, *args: Any) -> sqlite3.Row | None:
        found = self.rows(sql, *args)
        return found[0] if found else None

    def close(self) -> None:
        self.connection.close()
