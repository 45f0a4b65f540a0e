"""The books: one SQLite file, in which all that belongs together is written in one transaction."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import settings

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, amount TEXT NOT NULL, currency TEXT NOT NULL,
    shipped INTEGER NOT NULL DEFAULT 0, mails INTEGER NOT NULL DEFAULT 0, review TEXT);
-- An attempt to create a deposit. state: open (not known whether it exists), made, refused.
CREATE TABLE IF NOT EXISTS attempts (
    number INTEGER PRIMARY KEY, order_id TEXT NOT NULL, key TEXT NOT NULL, key_made REAL NOT NULL,
    body TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open', payin TEXT, payment_url TEXT);
CREATE TABLE IF NOT EXISTS payins (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL, at REAL NOT NULL);
-- A refund has the state of its request (as an attempt has), and the status that the service gives it.
CREATE TABLE IF NOT EXISTS refunds (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, payin TEXT NOT NULL, amount TEXT NOT NULL, key TEXT, key_made REAL,
    body TEXT, state TEXT NOT NULL, remote TEXT UNIQUE, status TEXT NOT NULL DEFAULT 'created',
    at REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS disputes (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, amount TEXT NOT NULL, status TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS ledger (
    kind TEXT NOT NULL, reference TEXT NOT NULL, order_id TEXT NOT NULL, amount TEXT NOT NULL,
    PRIMARY KEY (kind, reference));
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS clock (ahead REAL NOT NULL);
"""
TABLES = ("orders", "attempts", "payins", "refunds", "disputes", "ledger", "events", "clock")

Books = sqlite3.Connection


def _connect() -> Books:
    folder = Path(settings.DATA)
    folder.mkdir(parents=True, exist_ok=True)
    books = sqlite3.connect(folder / "shop.sqlite", timeout=30, isolation_level=None)
    books.row_factory = sqlite3.Row
    books.execute("PRAGMA synchronous = FULL")
    return books


@contextmanager
def transaction() -> Iterator[Books]:
    """Give the books for one transaction: all of it is on the disk afterwards, or none."""
    books = _connect()
    try:
        books.execute("BEGIN IMMEDIATE")
        yield books
        books.execute("COMMIT")
    finally:
        books.close()  # what was not committed is rolled back


def make_tables() -> None:
    books = _connect()
    books.execute("PRAGMA journal_mode = WAL")
    books.executescript(SCHEMA)
    books.close()


def row(books: Books, query: str, *values: object) -> sqlite3.Row | None:
    found: sqlite3.Row | None = books.execute(query, values).fetchone()
    return found


def rows(books: Books, query: str, *values: object) -> list[sqlite3.Row]:
    return books.execute(query, values).fetchall()


def total(books: Books, order_id: str, kind: str = "%") -> Decimal:
    """Return the sum of the order's entries of this kind."""
    found = rows(books, "SELECT amount FROM ledger WHERE order_id = ? AND kind LIKE ?", order_id, kind)
    return sum((Decimal(entry["amount"]) for entry in found), Decimal(0))


def now() -> float:
    """Return the shop's time in epoch seconds: the machine's, shifted if a test asked for that."""
    with transaction() as books:
        shift = row(books, "SELECT ahead FROM clock")
    return time.time() + (shift["ahead"] if shift else 0)


def set_time(instant: str | None) -> None:
    with transaction() as books:
        books.execute("DELETE FROM clock")
        if instant is not None:
            ahead = datetime.fromisoformat(instant).timestamp() - time.time()
            books.execute("INSERT INTO clock VALUES (?)", (ahead,))


def reset() -> None:
    with transaction() as books:
        for table in TABLES:
            books.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
