"""A database in one SQLite file, safe with many threads and processes, or in memory."""

import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar
from urllib.parse import quote

from prowess.errors import WorldError
from prowess.sources.private_folders import make_private_folder
from prowess.state.database import Row, Transaction
from prowess.state.forks import disconnect_before_forks
from prowess.state.migrations import MIGRATIONS, plan_migration

__all__ = ["MEMORY", "SqliteDatabase"]

MEMORY = ":memory:"
_BUSY_SECONDS = 30.0
_RETRY_SECONDS = 0.01
_CANNOT_BE_OPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_T = TypeVar("_T")


class SqliteDatabase:
    """A database in a file, made when it is first written; or in memory, gone when it is closed."""

    def __init__(self, path: str) -> None:
        self.lock = threading.Lock()
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._announced = 0
        self._data_version: int | None = None
        """When `_announced` was read; None if it must be read again."""
        self._changes = 0
        self._changes_version: int | None = None
        """The same for `_changes`, in which the writes of this connection are counted already."""
        disconnect_before_forks(self)

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of one statement; none while there is no file yet, which reading does not make."""
        with self._reading() as connection:
            return [] if connection is None else connection.execute(statement, parameters).fetchall()

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Return what `work` returns, when its changes are on the disk."""
        with self.lock, self._translated():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            transaction = _SqliteTransaction(connection)
            try:
                result = work(transaction)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            if transaction.is_announced:
                self._data_version = None
            self._changes += 1
            return result

    def announced(self) -> int:
        """Return the count of announcements; it is read again when another connection has written anything."""
        with self._reading() as connection:
            if connection is None:
                return 0
            (data_version,) = connection.execute("PRAGMA data_version").fetchone()
            if data_version != self._data_version:
                (self._announced,) = connection.execute("SELECT number FROM revisions").fetchone()
                self._data_version = data_version if connection is self._connection else None
            return self._announced

    def changes(self) -> int:
        """Return a number that grows with whatever is written; always, in a file that may only be read."""
        with self._reading() as connection:
            if connection is None:
                return self._changes
            (data_version,) = connection.execute("PRAGMA data_version").fetchone()
            if data_version != self._changes_version:
                self._changes += 1
                self._changes_version = data_version if connection is self._connection else None
            return self._changes

    def close(self) -> None:
        """Close the file."""
        with self.lock, self._translated():
            self._close()

    def disconnect(self) -> None:
        """Close the file for a fork. What is in memory stays: the child goes on with a copy of its own."""
        if self._path != MEMORY:
            self._close()

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection | None]:
        """Give a connection; None while there is no file."""
        with self.lock, self._translated():
            if self._connection is not None or self._path == MEMORY:
                yield self._open()
            elif not os.path.exists(self._path):
                yield None
            elif _is_writable(self._path):
                yield self._open()
            else:
                connection = self._open_read_only()
                try:
                    yield connection
                finally:
                    connection.close()

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise WorldError(
                f"the state in {self._path} cannot be used: {error}",
                hint="check the disk and the permissions; a damaged file can be moved away, which forgets its state",
                code="state-unusable",
            ) from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path != MEMORY:
                make_private_folder(os.path.dirname(self._path))
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _enter_wal_mode(connection)
                connection.execute("PRAGMA synchronous = FULL")
                self._migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _open_read_only(self) -> sqlite3.Connection:
        """Return a connection to a file that this user may read but not write, or to a copy with today's schema."""
        connection = _connect_read_only(self._path)
        try:
            if _schema_version(connection) == len(MIGRATIONS):
                return connection
            copy = sqlite3.connect(MEMORY, isolation_level=None)
            connection.backup(copy)
        except BaseException:
            connection.close()
            raise
        connection.close()
        self._migrate(copy)
        return copy

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the schema to this program's version, one process at a time."""
        if not plan_migration(_schema_version(connection), place=self._path):
            return
        connection.execute("BEGIN IMMEDIATE")
        for statement in plan_migration(_schema_version(connection), place=self._path):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._data_version = self._changes_version = None


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.is_announced = False

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(statement, parameters).fetchall()

    def run(self, statement: str, parameters: Sequence[object] = ()) -> int:
        return self._connection.execute(statement, parameters).rowcount

    def announce(self) -> None:
        self._connection.execute("UPDATE revisions SET number = number + 1")
        self.is_announced = True

    def wake(self) -> None:
        """Every write is noticed."""


def _connect_read_only(path: str) -> sqlite3.Connection:
    """Return a connection that sees what others have written, as far as their log may be read.

    Where there is no log, and none can be made, SQLite takes a file in WAL mode only for one that nobody writes.
    """
    address = f"file:{quote(path)}?mode=ro"
    connection = sqlite3.connect(address, timeout=_BUSY_SECONDS, uri=True)
    try:
        _schema_version(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in _CANNOT_BE_OPENED:
            raise
        return _connect_to_copy(path) or sqlite3.connect(f"{address}&immutable=1", uri=True)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_copy(path: str) -> sqlite3.Connection | None:
    """Return a connection to a copy in memory, with what a process that has crashed left in the log.

    None if it left no log, or one that may not be read. Without its log, such a file may even look damaged.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "state.db")
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
            shutil.copyfile(path, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                found = sqlite3.connect(MEMORY, isolation_level=None)
                connection.backup(found)
                return found
    except OSError:
        return None


def _enter_wal_mode(connection: sqlite3.Connection) -> None:
    """Set the journal's mode. For this, SQLite does not wait for others by itself, and several may open a new file."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _schema_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version


def _is_writable(path: str) -> bool:
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)
