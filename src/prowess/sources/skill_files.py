"""List, hash and hand on every file of a skill, by directory handles, so that no link swapped in leads out.

Not part of a skill, and so neither listed nor hashed: a `.git` folder, and the `.nfs…` leftovers of network file
systems.
"""

import hashlib
import os
import re
import stat
from dataclasses import dataclass, field
from typing import Protocol

from prowess.skill.digest import FileKind, SkillFile, digest_files
from prowess.skill.problems import Problem, make_problem
from prowess.sources.disk_errors import name_fault
from prowess.sources.open_folders import OpenFolder, open_folder
from prowess.sources.stamps import Stamp, stamp_file

__all__ = [
    "MAX_DEPTH",
    "MAX_FILES",
    "MAX_TOTAL_BYTES",
    "FileSet",
    "FileSink",
    "UnfitName",
    "copy_skill_files",
    "is_leftover",
    "is_part",
    "is_skill_folder",
    "is_unchanged",
    "leads_out",
    "list_skill_files",
    "read_skill_files",
]

MAX_FILES = 10_000
"""Of files and folders together."""
MAX_TOTAL_BYTES = 1 << 30
MAX_DEPTH = 32
_CHUNK = 1 << 18
_MAX_SHOWN = 200
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


class UnfitName(Exception):
    """Raised by a sink that cannot have a file of this name; says why."""


class FileSink(Protocol):
    """Takes the files of a skill while they are read.

    What goes wrong here is no OSError, since it is not the skill's fault, or an UnfitName, since it is.
    """

    def begin_file(self, path: bytes, kind: FileKind) -> None:
        """Begin a file; the folders on its way are made as they are needed."""
        ...

    def write(self, part: bytes) -> None:
        """Add to the file that was begun."""
        ...

    def end_file(self) -> None:
        """End the file that was begun, also if it was not read to its end."""
        ...

    def make_link(self, path: bytes, target: bytes) -> None:
        """Make a link that stays inside the skill."""
        ...


def read_skill_files(folder: str, *, apart: bool = False) -> FileSet:
    """Read and hash every file below `folder`. What cannot or must not be read is a Problem.

    With `apart`, folders directly below that have a SKILL.md are skills of their own, and not part of this one.
    """
    return _walk(folder, _Walk(apart=apart))


def copy_skill_files(folder: str, sink: FileSink, *, apart: bool = False) -> FileSet:
    """Read and hash every file below `folder`, and hand each to the sink: the very bytes that are hashed."""
    return _walk(folder, _Walk(apart=apart, sink=sink))


def list_skill_files(folder: str, *, apart: bool = False) -> FileSet:
    """List every file below `folder` with what is wrong with it, without opening any: no hashes, no digest."""
    return _walk(folder, _Walk(apart=apart, hashes=False))


def is_unchanged(folder: str, files: FileSet) -> bool:
    """Whether every file and folder has the stamp that it had before it was read."""
    try:
        return all(
            stamp_file(os.lstat(f"{folder}/{path}" if path else folder)) == stamp for path, stamp in files.stamps
        )
    except OSError:
        return False


def is_skill_folder(folder: OpenFolder) -> bool:
    """Whether a folder has something named SKILL.md, and so is looked at as a skill."""
    try:
        folder.status(b"SKILL.md")
    except OSError:
        return False
    return True


def is_part(name: bytes, *, depth: int) -> bool:
    """Whether what has this name is part of a skill, in a folder so many levels below its top."""
    return not is_leftover(name) and (depth > 0 or name.lower() != b".git")


def is_leftover(name: bytes) -> bool:
    """Whether a network file system has made this name for what it keeps of a removed file."""
    return _LEFTOVER.fullmatch(name) is not None


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
    apart: bool = False
    hashes: bool = True
    sink: FileSink | None = None
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
                self.files.append(SkillFile(inner, _kind(status), status.st_size, sha256=""))
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
            if not (self.apart and depth == 0 and is_skill_folder(below)):
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
            sha256, size = self._read(file, inner, _kind(status))
        except OSError as error:
            self.problems.append(_unreadable(_show(inner), error))
            return
        except UnfitName as error:
            self._unfit(inner, error)
            return
        finally:
            os.close(file)
        self.total += size
        self.files.append(SkillFile(inner, _kind(status), size, sha256))

    def _read(self, file: int, inner: bytes, kind: FileKind) -> tuple[str, int]:
        """Return the hash and the size of what is in an open file, handing it on."""
        whole, size = hashlib.sha256(), 0
        if self.sink is not None:
            self.sink.begin_file(inner, kind)
        try:
            while part := os.read(file, _CHUNK):
                whole.update(part)
                size += len(part)
                if self.total + size > MAX_TOTAL_BYTES:
                    self._too_large(inner)
                if self.sink is not None:
                    self.sink.write(part)
        finally:
            if self.sink is not None:
                self.sink.end_file()
        return whole.hexdigest(), size

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
        try:
            if self.sink is not None:
                self.sink.make_link(inner, target)
        except UnfitName as error:
            self._unfit(inner, error)
            return
        self.files.append(SkillFile(inner, FileKind.LINK, len(target), hashlib.sha256(target).hexdigest()))

    def _unfit(self, inner: bytes, error: UnfitName) -> None:
        shown = _show(inner)
        place = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
        self.problems.append(make_problem("name-unfit", f"{place} cannot be copied: {error}", path=place))

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


def _kind(status: os.stat_result) -> FileKind:
    return FileKind.EXECUTABLE if status.st_mode & stat.S_IXUSR else FileKind.FILE


def _unreadable(path: str, error: OSError) -> Problem:
    if path and isinstance(error, FileNotFoundError):  # It was there a moment ago: somebody is replacing it.
        return make_problem("keeps-changing", f"{path} was removed while the skill was read", path=path)
    code = name_fault(error, otherwise="file-unreadable")
    return make_problem(code, f"{path or 'the folder'} cannot be read: {error.strerror}", path=path or None)


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
