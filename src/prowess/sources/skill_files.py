"""List and hash every file of a skill, by directory handles, so that no link swapped in on the way leads out.

Not part of a skill, and so neither listed nor hashed: a `.git` folder, and the `.nfs…` leftovers of network file
systems.
"""

import hashlib
import os
import re
import stat
from dataclasses import dataclass, field

from prowess.skill.digest import FileKind, SkillFile, digest_files
from prowess.skill.problems import Problem, make_problem
from prowess.sources.open_folders import OpenFolder, open_folder
from prowess.sources.stamps import Stamp, stamp_file

__all__ = [
    "MAX_DEPTH",
    "MAX_FILES",
    "MAX_TOTAL_BYTES",
    "FileSet",
    "is_part",
    "leads_out",
    "list_skill_files",
    "read_skill_files",
]

MAX_FILES = 10_000
"""Of files and folders together."""
MAX_TOTAL_BYTES = 1 << 30
MAX_DEPTH = 32
_CHUNK = 1 << 18
_LEFTOVER = re.compile(rb"\.nfs[0-9a-fA-F]+")
"""What a network file system keeps of a file that was removed while it was open."""


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files of a skill; the digest is empty if a Problem kept one of them from being read."""

    files: tuple[SkillFile, ...]
    problems: tuple[Problem, ...]
    digest: str
    stamps: tuple[tuple[str, Stamp], ...]
    """Every file and folder with its stamp: while all of them stay the same, so does the digest."""


def read_skill_files(folder: str) -> FileSet:
    """Read and hash every file below `folder`. What cannot or must not be read is a Problem."""
    return _walk(folder, _Walk())


def list_skill_files(folder: str) -> FileSet:
    """List every file below `folder` with what is wrong with it, without opening any: no hashes, no digest."""
    return _walk(folder, _Walk(hashes=False))


def is_part(name: bytes, *, depth: int) -> bool:
    """Whether what has this name is part of a skill, in a folder so many levels below its top."""
    return not _LEFTOVER.fullmatch(name) and (depth > 0 or name.lower() != b".git")


def leads_out(target: bytes, *, depth: int) -> bool:
    """Whether a link may lead out of the skill, in a folder so many levels below its top.

    Its own folder was reached without links, so leading `..` mean what they say. A `..` further on could follow another
    link and mean anything: refused.
    """
    steps = [step for step in target.split(b"/") if step not in (b"", b".")]
    up = 0
    while up < len(steps) and steps[up] == b"..":
        up += 1
    return target.startswith(b"/") or up > depth or b".." in steps[up:]


def _walk(folder: str, walk: "_Walk") -> FileSet:
    try:
        top = open_folder(folder)
    except OSError as error:
        return FileSet((), (_unreadable("", error),), "", ())
    try:
        walk.stamps.append(("", stamp_file(top.own_status())))
        walk.folder(top, b"", 0)
    finally:
        top.close()
    files = tuple(sorted(walk.files, key=lambda file: file.path))
    digest = digest_files(files) if walk.hashes and not walk.problems else ""
    return FileSet(files, tuple(walk.problems), digest, tuple(walk.stamps))


class _Stop(Exception):
    """Ends a walk that has reached a bound; the Problem is noted already."""


@dataclass(slots=True)
class _Walk:
    hashes: bool = True
    files: list[SkillFile] = field(default_factory=list[SkillFile])
    problems: list[Problem] = field(default_factory=list[Problem])
    stamps: list[tuple[str, Stamp]] = field(default_factory=list[tuple[str, Stamp]])
    seen: int = 0
    total: int = 0

    def folder(self, folder: OpenFolder, path: bytes, depth: int) -> None:
        """Walk a folder and all below it; a bound that is reached ends the whole walk."""
        try:
            self._folder(folder, path, depth)
        except _Stop:
            if depth:
                raise

    def _folder(self, folder: OpenFolder, path: bytes, depth: int) -> None:
        for name in self._names(folder, path, depth):
            inner = path + b"/" + name if path else name
            try:
                status = folder.status(name)
            except OSError as error:
                self.problems.append(_unreadable(_show(inner), error))
                continue
            self._count(inner)
            self.stamps.append((os.fsdecode(inner), stamp_file(status)))
            if stat.S_ISDIR(status.st_mode):
                self._descend(folder, name, inner, depth)
            elif stat.S_ISREG(status.st_mode) and self.hashes:
                self._hash(folder, name, inner)
            elif stat.S_ISREG(status.st_mode):
                self._note(inner, status, sha256="")
            elif stat.S_ISLNK(status.st_mode):
                self._link(folder, name, inner)
            else:
                message = f"{_show(inner)} is neither a file nor a folder"
                self.problems.append(make_problem("not-a-file", message, path=_show(inner)))

    def _names(self, folder: OpenFolder, path: bytes, depth: int) -> list[bytes]:
        try:
            names = folder.names()
        except OSError as error:
            self.problems.append(_unreadable(_show(path), error))
            return []
        return [name for name in names if is_part(name, depth=depth)]

    def _descend(self, folder: OpenFolder, name: bytes, inner: bytes, depth: int) -> None:
        if depth + 1 > MAX_DEPTH:
            self._too_many(inner, f"folders are nested deeper than {MAX_DEPTH} levels")
        try:
            below = folder.enter(name)
        except OSError as error:
            self.problems.append(_unreadable(_show(inner), error))
            return
        try:
            self.folder(below, inner, depth + 1)
        finally:
            below.close()

    def _hash(self, folder: OpenFolder, name: bytes, inner: bytes) -> None:
        try:
            file = folder.open_file(name)
        except OSError as error:
            self.problems.append(_unreadable(_show(inner), error))
            return
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                self.problems.append(make_problem("not-a-file", f"{_show(inner)} is not a file", path=_show(inner)))
                return
            if self.total + status.st_size > MAX_TOTAL_BYTES:
                self._too_large(inner)
            whole, size = hashlib.sha256(), 0
            while part := os.read(file, _CHUNK):
                whole.update(part)
                size += len(part)
                if self.total + size > MAX_TOTAL_BYTES:
                    self._too_large(inner)
        except OSError as error:
            self.problems.append(_unreadable(_show(inner), error))
            return
        finally:
            os.close(file)
        self.total += size
        self._note(inner, status, sha256=whole.hexdigest())

    def _note(self, inner: bytes, status: os.stat_result, *, sha256: str) -> None:
        kind = FileKind.EXECUTABLE if status.st_mode & stat.S_IXUSR else FileKind.FILE
        self.files.append(SkillFile(inner, kind, status.st_size, sha256))

    def _link(self, folder: OpenFolder, name: bytes, inner: bytes) -> None:
        """Keep a link that stays inside; the text of it is what counts, since its target is hashed by itself."""
        try:
            target = folder.read_link(name)
        except OSError as error:
            self.problems.append(_unreadable(_show(inner), error))
            return
        if leads_out(target, depth=inner.count(b"/")):
            message = f"the link {_show(inner)} leads out of the skill"
            self.problems.append(make_problem("link-escape", message, path=_show(inner)))
            return
        self.files.append(SkillFile(inner, FileKind.LINK, len(target), hashlib.sha256(target).hexdigest()))

    def _count(self, inner: bytes) -> None:
        self.seen += 1
        if self.seen > MAX_FILES:
            self._too_many(inner, f"more than {MAX_FILES:,} files and folders")

    def _too_many(self, inner: bytes, message: str) -> None:
        self.problems.append(make_problem("too-many-files", message, path=_show(inner)))
        raise _Stop

    def _too_large(self, inner: bytes) -> None:
        message = f"the files are larger than {MAX_TOTAL_BYTES:,} bytes together"
        self.problems.append(make_problem("files-too-large", message, path=_show(inner)))
        raise _Stop


def _unreadable(path: str, error: OSError) -> Problem:
    what = path or "the folder"
    return make_problem("file-unreadable", f"{what} cannot be read: {error.strerror}", path=path or None)


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
