"""The variables of sessions between their snippets: kept in memory, as many as there is room for."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

__all__ = ["MAX_BYTES", "MAX_LOST", "MAX_NOTEBOOKS", "Notebook", "Notebooks"]

MAX_NOTEBOOKS = 1_000
MAX_LOST = 100_000
"""Sessions without a notebook of which it is remembered that they had variables."""
MAX_BYTES = 128 * 1024 * 1024
"""Of all sessions together; those that were used longest ago go first."""


@dataclass(slots=True)
class Notebook:
    """What one session's snippets have left."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a snippet runs: one session runs one at a time."""
    writer: int | None = None
    """The thread that holds it."""
    state: bytes | None = None
    """The variables, as the interpreter writes them down; None for none."""
    is_lost: bool = False
    """Whether there were variables that are gone, and nobody was told yet."""


class Notebooks:
    """The notebooks of all sessions. Any thread may use it."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._books: OrderedDict[str, Notebook] = OrderedDict()
        self._lost: OrderedDict[bytes, None] = OrderedDict()
        """The sessions whose variables went with their notebooks, those that lost them longest ago first."""

    def open(self, key: str) -> Notebook:
        """Return the notebook of a session, a new one if it has none; it knows whether an older one was let go."""
        with self._lock:
            if key not in self._books:
                is_lost = _shorten(key) in self._lost
                self._lost.pop(_shorten(key), None)
                self._books[key] = Notebook(is_lost=is_lost)
                self._make_room(key)
            self._books.move_to_end(key)
            return self._books[key]

    def _make_room(self, newest: str) -> None:
        """Let go of the notebooks that were used longest ago, but of none that is being written in."""
        surplus = len(self._books) - MAX_NOTEBOOKS
        if surplus <= 0:
            return
        idle = [key for key, book in self._books.items() if key != newest and not book.lock.locked()]
        for key in idle[:surplus]:
            book = self._books.pop(key)
            if book.state is not None or book.is_lost:
                self._lost[_shorten(key)] = None
        while len(self._lost) > MAX_LOST:
            self._lost.popitem(last=False)

    def keep(self, book: Notebook, state: bytes) -> None:
        """Keep the variables of a session; if there is no room, those that were used longest ago are let go."""
        with self._lock:
            book.state, book.is_lost = state, False
            total = sum(len(other.state) for other in self._books.values() if other.state)
            for other in self._books.values():
                if total <= self._max_bytes:
                    return
                if other.state and other is not book:
                    total -= len(other.state)
                    other.state, other.is_lost = None, True

    def drop(self, key: str) -> None:
        """Forget a session."""
        with self._lock:
            self._books.pop(key, None)
            self._lost.pop(_shorten(key), None)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._books.clear()
            self._lost.clear()


def _shorten(key: str) -> bytes:
    """Return what stands for a session, however long its name is."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
