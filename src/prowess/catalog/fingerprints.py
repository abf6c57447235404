"""Fingerprints: the stamps of all files and folders of a skill, and what was read from them.

While every stamp is the same, so are the files. That can be asked without reading any of them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

from prowess.skill.dialects import SIDECAR_PATH
from prowess.skill.digest import SkillFile
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.sources.disk_errors import is_disk_error
from prowess.sources.folders import SKILL_MD
from prowess.sources.skill_files import FileSet
from prowess.sources.source import is_text
from prowess.sources.stamps import Stamp, are_reliable, stamp_file

__all__ = ["Fingerprint", "KnownDigest", "know_digest"]

_SIDECAR_FOLDER = os.path.dirname(SIDECAR_PATH)


@dataclass(frozen=True, slots=True)
class KnownDigest:
    """A digest with its files, and the stamps of all files and folders for which it holds."""

    digest: str
    files: tuple[SkillFile, ...]
    stamps: tuple[tuple[str, Stamp], ...]
    problems: tuple[Problem, ...]
    """What is wrong with the files; then the digest is empty."""
    apart: bool
    """As in the skill."""
    taken: int
    """When the first of the files was looked at, in nanoseconds."""


def know_digest(skill: Skill, found: FileSet, *, taken: int) -> KnownDigest | None:
    """Return what was found, if any change since then must show in its stamps; else None."""
    stamps = [stamp for _, stamp in found.stamps]
    if not stamps or not are_reliable(stamps, taken=taken):
        return None
    if any(map(_may_pass, found.problems)):
        return None
    if not is_text(skill.real) or not all(is_text(path) for path, _ in found.stamps):
        return None
    return KnownDigest(found.digest, found.files, found.stamps, found.problems, skill.apart, taken)


def _may_pass(problem: Problem) -> bool:
    """Whether a Problem may go without a sign in the skill's folder: by a right given to a folder above it, for one."""
    return is_disk_error(problem) or problem.code in ("file-unreadable", "keeps-changing")


class Fingerprint:
    """A known digest, ready to be compared with a skill's folder."""

    __slots__ = ("_paths", "folder", "known", "lone_manifest", "stamps")

    def __init__(self, folder: str, known: KnownDigest) -> None:
        self.folder = folder
        self.known = known
        self.stamps: Sequence[Stamp] = tuple(stamp for _, stamp in known.stamps)
        self.lone_manifest = _find_lone_manifest(known)
        """The stamp of the SKILL.md, if there is one and no sidecar beside it."""
        self._paths: tuple[bytes, ...] = ()

    @property
    def paths(self) -> Sequence[bytes]:
        """The absolute paths that the stamps belong to, made when they are first asked for."""
        if not self._paths:
            names = (f"{self.folder}/{path}" if path else self.folder for path, _ in self.known.stamps)
            self._paths = tuple(map(os.fsencode, names))
        return self._paths

    def holds(self, *, now: int) -> bool:
        """Whether all files and folders are surely what they were.

        If the clock has been set back since they were read, a change may have got the very time that is remembered.
        """
        if now < self.known.taken:
            return False
        try:  # No step of this is Python's own: it is done for thousands of files before every turn.
            return all(map(eq, map(stamp_file, map(os.lstat, self.paths)), self.stamps))
        except (OSError, ValueError):  # No path can have such a name.
            return False


def _find_lone_manifest(known: KnownDigest) -> Stamp | None:
    found = None
    for path, stamp in known.stamps:
        if path == SKILL_MD:
            found = stamp
        elif path.lower() == _SIDECAR_FOLDER:  # Some disks do not tell capitals apart.
            return None
    return found
