"""The user's own skills: added, removed and brought back, and nothing of them is ever lost.

Each change is whole or not at all: at every moment a skill in `personal/` is the old one or the new one. What is
replaced or removed is kept. One process at a time changes a user's skills; others wait.
"""

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from prowess.copies.disk_failures import telling
from prowess.copies.entries import list_names
from prowess.copies.history import Archive, History, KeptVersion, Origin, VersionNote
from prowess.copies.incoming import StagedSkill, stage_skill
from prowess.copies.layout import Layout
from prowess.copies.trees import remove_tree
from prowess.copies.user_folders import ensure_plain_folder, ensure_user_folders
from prowess.copies.writable_copies import copy_for_editing
from prowess.errors import NotFound, Refused
from prowess.policy import Limits, Reading
from prowess.skill.problems import Problem
from prowess.sources.locks import Hold, hold_lock
from prowess.sources.real_paths import find_real_path
from prowess.sources.skill_files import read_skill_files
from prowess.sources.source import show_path

__all__ = ["Change", "ChangeStatus", "PersonalSkills", "lock_path"]


_LONGEST_NAME = 255
"""Bytes of a folder's name; a longer one is on no disk."""


class ChangeStatus(StrEnum):
    """What became of a skill."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done with one of the user's own skills."""

    name: str
    status: ChangeStatus
    folder: str
    """Where its files lie now."""
    version: int
    digest: str
    """Empty if not all of its files can be read."""
    kept: int | None = None
    """The number of the version that was in use before, if it has been put into the history."""
    origin: Origin | None = None
    problems: tuple[Problem, ...] = ()


def lock_path(layout: Layout, user: str) -> str:
    """Return the lock that whoever changes a user's own skills must hold."""
    layout.user_folder(user)  # Which refuses names that no folder can have.
    return os.path.join(layout.workshop, "users", user, "personal.lock")


class PersonalSkills:
    """The skills in `personal/` of one user, by the names of their folders."""

    def __init__(self, layout: Layout, user: str, *, clock: Callable[[], float] = time.time) -> None:
        self.layout = Layout(find_real_path(layout.home) or layout.home)  # Files are read where no link is on the way.
        self.user = user
        self._clock = clock
        self._staging = os.path.join(self.layout.user_folder(user), ".staging", "skill")

    def names(self) -> tuple[str, ...]:
        """Return the names of the folders in use, sorted."""
        return tuple(list_names(self.layout.personal(self.user)))

    def former_names(self) -> tuple[str, ...]:
        """Return the names of the skills that have a history, sorted."""
        return tuple(list_names(self.layout.history(self.user)))

    def knows(self, name: str) -> bool:
        """Whether there is, or was, a skill in a folder of this name."""
        if not _is_one_step(name):
            return False
        archive = self._archive(name)
        used = os.path.isdir(archive.current) or os.path.islink(archive.current)
        return used or bool(archive.numbers()) or not archive.is_settled()

    def add(
        self, folder: str, *, reading: Reading, limits: Limits, origin: Origin, expected: str | None = None
    ) -> Change:
        """Bring a skill in under the name that it gives itself. One that is there is kept as a former version.

        `folder` is absolute and has no links on its way. What would not be loaded is a BrokenSkill, and what has
        another name than the one expected is refused; neither changes anything.
        """
        with self._at_work("the skill cannot be added"):
            staged = stage_skill(folder, self._staging, origin=origin, reading=reading, limits=limits)
            if expected is not None and staged.name != expected:
                raise Refused(
                    f"'{expected}' is called '{staged.name}' there by now",
                    hint="add it anew under its new name, and remove the old one",
                    code="renamed",
                )
            archive = self._archive(staged.name)
            archive.prepare()
            if archive.exists() and read_skill_files(archive.current).digest == staged.digest:
                return self._leave(archive, staged, origin)
            return replace(self._place(archive, staged, origin=origin), problems=staged.problems)

    def remove(self, name: str) -> Change:
        """Take a skill out of use; its files go to the history as they are."""
        self._must_know(name)
        with self._at_work(f"'{show_path(name)}' cannot be removed"):
            archive = self._prepared(name)
            if not archive.exists():
                raise _not_found(name, hint=f"it was removed; `prowess restore {show_path(name)}` brings it back")
            digest, number = read_skill_files(archive.current).digest, archive.next_number()
            note = archive.notes().get(number, VersionNote(digest))
            archive.write_note(number, note)
            archive.put_away()
            return Change(name, ChangeStatus.REMOVED, archive.path(number), number, digest, number, note.origin)

    def restore(self, name: str, *, version: int | None = None) -> Change:
        """Put a former version in use again, the last one unless another is named.

        A skill that was removed comes back just as it was, under the same number. Otherwise the version in use is kept
        as a former one, and a copy of the one that is wanted gets a new number.
        """
        self._must_know(name)
        with self._at_work(f"'{show_path(name)}' cannot be restored"):
            archive = self._prepared(name)
            wanted = self._kept(archive, name, version)
            if not archive.exists() and wanted == archive.numbers()[-1]:
                archive.take_back(wanted)
                digest, note = read_skill_files(archive.current).digest, archive.notes().get(wanted, VersionNote())
                return Change(name, ChangeStatus.RESTORED, archive.current, wanted, digest, origin=note.origin)
            draft = os.path.join(self._staging, name)
            files = copy_for_editing(archive.path(wanted), draft)
            origin = archive.notes().get(wanted, VersionNote()).origin
            staged = StagedSkill(name, draft, files.digest, ())
            if archive.exists() and read_skill_files(archive.current).digest == files.digest:
                return Change(
                    name, ChangeStatus.UNCHANGED, archive.current, archive.next_number(), files.digest, origin=origin
                )
            return replace(self._place(archive, staged, origin=origin), status=ChangeStatus.RESTORED)

    def history(self, name: str) -> History:
        """Return all versions of a skill."""
        return self._settled(name).read(name)

    def current(self, name: str) -> KeptVersion | None:
        """Return the version of a skill that is in use, whose files alone are read; None if it was removed."""
        return self._settled(name).read_current()

    def version(self, name: str, number: int) -> KeptVersion:
        """Return one version of a skill, in use or former."""
        archive = self._settled(name)
        found = archive.read_version(number)
        if found is None:
            raise _no_version(name, number, list(archive.numbers()))
        return found

    def _leave(self, archive: Archive, staged: StagedSkill, origin: Origin) -> Change:
        """Change nothing but where the files are said to come from."""
        number = archive.next_number()
        note = archive.notes().get(number, VersionNote(staged.digest))
        if note.origin != origin:
            archive.write_note(number, replace(note, origin=origin))
        return Change(
            staged.name,
            ChangeStatus.UNCHANGED,
            archive.current,
            number,
            staged.digest,
            origin=origin,
            problems=staged.problems,
        )

    def _place(self, archive: Archive, staged: StagedSkill, *, origin: Origin | None) -> Change:
        kept = archive.next_number() if archive.exists() else None
        number = archive.next_number() if kept is None else kept + 1
        archive.write_note(number, VersionNote(staged.digest, self._clock(), origin))
        archive.place(staged.folder, digest=staged.digest)
        status = ChangeStatus.ADDED if kept is None else ChangeStatus.REPLACED
        return Change(staged.name, status, archive.current, number, staged.digest, kept, origin)

    def _must_know(self, name: str) -> None:
        """Raise if there is no such skill, before anything is made for it."""
        if not self.knows(name):
            raise _not_found(name)

    def _settle(self) -> None:
        """Take care of what a crash has left of any skill."""
        for name in self.former_names():
            archive = self._archive(name)
            if not archive.is_settled():
                archive.prepare()

    def _prepared(self, name: str) -> Archive:
        """Return a skill's archive, ready for a change."""
        archive = self._archive(name)
        archive.prepare()
        return archive

    def _settled(self, name: str) -> Archive:
        """Return a skill's archive, in which no crash has left anything."""
        self._must_know(name)
        archive = self._archive(name)
        if not archive.is_settled():
            with self._at_work(f"the history of '{show_path(name)}' cannot be read"):
                pass  # Which settles it.
        return archive

    def _kept(self, archive: Archive, name: str, version: int | None) -> int:
        numbers = archive.numbers()
        if not numbers:
            raise Refused(f"'{show_path(name)}' has no former version", hint="nothing to restore", code="no-version")
        if version is None:
            return numbers[-1]
        if version not in numbers:
            raise _no_version(name, version, list(numbers))
        return version

    def _archive(self, name: str) -> Archive:
        return Archive(
            os.path.join(self.layout.personal(self.user), name), os.path.join(self.layout.history(self.user), name)
        )

    @contextmanager
    def _at_work(self, what: str) -> Generator[None]:
        """Hold the user's lock, with an empty staging folder that is gone afterwards."""
        with telling(what):
            ensure_user_folders(self.layout, self.user)
            with hold_lock(lock_path(self.layout, self.user), Hold.ALONE):
                ensure_plain_folder(os.path.dirname(self._staging))
                remove_tree(self._staging)  # A crash may have left it.
                os.mkdir(self._staging, 0o700)
                try:
                    self._settle()
                    yield
                finally:
                    remove_tree(self._staging)


def _is_one_step(name: str) -> bool:
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        return False
    return name not in ("", ".", "..") and not any(sign in name for sign in ("/", "\0", os.sep, os.altsep or "/"))


def _not_found(name: str, *, hint: str = "`prowess list` shows all skills; those of kind user are yours") -> NotFound:
    return NotFound(f'Personal skill not found: "{show_path(name)}".', hint=hint, code="unknown-skill")


def _no_version(name: str, number: int, numbers: list[int]) -> NotFound:
    shown = ", ".join(map(str, numbers)) or "none"
    return NotFound(
        f"'{show_path(name)}' has no version {number}", hint=f"former versions: {shown}", code="unknown-version"
    )
