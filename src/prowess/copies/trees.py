"""Write, place and remove whole folders, following no link.

What is written here is read-only in the end: files 0444 or 0555, folders 0555. It can be read by any user of a
container, while on the host the folders above keep others out.
"""

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prowess.copies.disk_failures import disk_failure
from prowess.copies.mounted import has_mount_point
from prowess.skill.digest import FileKind
from prowess.sources.open_folders import FOLDER_FLAGS
from prowess.sources.skill_files import UnfitName

__all__ = ["TreeWriter", "lock_folder", "place_tree", "remove_tree", "unlock_folder"]

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ_ONLY_FOLDER = 0o555
_OPEN_FOLDER = 0o755
_MODES = {FileKind.FILE: 0o444, FileKind.EXECUTABLE: 0o555}
_WRITABLE = {FileKind.FILE: 0o644, FileKind.EXECUTABLE: 0o755}
_NO_LINKS_HERE = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES})
"""What systems say where a hard link cannot be made: another disk, too many links, none at all."""
_UNFIT = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR})
"""What systems say of names that they will not have, or take for another's."""
_LONGEST = 4_096 - 512
"""Of a path: what Linux takes, less what a copy's own place may need."""
_DEEPEST = 200
"""Levels of folders that are removed in one go."""


@dataclass(slots=True)
class TreeWriter:
    """Writes the files of a skill below a folder of its own that nobody else knows. A `FileSink`.

    Read-only unless it is made `writable`. What cannot be written is a WorldError.
    """

    folder: bytes
    writable: bool = False
    _made: set[bytes] = field(default_factory=set[bytes])
    _file: int = -1

    def begin_file(self, path: bytes, kind: FileKind) -> None:
        modes = _WRITABLE if self.writable else _MODES
        with self._naming(path):
            self._make_way(path)
            self._file = os.open(self.folder + b"/" + path, _NEW_FILE, modes[kind])
            if os.name == "posix":
                os.fchmod(self._file, modes[kind])  # Whatever the umask says.

    def write(self, part: bytes) -> None:
        rest = memoryview(part)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise disk_failure("a file cannot be copied", error) from error

    def end_file(self) -> None:
        file, self._file = self._file, -1
        if file < 0:
            return
        try:
            os.close(file)
        except OSError as error:
            raise disk_failure("a file cannot be copied", error) from error

    def make_link(self, path: bytes, target: bytes) -> None:
        with self._naming(path):
            self._make_way(path)
            os.symlink(target, self.folder + b"/" + path)

    def finish(self) -> None:
        """Take the right to write away from all folders but the top, which must still be moved."""
        if self.writable:
            return
        try:
            for inner in self._made:
                os.chmod(self.folder + b"/" + inner, _READ_ONLY_FOLDER)
        except OSError as error:
            raise disk_failure("a copy cannot be made read-only", error) from error

    @contextmanager
    def _naming(self, path: bytes) -> Generator[None]:
        """Tell a name that the disk will not have from a disk that fails."""
        if len(self.folder) + len(path) > _LONGEST:
            raise UnfitName("its path is too long")
        try:
            yield
        except OSError as error:
            if error.errno in _UNFIT:
                raise UnfitName(error.strerror or str(error)) from error
            raise disk_failure("a file cannot be copied", error) from error

    def _make_way(self, path: bytes) -> None:
        inner = path.rpartition(b"/")[0]
        if inner and inner not in self._made:
            self._make_way(inner)
            os.mkdir(self.folder + b"/" + inner, _OPEN_FOLDER)
            if self.writable:  # Whatever the umask says; a read-only one gets its mode in the end.
                os.chmod(self.folder + b"/" + inner, _OPEN_FOLDER)
            self._made.add(inner)


def place_tree(version: str, target: str) -> None:
    """Make a folder that holds the files of a version, by hard link where the disk allows; the top can be moved."""
    _place(os.fsencode(version), os.fsencode(target))
    os.chmod(target, _OPEN_FOLDER)  # Whatever the umask says: it is seen before it is locked.


def _place(source: bytes, target: bytes) -> None:
    os.mkdir(target, _OPEN_FOLDER)
    with os.scandir(source) as entries:
        for entry in entries:
            inner = target + b"/" + entry.name
            if entry.is_dir(follow_symlinks=False):
                _place(entry.path, inner)
                os.chmod(inner, _READ_ONLY_FOLDER)
            elif entry.is_symlink():
                os.symlink(os.readlink(entry.path), inner)
            else:
                _link_or_copy(entry.path, inner)


def _link_or_copy(source: bytes, target: bytes) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS_HERE:
            raise
        _copy(source, target)


def _copy(source: bytes, target: bytes) -> None:
    """Copy a file of a version as cheaply as the system can (by reflink, or within the kernel), and sync it."""
    with open(source, "rb") as reader, open(target, "xb") as writer:
        done = 0
        copy_range: Callable[[int, int, int], int] | None = getattr(os, "copy_file_range", None)
        try:
            while copy_range is not None and (part := copy_range(reader.fileno(), writer.fileno(), 1 << 30)):
                done += part
        except OSError as error:
            if done or error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
                raise
        if not done:  # The system has no such call, or not between these two.
            shutil.copyfileobj(reader, writer)
            writer.flush()
        if os.name == "posix":
            os.fchmod(writer.fileno(), stat.S_IMODE(os.fstat(reader.fileno()).st_mode))
        os.fsync(writer.fileno())


def lock_folder(path: str) -> None:
    """Take the right to write in a folder away, from its owner too."""
    _set_mode(path, _READ_ONLY_FOLDER)


def unlock_folder(path: str) -> None:
    """Let a folder be moved: its owner must be able to write in it for that."""
    _set_mode(path, _OPEN_FOLDER)


def _set_mode(path: str, mode: int) -> None:
    if os.name != "posix":  # No folder can be opened there, and no link be put in its place without special rights.
        os.chmod(path, mode)
        return
    try:
        folder = os.open(path, FOLDER_FLAGS)  # Which fails for a link: nothing it leads to is touched.
    except PermissionError:
        _set_mode_unread(path, mode)
        return
    try:
        os.fchmod(folder, mode)
    finally:
        os.close(folder)


def _set_mode_unread(path: str, mode: int) -> None:
    """Set the mode of a folder that its own owner may not read."""
    if sys.platform != "linux":
        os.chmod(path, mode, follow_symlinks=False)
        return
    folder = os.open(path, FOLDER_FLAGS | os.O_PATH)
    try:
        os.chmod(f"/proc/self/fd/{folder}", mode)  # The folder that was opened, whatever has its name by now.
    finally:
        os.close(folder)


def remove_tree(path: str) -> bool:
    """Remove a file, a link or a whole folder, following no link; say whether all of it is gone.

    What a network file system keeps of files that are still open stays, and goes the next time. So does a folder in
    which something else is mounted: nothing of that is touched.
    """
    if has_mount_point(path):
        return False
    if os.open not in os.supports_dir_fd:
        shutil.rmtree(path, ignore_errors=True)
        return not os.path.lexists(path)
    parent, name = os.path.split(path)
    surface = os.open(parent, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        removal = _Removal(surface, [os.fsencode(name)])
        return removal.run()
    finally:
        os.close(surface)


@dataclass(slots=True)
class _Removal:
    """Removes folders of any depth with few open descriptors: what lies very deep is lifted to the surface first."""

    surface: int
    pending: list[bytes]

    def run(self) -> bool:
        gone = True
        while self.pending:
            gone &= self.remove(self.surface, self.pending.pop(), 0)
        return gone

    def remove(self, parent: int, name: bytes, depth: int) -> bool:
        try:
            folder = os.open(name, FOLDER_FLAGS, dir_fd=parent)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                return _unlink(parent, name)
            if error.errno == errno.EACCES and _let_in(parent, name):
                return self.remove(parent, name, depth)
            return error.errno == errno.ENOENT
        try:
            os.fchmod(folder, 0o700)
            gone = self._empty(folder, depth)
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            return error.errno == errno.ENOENT
        return gone

    def _empty(self, folder: int, depth: int) -> bool:
        gone = True
        try:
            with os.scandir(folder) as entries:
                found = [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
        except FileNotFoundError:  # Another process removes the same.
            return True
        for name, is_folder in found:
            if not is_folder:
                gone &= _unlink(folder, name)
            elif depth < _DEEPEST:
                gone &= self.remove(folder, name, depth + 1)
            else:
                self.pending.append(b"deep-" + os.urandom(8).hex().encode())
                os.rename(name, self.pending[-1], src_dir_fd=folder, dst_dir_fd=self.surface)
        return gone


def _let_in(parent: int, name: bytes) -> bool:
    """Give the owner the right to enter a folder; say whether there was something to give."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o700 == 0o700:
        return False
    os.chmod(name, 0o700, dir_fd=parent)
    return True


def _unlink(folder: int, name: bytes) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.EBUSY, errno.EACCES, errno.EPERM):
            return False
        raise
    return True
