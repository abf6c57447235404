"""Does once more, on the bare database and on the same disk, what a store has written: the floor of what is durable."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from prowess.state.database import Row, Transaction
from prowess.state.sqlite_database import SqliteDatabase

__all__ = ["Mirror", "MirroredDatabase", "Statements"]

Statements = list[tuple[str, Sequence[object]]]
"""Of one transaction."""
_T = TypeVar("_T")
_ANNOUNCE = "UPDATE revisions SET number = number + 1"


class MirroredDatabase:
    """The database that the store has by default; it remembers what was written, and how long that took."""

    def __init__(self, path: Path) -> None:
        self._inner = SqliteDatabase(str(path))
        self.read = self._inner.read
        self.announced = self._inner.announced
        self.changes = self._inner.changes
        self.close = self._inner.close
        self.written: list[Statements] = []
        self.seconds = 0.0

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        statements: Statements = []
        begun = time.perf_counter()
        try:
            return self._inner.write(lambda transaction: work(_Recorded(transaction, statements)))
        finally:
            self.seconds += time.perf_counter() - begun
            self.written.append(statements)

    def take(self) -> tuple[list[Statements], float]:
        """Return what was written since the last call, and the seconds that it took."""
        taken = (self.written, self.seconds)
        self.written, self.seconds = [], 0.0
        return taken


class _Recorded:
    def __init__(self, inner: Transaction, statements: Statements) -> None:
        self._inner = inner
        self._statements = statements

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        self._statements.append((statement, tuple(parameters)))
        return self._inner.rows(statement, parameters)

    def run(self, statement: str, parameters: Sequence[object] = ()) -> int:
        self._statements.append((statement, tuple(parameters)))
        return self._inner.run(statement, parameters)

    def announce(self) -> None:
        self._statements.append((_ANNOUNCE, ()))
        self._inner.announce()

    def wake(self) -> None:
        self._inner.wake()


class Mirror:
    """A bare connection to a file of the same schema and with the same settings."""

    def __init__(self, path: Path) -> None:
        with closing(SqliteDatabase(str(path))) as made:
            made.write(lambda transaction: transaction.rows("SELECT number FROM revisions"))
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")

    def replay(self, transactions: Sequence[Statements]) -> float:
        """Do these transactions as well; return the seconds that it took."""
        begun = time.perf_counter()
        for statements in transactions:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement, parameters in statements:
                self._connection.execute(statement, parameters).fetchall()  # type: ignore[arg-type]
            self._connection.execute("COMMIT")
        return time.perf_counter() - begun

    def close(self) -> None:
        self._connection.close()
