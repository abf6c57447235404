"""Where copies, versions and what belongs to them lie in Prowess' home."""

import os
import re
from dataclasses import dataclass

from prowess.errors import SettingsError
from prowess.skill.activation_keys import make_activation_key
from prowess.sources.places import LOCAL_USER, USER_NAME_HINT, is_user_name

__all__ = ["Layout", "RootPlace", "folder_name"]

_PLAIN = re.compile(r"(?!\.)[A-Za-z0-9._@-]{1,120}")
"""What a task or a view may be called so that a folder can have the very same name."""


@dataclass(frozen=True, slots=True)
class RootPlace:
    """A folder of copies, and where its lock, its book and what is on the way lie."""

    folder: str
    """What is mounted. It holds copies and nothing else."""
    book: str
    """A folder outside the mount, for the lock and the record of what was placed."""


@dataclass(frozen=True, slots=True)
class Layout:
    """All paths in one home."""

    home: str
    """Absolute."""

    @property
    def versions(self) -> str:
        return os.path.join(self.home, "versions")

    @property
    def workshop(self) -> str:
        """What copying needs for itself: locks, pins, books, staging."""
        return os.path.join(self.home, "copies")

    @property
    def tasks(self) -> str:
        return os.path.join(self.home, "tasks")

    @property
    def own_folders(self) -> tuple[str, ...]:
        """What holds copies, users' folders and mirrors of servers: no search for skills enters it from above."""
        return (
            self.versions,
            self.workshop,
            self.tasks,
            *(os.path.join(self.home, name) for name in ("users", "cache")),
        )

    def user_folder(self, user: str) -> str:
        """Return a user's folder; raise if no folder can have the user's name."""
        if not is_user_name(user):
            raise SettingsError(f"'{user[:40]}' cannot be a user's name", hint=USER_NAME_HINT, code="bad-user")
        return os.path.join(self.home, "users", user)

    def skills_folder(self, user: str) -> str:
        return os.path.join(self.user_folder(user), "skills")

    def personal(self, user: str) -> str:
        """The user's own skills."""
        return os.path.join(self.skills_folder(user), "personal")

    def history(self, user: str) -> str:
        """Former versions of the user's own skills."""
        return os.path.join(self.user_folder(user), "skills-history")

    def active(self, user: str, *, view: str = "") -> RootPlace:
        """Return the root of all skills that a user's agents see; with a view's name, of what that view shows."""
        if view:
            return self.view_of_folder(user, folder_name(view))
        folder = os.path.join(self.skills_folder(user), "active")
        return RootPlace(folder, os.path.join(self.workshop, "users", user, "active"))

    def view_of_folder(self, user: str, name: str) -> RootPlace:
        """Return the root of a narrower view, by the name of its folder."""
        folder = os.path.join(self.user_folder(user), "views", name, "active")
        return RootPlace(folder, os.path.join(self.workshop, "users", user, "views", name))

    def views(self, user: str) -> list[RootPlace]:
        """Return the roots of all narrower views that a user has."""
        try:
            with os.scandir(os.path.join(self.workshop, "users", user, "views")) as entries:
                found = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [self.view_of_folder(user, name) for name in found]

    def task(self, task: str, *, user: str) -> RootPlace:
        """Return the root of a task's private copies: `private:/.skills` for the model."""
        is_plain = user == LOCAL_USER and "/" not in task  # One with a slash might be another user's.
        return self.task_of_folder(folder_name(task if is_plain else f"{user}/{task}"))

    def task_of_folder(self, name: str) -> RootPlace:
        """Return the root of a task's private copies, by the name of its folder."""
        folder = os.path.join(self.tasks, name, "private", ".skills")
        return RootPlace(folder, os.path.join(self.workshop, "tasks", name))


def folder_name(name: str) -> str:
    """Return a folder's name for something that anybody may have named: its own if that is plain, else a safe one."""
    return name if _PLAIN.fullmatch(name) and "---" not in name else make_activation_key(f"x/{name}")
