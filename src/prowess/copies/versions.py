"""Versions: the immutable files of each digest, copied once and hashed while they are copied.

A version appears under its name only when all of it is on disk, and nothing in it changes after that. It goes when no
copy, no run, no session and no mount needs it any more. That a copy needs it is seen from the links on its files.
"""

import errno
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from prowess.copies.disk_failures import disk_failure
from prowess.copies.disk_sync import sync_trees
from prowess.copies.layout import Layout
from prowess.copies.mounted import find_mounted
from prowess.copies.trees import TreeWriter, lock_folder, remove_tree
from prowess.copies.workshop import MOST_AT_ONCE, Workshop
from prowess.errors import NotFound, WorldError
from prowess.skill.problems import make_problem
from prowess.skill.skill import Skill
from prowess.sources.durable_names import fsync_folder
from prowess.sources.locks import HeldLock, Hold, hold_lock, release_lock, try_lock
from prowess.sources.private_folders import make_private_folder
from prowess.sources.skill_files import FileSet, copy_skill_files, is_unchanged, read_skill_files

__all__ = ["Draft", "Pin", "Versions"]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHANGING = "keeps-changing"
_ATTEMPTS = 4
"""How often a skill is copied again because it was changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A version on the way: copied and hashed, but not yet under its name."""

    files: FileSet
    folder: str
    taken: int
    """When the copy began, in nanoseconds."""


class Pin:
    """Keeps a version from being collected, as long as it is held and its process lives."""

    def __init__(self, digest: str, folder: str, lock: HeldLock) -> None:
        self.digest = digest
        self.folder = folder
        self._lock = lock

    def __enter__(self) -> "Pin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the version go."""
        self._lock.close()


class Versions:
    """All versions of one home. Any number of threads and processes may use them."""

    def __init__(self, layout: Layout, *, durable: bool = True) -> None:
        self.layout = layout
        self.durable = durable
        self.workshop = Workshop(layout.workshop)
        self._verified: set[str] = set()
        """Digests whose version this process has made, or read and found whole."""

    def folder(self, digest: str) -> str:
        """Return where the files of a digest lie, or would."""
        return os.path.join(self.layout.versions, digest)

    def has(self, digest: str) -> bool:
        return bool(digest) and os.path.isdir(self.folder(digest))

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Keep all versions while copies are made from them; staging that a crash left is cleaned before."""
        self.clean_staging()
        with hold_lock(self._lock_file, Hold.SHARED):
            yield

    def clean_staging(self) -> None:
        """Take care of what a crash left in staging, unless somebody is at work there."""
        alone = try_lock(self._lock_file, Hold.ALONE)
        if alone is None:
            return
        try:
            self.workshop.clean_staging()
        finally:
            release_lock(alone)

    def pin(self, digest: str) -> Pin:
        """Return a hold on a version; raise if there is none of this digest."""
        with hold_lock(self._lock_file, Hold.SHARED):
            return self.pin_in_use(digest)

    def pin_in_use(self, digest: str) -> Pin:
        """Do the same while the versions are in use."""
        if not self.has(digest):
            raise NotFound(f"there is no version {digest[:12]}…", hint="sync first", code="unknown-version")
        return Pin(digest, self.folder(digest), HeldLock(self._pin_file(digest), Hold.SHARED))

    def read(self, digest: str) -> FileSet | None:
        """Read a version and return its files; None if it is not there, or not what it should be."""
        found = read_skill_files(self.folder(digest)) if self.has(digest) else None
        return found if found is not None and found.digest == digest else None

    # Making versions, while they are in use

    def is_whole(self, digest: str) -> bool:
        """Whether there is a version of this digest with the right files; one that is damaged is taken away."""
        if not self.has(digest):
            return False
        if digest not in self._verified and self.read(digest) is None:
            self.discard(digest)
            return False
        self._verified.add(digest)
        return True

    def draft(self, skill: Skill) -> Draft:
        """Copy the files that a skill has now to staging; without a digest if that cannot be done, with the Problems.

        A skill that changes while it is copied is copied again: a draft is what the skill was at one moment.
        """
        for _ in range(_ATTEMPTS):
            taken = time.time_ns()
            folder = self.workshop.new_draft()
            writer = TreeWriter(os.fsencode(folder))
            try:
                os.mkdir(folder, 0o755)
            except OSError as error:
                raise disk_failure("a copy cannot be begun", error) from error
            try:
                files = _expect_manifest(copy_skill_files(skill.real, writer, apart=skill.apart))
                if not files.problems and is_unchanged(skill.real, files):
                    writer.finish()
                    return Draft(files, folder, taken)
            except WorldError:  # The disk is full: what was written of this skill must not stay in its way.
                remove_tree(folder)
                raise
            remove_tree(folder)
            if any(problem.code != _CHANGING for problem in files.problems):
                return Draft(files, "", taken)
        problem = make_problem(_CHANGING, "it was changed while it was copied, again and again")
        return Draft(FileSet((), (problem,), "", ()), "", time.time_ns())

    def seal(self, drafts: Sequence[Draft]) -> None:
        """Put drafts under their names, once all of them are on disk."""
        ready = [draft for draft in drafts if draft.folder]
        if not ready:
            return
        try:
            if self.durable:
                sync_trees([draft.folder for draft in ready])
            make_private_folder(self.layout.versions)
            for draft in ready:
                self._name(draft)
            if self.durable:
                fsync_folder(self.layout.versions)
        except OSError as error:
            self.drop(ready)
            raise disk_failure("a version cannot be kept", error) from error

    def drop(self, drafts: Iterable[Draft]) -> None:
        """Remove drafts that will not be needed; what cannot be removed now is removed by the next sync."""
        for draft in drafts:
            if draft.folder:
                with suppress(OSError):
                    remove_tree(draft.folder)

    def _name(self, draft: Draft) -> None:
        target = self.folder(draft.files.digest)
        if self.is_whole(draft.files.digest):  # Another process was faster, or two skills have the same files.
            remove_tree(draft.folder)
            return
        try:
            os.rename(draft.folder, target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            remove_tree(draft.folder)  # Another process was faster by a moment.
            return
        lock_folder(target)
        self._verified.add(draft.files.digest)

    def discard(self, digest: str) -> None:
        """Take a damaged version away, so that it is copied anew; copies keep the files that they have."""
        self._verified.discard(digest)
        self.workshop.dispose(self.folder(digest))

    # Collecting

    def collect(self, released: Iterable[str] = (), *, held: Callable[[], frozenset[str]]) -> int:
        """Remove the versions that nobody needs, of those that a copy has let go of now or before; return how many.

        `held` says which digests are needed for reasons that cannot be seen on disk. What is still needed, or cannot be
        looked at because copies are being made elsewhere, waits for the next time.
        """
        for digest in released:
            if _DIGEST.fullmatch(digest):
                self._wait(digest)
        waiting = _list_digests(self._waiting)[:MOST_AT_ONCE]
        return self._collect(waiting, held) if waiting else 0

    def collect_all(self, *, held: Callable[[], frozenset[str]]) -> int:
        """Remove all versions that nobody needs, whoever let go of them; return how many."""
        return self._collect(_list_digests(self.layout.versions), held)

    def has_waiting(self) -> bool:
        """Whether versions wait to be removed."""
        return bool(_list_digests(self._waiting))

    def _wait(self, digest: str) -> None:
        make_private_folder(self._waiting)
        with open(os.path.join(self._waiting, digest), "ab"):
            pass

    def _collect(self, candidates: Iterable[str], held: Callable[[], frozenset[str]]) -> int:
        lock = try_lock(self._lock_file, Hold.ALONE)
        if lock is None:
            return 0
        try:
            retired = Counter(self.workshop.retired_digests())
            idle = [digest for digest in candidates if self._is_idle(digest, retired[digest])]
            needed = held() | find_mounted(self.layout.versions) if idle else frozenset[str]()
            kept = {digest for digest in idle if digest in needed or not self._remove(digest)}
            for digest in candidates:
                if digest not in kept:
                    with suppress(FileNotFoundError):
                        os.unlink(os.path.join(self._waiting, digest))
            return len(idle) - len(kept)
        finally:
            release_lock(lock)

    def _is_idle(self, digest: str, retired: int) -> bool:
        """Whether no copy but retired ones shares the version's files."""
        links = _count_links(os.fsencode(self.folder(digest)))
        return links is not None and links <= 1 + retired

    def _remove(self, digest: str) -> bool:
        pin = try_lock(self._pin_file(digest), Hold.ALONE)
        if pin is None:
            return False
        try:
            self.workshop.dispose(self.folder(digest))
            os.unlink(self._pin_file(digest))
        finally:
            release_lock(pin)
        return True

    @property
    def _lock_file(self) -> str:
        return os.path.join(self.layout.workshop, "versions.lock")

    @property
    def _waiting(self) -> str:
        """A folder with an empty file for each version that a copy has let go of."""
        return os.path.join(self.layout.workshop, "waiting")

    def _pin_file(self, digest: str) -> str:
        return os.path.join(self.layout.workshop, "pins", digest)


def _expect_manifest(files: FileSet) -> FileSet:
    """Return files with a Problem if they are no skill any more: its folder may be on the way out, and empty by now."""
    if files.problems or any(file.path == b"SKILL.md" for file in files.files):
        return files
    problem = make_problem("skill-md-missing", "the SKILL.md was removed before it could be copied")
    return FileSet(files.files, (problem,), "", files.stamps)


def _list_digests(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if _DIGEST.fullmatch(name)]
    except FileNotFoundError:
        return []


def _count_links(folder: bytes) -> int | None:
    """Return how many names the first plain file below a folder has; None if there is none."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: (entry.is_dir(follow_symlinks=False), entry.name))
    except OSError:
        return None
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            links = _count_links(entry.path)
            if links is not None:
                return links
        elif entry.is_file(follow_symlinks=False):
            return os.stat(entry.path, follow_symlinks=False).st_nlink
    return None
