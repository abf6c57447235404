"""The digests of skills, kept while their files stay the same, in this process and across processes."""

import hashlib
import os
import threading
import time
from dataclasses import dataclass, field

from prowess.catalog.cache_file import read_cache, write_cache
from prowess.skill.digest import SkillFile
from prowess.skill.skill import Skill
from prowess.sources.skill_files import FileSet, read_skill_files
from prowess.sources.source import is_text
from prowess.sources.stamps import Stamp, is_reliable, stamp_file

__all__ = ["Digests"]

_HEADER = b"prowess-digests-2\n"


@dataclass(frozen=True, slots=True)
class KnownDigest:
    """A digest with its files, and the stamps of all files and folders for which it holds."""

    digest: str
    files: tuple[SkillFile, ...]
    stamps: tuple[tuple[str, Stamp], ...]


@dataclass(slots=True)
class Digests:
    """Answers which exact files a skill has, reading them only if one may have changed. Any thread may ask."""

    folder: str | None = None
    """Where digests are kept across processes; None keeps them in this one only."""
    _roots: dict[str, dict[str, KnownDigest]] = field(default_factory=dict[str, dict[str, KnownDigest]])
    _changed: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Of both; nobody holds it while files are read, which may take long."""

    def of(self, skill: Skill) -> str:
        """Return the digest of the skill's files, or an empty text if some of them cannot be read."""
        known = self._current(skill)
        return self.read(skill).digest if known is None else known.digest

    def files(self, skill: Skill) -> FileSet:
        """Return every file of the skill, reading them only if one may have changed or could not be read before."""
        known = self._current(skill)
        if known is None or not known.digest:
            return self.read(skill)
        return FileSet(known.files, (), known.digest, known.stamps)

    def read(self, skill: Skill) -> FileSet:
        """Read all files of the skill now."""
        taken = time.time_ns()
        found = read_skill_files(skill.real)
        is_settled = all(is_reliable(stamp, taken=taken) and is_text(path) for path, stamp in found.stamps)
        if is_settled and is_text(skill.real):
            known = self._known(skill.root)
            with self._lock:
                known[skill.real] = KnownDigest(found.digest, found.files, found.stamps)
                self._changed.add(skill.root)
        return found

    def save(self) -> None:
        """Keep what was learned for other processes."""
        with self._lock:
            changed = {root: self._roots[root].copy() for root in self._changed}
            self._changed.clear()
        for root, known in changed.items():
            if self.folder is not None and is_text(root):
                write_cache(self._file(self.folder, root), header=_HEADER, value=known)

    def _current(self, skill: Skill) -> KnownDigest | None:
        known = self._known(skill.root).get(skill.real)
        return known if known is not None and _is_current(skill.real, known) else None

    def _known(self, root: str) -> dict[str, KnownDigest]:
        with self._lock:
            known = self._roots.get(root)
        if known is not None:
            return known
        kept = read_cache(self._file(self.folder, root), header=_HEADER, kind=_Kept) if self.folder else None
        with self._lock:
            return self._roots.setdefault(root, kept or {})

    def _file(self, folder: str, root: str) -> str:
        return os.path.join(folder, hashlib.sha256(os.fsencode(root)).hexdigest()[:32])


_Kept = dict[str, KnownDigest]


def _is_current(folder: str, known: KnownDigest) -> bool:
    try:
        return all(
            stamp_file(os.lstat(f"{folder}/{path}" if path else folder)) == stamp for path, stamp in known.stamps
        )
    except OSError:
        return False
