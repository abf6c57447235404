"""Open folders: names are looked up in the folder that was opened, wherever its path leads by now.

Where the system has no directory handles (Windows), the path is used; links cannot be swapped in there without special
rights.
"""

import os
from typing import Protocol

__all__ = ["FILE_FLAGS", "FOLDER_FLAGS", "HandleFolder", "OpenFolder", "PathFolder", "open_folder", "read_up_to"]

# Which of these flags exist depends on the system.
FILE_FLAGS = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
"""How a file of a skill is opened: without following a link, and without waiting."""
_NO_LINK = sum(getattr(os, flag, 0) for flag in ("O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW"))
FOLDER_FLAGS = os.O_RDONLY | _NO_LINK
"""How a folder is opened to be listed: without following a link."""
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | _NO_LINK
"""How a folder on the way is opened: where the system can, without the right to list it."""
_CHUNK = 1 << 20


class OpenFolder(Protocol):
    """A folder that was opened; nothing in it is followed if it is a link."""

    def names(self) -> list[bytes]:
        """Return the names in it, sorted."""
        ...

    def own_status(self) -> os.stat_result:
        """Return the status of the folder itself."""
        ...

    def status(self, name: bytes) -> os.stat_result:
        """Return the status of what has this name."""
        ...

    def open_file(self, name: bytes) -> int:
        """Open a file for reading, without waiting, and return its descriptor."""
        ...

    def read_link(self, name: bytes) -> bytes:
        """Return the text of a link."""
        ...

    def enter(self, name: bytes) -> "OpenFolder":
        """Open a folder in it."""
        ...

    def close(self) -> None:
        """Give it back."""
        ...


def open_folder(path: str) -> OpenFolder:
    """Open a folder by an absolute path without links. If a step of it has become one since, that is an OSError."""
    return HandleFolder(_walk(path)) if os.open in os.supports_dir_fd else PathFolder(os.fsencode(path))


def read_up_to(file: int, limit: int) -> bytes:
    """Return what an open file has from here on, at most so many bytes."""
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(file, min(limit, _CHUNK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _walk(path: str) -> int:
    """Return a handle of the folder, reached step by step from the top."""
    *steps, last = path.strip("/").split("/")
    here = os.open("/", _STEP)
    try:
        for step in steps:
            below = os.open(step, _STEP, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last or ".", FOLDER_FLAGS, dir_fd=here)
    finally:
        os.close(here)


class HandleFolder:
    """A folder held by its handle."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def names(self) -> list[bytes]:
        return sorted(map(os.fsencode, os.listdir(self._handle)))

    def own_status(self) -> os.stat_result:
        return os.fstat(self._handle)

    def status(self, name: bytes) -> os.stat_result:
        return os.stat(name, dir_fd=self._handle, follow_symlinks=False)

    def open_file(self, name: bytes) -> int:
        return os.open(name, FILE_FLAGS, dir_fd=self._handle)

    def read_link(self, name: bytes) -> bytes:
        return os.readlink(name, dir_fd=self._handle)

    def enter(self, name: bytes) -> OpenFolder:
        return HandleFolder(os.open(name, FOLDER_FLAGS, dir_fd=self._handle))

    def close(self) -> None:
        os.close(self._handle)


class PathFolder:
    """A folder known by its path."""

    def __init__(self, path: bytes) -> None:
        self._path = path

    def names(self) -> list[bytes]:
        return sorted(os.listdir(self._path))

    def own_status(self) -> os.stat_result:
        return os.stat(self._path)

    def status(self, name: bytes) -> os.stat_result:
        return os.lstat(os.path.join(self._path, name))

    def open_file(self, name: bytes) -> int:
        return os.open(os.path.join(self._path, name), FILE_FLAGS)

    def read_link(self, name: bytes) -> bytes:
        return os.readlink(os.path.join(self._path, name)).replace(os.fsencode(os.sep), b"/")

    def enter(self, name: bytes) -> OpenFolder:
        return PathFolder(os.path.join(self._path, name))

    def close(self) -> None:
        """Nothing is held."""
