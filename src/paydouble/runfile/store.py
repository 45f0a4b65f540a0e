"""Sandboxes in a file, so that a server goes on after it was killed: `serve --store PATH`.

A store is an SQLite database. For each sandbox it has the header of its run and its commands, written as the lines of
a run file (`headers.py`, `commands.py`), one row a command. To load a sandbox is to apply its commands (`player.py`).
Results are not stored, since they follow from the commands.

A row is committed when its command is recorded, thus before the command changes anything and before a caller is
answered. Only the row of a request is written with its answer, since then all of it is known; a request that has to
wait is written when it begins to, and once more when it is answered.

What survives: a commit is a `write` into the log of the database (WAL), which the operating system keeps when the
process is killed. `synchronous=NORMAL` does not wait for the disk, which would make a create many times slower. So
after a loss of power the latest commands may be missing, but the file is whole, and what it has is an earlier state.

A reset of a whole sandbox begins its run again: the next command removes the rows of the former one.

`user_version` is the version of the tables, and each header has the format of its lines. A release reads those of all
earlier releases.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from paydouble.core.clock import ClockMode
from paydouble.core.errors import PaydoubleError, UsageError
from paydouble.journal import RequestEntry
from paydouble.payments.events import Event
from paydouble.runfile.commands import write
from paydouble.runfile.headers import header_of
from paydouble.runfile.lines import Line, RunFileError, dump, load
from paydouble.runfile.player import Player
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recording import Answered, Beginning, Entry, Remark
from paydouble.sandbox.tenancy import NO_TENANCY, Tenancy

VERSION: Final = 2
_APPLICATION: Final = 0x70646273  # "pdbs"
# The key of a row is the number of its sandbox, and then its place among the sandbox's rows.
_MOST_ROWS: Final = 1 << 32
_TABLES: Final = (
    "CREATE TABLE ids (id TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE sandboxes (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, header TEXT NOT NULL,
        clock_start INTEGER, created_at INTEGER NOT NULL, ttl INTEGER, labels TEXT NOT NULL DEFAULT '{}')""",
    "CREATE TABLE commands (number INTEGER PRIMARY KEY, line TEXT NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
# By version: the statements that make the tables of the next version.
_UPGRADES: Final = {
    1: (
        "ALTER TABLE sandboxes ADD COLUMN ttl INTEGER",
        "ALTER TABLE sandboxes ADD COLUMN labels TEXT NOT NULL DEFAULT '{}'",
        "PRAGMA user_version = 2",
    )
}
_INSERT: Final = "INSERT INTO commands VALUES (?, ?)"
_SELECT: Final = "SELECT number, line FROM commands WHERE number >= ? AND number < ? ORDER BY number"
_DELETE: Final = "DELETE FROM commands WHERE number >= ? AND number < ?"


class StoreError(PaydoubleError):
    """A store cannot be used; the message says why, and what to do."""


class Stored(NamedTuple):
    """A sandbox from a store, and what the host knows about it. Times are in milliseconds."""

    sandbox: Sandbox
    times: int
    """How many sandboxes have had its id."""
    created_at: int
    mode: ClockMode
    """The mode of the clocks that resets make."""
    rate: float
    clock_start: int | None
    """Where these clocks begin; None for the machine's time."""
    tenancy: Tenancy


class Store:
    """An open store. No other process can open it meanwhile."""

    def __init__(self, path: Path, paths: Mapping[str, str]) -> None:
        """Open a store, or make a new one; `StoreError` when it cannot be used.

        `paths` are the paths of operations that are not the usual ones.
        """
        self._path = path
        self._paths = dict(paths)
        self._failure: str | None = None
        self._followers: dict[Sandbox, _Follower] = {}
        try:
            self._database = sqlite3.connect(path, timeout=0, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: the store cannot be opened ({error})") from None
        try:
            self._open()
        except sqlite3.Error as error:
            self._database.close()
            raise StoreError(f"{path}: {_reason(error)}") from None
        except BaseException:
            self._database.close()
            raise

    def _open(self) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        (application,) = run("PRAGMA application_id").fetchone()
        (version,) = run("PRAGMA user_version").fetchone()
        (tables,) = run("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and (application or version or tables):
            raise StoreError(f"{self._path}: this is a database of another program, and no store of paydouble")
        if application == _APPLICATION and version > VERSION:
            raise StoreError(
                f"{self._path}: the version of the store is {version}; this paydouble reads versions up to {VERSION}; "
                "install a newer paydouble"
            )
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("BEGIN IMMEDIATE")  # the lock is kept until the store is closed
        if application != _APPLICATION:
            for statement in _TABLES:
                run(statement)
        else:
            for old in range(version, VERSION):
                for statement in _UPGRADES[old]:
                    run(statement)
        run("COMMIT")

    def load(self) -> list[Stored]:
        """Return the sandboxes at the latest instants of their commands, and follow them.

        What was in flight then has failed, as in `restored`. `StoreError` when something cannot be used.
        """
        try:
            rows = self._database.execute(
                "SELECT number, id, header, clock_start, created_at, times, ttl, labels"
                " FROM sandboxes JOIN ids USING (id) ORDER BY number"
            ).fetchall()
            return [self._load(row) for row in rows]
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {_reason(error)}") from None

    def _load(self, row: tuple[int, str, str, int | None, int, int, int | None, str]) -> Stored:
        number, sandbox_id, header, clock_start, created_at, times, ttl, labels = row
        found = None
        try:
            player = Player(load(header.encode()))
            if player.start.paths != self._paths:
                raise StoreError(
                    f"{self._path}: sandbox {sandbox_id} was made with other `paths` of operations; start with those"
                )
            rows = self._database.execute(_SELECT, _range(number))
            for found, text in rows:
                player.apply(load(text.encode()), found % _MOST_ROWS + 2)
        except (RunFileError, ValueError) as error:
            where = f"sandbox {number}" if found is None else f"sandbox {number}, command {found % _MOST_ROWS}"
            raise StoreError(f"{self._path}: {where} cannot be read: {error}") from None
        box = player.sandbox
        box.identity = box.identity._replace(id=sandbox_id)  # a start state may have had another
        box.tick()
        self._follow(box, number, 0 if found is None else found % _MOST_ROWS + 1)
        player.cut_off()
        tenancy = Tenancy(ttl, json.loads(labels))
        return Stored(box, times, created_at, player.start.mode, player.start.rate, clock_start, tenancy)

    def times(self) -> dict[str, int]:
        """Return by id how many sandboxes have had it, deleted ones included."""
        return dict(self._database.execute("SELECT id, times FROM ids"))

    def check(self, box: Sandbox) -> None:
        """Raise `UsageError` when the beginning of a sandbox's run is gone, so that it cannot be stored."""
        if not box.recording.look():
            raise UsageError(
                f"sandbox {box.identity.id} has recorded more than its journals keep, so it cannot be stored; "
                "raise the settings journal_limit and journal_bytes before the run"
            )

    def begin(
        self, box: Sandbox, *, times: int, clock_start: int | None, created_at: int, tenancy: Tenancy = NO_TENANCY
    ) -> None:
        """Store a sandbox with everything that it has recorded, and follow it.

        `UsageError` when the beginning of its run is gone.
        """
        self.check(box)
        with self._writing():
            sandbox_id = box.identity.id
            self._run(
                "INSERT INTO ids VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET times = excluded.times", sandbox_id, times
            )
            number = self._run(
                "INSERT INTO sandboxes (number, id, header, clock_start, created_at, ttl, labels) VALUES"
                " ((SELECT coalesce(max(number), 0) + 1 FROM sandboxes), ?, ?, ?, ?, ?, ?)",
                sandbox_id,
                self._header(box),
                clock_start,
                created_at,
                tenancy.ttl,
                json.dumps(dict(tenancy.labels)),
            ).lastrowid
            follower = self._follow(box, number or 0, 0)
            for entry in box.recording.entries:
                follower.add(entry)

    def change_tenancy(self, box: Sandbox, tenancy: Tenancy) -> None:
        """Store another lease and other labels of a stored sandbox."""
        number = self._followers[box].number
        labels = json.dumps(dict(tenancy.labels))
        self._run("UPDATE sandboxes SET ttl = ?, labels = ? WHERE number = ?", tenancy.ttl, labels, number)

    def clock_start(self, box: Sandbox) -> int | None:
        """Return where the clocks that resets make begin in a stored sandbox; None for the machine's time."""
        found = self._run("SELECT clock_start FROM sandboxes WHERE number = ?", self._followers[box].number).fetchone()
        start: int | None = found[0]
        return start

    def flush(self, box: Sandbox) -> None:
        """Write the request that has begun to wait in a sandbox."""
        if box in self._followers:
            self._followers[box].flush()

    def remove(self, box: Sandbox) -> None:
        """Remove a sandbox that was deleted; its id stays known."""
        follower = self._followers.pop(box)
        box.recording.listener = None  # it refers to the sandbox
        with self._writing():
            self._run("DELETE FROM sandboxes WHERE number = ?", follower.number)
            self._run(_DELETE, *_range(follower.number))

    def close(self) -> None:
        """Close the file; further commands are not stored."""
        for box in self._followers:
            box.recording.listener = None
        self._followers.clear()
        self._database.close()

    def _follow(self, box: Sandbox, number: int, rows: int) -> _Follower:
        follower = _Follower(self, box, number, rows)
        self._followers[box] = follower
        box.recording.listener = follower.add
        return follower

    def _header(self, box: Sandbox) -> str:
        return dump(header_of(box, has_wall=True, paths=self._paths)).decode()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write several rows, or none of them."""
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk may have ended the transaction
                self._database.execute("ROLLBACK")
            raise

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        # A command that is missing would change what the later ones mean, so none is stored after a failure.
        if self._failure is None:
            try:
                return self._database.execute(statement, values)
            except sqlite3.Error as error:
                self._failure = f"{self._path}: the store cannot be written ({error}); free the disk and start again"
        raise StoreError(self._failure)

    def replace_run(self, follower: _Follower) -> None:
        """Replace the stored run of a sandbox by the one that its recording has begun."""
        with self._writing():
            header = self._header(follower.box)
            self._run("UPDATE sandboxes SET header = ? WHERE number = ?", header, follower.number)
            self._run(_DELETE, *_range(follower.number))

    def insert(self, number: int, line: Line) -> None:
        """Commit a line."""
        self._run(_INSERT, number, dump(line).decode())

    def update(self, number: int, line: Line) -> None:
        """Commit another text of a line."""
        self._run("UPDATE commands SET line = ? WHERE number = ?", dump(line).decode(), number)


class _Follower:
    """Stores the commands of one sandbox as they are recorded."""

    __slots__ = ("_beginning", "_early", "_request", "_rows", "_store", "box", "number")

    def __init__(self, store: Store, box: Sandbox, number: int, rows: int) -> None:
        self._store = store
        self.box = box
        self.number = number
        self._rows = rows
        self._beginning: Beginning = box.recording.beginning
        self._request: RequestEntry | None = None
        """The request that is being answered; it has no row yet."""
        self._early: dict[str, tuple[int, RequestEntry]] = {}
        """By request id: requests with a row and without an answer."""

    def add(self, entry: Entry) -> None:
        """Store an entry if it is a command."""
        if isinstance(entry, Answered):
            self._answered(entry)
            return
        if isinstance(entry, Event | Remark):
            return
        if self.box.recording.beginning is not self._beginning:
            self._store.replace_run(self)
            self._beginning = self.box.recording.beginning
            self._rows = 0
            self._early.clear()
        self.flush()
        if isinstance(entry, RequestEntry):
            self._request = entry
        else:
            self._insert(entry)

    def flush(self) -> None:
        """Write the request that has no row yet, since it has to wait."""
        request = self._request
        if request is not None:
            self._request = None
            self._early[request.id] = (self._insert(request), request)

    def _answered(self, answered: Answered) -> None:
        request = self._request
        if request is not None and request is answered.entry:
            self._request = None
            self._insert(request)
            return
        row, waited = self._early.pop(answered.entry.id, (0, None))
        if waited is not None and waited.checkout is not None:
            self._store.update(row, write(waited))

    def _insert(self, entry: Entry) -> int:
        row = self.number * _MOST_ROWS + self._rows
        self._store.insert(row, write(entry))
        self._rows += 1
        return row


def _range(sandbox: int) -> tuple[int, int]:
    """Return the numbers of a sandbox's rows: the first, and the one after the last."""
    return sandbox * _MOST_ROWS, (sandbox + 1) * _MOST_ROWS


def _reason(error: sqlite3.Error) -> str:
    """Return why a store cannot be opened or read."""
    text = str(error)
    if "locked" in text:
        return "another server has opened the store; stop it, or choose another file"
    if "not a database" in text:
        return "this is no store of paydouble; choose another file, or remove it"
    return f"the store cannot be opened ({text})"
