"""The digests of skills, kept while their files stay the same, in this process and across processes."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from prowess.catalog.cache_file import read_cache, write_cache
from prowess.catalog.file_watching import MAX_WATCHES, FileWatcher
from prowess.catalog.fingerprints import Fingerprint, KnownDigest, know_digest
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet, read_skill_files
from prowess.sources.source import is_text
from prowess.sources.stamps import Stamp

__all__ = ["Digests", "Recollection"]

_HEADER = b"prowess-digests-3\n"
_MAX_RECOLLECTIONS = 16
"""How many groups of skills are remembered for those who ask again; one a view."""


@dataclass(frozen=True, slots=True, eq=False)
class Recollection:
    """What is certain about some skills without reading a file. While nothing changes, it is the very same object."""

    skills: tuple[Skill, ...]
    digests: Mapping[str, str]
    """By id, of the skills whose files are surely what they were; empty for those that have a fault among them."""
    vouched: Mapping[str, Stamp]
    """Of those without a sidecar: their folders, and the stamps of their SKILL.md, for a search of the same moment."""

    @property
    def is_complete(self) -> bool:
        """Whether it tells of every skill."""
        return len(self.digests) == len(self.skills)


@dataclass(slots=True)
class _Remembered:
    recollection: Recollection
    marks: list[Fingerprint | None]
    """One a skill; None if it must be read."""
    stirs: int | None = None
    """Of the watcher, when each of the skills was calm."""


@dataclass(slots=True)
class Digests:
    """Answers which exact files a skill has, reading them only if one may have changed. Any thread may ask."""

    folder: str | None = None
    """Where digests are kept across processes; None keeps them in this one only."""
    clock: Callable[[], int] = time.time_ns
    max_watches: int = MAX_WATCHES
    """How many files and folders may be watched; the others are looked at."""
    _roots: dict[str, dict[str, Fingerprint]] = field(default_factory=dict[str, dict[str, Fingerprint]])
    _changed: set[str] = field(default_factory=set[str])
    _remembered: dict[int, _Remembered] = field(default_factory=dict[int, _Remembered])
    """By the identity of the tuple of skills, which is in it and so cannot be another's."""
    _watcher: FileWatcher | None = None
    _unrest: int | None = None
    """The number under which skills may be calm."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Of all these; nobody holds it while files are read or looked at, which may take long."""

    @property
    def watches(self) -> bool:
        """Whether changes of files are heard of from the kernel."""
        return self._watcher is not None and self._watcher.works

    def of(self, skill: Skill) -> str:
        """Return the digest of the skill's files, or an empty text if some of them cannot be read."""
        return self.files(skill).digest

    def files(self, skill: Skill) -> FileSet:
        """Return every file of the skill, reading them only if one may have changed."""
        mark = self._find(skill)
        if mark is None or not mark.holds(now=self.clock()):
            return self.read(skill)
        known = mark.known
        return FileSet(known.files, known.problems, known.digest, known.stamps)

    def certain(self, skill: Skill) -> str:
        """Return the digest of the skill's files if it is certain without reading them; else an empty text."""
        mark = self._find(skill)
        return mark.known.digest if mark is not None and mark.holds(now=self.clock()) else ""

    def read(self, skill: Skill) -> FileSet:
        """Read all files of the skill now."""
        taken = self.clock()
        found = read_skill_files(skill.real, apart=skill.apart)
        self.learn(skill, found, taken=taken)
        return found

    def learn(self, skill: Skill, found: FileSet, *, taken: int) -> None:
        """Keep what somebody read, who began after `taken` and stamped each file before reading it.

        What is not certain is not kept, and nor is what was known before.
        """
        known = know_digest(skill, found, taken=taken)
        root = self._known(skill.root)
        with self._lock:
            if known is not None:
                root[skill.real] = Fingerprint(skill.real, known)
            elif root.pop(skill.real, None) is None:
                return
            self._changed.add(skill.root)

    def recall(self, skills: tuple[Skill, ...], *, unrest: int | None = None) -> Recollection:
        """Return what is certain about these skills without reading a file.

        With a number in `unrest` (`CatalogKeeper.unrest`, asked just before), files are watched from the second
        question on; then, while nothing changes, the same question takes no system call per skill.
        """
        with self._lock:
            watcher = self._attend(unrest)
            former = self._find_remembered(skills)
            if former is not None and watcher is not None and former.stirs == watcher.stirs:
                return former.recollection
        found = self._check([self._find(skill) for skill in skills], watcher)
        with self._lock:
            if former is None or former.marks != found:
                former = self._remember(skills if former is None else former.recollection.skills, found)
            former.stirs = None
            if watcher is not None and all(mark is not None and watcher.is_calm(mark) for mark in found):
                former.stirs = watcher.stirs
        return former.recollection

    def is_calm(self, skills: tuple[Skill, ...]) -> bool:
        """Whether all these files were found unchanged and are watched, so that none need be looked at."""
        with self._lock:
            known = self._find_remembered(skills)
            return known is not None and self._watcher is not None and known.stirs == self._watcher.stirs

    def save(self) -> None:
        """Keep what was learned for other processes, and forget what is gone."""
        with self._lock:
            changed = {root: self._roots[root].copy() for root in self._changed}
            self._changed.clear()
            latest = next(reversed(self._remembered.values()), None) if changed else None
        present = {skill.real for skill in latest.recollection.skills} if latest else set[str]()
        for root, marks in changed.items():
            self._forget_gone(root, marks, present)
            if self.folder is not None and is_text(root):
                known = {folder: mark.known for folder, mark in marks.items()}
                write_cache(self._file(self.folder, root), header=_HEADER, value=known)

    def _forget_gone(self, root: str, marks: dict[str, Fingerprint], present: Set[str]) -> None:
        """Take folders out that are not there any more; those that were just asked about need no look."""
        gone = {folder: marks.pop(folder) for folder in marks.keys() - present if not os.path.lexists(folder)}
        with self._lock:
            known = self._roots[root]
            for folder, mark in gone.items():
                if known.get(folder) is mark:
                    del known[folder]

    def close(self) -> None:
        """Stop watching, and keep what was learned for other processes."""
        self.save()
        with self._lock:
            if self._watcher is not None:
                self._watcher.close()
            self._watcher, self._unrest = None, None

    def _attend(self, unrest: int | None) -> FileWatcher | None:
        """Return the watcher, having heard everything until now; None if it cannot be relied on this time.

        To begin, the roots must have been quiet since the last question: many programs ask only once, and where they
        never are, watching files is of no use.
        """
        former, self._unrest = self._unrest, unrest
        watcher = self._watcher
        if watcher is not None and not watcher.is_mine:
            watcher.close()
            watcher = self._watcher = None
        if watcher is None and unrest is not None and unrest == former:
            watcher = self._watcher = FileWatcher(max_watches=self.max_watches)
            for one in self._remembered.values():  # What another watcher counted means nothing.
                one.stirs = None
        if watcher is None:
            return None
        watcher.listen()
        if unrest != former:
            watcher.unsettle()
        return watcher if unrest is not None and watcher.works else None

    def _check(self, marks: list[Fingerprint | None], watcher: FileWatcher | None) -> list[Fingerprint | None]:
        """Return the fingerprints that hold, and None for the others; call those skills calm that can be watched."""
        now = self.clock()
        if watcher is None:
            return [mark if mark is not None and mark.holds(now=now) else None for mark in marks]
        with self._lock:
            restless = [mark for mark in marks if mark is not None and not watcher.is_calm(mark)]
            tickets = [watcher.follow(mark) for mark in restless]
        changed = {mark for mark in restless if not mark.holds(now=now)}
        with self._lock:
            for mark, ticket in zip(restless, tickets, strict=True):
                if ticket is not None and mark not in changed:
                    watcher.settle(mark, ticket)
        return [None if mark in changed else mark for mark in marks]

    def _find_remembered(self, skills: tuple[Skill, ...]) -> _Remembered | None:
        known = self._remembered.get(id(skills))
        if known is not None:
            return known
        return next((one for one in self._remembered.values() if one.recollection.skills == skills), None)

    def _remember(self, skills: tuple[Skill, ...], marks: list[Fingerprint | None]) -> _Remembered:
        certain = [(skill, mark) for skill, mark in zip(skills, marks, strict=True) if mark is not None]
        digests = {skill.id: mark.known.digest for skill, mark in certain}
        vouched = {mark.folder: stamp for _, mark in certain if (stamp := mark.lone_manifest) is not None}
        remembered = _Remembered(Recollection(skills, digests, vouched), marks)
        self._remembered.pop(id(skills), None)
        self._remembered[id(skills)] = remembered
        if len(self._remembered) > _MAX_RECOLLECTIONS:
            del self._remembered[next(iter(self._remembered))]
        if self._watcher is not None:
            asked = (skill.real for one in self._remembered.values() for skill in one.recollection.skills)
            self._watcher.forget_all_but(asked)
        return remembered

    def _find(self, skill: Skill) -> Fingerprint | None:
        mark = self._known(skill.root).get(skill.real)
        return mark if mark is not None and mark.known.apart == skill.apart else None

    def _known(self, root: str) -> dict[str, Fingerprint]:
        known = self._roots.get(root)
        if known is not None:
            return known
        kept = read_cache(self._file(self.folder, root), header=_HEADER, kind=_Kept) if self.folder else None
        marks = {folder: Fingerprint(folder, known) for folder, known in (kept or {}).items()}
        with self._lock:
            return self._roots.setdefault(root, marks)

    def _file(self, folder: str, root: str) -> str:
        return os.path.join(folder, hashlib.sha256(os.fsencode(root)).hexdigest()[:32])


_Kept = dict[str, KnownDigest]
