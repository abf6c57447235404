"""Who uses a root: a lock that a process holds for as long as it does, so that nobody takes the root away from it.

Runtimes with other sources would fight over a root, each taking the other's copies away; so each one says by a *claim*
which sources it fills a root from, and keeps off a root that is claimed otherwise.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from prowess.copies.entries import list_names
from prowess.copies.layout import Layout, RootPlace
from prowess.sources.locks import HeldLock, Hold, hold_lock, release_lock, try_lock

__all__ = ["Occupancy", "is_claimed_otherwise", "taking_over"]

_NOBODY = "anybody"


class Occupancy:
    """A hold on a root. It ends with the process at the latest; what a fork has of it counts for nothing."""

    def __init__(self, layout: Layout, place: RootPlace, *, claim: str = _NOBODY) -> None:
        with hold_lock(_door(layout), Hold.SHARED):
            self._lock = HeldLock(os.path.join(_folder(place), claim), Hold.SHARED)

    def close(self) -> None:
        """Let the root go."""
        self._lock.close()


def is_claimed_otherwise(layout: Layout, place: RootPlace, claim: str) -> bool:
    """Whether a living process fills the root from other sources."""
    with hold_lock(_door(layout), Hold.ALONE):
        return bool(_find_living(place, but=claim))


@contextmanager
def taking_over(layout: Layout, place: RootPlace) -> Generator[bool]:
    """Say whether nobody uses the root any more, and keep everybody from beginning to."""
    with hold_lock(_door(layout), Hold.ALONE):
        yield not _find_living(place)


def _door(layout: Layout) -> str:
    """The lock before all locks of this kind: held while one of them is taken, or found dead and removed."""
    return os.path.join(layout.workshop, "in-use.lock")


def _find_living(place: RootPlace, *, but: str = "") -> list[str]:
    names = [name for name in list_names(_folder(place)) if name != but]
    return [name for name in names if not _is_dead(os.path.join(_folder(place), name))]


def _folder(place: RootPlace) -> str:
    return os.path.join(place.book, "in-use")


def _is_dead(path: str) -> bool:
    """Whether nobody holds the lock; then it is removed."""
    lock = try_lock(path, Hold.ALONE)
    if lock is None:
        return False
    with suppress(FileNotFoundError):
        os.unlink(path)
    release_lock(lock)
    return True
