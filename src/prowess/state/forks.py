"""Forks of the process: no connection is open while it forks, and no lock is held by a thread that the child lacks.

Two processes on one connection mix up their messages. SQLite in particular believes in locks that the child does not
hold, and the log that the child still writes is deleted when its parent closes.
"""

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forkable", "disconnect_before_forks"]


class Forkable(Protocol):
    """Something with a connection that it opens again when it needs one."""

    lock: threading.Lock
    """Held while the connection is used."""

    def disconnect(self) -> None:
        """Close the connection. The lock is held."""
        ...


_forking = threading.Lock()
_alive: WeakSet[Forkable] = WeakSet()
_held: list[Forkable] = []


def disconnect_before_forks(database: Forkable) -> None:
    """Have the database disconnected before each fork, for as long as it lives."""
    with _forking:
        _alive.add(database)


def _before() -> None:
    _forking.acquire()
    for database in list(_alive):
        database.lock.acquire()
        _held.append(database)
        database.disconnect()


def _after() -> None:
    while _held:
        _held.pop().lock.release()
    _forking.release()


if hasattr(os, "register_at_fork"):  # Windows has no forks.
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
