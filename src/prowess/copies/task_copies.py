"""Copies for one task alone: what it has switched on, under the skills' names, gone with the task."""

import logging
import os
from contextlib import suppress

from prowess.copies.layout import Layout, RootPlace
from prowess.copies.occupancy import Occupancy, taking_over
from prowess.copies.roots import CopyRoot
from prowess.copies.versions import Versions
from prowess.errors import WorldError
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.names import is_standard_name
from prowess.skill.skill import Skill

__all__ = ["TaskCopies", "remove_dead_tasks"]

_LOG = logging.getLogger("prowess")


class TaskCopies:
    """The private copies of one task of one user. Whoever opens them closes them."""

    def __init__(self, versions: Versions, task: str, *, user: str) -> None:
        self._place = versions.layout.task(task, user=user)
        self._layout = versions.layout
        self._process = os.getpid()
        self._occupancy = Occupancy(versions.layout, self._place)
        self.root = CopyRoot(self._place, versions)

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

    def close(self) -> tuple[str, ...]:
        """Remove the copies, unless another process works on a task of the same id; return the digests let go of."""
        self._occupancy.close()
        return _remove_if_dead(self._layout, self._place, self.root) if os.getpid() == self._process else ()


def remove_dead_tasks(versions: Versions) -> tuple[str, ...]:
    """Remove the private copies of tasks whose processes are gone; return the digests let go of."""
    books = os.path.join(versions.layout.workshop, "tasks")
    try:
        names = [entry.name for entry in os.scandir(books) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return ()
    released: list[str] = []
    for name in names:
        place = versions.layout.task_of_folder(name)
        try:
            released += _remove_if_dead(versions.layout, place, CopyRoot(place, versions))
        except (OSError, WorldError) as error:
            _LOG.warning("the copies of the task '%s' cannot be removed: %s", name, error)
    return tuple(released)


def _remove_if_dead(layout: Layout, place: RootPlace, root: CopyRoot) -> tuple[str, ...]:
    with taking_over(layout, place) as is_free:
        if not is_free:
            return ()
        released = root.remove()
        private = os.path.dirname(place.folder)
        for folder in (private, os.path.dirname(private)):
            with suppress(OSError):  # Others may have put something there.
                os.rmdir(folder)
        return released
