"""The shelf of a session: where it takes a skill's files from, and where the model's code finds them.

Once copies were made, what the model reads comes from them and not from the sources: it sees the files that its code
sees, until the next sync.
"""

import hashlib
import os
from collections.abc import Sequence

from prowess.containers.mounts import PRIVATE_SKILLS, SHARED_SKILLS, Mount, make_skills_mount
from prowess.copies.disk_failures import telling
from prowess.copies.plan import Placed
from prowess.copies.roots import CopyRoot
from prowess.copies.versions import Pin
from prowess.disclosure.agreed_files import SkillChanged
from prowess.errors import BrokenSkill, WorldError
from prowess.policy import BaseDirectory
from prowess.runtime.copying import Copying
from prowess.runtime.keeper import SkillKeeper
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet
from prowess.sources.source import show_path

__all__ = ["Shelf", "name_view"]

_ATTEMPTS = 3
"""How often a skill is taken again because it was changed meanwhile."""


def name_view(agent: str, allowlist: Sequence[str] | None) -> str:
    """Return the name under which copies for an agent are kept; none for who sees what everybody sees."""
    if allowlist is None:
        return agent
    return f"{agent}/{hashlib.sha256(chr(0).join(sorted(allowlist)).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


class Shelf:
    """Where one session finds skills."""

    def __init__(self, keeper: SkillKeeper, copying: Copying, *, view: str, task: str) -> None:
        self._keeper = keeper
        self._copying = copying
        self._view = view
        self._task = task

    @property
    def view(self) -> str:
        """The name of the view whose copies it uses."""
        return self._view

    @property
    def _place(self) -> BaseDirectory:
        return self._keeper.policy.base_directory

    @property
    def inside(self) -> str:
        """The folder in which the model's code finds copies; empty if there is none."""
        match self._place:
            case BaseDirectory.SHARED:
                return SHARED_SKILLS
            case BaseDirectory.TASK_PRIVATE:
                return PRIVATE_SKILLS
            case BaseDirectory.HOST:
                layout, user = self._copying.layout, self._copying.user
                root = self._copying.find_active(self._view)
                return show_path(root.folder if root else layout.active(user, view=self._view).folder)
            case BaseDirectory.NONE:
                return ""

    def take(self, skill: Skill) -> tuple[Skill, FileSet]:
        """Return a skill as it is to be read, with its files: the copy, or the source if no copy was made."""
        root = self._copying.find_active(self._view) if self._is_shared else None
        if root is not None and self._copying.is_synced(root):
            placed = self._find_copy(root, skill)
            found = self._copying.find_files(root, make_activation_key(skill.id), placed) if placed else None
            if found is not None:
                folder, files = found
                return skill._replace(elsewhere=folder, apart=False), files
        return skill, self._keeper.files(skill)

    def place(self, skill: Skill, files: FileSet) -> str:
        """Make sure that the model's code finds these files; return where. Empty if it does not find them.

        A shared folder that cannot be written is no reason to keep instructions from the model; a task's own is, since
        there they are all that it has.
        """
        if self._place is BaseDirectory.TASK_PRIVATE:
            private = self._copying.task(self._task)
            self._copying.place(private.root, private.name(skill), skill, files)
            return f"{self.inside}/{private.name(skill)}"
        if not self._is_shared or not files.digest:
            return ""
        try:
            with telling("a copy cannot be made"):
                root = self._copying.active(self._view)
            self._copying.place(root, make_activation_key(skill.id), skill, files)
        except SkillChanged:
            raise
        except (WorldError, BrokenSkill) as error:
            self._keeper.warn_once((skill.id, "copy"), f"no copy of skill '{skill.name}': {error.message}")
            return ""
        return self.locate(skill)

    def resume(self, skill: Skill, files: FileSet) -> str:
        """Return where the model's code finds a skill that is on; another process may have placed it, and be gone."""
        if self._place is BaseDirectory.TASK_PRIVATE:
            is_begun = self._copying.find_task(self._task) is not None
        else:
            is_begun = self._copying.find_active(self._view) is not None
        return self.locate(skill) if is_begun else self.place(skill, files)

    def offer(self, skill: Skill, files: FileSet) -> str:
        """Do as `place` does for a skill that is not switched on: nothing is placed for a task."""
        return self.locate(skill) if self._place is BaseDirectory.TASK_PRIVATE else self.place(skill, files)

    def locate(self, skill: Skill) -> str:
        """Return where the model's code finds a skill's copy; empty if there is none, or if it is not told."""
        if self._place is BaseDirectory.TASK_PRIVATE:
            private = self._copying.find_task(self._task)
            return f"{self.inside}/{private.name(skill)}" if private and private.holds(skill) else ""
        root = self._copying.find_active(self._view) if self._is_shared else None
        placed = self._find_copy(root, skill) if root is not None else None
        return f"{self.inside}/{make_activation_key(skill.id)}" if placed is not None else ""

    def mounts(self) -> tuple[Mount, ...]:
        """Return what a sandbox must mount for the model's code to find the skills."""
        if self._place is BaseDirectory.TASK_PRIVATE:
            private = self._copying.task(self._task)
            private.root.make()
            return (Mount(private.root.folder, inside=PRIVATE_SKILLS),)
        if not self._is_shared:
            return ()
        with telling("the folder for copies cannot be made"):
            root = self._copying.active(self._view)
            root.make()
        if self._place is BaseDirectory.HOST:
            return (Mount(root.folder, inside=root.folder.replace(os.sep, "/")),)
        return (make_skills_mount(root.folder),)

    def pin(self, skill: Skill) -> Pin:
        """Return a hold on the version of a skill that the session uses now."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._copying.pin(skill, self.take(skill)[1])
            except SkillChanged:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    @property
    def _is_shared(self) -> bool:
        return self._place in (BaseDirectory.SHARED, BaseDirectory.HOST)

    def _find_copy(self, root: CopyRoot, skill: Skill) -> Placed | None:
        """Return the copy of this very skill, and not of another that has its id in another project, if it is there."""
        key = make_activation_key(skill.id)
        try:
            placed = root.placed(key)
        except OSError as error:
            self._keeper.warn_once(
                (root.folder, "record"), f"{root.folder}: its record cannot be read: {error.strerror}"
            )
            return None
        is_its = placed is not None and (placed.id, placed.folder) == (skill.id, skill.real) and root.holds(key, placed)
        return placed if is_its else None
