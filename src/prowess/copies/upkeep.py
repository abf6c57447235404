"""Clear away what nobody will ask for again: abandoned views, tasks that died, versions that nobody needs.

It is done now and then by whoever makes copies, and never while somebody uses what would go.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from prowess.copies.layout import Layout, RootPlace
from prowess.copies.mounted import is_mounted
from prowess.copies.occupancy import taking_over
from prowess.copies.record import Record
from prowess.copies.roots import CopyRoot
from prowess.copies.task_copies import remove_dead_tasks
from prowess.copies.versions import Versions
from prowess.sources.private_folders import make_private_folder

__all__ = ["remove_view", "tidy_copies"]

_EVERY_SECONDS = 86_400
_VIEW_SECONDS = 30 * 86_400
"""How long the copies of a view that nobody uses stay."""


def tidy_copies(versions: Versions, *, held: Callable[[], frozenset[str]]) -> None:
    """Clear away what is left over: dead tasks always, all else once a day; sessions need the digests in `held`."""
    released = list(remove_dead_tasks(versions))
    if not _is_due(os.path.join(versions.layout.workshop, "tidied")):
        versions.collect(released, held=held)
        return
    for place in _find_views(versions.layout):
        age = _find_age(os.path.join(place.book, "record"))
        if age is not None and age >= _VIEW_SECONDS:
            remove_view(versions, place)
    versions.collect_all(held=lambda: held() | frozenset(_find_recorded(versions.layout)))


def remove_view(versions: Versions, place: RootPlace) -> tuple[str, ...]:
    """Remove the root of a view unless somebody uses it; return the digests let go of."""
    with taking_over(versions.layout, place) as is_free:
        if not is_free or is_mounted(place.folder):
            return ()
        released = CopyRoot(place, versions).remove()
        with suppress(OSError):  # Others may have put something there.
            os.rmdir(os.path.dirname(place.folder))
        return released


def _is_due(stamp: str) -> bool:
    age = _find_age(stamp)
    if age is not None and 0 <= age < _EVERY_SECONDS:
        return False
    make_private_folder(os.path.dirname(stamp))
    with open(stamp, "wb"):
        os.utime(stamp)
    return True


def _find_age(path: str) -> float | None:
    """Return how many seconds ago a file was written; below zero if the clock has been set back since."""
    try:
        return time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return None


def _find_views(layout: Layout) -> Iterator[RootPlace]:
    users = os.path.join(layout.workshop, "users")
    for user in _list(users):
        yield from layout.views(user)


def _find_recorded(layout: Layout) -> Iterator[str]:
    """Return the digests of all copies, also of those on other disks, which share no files with their versions."""
    for folder, _, files in os.walk(layout.workshop):
        if "record" in files:
            yield from (placed.digest for placed in Record(os.path.join(folder, "record")).read().values())


def _list(folder: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
