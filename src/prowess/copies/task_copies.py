"""Copies for one task alone: what it has switched on, under the skills' names, gone with the task.

A task is known by its id. It lives as long as a process holds its lock, so that what a crash leaves is found out.
"""

import os
from contextlib import suppress

from prowess.copies.layout import RootPlace
from prowess.copies.locks import Hold, take_lock, try_lock
from prowess.copies.roots import CopyRoot
from prowess.copies.versions import Versions
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.names import is_standard_name
from prowess.skill.skill import Skill

__all__ = ["TaskCopies", "remove_dead_tasks"]


class TaskCopies:
    """The private copies of one task. Whoever opens them closes them."""

    def __init__(self, versions: Versions, task: str) -> None:
        self._place = versions.layout.task(task)
        self.root = CopyRoot(self._place, versions)
        self._lock = _hold(_alive(self._place))

    def name(self, skill: Skill) -> str:
        """Return the folder for a skill: its name, if that is plain and no other skill of the task has it."""
        if is_standard_name(skill.name):
            placed = self.root.placed(skill.name)
            if placed is None or placed.id == skill.id:
                return skill.name
        return make_activation_key(skill.id)

    def holds(self, skill: Skill) -> bool:
        """Whether a copy of the skill was placed."""
        placed = self.root.placed(self.name(skill))
        return placed is not None and placed.id == skill.id

    def close(self) -> None:
        """Remove the copies, unless another process works on a task of the same id."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
            _remove_if_dead(self._place, self.root)


def remove_dead_tasks(versions: Versions) -> None:
    """Remove the private copies of tasks whose processes are gone."""
    books = os.path.join(versions.layout.workshop, "tasks")
    try:
        names = os.listdir(books)
    except FileNotFoundError:
        return
    for name in names:
        place = versions.layout.task_of_folder(name)
        _remove_if_dead(place, CopyRoot(place, versions))


def _remove_if_dead(place: RootPlace, root: CopyRoot) -> None:
    lock = try_lock(_alive(place), Hold.ALONE)
    if lock is None:
        return
    try:
        root.remove()
        private = os.path.dirname(place.folder)
        for folder in (private, os.path.dirname(private)):
            with suppress(OSError):  # Others may have put something there.
                os.rmdir(folder)
    finally:
        os.close(lock)


def _alive(place: RootPlace) -> str:
    return os.path.join(place.book, "alive")


def _hold(path: str) -> int:
    """Return a hold on the lock that has this path now: who removes a dead task removes its lock too."""
    while True:
        lock = take_lock(path, Hold.SHARED)
        try:
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)
