"""The port between the store and a database: rows, transactions, and announcements of what others want to hear of.

Statements mark their parameters with `?` and use only what SQLite and PostgreSQL share.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Database", "Row", "Transaction"]

Row = tuple[Any, ...]
_T = TypeVar("_T")


class Transaction(Protocol):
    """Statements that happen together or not at all."""

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows that a statement gives."""
        ...

    def run(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """Return how many rows a statement has changed."""
        ...

    def announce(self) -> None:
        """Count this transaction among those that others want to hear of. Comes last: it puts writers in line."""
        ...

    def wake(self) -> None:
        """Have all who watch, here and in other processes, look again when this transaction is done."""
        ...


class Database(Protocol):
    """One database, for any number of threads. It connects when it is first used, and again after `close`."""

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of one statement."""
        ...

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Return what `work` returns; its changes are then kept and visible to every other connection.

        After a lost connection `work` may be called again, so doing it twice must be doing it once.
        """
        ...

    def announced(self) -> int:
        """Return how many transactions were announced by anybody; next to free while there is nothing new."""
        ...

    def changes(self) -> int:
        """Return a number that stays the same while surely nothing has changed; cheap enough for ten times a second.

        It changes with every transaction that wakes or announces, anybody's, and now and then without a reason.
        """
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...
