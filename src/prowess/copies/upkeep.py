"""Clear away what nobody will ask for again: abandoned views, tasks that died, versions that nobody needs.

It is done now and then by whoever syncs, and never while somebody uses what would go.
"""

import os
import time
from collections.abc import Callable, Iterator

from prowess.copies.layout import Layout, RootPlace
from prowess.copies.record import Record
from prowess.copies.roots import CopyRoot
from prowess.copies.task_copies import remove_dead_tasks
from prowess.copies.versions import Versions

__all__ = ["tidy_copies"]

_EVERY_SECONDS = 86_400
_VIEW_SECONDS = 30 * 86_400
"""How long a narrower view's copies stay without a change."""


def tidy_copies(versions: Versions, *, held: Callable[[], frozenset[str]]) -> None:
    """Clear away what is left over, once a day for each home; `held` are the digests that sessions need."""
    remove_dead_tasks(versions)
    if versions.workshop.has_staged():  # A sync that has nothing to copy does not look there.
        versions.clean_staging()
    stamp = os.path.join(versions.layout.workshop, "tidied")
    if not _is_due(stamp):
        return
    for place in _find_views(versions.layout):
        if _is_older(os.path.join(place.book, "record"), _VIEW_SECONDS):
            root = CopyRoot(place, versions)
            with root.locked():
                root.remove()
    versions.collect_all(held=lambda: held() | frozenset(_find_recorded(versions.layout)))


def _is_due(stamp: str) -> bool:
    if os.path.exists(stamp) and not _is_older(stamp, _EVERY_SECONDS):
        return False
    os.makedirs(os.path.dirname(stamp), mode=0o700, exist_ok=True)
    with open(stamp, "wb"):
        os.utime(stamp)
    return True


def _is_older(path: str, seconds: float) -> bool:
    """Whether a file is older than that; one from the future counts as old, since the clock was set back."""
    try:
        age = time.time() - os.stat(path).st_mtime
    except FileNotFoundError:
        return False
    return not 0 <= age < seconds


def _find_views(layout: Layout) -> Iterator[RootPlace]:
    users = os.path.join(layout.workshop, "users")
    for user in _list(users):
        for view in _list(os.path.join(users, user, "views")):
            yield layout.view_of_folder(user, view)


def _find_recorded(layout: Layout) -> Iterator[str]:
    """Return the digests of all copies, also of those on other disks, which share no files with their versions."""
    for folder, _, files in os.walk(layout.workshop):
        if "record" in files:
            yield from (placed.digest for placed in Record(os.path.join(folder, "record")).read().values())


def _list(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
