"""The append-only list of facts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TABLE = """
CREATE TABLE facts (
    seq INTEGER PRIMARY KEY, order_id TEXT NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    source TEXT UNIQUE, UNIQUE (order_id, version)
);
CREATE TABLE remote_owners (remote_id TEXT PRIMARY KEY, order_id TEXT NOT NULL);
"""


class Stale(Exception):
    """The order has more facts than the decision was made upon."""


class Known(Exception):
    """A fact from this source has been appended before."""


@dataclass(frozen=True)
class Fact:
    """Something that happened to an order."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    source: str | None = None
    """The event that told it; appended only once."""


class Ledger:
    """Facts in SQLite."""

    def __init__(
        self,
        path: str = ":memory:",
        around_append: Callable[[], None] = lambda: None,
        bugs: frozenset[str] = frozenset(),
    ) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.executescript(TABLE)
        self.around_append = around_append
        self.bugs = bugs

    def facts(self, order_id: str) -> list[Fact]:
        """Return the facts of an order, in the order of their append."""
        sql = "SELECT kind, data, source FROM facts WHERE order_id = ? ORDER BY version"
        return [Fact(kind, json.loads(data), source) for kind, data, source in self.database.execute(sql, (order_id,))]

    def orders(self) -> list[str]:
        """Return the ids of all orders."""
        return [row[0] for row in self.database.execute("SELECT order_id FROM facts WHERE version = 1 ORDER BY seq")]

    def owner(self, payin_id: object) -> str | None:
        """Return the order to which a pay-in belongs."""
        sql = "SELECT order_id FROM remote_owners WHERE remote_id = ?"
        row = self.database.execute(sql, (str(payin_id),)).fetchone()
        return str(row[0]) if row else None

    def append(self, order_id: str, expected: int, facts: list[Fact]) -> None:
        """Append facts to an order that has `expected` of them; all or none. Raises Stale or Known."""
        self.around_append()
        self.database.execute("BEGIN IMMEDIATE")
        try:
            sql = "SELECT coalesce(max(version), 0) FROM facts WHERE order_id = ?"
            version = self.database.execute(sql, (order_id,)).fetchone()[0]
            if "no_expected_version" not in self.bugs:
                require_same(version, expected)
            for number, fact in enumerate(facts, start=version + 1):
                try:
                    self.database.execute(
                        "INSERT INTO facts (order_id, version, kind, data, source) VALUES (?, ?, ?, ?, ?)",
                        (order_id, number, fact.kind, json.dumps(fact.data), fact.source),
                    )
                except sqlite3.IntegrityError:
                    if "duplicate_is_500" in self.bugs:
                        raise
                    raise Known from None
                if fact.kind == "PayinSeen":
                    sql = "INSERT OR IGNORE INTO remote_owners VALUES (?, ?)"
                    self.database.execute(sql, (fact.data["id"], order_id))
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")
        self.around_append()


def require_same(version: int, expected: int) -> None:
    """Raise Stale unless an order has the version that a decision was made upon."""
    if version != expected:
        raise Stale
