"""What the merchant keeps, in sqlite: orders, and the newest version it has seen of each object of the service."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

SCHEMA = """
create table orders (
  id text primary key, amount text, currency text, shipped integer default 0, refused integer default 0,
  method integer default 0, cancelled integer default 0, key text, body blob, tried_at real, payin_id text
);
create table objects (
  id text primary key, kind text, order_id text, status text, amount text, currency text, updated_at text
);
create table wishes (
  id text primary key, order_id text, amount text, key text, body blob, tried_at real, object_id text,
  refused integer default 0
);
create table seen (event_id text primary key, at real);
create table inbox (number integer primary key, body blob);
"""
# How far along its life an object is; the higher wins when two versions are of the same time.
RANK = {
    "created": 0,
    "needs_response": 0,
    "pending": 1,
    "under_review": 1,
    "processing": 2,
    **dict.fromkeys(("succeeded", "failed", "cancelled", "won", "lost", "accepted"), 3),
}
Row = dict[str, Any]


class Store:
    """One shop's database. `checkpoint` is called wherever its process could die or its database break."""

    def __init__(self, checkpoint: Callable[[], None]) -> None:
        # One thread works with it, but another may be the one that clears it away.
        self.db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.db.row_factory = lambda cursor, row: dict(
            zip([column[0] for column in cursor.description], row, strict=True)
        )
        self.db.executescript(SCHEMA)
        # A shop that is not closed lets go of its database all the same: from 3.13 on sqlite complains otherwise.
        weakref.finalize(self, self.db.close)
        self.checkpoint = checkpoint
        self.depth = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything in the block or nothing; a block inside another is part of it."""
        if self.db.in_transaction:
            yield
            return
        self.checkpoint()
        self.db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.db.execute("rollback")
            raise
        self.db.execute("commit")
        self.checkpoint()

    def one(self, query: str, *values: object) -> Row | None:
        """Return a row, or None."""
        row: Row | None = self.db.execute(query, values).fetchone()
        return row

    def all(self, query: str, *values: object) -> list[Row]:
        """Return all rows."""
        return list(self.db.execute(query, values).fetchall())

    def run(self, query: str, *values: object) -> int:
        """Change something; returns how many rows."""
        return self.db.execute(query, values).rowcount

    def order(self, order_id: str) -> Row | None:
        """Return an order."""
        return self.one("select * from orders where id = ?", order_id)

    def objects(self, kind: str, order_id: str) -> list[Row]:
        """Return the objects of a kind that belong to an order, oldest first."""
        return self.all("select * from objects where kind = ? and order_id = ? order by rowid", kind, order_id)

    def is_newer(self, old: Row, status: str, updated_at: str) -> bool:
        """Return whether a version is newer than the one that is kept."""
        return (updated_at, RANK[status]) > (old["updated_at"], RANK[old["status"]])

    def learn(self, kind: str, order_id: str, resource: Row) -> bool:
        """Keep a version of an object unless a newer one is known; returns whether it was news."""
        status = resource["status"]
        if status not in RANK:
            return False
        old = self.one("select * from objects where id = ?", resource["id"])
        if old is not None and not self.is_newer(old, status, resource["updated_at"]):
            return False
        self.run(
            "insert or replace into objects values (?, ?, ?, ?, ?, ?, ?)",
            resource["id"],
            kind,
            order_id,
            status,
            str(resource["amount"]),
            resource["currency"],
            resource["updated_at"],
        )
        return True

    def believe(self, kind: str, order_id: str, resource: Row) -> bool:
        """Keep a version that the service has just shown; it stands over an event of the same instant."""
        # A dispute that is won, opened again and lost within one instant has three versions that no time can order.
        if resource["status"] in RANK:
            same = "update objects set updated_at = '' where id = ? and updated_at = ? and status <> ?"
            self.run(same, resource["id"], resource["updated_at"], resource["status"])
        return self.learn(kind, order_id, resource)


def total(rows: list[Row], *statuses: str) -> Decimal:
    """Add up the amounts of the rows in one of the states."""
    return sum((Decimal(row["amount"]) for row in rows if row["status"] in statuses), Decimal(0))
