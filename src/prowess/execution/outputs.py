"""Take the files that a run has left out of its output folder, by a walk of handles that follows no link."""

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from prowess.execution.jobs import OutputFile
from prowess.policy import RunLimits
from prowess.sources.name_types import name_type
from prowess.sources.private_folders import make_private_folder
from prowess.sources.source import show_bytes

__all__ = ["collect_outputs", "measure_folder"]

_MAX_DEPTH = 32
_MAX_NOTICES = 20
_MAX_ENTRIES = 100_000
"""Names that are looked at, files and folders, before the rest is left behind unseen."""
_MAX_MEASURED = 1 << 20
_ENDLESS = 1 << 40
_PART_BYTES = 1 << 20
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

Secrecy = Callable[[bytes], tuple[str, ...]]
"""Returns the names of the secrets that some bytes hold."""


def collect_outputs(
    handle: int, keep: str, *, limits: RunLimits, secrecy: Secrecy | None = None
) -> tuple[tuple[OutputFile, ...], tuple[str, ...]]:
    """Copy all plain files below an open folder to `keep`, and return them with a notice for each thing left behind.

    Nothing may change the folder meanwhile. `keep` is made only if there is a file for it; if it is empty, nothing is
    kept at all. A file that holds a secret stays behind.
    """
    if not keep:
        return (), ()
    harvest = _Harvest(os.path.abspath(keep), limits, secrecy)
    harvest.walk(handle, b"", depth=0)
    more = harvest.left - len(harvest.notices)
    return tuple(harvest.files), (*harvest.notices, *((f"… and {more:,} more were left behind",) if more else ()))


def measure_folder(handle: int, *, depth: int = 0) -> tuple[int, int]:
    """Return how many files there are below an open folder and how many bytes they take; links are not followed.

    Folders count as files. Where they are nested without end, or there are more than a million names, that is more
    files than any limit allows.
    """
    if depth > 2 * _MAX_DEPTH:
        return _ENDLESS, 0
    count = size = 0
    with suppress(OSError), os.scandir(handle) as entries:
        for entry in entries:
            more, bytes_ = _measure_entry(handle, entry, depth)
            count, size = count + 1 + more, size + bytes_
            if count > _MAX_MEASURED:
                return _ENDLESS, size
    return count, size


def _measure_entry(handle: int, entry: os.DirEntry[str], depth: int) -> tuple[int, int]:
    """Return how many files there are below a name, and how many bytes they and it take."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return 0, os.stat(entry.name, dir_fd=handle, follow_symlinks=False).st_blocks * 512
        inner = os.open(entry.name, _FOLDER, dir_fd=handle)
    except PermissionError:  # What cannot be looked into cannot be bounded.
        return _ENDLESS, 0
    except OSError:  # It may be gone again.
        return 0, 0
    try:
        return measure_folder(inner, depth=depth + 1)
    finally:
        os.close(inner)


@dataclass(slots=True)
class _Harvest:
    keep: str
    limits: RunLimits
    secrecy: Secrecy | None
    files: list[OutputFile] = field(default_factory=list[OutputFile])
    notices: list[str] = field(default_factory=list[str])
    left: int = 0
    """How many things were left behind, told of in a notice or not."""
    entries: int = 0
    """How many names were looked at."""
    size_bytes: int = 0

    def walk(self, handle: int, above: bytes, *, depth: int) -> None:
        try:
            with os.scandir(handle) as entries:
                some = islice(entries, _MAX_ENTRIES - self.entries)
                found = sorted((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in some)
                complete = next(entries, None) is None
        except OSError as error:
            self._leave(above or b".", f"cannot be listed: {error.strerror}")
            return
        self.entries += len(found)
        if not complete:
            self._leave(above or b".", f"holds more names than are looked at ({_MAX_ENTRIES:,}): the rest was not seen")
        for name, is_folder in found:
            path = os.path.join(above, name)
            if is_folder and depth >= _MAX_DEPTH:
                self._leave(path, "lies too deep")
            elif is_folder:
                self._enter(handle, name, path, depth)
            else:
                self._take(handle, name, path)

    def _enter(self, handle: int, name: bytes, path: bytes, depth: int) -> None:
        try:
            inner = os.open(name, _FOLDER, dir_fd=handle)
        except OSError as error:
            self._leave(path, f"cannot be opened: {error.strerror}")
            return
        try:
            self.walk(inner, path, depth=depth + 1)
        finally:
            os.close(inner)

    def _take(self, handle: int, name: bytes, path: bytes) -> None:
        if len(self.files) >= self.limits.output_files:
            self._leave(path, f"is more than the {self.limits.output_files:,} files that are kept")
            return
        try:
            mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode):  # To open a device can do something.
                self._leave(path, "is a link" if stat.S_ISLNK(mode) else "is no plain file")
                return
            source = os.open(name, _FILE, dir_fd=handle)
        except OSError as error:
            self._leave(path, f"cannot be opened: {error.strerror}")
            return
        try:
            self._take_open(source, path)
        except OSError as error:
            self._leave(path, f"cannot be copied: {error.strerror}")
        finally:
            os.close(source)

    def _take_open(self, source: int, path: bytes) -> None:
        status = os.fstat(source)
        if self.size_bytes + status.st_size > self.limits.folder_bytes:
            self._leave(path, f"would make more than the {self.limits.folder_bytes:,} bytes that are kept")
            return
        names = self._find_secrets(source, path)
        if names:
            self._leave(path, f"holds the secret {' and '.join(names)}")
            return
        shown = show_bytes(path)
        digest, size = self._copy(source, path, executable=bool(status.st_mode & stat.S_IXUSR))
        self.size_bytes += size
        location = os.fsdecode(os.path.join(os.fsencode(self.keep), path))
        self.files.append(OutputFile(shown, size, digest, name_type(shown), location))

    def _find_secrets(self, source: int, path: bytes) -> tuple[str, ...]:
        if self.secrecy is None:
            return ()
        parts = [path, b"\n"]
        while part := os.read(source, _PART_BYTES):
            parts.append(part)
        os.lseek(source, 0, os.SEEK_SET)
        return self.secrecy(b"".join(parts))

    def _copy(self, source: int, path: bytes, *, executable: bool) -> tuple[str, int]:
        """Copy a file to its place. Below `keep` everything is ours, so its folders can be made by path."""
        place = os.path.join(os.fsencode(self.keep), path)
        make_private_folder(os.fsdecode(os.path.dirname(place)))
        hasher, size = hashlib.sha256(), 0
        target = os.open(place, _NEW, 0o700 if executable else 0o600)
        try:
            while part := os.read(source, _PART_BYTES):
                hasher.update(part)
                size += len(part)
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(target, rest) :]
        except OSError:
            os.unlink(place)
            raise
        finally:
            os.close(target)
        return hasher.hexdigest(), size

    def _leave(self, path: bytes, why: str) -> None:
        self.left += 1
        if len(self.notices) >= _MAX_NOTICES:
            return
        if self.secrecy is not None and self.secrecy(path):
            path = b"a file whose name holds a secret"
        self.notices.append(f"output {show_bytes(path)} {why} and was left behind")
